/** Runs as a list, and one run: how it stands, what happened when, and every event. */
import type { RunItem } from "../../src/run/RunItem.ts"
import type { RunSummary } from "../../src/operation/RunSummary.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import { cutText } from "../../src/value/CutText.ts"
import { stepKey } from "../../src/value/Ids.ts"
import { events_max } from "./KnownEvents.ts"
import { apiPart } from "./ApiLine.ts"
import { bulkLink } from "./BulkPages.ts"
import { callTable, reasonedCalls } from "./CallReasons.ts"
import { eventGist } from "./EventGist.ts"
import type { Following } from "./Following.ts"
import type { Child, Html, ShownJson } from "./Html.ts"
import { boundedJson, element } from "./Html.ts"
import { spansOf } from "./WorkSpans.ts"
import type { View } from "./Shell.ts"
import {
  downloads,
  emptyList,
  fact,
  form,
  isKnown,
  may,
  nextPage,
  page,
  table,
  tableBody,
  tableOf
} from "./Shell.ts"
import { waterfall } from "./Waterfall.ts"
import { clock, moment, shortId } from "./Words.ts"

/** A page of runs, how it was chosen, and where the next one begins. */
export interface Runs {
  readonly items: ReadonlyArray<RunItem>
  readonly next_after?: string
  readonly status?: string
  /** Absent = it is not the first page, which alone is followed. */
  readonly follows?: Following
  /** What asks the API for them. */
  readonly line: string
}

const kinds: Readonly<Record<string, string>> = {
  awaiting_approval: "wait",
  complete: "good",
  failed: "bad",
  cancelled: "bad"
}

const statusTag = (status: string) =>
  element("span", { class: `tag ${kinds[status] ?? ""}` }, status.replaceAll("_", " "))

/** The choices of the list, each a link. */
const statuses = ["", "processing", "awaiting_approval", "complete", "failed", "cancelled"] as const

const filters = ({ path }: View, chosen = "") =>
  element(
    "div",
    { class: "filters", role: "group", "aria-label": "Status" },
    statuses.map((status) =>
      element(
        "a",
        {
          href: `${path}/runs${status === "" ? "" : `?status=${status}`}`,
          "aria-current": status === chosen ? "true" : undefined
        },
        status === "" ? "all" : status.replaceAll("_", " ")
      )
    )
  )

const runRow = (
  view: View,
  { agent, by, created_at, handed_to, id, message, quarantined, reason, status }: RunItem
) =>
  element(
    "tr",
    { id: `run-${id}` },
    element("td", {}, element("a", { href: `${view.path}/runs/${id}` }, shortId(id))),
    element("td", {}, handed_to === undefined ? agent : `${agent} › ${handed_to}`),
    element(
      "td",
      {},
      quarantined === true ? statusTag("quarantined") : statusTag(status),
      reason !== undefined && ` ${reason}`
    ),
    element("td", { class: "wide" }, cutText(message, 120)),
    element("td", {}, by),
    element("td", { class: "num" }, moment(created_at, view.now))
  )

/** Runs, newest first. */
export const runsPage = (view: View, { follows, items, line, next_after, status }: Runs): Html => {
  const more = new URLSearchParams(next_after === undefined ? {} : { after: next_after })
  if (status !== undefined) more.set("status", status)
  const chosen = status === undefined ? "" : `?status=${status}`
  return page(
    view,
    { title: "Runs", current: "/runs", aside: bulkLink(view, "runs", "Cancel many …"), follows },
    filters(view, status),
    items.length === 0
      ? emptyList("There is no such run.", "A message to an agent begins one.")
      : table(
          ["Run", "Agent", "Status", "Message", "For", "Began"],
          items.map((each) => runRow(view, each))
        ),
    nextPage(next_after === undefined ? undefined : `${view.path}/runs?${more}`),
    downloads(`${view.path}/runs.csv${chosen}`, `${view.path}/runs.json${chosen}`),
    apiPart(line)
  )
}

const money = ({ cost }: RunSummary): string | undefined =>
  cost?.amount === undefined ? undefined : `${cost.amount} ${cost.currency ?? ""}`

