/** What models cost: over time and by group, as pictures with their numbers, beside what budgets have left. */
import type { BudgetState } from "../../src/cost/Budget.ts"
import type { CostGroup, CostTotal } from "../../src/cost/TurnCost.ts"
import { apiPart } from "./ApiLine.ts"
import type { Column } from "./Charts.ts"
import { barChart, behindChart, columnChart, daysBetween } from "./Charts.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import type { View } from "./Shell.ts"
import { choices, downloads, emptyList, nextPage, page, row, table } from "./Shell.ts"
import { moment, shortId } from "./Words.ts"

/** The groups of costs. */
export const groups = [
  "agent",
  "model",
  "tool",
  "run",
  "trace"
] as const satisfies ReadonlyArray<CostGroup>

/** The times that the page offers, in days. */
export const spans = [1, 7, 30, 365] as const

/** What the pictures show. */
export const measures = ["cost", "turns", "tokens"] as const

/** What the address of the page chooses. */
export interface CostChoice {
  readonly by: (typeof groups)[number]
  readonly days: number
  readonly show: (typeof measures)[number]
  /** Only of this agent, model or tool. */
  readonly agent?: string
  readonly model?: string
  readonly tool?: string
}

/** Costs of a time, by one group and by day. */
export interface Costs {
  readonly chosen: CostChoice
  readonly items: ReadonlyArray<CostTotal>
  readonly next_after?: string
  readonly byDay: ReadonlyArray<CostTotal>
  readonly budgets: ReadonlyArray<BudgetState>
  /** When the time begins, in ms since 1970. */
  readonly from: number
  /** What asks the API for the costs. */
  readonly line: string
}

const count = (number: number) => number.toLocaleString("en")

/** The amounts as exact texts, such as `0.03 EUR`. */
const amountText = ({ amounts }: Pick<CostTotal, "amounts">): string =>
  amounts.length === 0
    ? "no price"
    : amounts.map(({ amount, currency }) => `${amount} ${currency}`).join(", ")

const costRow = (total: CostTotal, name: Child) => {
  const { input_tokens, output_tokens, turns, unpriced_turns } = total
  return row(
    1,
    name,
    amountText(total),
    unpriced_turns === 0
      ? count(turns)
      : `${count(turns)} (${count(unpriced_turns)} without a price)`,
    count(input_tokens),
    count(output_tokens)
  )
}

const columns = (name: string) => [name, "Cost", "Turns", "Input tokens", "Output tokens"]

/** One picture: what it is of, and its number and text of a sum. */
interface Measured {
  readonly name: string
  readonly valueOf: (total: CostTotal) => number
  readonly textOf: (total: CostTotal) => string
}

/** A picture has one currency, since those are never added together. */
const currencies_max = 3

const measuredBy = (
  show: CostChoice["show"],
  byDay: ReadonlyArray<CostTotal>
): ReadonlyArray<Measured> => {
  if (show === "turns") {
    return [
      {
        name: "turns",
        valueOf: ({ turns }) => turns,
        textOf: ({ turns }) => `${count(turns)} turns`
      }
    ]
  }
  if (show === "tokens") {
    const valueOf = ({ input_tokens, output_tokens }: CostTotal) => input_tokens + output_tokens
    return [{ name: "tokens", valueOf, textOf: (total) => `${count(valueOf(total))} tokens` }]
  }
  const currencies = new Set(
    byDay.flatMap(({ amounts }) => amounts.map(({ currency }) => currency))
  )
  return [...currencies].slice(0, currencies_max).map((currency) => {
    const amountOf = ({ amounts }: CostTotal) =>
      amounts.find((each) => each.currency === currency)?.amount ?? "0"
    return {
      name: currency,
      // Only the picture is rounded.
      valueOf: (total) => Number(amountOf(total)),
      textOf: (total) => `${amountOf(total)} ${currency}`
    }
  })
}

const dayColumns = (
  { byDay, from }: Costs,
  { textOf, valueOf }: Measured,
  now: number
): ReadonlyArray<Column> => {
  const totals = new Map(byDay.map((total) => [total.key, total]))
  return daysBetween(from, now).map((day) => {
    const total = totals.get(day)
    return {
      name: day.slice(5),
      says: `${day}: ${total === undefined ? "nothing" : textOf(total)}`,
      parts: total === undefined ? [] : [{ kind: "model", value: valueOf(total) }]
    }
  })
}

