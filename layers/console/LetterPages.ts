/** Dead letters as a list, and one of them: why it was not delivered, what it tells, and what becomes of it. */
import type { DeadLetter, DeadLetterStatus } from "../../src/delivery/OutboxMessage.ts"
import { cutText } from "../../src/value/CutText.ts"
import { bulkLink } from "./BulkPages.ts"
import type { Following } from "./Following.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import { jsonBlock } from "./QuestionPages.ts"
import type { Rejected, View } from "./Shell.ts"
import { emptyList, fact, may, nextPage, page, rejectedNotice, table, typedText } from "./Shell.ts"
import { wordedForm } from "./WordedForm.ts"
import { moment, shortId } from "./Words.ts"

/** A page of letters, how it was chosen, and where the next one begins. */
export interface Letters {
  readonly items: ReadonlyArray<DeadLetter>
  readonly next_after?: string | undefined
  readonly status: DeadLetterStatus
  /** Undefined = it is not the first page, which alone is followed. */
  readonly follows: Following | undefined
}

const words = {
  dead: ["waiting", "wait"],
  replayed: ["sent again", ""],
  discarded: ["given up", ""]
} as const

const statusTag = ({ status }: DeadLetter): Html => {
  const [word, kind] = words[status]
  return element("span", { class: `tag ${kind}` }, word)
}

const filters = ({ path }: View, chosen: DeadLetterStatus) =>
  element(
    "div",
    { class: "filters", role: "group", "aria-label": "Status" },
    Object.entries(words).map(([status, [word]]) =>
      element(
        "a",
        {
          href: `${path}/dead-letters${status === "dead" ? "" : `?status=${status}`}`,
          "aria-current": status === chosen ? "true" : undefined
        },
        word
      )
    )
  )

const lastError = ({ failures }: DeadLetter): string => failures.at(-1)?.error ?? ""

const letterRow = (view: View, letter: DeadLetter) =>
  element(
    "tr",
    { id: `letter-${letter.event_id}` },
    element(
      "td",
      {},
      element(
        "a",
        { href: `${view.path}/dead-letters/${letter.event_id}` },
        shortId(letter.event_id)
      )
    ),
    element("td", {}, letter.handler_name),
    element("td", {}, letter.key),
    element("td", { class: "wide" }, cutText(lastError(letter), 160)),
    element("td", { class: "num" }, letter.attempts),
    element("td", { class: "num" }, moment(letter.dead_at, view.now))
  )

const nothing: Readonly<Record<DeadLetterStatus, readonly [what: string, more: string]>> = {
  dead: [
    "No letter waits.",
    "A message that could not be delivered, after all its attempts, would wait here to be sent again or given up."
  ],
  replayed: ["No letter was sent again.", "Those that somebody sends again stand here, with why."],
  discarded: ["No letter was given up.", "Those that somebody gives up stand here, with why."]
}

const title = "Dead letters"
const current = "/dead-letters"

/** Letters of one status, newest first. */
export const lettersPage = (view: View, { follows, items, next_after, status }: Letters): Html => {
  const more = new URLSearchParams({ status, after: next_after ?? "" })
  return page(
    view,
    {
      title,
      current,
      aside: bulkLink(view, "letters", "Send many again, or give them up …"),
      follows
    },
    filters(view, status),
    items.length === 0
      ? emptyList(...nothing[status])
      : table(
          ["Message", "Topic", "Key", "Last error", "Attempts", "Failed for good"],
          items.map((each) => letterRow(view, each))
        ),
    nextPage(next_after === undefined ? undefined : `${view.path}/dead-letters?${more}`)
  )
}

/** What whoever looks may do with it. */
const answers = (view: View, { event_id, status }: DeadLetter, rejected?: Rejected): Child => {
  if (status !== "dead") return false
  if (!may(view, "redeliver")) {
    return element("p", { class: "quiet" }, "You may not send it again: an operator does.")
  }
  const action = `${view.path}/dead-letters/${event_id}`
  return [
    wordedForm(
      view,
      action,
      {
        decision: "replay",
        name: "why",
        opens: "Send again …",
        label:
          "Why now? It goes to the end of the queue of its key under the same id, by which its receiver knows it again."
      },
      rejected
    ),
    wordedForm(
      view,
      action,
      {
        decision: "discard",
        isGrave: true,
        name: "why",
        opens: "Give up …",
        label: "Why? It is never sent again."
      },
      rejected
    )
  ]
}

const resolution = (
  { resolved_at, resolved_by, resolved_reason, status }: DeadLetter,
  now: number
): Child =>
  status !== "dead" &&
  element(
    "section",
    {},
    element(
      "p",
      {},
      words[status][0],
      " by ",
      element("b", {}, resolved_by ?? "nobody"),
      " ",
      resolved_at !== undefined && element("span", { class: "quiet" }, moment(resolved_at, now)),
      resolved_reason !== undefined && `: “${resolved_reason}”`
    )
  )

const attempts = ({ failures }: DeadLetter, now: number) =>
  element(
    "ol",
    { class: "chain" },
    failures.map(({ at, attempt, error }) =>
      element(
        "li",
        {},
        element("b", {}, attempt),
        " ",
        element("span", { class: "quiet" }, moment(at, now)),
        " ",
        error
      )
    )
  )

/** One letter. */
export const letterPage = (view: View, letter: DeadLetter, rejected?: Rejected): Html =>
  page(
    view,
    { title: "Dead letter", current, aside: [statusTag(letter), shortId(letter.event_id)] },
    element(
      "article",
      { class: "panel", "aria-label": "Dead letter" },
      element(
        "section",
        {},
        element("h2", {}, lastError(letter) || "Nobody said why it failed."),
        rejectedNotice(rejected),
        letter.status !== "dead" && typedText(rejected?.typed["why"])
      ),
      resolution(letter, view.now),
      element(
        "section",
        {},
        element(
          "dl",
          { class: "facts" },
          fact("Topic", element("code", {}, letter.handler_name)),
          fact("Key", element("code", {}, letter.key)),
          fact("Attempts", letter.attempts),
          fact("Failed for good", moment(letter.dead_at, view.now))
        )
      ),
      element(
        "section",
        {},
        element("h3", {}, "Every attempt that failed"),
        attempts(letter, view.now)
      ),
      element("section", {}, element("h3", {}, "What it tells"), jsonBlock(letter.payload)),
      element("div", { class: "actions" }, answers(view, letter, rejected))
    )
  )