const forkedFrom = ({ path }: View, { forked, id }: RunSummary): ReadonlyArray<Child> =>
  forked === undefined
    ? []
    : [
        fact(
          "Forked from",
          element("a", { href: `${path}/runs/${forked.run}` }, shortId(forked.run))
        ),
        fact("Beside it", element("a", { href: `${path}/runs/${id}/comparison` }, "Side by side"))
      ]

const facts = (view: View, run: RunSummary): Html => {
  return element(
    "dl",
    { class: "facts" },
    fact("Agent", run.agent),
    fact("For", run.via === undefined ? run.by : `${run.by} through ${run.via}`),
    fact(
      "Conversation",
      element(
        "a",
        { href: `${view.path}/conversations/${run.conversation}` },
        shortId(run.conversation)
      )
    ),
    ...forkedFrom(view, run),
    fact("Began", moment(run.created_at, view.now)),
    fact("Steps", run.steps),
    fact("Tokens", run.tokens.toLocaleString("en")),
    fact("Cost", money(run)),
    fact("Events", run.length),
    fact("Trace", shortId(run.trace_id)),
    fact("Why", run.reason)
  )
}

/** What a page has of one event, and of all, in UTF-16 units of JSON. */
const event_units_max = 20_000
const page_units_max = 1_000_000

/** A turn from which the run can be forked, by whoever may. */
const forkLink = (view: View, id: string, { event }: JournalEntry): Child =>
  event._tag === "ModelTurned" &&
  may(view, "fork") &&
  element(
    "a",
    { href: `${view.path}/runs/${id}/fork?step=${stepKey(event.frame, event.step)}` },
    "Fork from here"
  )

const eventRow = (view: View, id: string, entry: JournalEntry, { missing, text }: ShownJson) =>
  element(
    "tr",
    { id: `event-${entry.seq}` },
    element("td", { class: "num id" }, entry.seq),
    element("td", { class: "quiet" }, clock(entry.at)),
    element("td", {}, entry.event._tag),
    element(
      "td",
      { class: "wide" },
      element(
        "details",
        {},
        element("summary", {}, cutText(eventGist(entry) || "…", 160)),
        element("pre", { tabindex: 0 }, text),
        forkLink(view, id, entry),
        missing > 0 &&
          element(
            "p",
            { class: "quiet" },
            `${missing.toLocaleString("en")} more characters are in the API's list of the run's events.`
          )
      )
    )
  )

/** So many events have a body of their table. */
const body_events = 25

/** The bodies of the table of events, as many of them as a page has room for, and how many those are. */
const eventBodies = (view: View, id: string, entries: ReadonlyArray<JournalEntry>) => {
  const bodies: Array<Html> = []
  let units = 0
  let count = 0
  while (count < entries.length && units < page_units_max) {
    const number = Math.floor((entries[count]?.seq ?? 0) / body_events)
    const those = entries
      .slice(count, count + body_events)
      .filter(({ seq }) => seq < (number + 1) * body_events)
    const last = those.at(-1)?.seq
    const settled = last === (number + 1) * body_events - 1 ? last : undefined
    const rows: Array<Html> = []
    if (!isKnown(view, settled)) {
      for (const entry of those) {
        if (units >= page_units_max) break
        const shown = boundedJson(entry.event, event_units_max)
        units += shown.text.length
        rows.push(eventRow(view, id, entry, shown))
      }
    }
    const isWhole = isKnown(view, settled) || rows.length === those.length
    count += isWhole ? those.length : rows.length
    bodies.push(tableBody(view, `events-${number}`, isWhole ? settled : undefined, () => rows))
  }
  return { bodies, count }
}

/** Which events stand on the page, and the links to the others. */
const whichEvents = (
  view: View,
  { id, length }: RunSummary,
  shown: ReadonlyArray<JournalEntry>,
  isCut: boolean
): Child => {
  const [first, last] = [shown[0]?.seq ?? 0, shown.at(-1)?.seq ?? 0]
  const path = `${view.path}/runs/${id}`
  const before = Math.max(-1, first - events_max - 1)
  return (
    (isCut || first > 0) && [
      element("p", { class: "quiet" }, `Events ${first} to ${last} of ${length}.`),
      before > -1 && element("p", {}, element("a", { href: `${path}?after=-1` }, "The first ones")),
      first > 0 &&
        element(
          "p",
          {},
          element("a", { href: `${path}?after=${before}`, rel: "prev" }, "The ones before")
        ),
      nextPage(isCut ? `${path}?after=${last}` : undefined, "The next ones")
    ]
  )
}

