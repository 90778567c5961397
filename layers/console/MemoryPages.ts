/** What an agent remembers for a conversation: each text with where it came from, what it replaced, and how it is taken back. */
import type { ConversationItem } from "../../src/conversation/Conversation.ts"
import type { MemoryRow } from "../../src/memory/MemoryRow.ts"
import { isCurrent, MemoryTier } from "../../src/memory/MemoryRow.ts"
import { cutText } from "../../src/value/CutText.ts"
import { apiPart } from "./ApiLine.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import type { Rejected, View } from "./Shell.ts"
import { choices, emptyList, form, may, nextPage, page, rejectedNotice, table } from "./Shell.ts"
import { opening } from "./WordedForm.ts"
import { moment, shortId } from "./Words.ts"

const current = "/memory"

/** The conversations whose memories one can look at, the last ones first. */
export interface MemoryOwners {
  readonly items: ReadonlyArray<ConversationItem>
  readonly next_after?: string
}

/** What the address of a memory says. */
export interface MemoryChoice {
  readonly agent: string
  readonly conversation: string
  readonly tier: MemoryTier
  /** True = with what was replaced or taken back. */
  readonly all: boolean
  /** The run whose own notes are shown. */
  readonly run?: string
}

/** A page of a memory, and where the next one begins. */
export interface Memories {
  readonly chosen: MemoryChoice
  readonly items: ReadonlyArray<MemoryRow>
  readonly next_after?: string
  /** What asks the API for it. */
  readonly line: string
  readonly rejected?: Rejected
}

/** The address of a page of a memory. */
export const memoryAddress = (
  { path }: View,
  { agent, all, conversation, run, tier }: MemoryChoice,
  more: Readonly<Record<string, string>> = {}
): string => {
  const query = { agent, conversation, tier, ...(all && { all: "true" }), ...(run && { run }) }
  return `${path}${current}?${new URLSearchParams({ ...query, ...more })}`
}

/** Where one reads what the agent of a conversation remembers for it. */
export const memoryHref = (view: View, agent: string, conversation: string): string =>
  memoryAddress(view, { agent, conversation, tier: "persistent", all: false })

const ownerRow = (view: View, { active_at, address, id, title }: ConversationItem): Html =>
  element(
    "tr",
    {},
    element(
      "td",
      { class: "wide" },
      element("a", { href: memoryHref(view, address.agent, id) }, title ?? id)
    ),
    element("td", {}, address.agent),
    element("td", { class: "num" }, moment(active_at, view.now))
  )

/** A memory is that of an agent for a conversation, so one of them is chosen first. */
export const memoryOwnersPage = (view: View, { items, next_after }: MemoryOwners): Html =>
  page(
    view,
    { title: "Memory", current },
    element(
      "p",
      { class: "quiet group" },
      "An agent remembers for a run, for a conversation, and for a place that its conversations share. Choose a conversation: its memory has all three."
    ),
    items.length === 0
      ? emptyList("There is no conversation yet.", "A message to an agent begins one.")
      : table(
          ["Conversation", "Agent", "Active"],
          items.map((each) => ownerRow(view, each)),
          2
        ),
    nextPage(
      next_after === undefined
        ? undefined
        : `${view.path}${current}?${new URLSearchParams({ after: next_after })}`
    )
  )

const standing = ({ superseded_by, undone_by }: MemoryRow): Child => {
  if (undone_by !== undefined) {
    return element("span", { class: "tag bad" }, `taken back by ${undone_by}`)
  }
  return superseded_by === undefined
    ? element("span", { class: "tag good" }, "holds")
    : element("span", { class: "tag" }, "replaced")
}

const authors = { model: "a model", tool: "a tool", human: "a person", event: "an event" } as const

const provenance = (view: View, { place, provenance: origin, subject }: MemoryRow): Child => {
  const { author, run, step } = origin
  return [
    `by ${authors[author]}`,
    run !== undefined && [
      " in ",
      element("a", { href: `${view.path}/runs/${run}` }, "run ", shortId(run)),
      step !== undefined && ` at step ${step}`
    ],
    `, for ${place}`,
    subject !== undefined && `, about ${subject}`
  ]
}

