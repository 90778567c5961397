/** A fork of a run: the form that makes one, and the fork beside the run that it was forked from. */
import type * as RunOperations from "../../src/operation/RunOperations.ts"
import type { OutputOf } from "../../src/operation/Operation.ts"
import type { RunSummary } from "../../src/operation/RunSummary.ts"
import type { ComparedDeed } from "../../src/replay/ComparedDeeds.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import { stepKey } from "../../src/value/Ids.ts"
import { cutText } from "../../src/value/CutText.ts"
import type { KnownEvents } from "./KnownEvents.ts"
import { eventAddress } from "./KnownEvents.ts"
import { apiPart } from "./ApiLine.ts"
import { eventGist } from "./EventGist.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import { isOver } from "./RunPages.ts"
import type { Rejected, View } from "./Shell.ts"
import { emptyList, fact, form, page, rejectedNotice, table } from "./Shell.ts"
import { shortId } from "./Words.ts"

/** The turns of these events, by their places, with what each said. */
const turnsOf = (entries: ReadonlyArray<JournalEntry>) =>
  entries.flatMap((entry) =>
    entry.event._tag === "ModelTurned"
      ? [{ step: stepKey(entry.event.frame, entry.event.step), says: eventGist(entry) }]
      : []
  )

const runLink = ({ path }: View, id: string) =>
  element("a", { href: `${path}/runs/${id}` }, shortId(id))

const field = (name: string, label: string, input: Html, hint?: string) => [
  element("label", { for: name }, label),
  hint !== undefined && element("span", { class: "quiet small", id: `${name}-hint` }, hint),
  input
]

/** From which turn a fork goes on; `other` = what was typed and is none that is listed. */
const stepField = (entries: ReadonlyArray<JournalEntry>, chosen: string) => {
  const turns = turnsOf(entries)
  const listed = turns.some(({ step }) => step === chosen)
    ? turns
    : [{ step: chosen, says: "" }, ...turns]
  return field(
    "step",
    "From this turn",
    element(
      "select",
      { id: "step", name: "step", "aria-describedby": "step-hint" },
      listed.map(({ says, step }) =>
        element(
          "option",
          { value: step, selected: step === chosen },
          says === "" ? step : `${step}: ${cutText(says, 100)}`
        )
      )
    ),
    "The turns before it are given as they were; it and those behind it are taken anew."
  )
}

const jsonField = (name: string, label: string, text: string, hint: string) =>
  field(
    name,
    label,
    element(
      "textarea",
      {
        id: name,
        name,
        rows: 6,
        class: "json",
        spellcheck: "false",
        "aria-describedby": `${name}-hint`
      },
      text
    ),
    hint
  )

/** What a fork of the run changes. `key`: the fork is made once, however often the form is sent. */
export const forkPage = (
  view: View,
  run: RunSummary,
  entries: ReadonlyArray<JournalEntry>,
  { key, step }: { readonly key: string; readonly step: string },
  rejected?: Rejected
): Html => {
  const typed = (name: string, otherwise = "") => rejected?.typed[name] ?? otherwise
  return page(
    view,
    { title: "Fork a run", current: "/runs" },
    element(
      "dl",
      { class: "facts" },
      fact("Run", runLink(view, run.id)),
      fact("Agent", run.agent),
      fact("For", run.by)
    ),
    element(
      "p",
      { class: "notice" },
      "A fork is a new run that changes nothing: its calls get the results that calls with the same arguments had in this run. A read that this run did not make is made, for its sender; every other call is refused, and nobody is asked. Its models cost what they cost."
    ),
    rejectedNotice(rejected),
    element(
      "div",
      { class: "panel" },
      element(
        "section",
        {},
        form(
          view,
          `${view.path}/runs/${run.id}/fork`,
          { class: "stack" },
          element("input", { type: "hidden", name: "idempotency_key", value: key }),
          stepField(entries, typed("step", step)),
          field(
            "message",
            "Message",
            element(
              "textarea",
              { id: "message", name: "message", rows: 3, "aria-describedby": "message-hint" },
              typed("message", run.message)
            ),
            "Another message goes with the first turn alone."
          ),
          field(
            "model",
            "Model",
            element("input", {
              id: "model",
              name: "model",
              value: typed("model"),
              maxlength: 200,
              "aria-describedby": "model-hint"
            }),
            "A name that an agent may have. Nothing = that of each agent."
          ),
          jsonField(
            "policy",
            "Policy",
            typed("policy"),
            "JSON, as the page Policy shows it. Nothing = the one in force."
          ),
          element("div", {}, element("button", { class: "go" }, "Fork the run"))
        )
      )
    )
  )
}

