/** Calls whose outcome nobody knows: the list, and those of one run, which who may settles one by one. */
import type { RunSummary } from "../../src/operation/RunSummary.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import type { UnknownCall } from "../../src/run/UnknownCall.ts"
import { causalChain } from "./CausalChain.ts"
import { bulkLink } from "./BulkPages.ts"
import type { Following } from "./Following.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import { argumentsOf } from "./QuestionPages.ts"
import type { Rejected, View } from "./Shell.ts"
import { emptyList, fact, form, may, page, rejectedNotice, typedText } from "./Shell.ts"
import { opening, wordedForm } from "./WordedForm.ts"
import { moment, shortId } from "./Words.ts"

type Calls = ReadonlyArray<UnknownCall>

const nameOf = ({ call, tool }: Pick<UnknownCall, "call" | "tool">) =>
  tool === "" ? `call ${call}` : tool

const listed = (view: View, each: UnknownCall, open?: string) =>
  element(
    "a",
    {
      id: `call-${each.run_id}-${each.call}`,
      href: `${view.path}/unknown/${each.run_id}`,
      "aria-current": each.run_id === open ? "true" : undefined
    },
    element(
      "div",
      { class: "top" },
      element("b", {}, nameOf(each)),
      element("span", { class: "small quiet" }, moment(each.since, view.now))
    ),
    element("p", {}, "run ", shortId(each.run_id), `, call ${each.call}`),
    element("span", { class: "tag" }, each.agent)
  )

const list = (view: View, calls: Calls, open?: string) =>
  calls.length > 0 &&
  element(
    "section",
    { class: "list", "aria-label": "Unknown outcomes" },
    calls.map((each) => listed(view, each, open))
  )

const title = "Unknown outcomes"

const heading = (view: View, { length }: Calls) => ({
  title,
  current: "/unknown" as const,
  aside: [
    element(
      "span",
      { class: "quiet" },
      length === 0
        ? "nothing waits"
        : `${length} ${length === 1 ? "call waits" : "calls wait"}, the oldest first`
    ),
    length > 1 && bulkLink(view, "calls", "Settle many …")
  ]
})

/** All of them, with none open. */
export const unknownPage = (view: View, calls: Calls, follows: Following): Html =>
  page(
    view,
    { ...heading(view, calls), follows },
    calls.length === 0
      ? emptyList(
          "Every call has an outcome.",
          "A call that may have changed something, and whose end nobody saw, would wait here until an operator says what became of it."
        )
      : list(view, calls)
  )

/** What whoever looks may say of the call. */
const answers = (view: View, run: string, call: string, rejected?: Rejected): Child => {
  if (!may(view, "settle")) {
    return element("p", { class: "quiet" }, "You may not settle this one: an operator does.")
  }
  const action = `${view.path}/unknown/${run}`
  const tried = rejected?.typed["call"] === call ? rejected : undefined
  const more = { call }
  return [
    wordedForm(
      view,
      action,
      {
        decision: "succeeded",
        name: "result",
        more,
        opens: "It succeeded …",
        label: "Its result, as JSON. The agent reads it as if the tool had answered.",
        json: ""
      },
      tried
    ),
    wordedForm(
      view,
      action,
      {
        decision: "failed",
        name: "message",
        more,
        opens: "It failed …",
        label: "What went wrong, where nothing was changed. The agent reads it."
      },
      tried
    ),
    opening(
      "Run it again …",
      { isGrave: true },
      form(
        view,
        action,
        {},
        element(
          "p",
          { class: "notice" },
          "This may do it twice: if the first attempt did happen, the second one comes on top of it."
        ),
        element("input", { type: "hidden", name: "call", value: call }),
        element("button", { class: "no", name: "decision", value: "run_again" }, "Run it again")
      )
    )
  ]
}

const callArticle = (
  view: View,
  run: RunSummary,
  { arguments: args, call, tool }: RunSummary["unknown_calls"][number],
  known: { readonly calls: Calls; readonly entries: ReadonlyArray<JournalEntry> },
  rejected?: Rejected
): Html => {
  const item = known.calls.find((each) => each.run_id === run.id && each.call === call)
  const agent = item?.agent ?? run.agent
  return element(
    "article",
    { class: "panel", "aria-label": `${tool}, call ${call}` },
    element(
      "section",
      {},
      element(
        "div",
        { class: "top" },
        element("h2", {}, nameOf({ call, tool })),
        item !== undefined &&
          element("span", { class: "tag wait" }, "became unknown ", moment(item.since, view.now))
      ),
      element(
        "p",
        { class: "quiet" },
        "It was sent, and nobody saw its end: it may have happened or not. The run waits. Look in the other system, and say what became of it."
      )
    ),
    element(
      "section",
      {},
      element("h3", {}, "Why it ran"),
      causalChain(known.entries, { agent, call, tool })
    ),
    element("section", {}, element("h3", {}, "Exactly what was sent"), argumentsOf(args)),
    element("div", { class: "actions" }, answers(view, run.id, call, rejected))
  )
}

/** The unknown calls of one run, beside the list. `entries`: its events, for why each ran. */
export const unknownOfRunPage = (
  view: View,
  calls: Calls,
  run: RunSummary,
  entries: ReadonlyArray<JournalEntry>,
  rejected?: Rejected
): Html => {
  const isLeft = run.unknown_calls.some(({ call }) => call === rejected?.typed["call"])
  return page(
    view,
    heading(view, calls),
    element(
      "div",
      { class: calls.length > 0 ? "split" : undefined },
      list(view, calls, run.id),
      element(
        "div",
        { class: "stack" },
        element(
          "dl",
          { class: "facts" },
          fact("Run", element("a", { href: `${view.path}/runs/${run.id}` }, shortId(run.id))),
          fact("Agent", run.agent),
          fact("For", run.by)
        ),
        rejectedNotice(rejected),
        !isLeft && typedText(rejected?.typed["result"] ?? rejected?.typed["message"]),
        run.unknown_calls.length === 0 &&
          emptyList(
            "No call of this run is unknown any more.",
            "Its page shows what became of each, and who said so."
          ),
        run.unknown_calls.map((each) => callArticle(view, run, each, { calls, entries }, rejected))
      )
    )
  )
}