/** The text, behind that which it replaced where the page has it too. */
const said = ({ supersedes, text }: MemoryRow, before: MemoryRow | undefined): Child => [
  supersedes !== undefined &&
    (before === undefined
      ? element("p", { class: "small quiet" }, "replaced ", shortId(supersedes))
      : element("p", {}, element("del", {}, cutText(before.text, 1_000)))),
  element("p", { class: "said" }, before === undefined ? text : element("ins", {}, text))
]

const undoForm = (view: View, chosen: MemoryChoice, row: MemoryRow): Child =>
  isCurrent(row) &&
  may(view, "curate") &&
  opening(
    "Take back …",
    { isGrave: true },
    form(
      view,
      memoryAddress(view, chosen),
      {},
      element("input", { type: "hidden", name: "id", value: row.id }),
      element(
        "p",
        { class: "quiet small" },
        row.supersedes === undefined
          ? "The agent does not remember it any more. Nobody can undo that."
          : "The agent does not remember it any more, and what it replaced holds again. Nobody can undo that."
      ),
      element("button", { class: "no" }, "Take back")
    )
  )

const memoryRow = (view: View, chosen: MemoryChoice, row: MemoryRow, before?: MemoryRow): Html =>
  element(
    "tr",
    { id: `memory-${row.id}` },
    element(
      "td",
      { class: "wide" },
      said(row, before),
      element("p", { class: "small quiet" }, provenance(view, row)),
      undoForm(view, chosen, row)
    ),
    element("td", {}, standing(row)),
    element("td", {}, row.typology),
    element("td", { class: "num" }, row.seen),
    element("td", { class: "num" }, moment(row.at, view.now))
  )

const tiers: Readonly<Record<MemoryTier, string>> = {
  persistent: "for its place",
  session: "for the conversation",
  interaction: "for a run"
}

const runForm = (view: View, { agent, conversation, run, tier }: MemoryChoice): Child =>
  tier === "interaction" &&
  element(
    "form",
    { method: "get", action: view.path + current, class: "fields", role: "search" },
    Object.entries({ agent, conversation, tier }).map(([name, value]) =>
      element("input", { type: "hidden", name, value })
    ),
    element("label", {}, "Run", element("input", { name: "run", value: run ?? "" })),
    element("button", {}, "Show its notes")
  )

/** The memory of an agent for a conversation, the newest first. */
export const memoryPage = (
  view: View,
  { chosen, items, line, next_after, rejected }: Memories
): Html => {
  const { agent, all, conversation, tier } = chosen
  const rows = new Map(items.map((row) => [row.id, row]))
  return page(
    view,
    {
      title: "Memory",
      current,
      aside: [
        element("span", { class: "quiet" }, `of ${agent} for `),
        element("a", { href: `${view.path}/conversations/${conversation}` }, shortId(conversation)),
        element("a", { class: "right", href: view.path + current }, "Others")
      ]
    },
    rejectedNotice(rejected),
    choices(
      "Tier",
      MemoryTier.literals.toReversed(),
      tier,
      (each) => memoryAddress(view, { ...chosen, tier: each }),
      (each) => tiers[each]
    ),
    choices(
      "Rows",
      ["what holds", "all that was remembered"],
      all ? "all that was remembered" : "what holds",
      (each) => memoryAddress(view, { ...chosen, all: each !== "what holds" })
    ),
    runForm(view, chosen),
    items.length === 0
      ? emptyList(
          "Nothing is remembered here.",
          "What its tools, its models and people note for it stands here."
        )
      : table(
          ["What", "State", "Kind", "Noted", "When"],
          items.map((row) =>
            memoryRow(view, chosen, row, row.supersedes && rows.get(row.supersedes))
          ),
          3
        ),
    nextPage(
      next_after === undefined ? undefined : memoryAddress(view, chosen, { after: next_after })
    ),
    apiPart(line)
  )
}
