/** What a policy says of past calls, by agent and tool: the one in force, or one that is tried. */
import type { OutputOf } from "../../src/operation/Operation.ts"
import type * as ToolOperations from "../../src/operation/ToolOperations.ts"
import type { Permission } from "../../src/tool/SideEffects.ts"
import { apiPart } from "./ApiLine.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import type { Rejected, View } from "./Shell.ts"
import { choices, emptyList, fact, form, page, rejectedNotice, table } from "./Shell.ts"
import { shortId } from "./Words.ts"

type Trial = OutputOf<typeof ToolOperations.tryPolicy>
type Counts = Trial["was"]

/** The times that the page offers, in days. */
export const coverage_days = [1, 7, 30, 365] as const

/** A trial, and what was tried. */
export interface Coverage {
  readonly trial: Trial
  readonly days: number
  /** The policy that was tried, as it was typed. Absent = the one in force. */
  readonly policy?: string
  /** What asks the API for it. */
  readonly line: string
}

const words = {
  allow: ["good", "ran"],
  ask: ["wait", "asked"],
  deny: ["bad", "denied"]
} as const satisfies Record<Permission, readonly [kind: string, word: string]>

const number = (count: number): string => count.toLocaleString("en")

const tag = (permission: Permission): Html => {
  const [kind, word] = words[permission]
  return element("span", { class: `tag ${kind}` }, word)
}

const cells = (was: Counts, now: Counts): ReadonlyArray<Child> =>
  (["allow", "ask", "deny"] as const).map((each) =>
    was[each] === now[each]
      ? number(now[each])
      : element("b", {}, `${number(was[each])} → ${number(now[each])}`)
  )

const row = (name: Child, numbers: ReadonlyArray<Child>): Html =>
  element(
    "tr",
    {},
    element("td", {}, name),
    numbers.map((each) => element("td", { class: "num" }, each))
  )

const sum = ({ allow, ask, deny }: Counts): number => allow + ask + deny

const summary = ({ policy, trial }: Coverage): Child => {
  const { calls, changed, now, runs, unknown } = trial
  const said = `${number(calls)} calls in ${number(runs)} runs: of these, ${number(now.ask)} ${policy === undefined ? "ask" : "would ask"} and ${number(now.deny)} ${policy === undefined ? "are denied" : "would be denied"}.`
  const more =
    changed === 0
      ? " That is what became of them."
      : ` Of ${number(changed)} something else became.`
  return [
    element("p", { class: changed === 0 ? "quiet" : "notice" }, said, more),
    unknown > 0 &&
      element(
        "p",
        { class: "quiet" },
        `${number(unknown)} more calls were of tools that there are no more.`
      )
  ]
}

const changesPart = ({ path }: View, { changed, changes }: Trial): Child =>
  changes.length > 0 && [
    element("h2", {}, "What it changes"),
    table(
      ["Call", "Agent", "Tool", "It", "It would have"],
      changes.map(({ agent, call, now, run_id, tool, was }) =>
        element(
          "tr",
          {},
          element(
            "td",
            {},
            element("a", { href: `${path}/runs/${run_id}` }, shortId(run_id)),
            ` ${call}`
          ),
          element("td", {}, agent),
          element("td", {}, tool),
          element("td", {}, tag(was)),
          element("td", {}, tag(now))
        )
      )
    ),
    changed > changes.length &&
      element("p", { class: "quiet" }, `and ${number(changed - changes.length)} more`)
  ]

const policyForm = (view: View, days: number, typed: string, isOpen: boolean): Html =>
  element(
    "details",
    { open: isOpen },
    element("summary", {}, "Try another policy"),
    form(
      view,
      `${view.path}/coverage`,
      {},
      element("input", { type: "hidden", name: "days", value: days }),
      element("label", { for: "policy" }, "The policy, as JSON, as options have it"),
      element(
        "textarea",
        {
          id: "policy",
          name: "policy",
          rows: 10,
          class: "json",
          spellcheck: "false",
          required: true
        },
        typed
      ),
      element("button", { class: "go" }, "Try it on these runs")
    )
  )

/** What was found, with the form for another policy. `inForce`: the text to begin with. */
export const coveragePage = (
  view: View,
  coverage: Coverage,
  inForce: string,
  rejected?: Rejected
): Html => {
  const { days, line, policy, trial } = coverage
  const { items, left_out, next_after, now, was } = trial
  return page(
    view,
    { title: policy === undefined ? "Coverage" : "A policy that is tried", current: "/coverage" },
    choices(
      "Time",
      coverage_days,
      days,
      (each) => `${view.path}/coverage?days=${each}`,
      (each) => (each === 1 ? "a day" : `${each} days`)
    ),
    rejectedNotice(rejected),
    policyForm(
      view,
      days,
      rejected?.typed["policy"] ?? policy ?? inForce,
      policy !== undefined || rejected !== undefined
    ),
    summary(coverage),
    items.length === 0
      ? emptyList(
          "No tool was called in this time.",
          "What agents call stands here, with what the policy says of it."
        )
      : [
          table(
            ["Agent and tool", "Calls", "Run", "Ask", "Denied"],
            [
              row("all", [number(sum(now)), ...cells(was, now)]),
              ...items.map((each) =>
                row(`${each.agent} › ${each.tool}`, [
                  number(sum(each.now)),
                  ...cells(each.was, each.now)
                ])
              )
            ],
            1
          ),
          element(
            "p",
            { class: "quiet small" },
            "Where two numbers stand: what became of the calls, and what the policy says of them today."
          )
        ],
    changesPart(view, trial),
    element(
      "dl",
      { class: "facts" },
      fact(
        "Left out",
        left_out.length === 0 ? undefined : `${number(left_out.length)} runs that cannot be read`
      )
    ),
    next_after !== undefined &&
      element(
        "p",
        { class: "quiet" },
        `These are the newest ${number(trial.runs)} runs; the API goes on behind them.`
      ),
    apiPart(line)
  )
}
