/**
 * One act on all that match a filter: the filter with its count, and then step by step how far it is. Every step is a form, which
 * carries all that the next one needs, with what became of each item so far: the service keeps nothing of it, and may restart between
 * two steps. With scripts the form sends itself until somebody stops it.
 */
import type { Outcome } from "../../src/operation/BulkOperations.ts"
import { bulk_max } from "../../src/operation/Page.ts"
import type { RightName } from "../../src/principal/Rights.ts"
import { apiPart } from "./ApiLine.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import type { PagePath, View } from "./Shell.ts"
import { emptyList, form, may, page, table } from "./Shell.ts"
import { clock } from "./Words.ts"

/** What may be done with all that match. */
export interface Act {
  readonly button: string
  /** What was done with so many. */
  readonly done: string
  /** The text that it needs. Absent = none. */
  readonly label?: string
  /** The text is JSON. */
  readonly isJson?: boolean
  readonly notice?: string
  /** True = it takes something away, or may do it twice. */
  readonly isGrave?: boolean
}

/** A list of which all that match are acted on. */
export interface Kind {
  readonly title: string
  readonly current: PagePath
  readonly one: string
  readonly many: string
  /** What nothing that matches would be. */
  readonly none: string
  readonly right: RightName
  /** The filters that are texts, by their names in the API, with their labels. */
  readonly filters: Readonly<Record<string, string>>
  /** The filters that are choices. */
  readonly choices: Readonly<Record<string, readonly [label: string, ...values: Array<string>]>>
  /** Which filter of the API has the age. */
  readonly before: string
  readonly acts: Readonly<Record<string, Act>>
}

export const kinds = {
  runs: {
    title: "Cancel runs",
    current: "/runs",
    one: "run",
    many: "runs",
    none: "No run that is not over fits this filter.",
    right: "cancel",
    filters: { agent: "Agent" },
    choices: {
      status: ["Status", "pending", "processing", "awaiting_approval"],
      waiting: ["Waits for", "approval", "unknown"]
    },
    before: "created_to",
    acts: {
      cancel: {
        button: "Cancel",
        done: "cancelled",
        label: "Why? It stands in the record of each. Questions that they ask are closed.",
        isGrave: true
      }
    }
  },
  letters: {
    title: "Send again or give up",
    current: "/dead-letters",
    one: "dead letter",
    many: "dead letters",
    none: "No dead letter that waits fits this filter.",
    right: "redeliver",
    filters: { handler_name: "Topic", key: "Key", error: "Last error begins with" },
    choices: {},
    before: "dead_to",
    acts: {
      replay: {
        button: "Send again",
        done: "sent again",
        label:
          "Why now? Each goes to the end of the queue of its key under the same id, by which its receiver knows it again."
      },
      discard: {
        button: "Give up",
        done: "given up",
        label: "Why? They are never sent again.",
        isGrave: true
      }
    }
  },
  calls: {
    title: "Settle unknown outcomes",
    current: "/unknown",
    one: "call",
    many: "calls",
    none: "No call whose outcome is unknown fits this filter.",
    right: "settle",
    filters: { tool: "Tool", agent: "Agent" },
    choices: {},
    before: "since_to",
    acts: {
      succeeded: {
        button: "All succeeded",
        done: "settled as succeeded",
        label: "The result of each, as JSON. Its agent reads it as if the tool had answered.",
        isJson: true
      },
      failed: {
        button: "All failed",
        done: "settled as failed",
        label: "What went wrong, where nothing was changed. The agent of each reads it."
      },
      run_again: {
        button: "Run all again",
        done: "to run again",
        notice:
          "This may do each of them twice: where the first attempt did happen, the second one comes on top of it.",
        isGrave: true
      }
    }
  }
} as const satisfies Readonly<Record<string, Kind>>

export type KindName = keyof typeof kinds

/** The ages of a filter, in ms; empty = any. */
export const ages = {
  "": 0,
  "1h": 3_600_000,
  "1d": 86_400_000,
  "7d": 604_800_000,
  "30d": 2_592_000_000
} as const

/** What a form sends along. */
type Fields = Readonly<Record<string, string>>

/** What became of one item: `id` says of which one. */
export interface Row {
  readonly id: string
  readonly outcome: Outcome
  readonly detail: string
}