/** The name of a group, and where its link leads: to its run, or to the same page of it alone. */
const nameOf = (view: View, chosen: CostChoice, key: string): Child => {
  if (key === "") return element("span", { class: "quiet" }, "without a name")
  if (chosen.by === "run") {
    return element("a", { href: `${view.path}/runs/${key}` }, shortId(key))
  }
  const href = hrefOfKey(view, chosen, key)
  return href === undefined ? key : element("a", { href }, key)
}

const hrefOf = (view: View, chosen: CostChoice, more: Readonly<Record<string, string>>): string => {
  const { days, ...others } = chosen
  return `${view.path}/costs?${new URLSearchParams({ ...others, days: String(days), ...more })}`
}

const hrefOfKey = (view: View, chosen: CostChoice, key: string): string | undefined => {
  const { by } = chosen
  if (by === "run") return `${view.path}/runs/${key}`
  return by === "trace" || key === "" ? undefined : hrefOf(view, chosen, { [by]: key })
}

const pictures = (view: View, costs: Costs): Child => {
  const { byDay, chosen, items } = costs
  const measured = measuredBy(chosen.show, byDay)
  return [
    element("h2", {}, "Each day (UTC)"),
    measured.length === 0 &&
      element("p", { class: "quiet" }, "Nothing of it has a price: turns and tokens are counted."),
    measured.map((each) => columnChart(`${each.name} each day`, dayColumns(costs, each, view.now))),
    behindChart(
      "The numbers",
      false,
      table(
        columns("Day"),
        byDay.toReversed().map((total) => costRow(total, total.key)),
        1
      )
    ),
    element("h2", {}, `By ${chosen.by}`),
    measured.map((each) =>
      barChart(
        `${each.name} by ${chosen.by}`,
        items.flatMap((total) => {
          const value = each.valueOf(total)
          const href = hrefOfKey(view, chosen, total.key)
          const bar = { name: total.key || "without a name", value, text: each.textOf(total) }
          return value <= 0 ? [] : [href === undefined ? bar : { ...bar, href }]
        })
      )
    ),
    behindChart(
      "The numbers",
      true,
      table(
        columns(chosen.by),
        items.map((total) => costRow(total, nameOf(view, chosen, total.key))),
        1
      )
    )
  ]
}

const only = (view: View, chosen: CostChoice): Child =>
  (["agent", "model", "tool"] as const).flatMap((name) => {
    const value = chosen[name]
    if (value === undefined) return []
    const { [name]: _, ...others } = chosen
    return [
      element(
        "p",
        { class: "quiet" },
        `Only of the ${name} `,
        element("b", {}, value),
        ". ",
        element("a", { href: hrefOf(view, others, {}) }, "Of all")
      )
    ]
  })

const budgetRow = (view: View, budget: BudgetState): Html => {
  const { amount, ends_at, holder, left, reserved, scope, spent, unit } = budget
  return row(
    2,
    budget.budget,
    scope === "tenant" ? "tenant" : `${scope} ${holder}`,
    `${spent} of ${amount} ${unit}`,
    reserved,
    element("span", { class: `tag ${Number(left) > 0 ? "good" : "bad"}` }, left),
    ends_at !== undefined && moment(ends_at, view.now)
  )
}

const budgetPart = (view: View, budgets: ReadonlyArray<BudgetState>): Child => [
  element("h2", { class: "more" }, "Budgets"),
  budgets.length === 0
    ? element("p", { class: "quiet" }, "There are none, or nothing of them was used yet.")
    : table(
        ["Budget", "Whose", "Spent", "Reserved", "Left", "Whole again"],
        budgets.map((each) => budgetRow(view, each)),
        2
      )
]

/** What models cost, beside what budgets have left. */
export const costsPage = (view: View, costs: Costs): Html => {
  const { budgets, chosen, items, line, next_after } = costs
  const { by, days, show } = chosen
  const href = (more: Readonly<Record<string, string>>) => hrefOf(view, chosen, more)
  return page(
    view,
    { title: "Costs", current: "/costs" },
    choices("By", groups, by, (each) => href({ by: each })),
    choices(
      "Time",
      spans,
      days,
      (each) => href({ days: String(each) }),
      (each) => (each === 1 ? "a day" : `${each} days`)
    ),
    choices("Shown", measures, show, (each) => href({ show: each })),
    only(view, chosen),
    items.length === 0
      ? emptyList(
          "Nothing was counted in this time.",
          "Turns of models and what tools spend on them stand here."
        )
      : pictures(view, costs),
    nextPage(next_after === undefined ? undefined : href({ after: next_after })),
    downloads(
      href({}).replace("/costs?", "/costs.csv?"),
      href({}).replace("/costs?", "/costs.json?")
    ),
    apiPart(line),
    budgetPart(view, budgets)
  )
}
