/** What agents there are and what they do now, what they cost beside their budgets, and the switch that stops their tools. */
import type { BudgetState } from "../../src/cost/Budget.ts"
import type { CostGroup, CostTotal } from "../../src/cost/TurnCost.ts"
import type * as AgentOperations from "../../src/operation/AgentOperations.ts"
import type { OutputOf } from "../../src/operation/Operation.ts"
import { cutText } from "../../src/value/CutText.ts"
import { apiPart } from "./ApiLine.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import type { View } from "./Shell.ts"
import { choices, emptyList, fact, form, may, nextPage, page, table } from "./Shell.ts"
import { moment, shortId } from "./Words.ts"

type Agent = OutputOf<typeof AgentOperations.list>["items"][number]

/** The most actors of an agent that are named; of the others there is a count. */
const actors_max = 50

const rowOf = (cells: ReadonlyArray<Child>): Html =>
  element(
    "tr",
    {},
    cells.map((cell) => element("td", {}, cell))
  )

const actorRow = (view: View, { key, restarts, run_id, state }: Agent["actors"][number]) => [
  shortId(key),
  state,
  run_id !== undefined && element("a", { href: `${view.path}/runs/${run_id}` }, shortId(run_id)),
  restarts
]

const agentPart = (
  view: View,
  { actors, description, kind, model, name, specialists, tools }: Agent
) =>
  element(
    "section",
    { class: "group" },
    element("h2", {}, name, " ", kind !== undefined && element("span", { class: "tag" }, kind)),
    element("p", { class: "quiet" }, cutText(description, 400)),
    element(
      "dl",
      { class: "facts" },
      model !== undefined && fact("Model", model),
      tools.length > 0 && fact("Tools", tools.map((tool) => tool.name).join(", ")),
      specialists.length > 0 && fact("Specialists", specialists.join(", "))
    ),
    actors.length === 0
      ? element("p", { class: "quiet" }, "No conversation of it is in this process.")
      : [
          table(
            ["Conversation", "State", "Run", "Restarts"],
            actors.slice(0, actors_max).map((each) => rowOf(actorRow(view, each)))
          ),
          actors.length > actors_max &&
            element("p", { class: "quiet small" }, `and ${actors.length - actors_max} more`)
        ]
  )

/** The agents of the process that answers, with what they hold there. */
export const agentsPage = (view: View, agents: ReadonlyArray<Agent>): Html =>
  page(
    view,
    { title: "Agents", current: "/agents" },
    agents.map((agent) => agentPart(view, agent))
  )

/** The groups of costs. */
export const groups = [
  "agent",
  "model",
  "tool",
  "run",
  "trace"
] as const satisfies ReadonlyArray<CostGroup>

/** Costs of a time, by one group. */
export interface Costs {
  readonly by: (typeof groups)[number]
  readonly days: number
  readonly items: ReadonlyArray<CostTotal>
  readonly next_after?: string
  readonly budgets: ReadonlyArray<BudgetState>
  /** What asks the API for the costs. */
  readonly line: string
}

/** The times that the page offers, in days. */
export const spans = [1, 7, 30, 365] as const

const count = (number: number) => number.toLocaleString("en")

const costRow = (view: View, by: Costs["by"], total: CostTotal) => {
  const { amounts, input_tokens, key, output_tokens, turns, unpriced_turns } = total
  return [
    by === "run" ? element("a", { href: `${view.path}/runs/${key}` }, shortId(key)) : key,
    amounts.length === 0
      ? "no price"
      : amounts.map(({ amount, currency }) => `${amount} ${currency}`).join(", "),
    unpriced_turns === 0
      ? count(turns)
      : `${count(turns)} (${count(unpriced_turns)} without a price)`,
    count(input_tokens),
    count(output_tokens)
  ]
}

const budgetRow = (view: View, budget: BudgetState) => {
  const { amount, ends_at, holder, left, reserved, scope, spent, unit } = budget
  return [
    budget.budget,
    scope === "tenant" ? "tenant" : `${scope} ${holder}`,
    `${spent} of ${amount} ${unit}`,
    reserved,
    element("span", { class: `tag ${Number(left) > 0 ? "good" : "bad"}` }, left),
    ends_at !== undefined && moment(ends_at, view.now)
  ]
}

/** What models cost, beside what budgets have left. */
export const costsPage = (
  view: View,
  { budgets, by, days, items, line, next_after }: Costs
): Html => {
  const href = (more: Readonly<Record<string, string>>) =>
    `${view.path}/costs?${new URLSearchParams({ by, days: String(days), ...more })}`
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
    items.length === 0
      ? emptyList(
          "Nothing was counted in this time.",
          "Turns of models and what tools spend on them stand here."
        )
      : table(
          [by, "Cost", "Turns", "Input tokens", "Output tokens"],
          items.map((each) => rowOf(costRow(view, by, each)))
        ),
    nextPage(next_after === undefined ? undefined : href({ after: next_after })),
    apiPart(line),
    element("h2", { class: "more" }, "Budgets"),
    budgets.length === 0
      ? element("p", { class: "quiet" }, "There are none, or nothing of them was used yet.")
      : table(
          ["Budget", "Whose", "Spent", "Reserved", "Left", "Whole again"],
          budgets.map((each) => rowOf(budgetRow(view, each)))
        )
  )
}

/** The switch that stops every tool of the tenant. */
export const switchPage = (view: View, isStopped: boolean): Html =>
  page(
    view,
    { title: "Kill switch", current: "/kill-switch" },
    element(
      "div",
      { class: "panel" },
      element(
        "section",
        {},
        element(
          "p",
          {},
          element(
            "span",
            { class: `tag ${isStopped ? "bad" : "good"}` },
            isStopped ? "stopped" : "running"
          ),
          isStopped
            ? " No tool of this tenant runs. Runs go on without them, and are told so."
            : " Tools of this tenant run as the gate lets them."
        )
      ),
      may(view, "stopTools") &&
        element(
          "section",
          {},
          element(
            "p",
            { class: "quiet" },
            isStopped
              ? "Calls that begin from then on run again. Calls that were refused meanwhile are not made up for."
              : "It holds for every call that has not begun: at once here, within about two seconds in other processes, and after restarts. Other tenants are not touched."
          ),
          form(
            view,
            `${view.path}/kill-switch`,
            {},
            element(
              "button",
              { name: "on", value: isStopped ? "false" : "true", class: isStopped ? "go" : "no" },
              isStopped ? "Let tools run again" : "Stop all tools"
            )
          )
        )
    )
  )