/** The events of the page with all that they have, as a file. */
const download = ({ path }: View, { id }: RunSummary, entries: ReadonlyArray<JournalEntry>) => {
  const first = entries[0]?.seq ?? 0
  const after = first === 0 ? "" : `?after=${first - 1}`
  return element(
    "p",
    { class: "more" },
    element(
      "a",
      { href: `${path}/runs/${id}/events.json${after}`, download: true },
      "Download these events as JSON"
    )
  )
}

const waiting = (view: View, { pending_approvals }: RunSummary): Child =>
  pending_approvals.map(({ payload }) =>
    element(
      "p",
      { class: "notice" },
      "Waits for a person: ",
      element(
        "a",
        { href: `${view.path}/inbox/${payload.correlation_id}` },
        payload.effect_description
      )
    )
  )

export const isOver = ({ status }: RunSummary): boolean =>
  status === "complete" || status === "failed" || status === "cancelled"

const cancel = (view: View, run: RunSummary): Child =>
  !isOver(run) &&
  may(view, "cancel") &&
  element(
    "details",
    { class: "right" },
    element("summary", { class: "no" }, "Cancel …"),
    form(
      view,
      `${view.path}/runs/${run.id}/cancel`,
      {},
      element("label", { for: "reason" }, "Why?"),
      element("input", { id: "reason", name: "reason", required: true, maxlength: 4_000 }),
      element("button", { class: "no" }, "Cancel the run")
    )
  )

/** A fork is not forked again, but the run that it was forked from. */
const forkButton = (view: View, { forked, id }: RunSummary): Child =>
  may(view, "fork") &&
  forked === undefined &&
  element("a", { class: "right", href: `${view.path}/runs/${id}/fork` }, "Fork …")

/** The page with the newest events follows its run as long as that goes on. */
const followingOf = (
  view: View,
  run: RunSummary,
  shown: ReadonlyArray<JournalEntry>,
  isCut: boolean
) => {
  if (isCut || isOver(run) || !may(view, "follow")) return undefined
  const [first, last] = [shown[0]?.seq ?? 0, shown.at(-1)?.seq ?? -1]
  return {
    page: `${view.path}/runs/${run.id}${first === 0 ? "" : `?after=${first - 1}`}`,
    news: `${view.path}/live?run=${run.id}&from=${first - 1}&after=${last}`,
    hasContent: true
  }
}

/** The most spans of a run that goes on: its page draws them again with each of its events. */
const live_spans_max = 40

/** The page of one run, and the last event that it shows. `entries`: some of its events; `isCut`: there are more behind them. */
export const runPage = (
  view: View,
  run: RunSummary,
  entries: ReadonlyArray<JournalEntry>,
  isCut: boolean
): readonly [page: Html, last: number] => {
  const { bodies, count } = eventBodies(view, run.id, entries)
  const shown = entries.slice(0, count)
  const follows = followingOf(view, run, shown, isCut)
  const whole = page(
    view,
    {
      title: cutText(run.message, 80) || "Run",
      current: "/runs",
      follows,
      aside: [statusTag(run.status), shortId(run.id), forkButton(view, run), cancel(view, run)]
    },
    waiting(view, run),
    facts(view, run),
    element(
      "div",
      { class: "panel" },
      element(
        "section",
        {},
        element("h2", {}, "What happened when"),
        waterfall(spansOf(shown), follows && live_spans_max)
      ),
      callTable(view, reasonedCalls(shown)),
      element(
        "section",
        { class: "scroll" },
        element("h2", {}, "Every event"),
        tableOf(["Seq", "At (UTC)", "Event", "What"], bodies),
        whichEvents(view, run, shown, isCut || count < entries.length),
        download(view, run, entries)
      )
    )
  )
  return [whole, shown.at(-1)?.seq ?? -1]
}
