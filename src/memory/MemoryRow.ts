/**
 * One remembered text: in which tier and of which kind it is, who wrote it where, and what it takes the place of. Rows are
 * superseded or undone, and not overwritten.
 */
import { Schema } from "effect"
import { AgentName, CallId, RunId, Tenant } from "../Ids.ts"

/** How long a row lives: with one run, with one conversation, or beyond both. */
export const MemoryTier = Schema.Literals(["interaction", "session", "persistent"])
export type MemoryTier = typeof MemoryTier.Type

/** What happened, what is the case, how something is done. */
export const Typology = Schema.Literals(["episodic", "semantic", "procedural"])
export type Typology = typeof Typology.Type

/** By which path a row came: an outcome that an event's handler saw, or what a call of a tool did. */
export const MemorySource = Schema.Literals(["event_handler", "tool_call"])
export type MemorySource = typeof MemorySource.Type

export const MemoryAuthor = Schema.Literals(["model", "tool", "human", "event"])
export type MemoryAuthor = typeof MemoryAuthor.Type

export const MemoryId = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, {
    description: "a lower-case UUID"
  })
).pipe(Schema.brand("MemoryId"))
export type MemoryId = typeof MemoryId.Type

export const text_units_max = 4_000
export const name_units_max = 200

/** A text that both engines store as it is: no NUL, no half of a surrogate pair. */
const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed()

/** Why the text cannot be remembered; undefined if it can. */
export const textFault = (text: string): string | undefined => {
  if (text.trim() === "") return "the text is empty"
  if (text.length > text_units_max) {
    return `the text has ${text.length} characters; a memory has at most ${text_units_max}`
  }
  return isStorable(text) ? undefined : "the text has a NUL or half of a surrogate pair"
}

/** 1 to 4,000 UTF-16 units, not blank, without NUL and lone surrogates. */
export const MemoryText = Schema.String.check(
  Schema.makeFilter((text) => textFault(text) ?? true, { description: "a text to remember" })
)

/** An anchor, a person, a subject, a key: 1 to 200 UTF-16 units. */
export const MemoryName = Schema.String.check(
  Schema.isMinLength(1),
  Schema.isMaxLength(name_units_max),
  Schema.makeFilter((text) => isStorable(text) || "it has a NUL or half of a surrogate pair")
)

/** Where a row is found: rows of equal scopes are one memory. */
export const MemoryScope = Schema.Struct({
  tenant: Tenant,
  agent: AgentName,
  tier: MemoryTier,
  /** The run, the conversation or the place that the tier belongs to. */
  anchor: MemoryName
})
export interface MemoryScope extends Schema.Schema.Type<typeof MemoryScope> {}

/** Who wrote a row, and where. */
export const MemoryOrigin = Schema.Struct({
  source: MemorySource,
  author: MemoryAuthor,
  /** Absent = it was written outside of a run. */
  run: Schema.optionalKey(RunId),
  /** The turn of its frame that asked for the call. */
  step: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))
  ),
  call: Schema.optionalKey(CallId)
})
export interface MemoryOrigin extends Schema.Schema.Type<typeof MemoryOrigin> {}

/** A row before it is stored. */
export const NewMemoryRow = Schema.Struct({
  ...MemoryScope.fields,
  /** The anchor of the persistent tier, whatever the row's tier is: canonical texts are registered for it. */
  place: MemoryName,
  /** The conversation that the row comes from. */
  session: MemoryName,
  typology: Typology,
  text: MemoryText,
  provenance: MemoryOrigin,
  /** Whom or what the row is about, for an erasure. */
  subject: Schema.optionalKey(MemoryName),
  /** The same key of one agent is the same row. */
  key: Schema.optionalKey(MemoryName),
  supersedes: Schema.optionalKey(MemoryId),
  /** ms since 1970. */
  at: Schema.Int,
  /** A vector of the text, as the embedder `embedded_by` wrote it. */
  embedding: Schema.optionalKey(Schema.String),
  embedded_by: Schema.optionalKey(Schema.String)
})
export interface NewMemoryRow extends Schema.Schema.Type<typeof NewMemoryRow> {}

export const MemoryRow = Schema.Struct({
  ...NewMemoryRow.fields,
  id: MemoryId,
  /** How often the same was to be remembered. */
  seen: Schema.Int,
  superseded_by: Schema.optionalKey(MemoryId),
  undone_by: Schema.optionalKey(MemoryName)
})
export interface MemoryRow extends Schema.Schema.Type<typeof MemoryRow> {}

/** Is the row part of the memory: neither superseded nor undone? */
export const isCurrent = (row: Pick<MemoryRow, "superseded_by" | "undone_by">): boolean =>
  row.superseded_by === undefined && row.undone_by === undefined

/** What is wrong with a kind of memory in a tier; undefined if nothing is: runs and conversations hold only what happened. */
export const typologyFault = (tier: MemoryTier, typology: Typology): string | undefined =>
  tier === "persistent" || typology === "episodic"
    ? undefined
    : `the ${tier} tier holds only episodic memories, not ${typology} ones`