const hidden = (fields: Fields): Child =>
  Object.entries(fields).map(([name, value]) => element("input", { type: "hidden", name, value }))

const counted = (count: number, { many, one }: Kind): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`

const select = (name: string, label: string, values: ReadonlyArray<string>, chosen = "") =>
  element(
    "label",
    {},
    label,
    element(
      "select",
      { name },
      values.map((value) =>
        element(
          "option",
          { value, selected: value === chosen },
          value === "" ? "any" : value.replaceAll("_", " ")
        )
      )
    )
  )

const filterForm = (view: View, name: KindName, given: Fields): Html => {
  const kind: Kind = kinds[name]
  return element(
    "form",
    { method: "get", action: `${view.path}/bulk/${name}`, class: "fields", role: "search" },
    Object.entries(kind.filters).map(([field, label]) =>
      element(
        "label",
        {},
        label,
        element("input", { name: field, value: given[field] ?? "", maxlength: 200 })
      )
    ),
    Object.entries(kind.choices).map(([field, [label, ...values]]) =>
      select(field, label, ["", ...values], given[field])
    ),
    select("older", "Older than", Object.keys(ages), given["older"]),
    element("button", {}, "Count")
  )
}

const actForm = (view: View, name: KindName, act: string, carried: Fields, count: number): Html => {
  const kind: Kind = kinds[name]
  const { button, isGrave, isJson, label, notice } = kind.acts[act] as Act
  const field = `text-${act}`
  return element(
    "details",
    {},
    element("summary", { class: isGrave === true ? "no" : undefined }, `${button} …`),
    form(
      view,
      `${view.path}/bulk/${name}`,
      {},
      hidden({ ...carried, act }),
      notice !== undefined && element("p", { class: "notice" }, notice),
      label !== undefined && [
        element("label", { for: field }, label),
        element("textarea", {
          id: field,
          name: "text",
          required: true,
          rows: 3,
          maxlength: isJson === true ? undefined : 4_000,
          class: isJson === true ? "json" : undefined
        })
      ],
      element(
        "button",
        { class: isGrave === true ? "no" : "go" },
        `${button}: ${counted(count, kind)}`
      )
    )
  )
}

/** What matches, and what may be done with it. `carried`: what each step sends. */
export const bulkPage = (
  view: View,
  name: KindName,
  {
    carried,
    count,
    given,
    isCut,
    line
  }: {
    readonly carried: Fields
    readonly count: number
    readonly given: Fields
    readonly isCut: boolean
    readonly line: string
  }
): Html => {
  const kind: Kind = kinds[name]
  const { acts, current, none, right, title } = kind
  return page(
    view,
    { title, current },
    filterForm(view, name, given),
    count === 0
      ? emptyList(none, "Another filter may; nothing was changed.")
      : element(
          "article",
          { class: "panel", "aria-label": title },
          element(
            "section",
            {},
            element(
              "h2",
              {},
              isCut
                ? `More than ${counted(count, kind)} match`
                : `${counted(count, kind)} ${count === 1 ? "matches" : "match"}`
            ),
            element(
              "p",
              { class: "quiet" },
              "Counted at ",
              clock(view.now),
              " UTC. What matches only since then is left alone.",
              isCut && ` At most ${bulk_max.toLocaleString("en")} are done at once.`
            )
          ),
          element(
            "div",
            { class: "actions" },
            may(view, right)
              ? Object.keys(acts).map((act) => actForm(view, name, act, carried, count))
              : element("p", { class: "quiet" }, "You may not do this: an operator does.")
          )
        ),
    apiPart(line)
  )
}

/** The way from the list of a kind to its bulk, for whoever may. */
export const bulkLink = (view: View, name: KindName, words: string): Child =>
  may(view, kinds[name].right) &&
  element("a", { class: "right", href: `${view.path}/bulk/${name}` }, words)

/** How far it is. */
export interface Progress {
  readonly act: string
  readonly rows: ReadonlyArray<Row>
  readonly count: number
  /** What the next step sends. Absent = nothing is left. */
  readonly next?: Fields | undefined
  /** The rows, as the file is made of them. */
  readonly result: string
}

/** The rows that a page shows of what was not done. */
const undone_max = 50

const undone = (rows: ReadonlyArray<Row>): Child => {
  const left = rows.filter(({ outcome }) => outcome !== "done")
  return (
    left.length > 0 && [
      element("h2", {}, "Not done"),
      left.length > undone_max &&
        element("p", { class: "quiet" }, `The last ${undone_max} of them; the file has all.`),
      table(
        ["Of", "Outcome", "Why"],
        left
          .slice(-undone_max)
          .map(({ detail, id, outcome }) =>
            element(
              "tr",
              {},
              element("td", { class: "id" }, id),
              element(
                "td",
                {},
                element("span", { class: `tag ${outcome === "failed" ? "bad" : ""}` }, outcome)
              ),
              element("td", { class: "wide" }, detail)
            )
          )
      )
    ]
  )
}

const sums = (rows: ReadonlyArray<Row>, { done }: Act): string => {
  const of = (wanted: Outcome) =>
    rows.filter(({ outcome }) => outcome === wanted).length.toLocaleString("en")
  return `${of("done")} ${done}, ${of("skipped")} skipped because somebody was faster, ${of("failed")} failed.`
}

/** The attributes by which the form sends itself, and the page changes in place. */
const sendsItself = (action: string, nonce: string) => ({
  id: "go-on",
  "hx-post": action,
  "hx-trigger": "go-on",
  "hx-select": "#content",
  "hx-target": "#content",
  "hx-swap": "outerMorph",
  "hx-sync": "this:drop",
  "hx-nonce": nonce
})

/** How far it is after a step. */
export const progressPage = (
  view: View,
  name: KindName,
  { act, count, next, result, rows }: Progress
): Html => {
  const kind: Kind = kinds[name]
  const { current, many, title } = kind
  const action = `${view.path}/bulk/${name}`
  const [seen, all] = [rows.length.toLocaleString("en"), count.toLocaleString("en")]
  const isOver = next === undefined
  return page(
    view,
    { title, current, sendsForms: true },
    element(
      "article",
      { class: "panel", "aria-label": title },
      element(
        "section",
        {},
        element("h2", { id: "far" }, `${seen} of ${all} ${many}`, isOver && ": over"),
        element("progress", {
          value: isOver ? Math.max(count, 1) : rows.length,
          max: Math.max(count, rows.length, 1),
          "aria-labelledby": "far"
        }),
        element("p", { role: "status" }, sums(rows, kind.acts[act] as Act)),
        isOver &&
          rows.length < count &&
          element(
            "p",
            { class: "quiet" },
            "The others matched no more when their turn came: others changed them, or they were done by a step whose answer was lost."
          ),
        element("p", { id: "said", class: "quiet", role: "status" })
      ),
      element(
        "div",
        { class: "actions" },
        form(
          view,
          action,
          isOver ? {} : sendsItself(action, view.nonce),
          hidden({ ...next, result }),
          !isOver && element("button", { class: "go" }, "Go on"),
          !isOver && element("button", { id: "stop", type: "button", hidden: true }, "Stop"),
          element("button", { formaction: `${action}/result` }, "Download the result (CSV)")
        )
      )
    ),
    undone(rows),
    element("p", { class: "more" }, element("a", { href: action }, "Count again"))
  )
}

/** A browser runs it as it stands, behind the script of pages that follow. */
export const goOnScript = `
let isStopped = false
const said = (text) => {
  const node = first("#said")
  if (node) node.textContent = text
}
const goOn = () => {
  const form = first("#go-on")
  if (!form || isStopped || !window.htmx) return
  const stop = first("#stop")
  if (stop) stop.hidden = false
  htmx.trigger(form, "go-on")
}
document.addEventListener("click", (event) => {
  if (event.target.id !== "stop") return
  isStopped = true
  event.target.hidden = true
  said("Stopped: what was done stays done.")
})
document.addEventListener("htmx-after-swap", () => setTimeout(goOn))
for (const name of ["htmx-error", "htmx-response-error"]) document.addEventListener(name, ({ detail }) => {
  const { ctx, status = ctx && ctx.response && ctx.response.status } = detail
  if (!first("#go-on")) return
  if (status >= 400 && status < 500 && status !== 429) {
    isStopped = true
    said("It was refused. Go on to see why.")
  } else {
    said("The service does not answer. It is tried again.")
    setTimeout(goOn, 2000)
  }
})
// htmx takes no event before the page is there.
addEventListener("load", goOn)
`