/** A run beside another one, with their events. */
export interface Comparison {
  readonly run: RunSummary
  readonly compared: OutputOf<typeof RunOperations.comparison>
  readonly before: KnownEvents
  readonly after: KnownEvents
  /** What asks the API for it. */
  readonly line: string
}

const words: Readonly<Record<ComparedDeed["how"], readonly [kind: string, word: string]>> = {
  same: ["good", "the same"],
  differs: ["wait", "differs"],
  only_before: ["", "not done"],
  only_after: ["wait", "new"]
}

/** The words of the event of a deed, which lead to it. */
const cell = (view: View, run: string, events: KnownEvents, seq: number | undefined): Child => {
  if (seq === undefined) return "–"
  const entry = events.entries.find((each) => each.seq === seq)
  const gist = entry === undefined ? "" : eventGist(entry)
  return element(
    "a",
    { href: eventAddress(`${view.path}/runs/${run}`, seq, events) },
    cutText(gist || `event ${seq}`, 240)
  )
}

/** The first deed that is not the same; one that the fork may still do does not count. */
const firstOther = ({ compared: { items }, run }: Comparison): number =>
  items.findIndex(({ how }) => how !== "same" && (how !== "only_before" || isOver(run)))

const verdict = (comparison: Comparison, first: number): Child => {
  const { items } = comparison.compared
  const deed = items[first]?.deed
  if (deed === undefined) {
    return isOver(comparison.run)
      ? "The two did the same."
      : "The two have done the same so far, and this one goes on."
  }
  return `The first difference: ${deed}.`
}

const changes = ({ run: { forked } }: Comparison): Child => {
  if (forked === undefined) return undefined
  const all = [
    forked.edited === true && "another message",
    forked.model !== undefined && `model ${forked.model}`,
    forked.policy !== undefined && "another policy"
  ].filter((each) => each !== false)
  return [
    fact("Forked from turn", forked.step),
    fact("With", all.length === 0 ? "nothing changed" : all.join(", "))
  ]
}

const deedRow = (
  view: View,
  comparison: Comparison,
  { after_seq, before_seq, deed, how }: ComparedDeed,
  isFirst: boolean
): Html => {
  const { compared, run } = comparison
  const [kind, word] = how === "only_before" && !isOver(run) ? ["", "not yet"] : words[how]
  return element(
    "tr",
    { id: isFirst ? "first" : undefined },
    element("td", {}, deed),
    element(
      "td",
      {},
      element("span", { class: `tag ${kind}` }, word),
      isFirst && element("span", { class: "tag wait" }, "first difference")
    ),
    element("td", { class: "wide" }, cell(view, compared.of, comparison.before, before_seq)),
    element("td", { class: "wide" }, cell(view, run.id, comparison.after, after_seq))
  )
}

/** The page follows the fork as long as it goes on. */
const followingOf = (view: View, { after, run }: Comparison) =>
  isOver(run)
    ? undefined
    : {
        page: `${view.path}/runs/${run.id}/comparison`,
        news: `${view.path}/live?run=${run.id}&after=${after.entries.at(-1)?.seq ?? -1}`
      }

/** What the two did, in order. */
export const comparisonPage = (view: View, comparison: Comparison): Html => {
  const { compared, line, run } = comparison
  const first = firstOther(comparison)
  return page(
    view,
    {
      title: "Side by side",
      current: "/runs",
      follows: followingOf(view, comparison),
      aside: element("span", { class: "tag" }, run.status.replaceAll("_", " "))
    },
    element(
      "dl",
      { class: "facts" },
      fact("Before", runLink(view, compared.of)),
      fact("This run", runLink(view, run.id)),
      changes(comparison)
    ),
    element("p", { class: "notice" }, verdict(comparison, first)),
    first >= 0 && element("p", {}, element("a", { href: "#first" }, "Show it")),
    compared.items.length === 0
      ? emptyList("Neither has done anything yet.", "What they do stands here, in order.")
      : table(
          ["What", "Is", "Before", "This run"],
          compared.items.map((deed, at) => deedRow(view, comparison, deed, at === first))
        ),
    compared.is_cut &&
      element("p", { class: "quiet" }, "There is more than a page has: the events have all of it."),
    apiPart(line)
  )
}
