/**
 * One remembered text, with its tier, its kind, who wrote it and where, and which row it replaces. Rows are superseded or
 * undone, never overwritten.
 */
import { Schema } from "effect"
import { spelled } from "../value/Bounds.ts"
import { AgentName, CallId, RunId, Tenant } from "../value/Ids.ts"

/** How long a row lives: for one run (`interaction`), for one conversation (`session`), or longer (`persistent`). */
export const MemoryTier = Schema.Literals(["interaction", "session", "persistent"])
export type MemoryTier = typeof MemoryTier.Type

/** The kind of a memory: what happened (`episodic`), what is the case (`semantic`), or how something is done (`procedural`). */
export const Typology = Schema.Literals(["episodic", "semantic", "procedural"])
export type Typology = typeof Typology.Type

/** What caused a row: an outcome that an event handler saw, or a tool call. */
export const MemorySource = Schema.Literals(["event_handler", "tool_call"])
export type MemorySource = typeof MemorySource.Type

/** Who wrote a row: a model by a call, a tool by itself, a person, or an event. */
export const MemoryAuthor = Schema.Literals(["model", "tool", "human", "event"])
export type MemoryAuthor = typeof MemoryAuthor.Type

/** The id of a row. */
export const MemoryId = Schema.String.check(
  spelled(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, "a lower-case UUID")
).pipe(Schema.brand("MemoryId"))
export type MemoryId = typeof MemoryId.Type

/** The longest text of a row, in UTF-16 units. */
export const text_units_max = 4_000
/** The longest name of a place, person or subject, in UTF-16 units. */
export const name_units_max = 200

/** Whether both database engines store the text unchanged: it has no NUL and no half of a surrogate pair. */
const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed()

/** Why the text cannot be remembered; undefined if it can. */
export const textFault = (text: string): string | undefined => {
  if (text.trim() === "") return "the text is empty"
  if (text.length > text_units_max) {
    return `the text has ${text.length} characters; a memory has at most ${text_units_max}`
  }
  return isStorable(text) ? undefined : "the text has a NUL or half of a surrogate pair"
}

/** A text to remember: 1 to 4,000 UTF-16 units, not blank, without NUL and lone surrogates. */
export const MemoryText = Schema.String.check(
  Schema.makeFilter((text) => textFault(text) ?? true, { description: "a text to remember" })
)

/** The name of a place, a person, a subject or a key: 1 to 200 UTF-16 units. */
export const MemoryName = Schema.String.check(
  Schema.isMinLength(1),
  Schema.isMaxLength(name_units_max),
  Schema.makeFilter((text) => isStorable(text) || "it has a NUL or half of a surrogate pair")
)

/** A tier with its anchor: rows with equal scopes live and end together. */
export const MemoryScope = Schema.Struct({
  /** Whose memory it is. */
  tenant: Tenant,
  /** The agent that remembers. */
  agent: AgentName,
  /** How long the rows last: a run, a conversation, or beyond. */
  tier: MemoryTier,
  /** The run, conversation or place to which the tier belongs. */
  anchor: MemoryName
})
export interface MemoryScope extends Schema.Schema.Type<typeof MemoryScope> {}

/** Who wrote a row, and where. */
export const MemoryOrigin = Schema.Struct({
  /** What caused the row. */
  source: MemorySource,
  /** Who wrote it. */
  author: MemoryAuthor,
  /** The run in which the row was written. Absent = it was written outside of a run. */
  run: Schema.optionalKey(RunId),
  /** The step of the call's frame: the turn that requested the call. */
  step: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))
  ),
  /** The call that wrote it. Absent = no call did. */
  call: Schema.optionalKey(CallId)
})
export interface MemoryOrigin extends Schema.Schema.Type<typeof MemoryOrigin> {}

/** A row before it is stored. */
export const NewMemoryRow = Schema.Struct({
  ...MemoryScope.fields,
  /** The anchor of the persistent tier, whichever tier the row is in. Canonical texts are registered for a place. */
  place: MemoryName,
  /** The conversation that the row comes from. */
  session: MemoryName,
  /** What kind of memory it is. */
  typology: Typology,
  /** What is remembered, 1 to 4,000 UTF-16 units. */
  text: MemoryText,
  /** Who wrote it, and where. */
  provenance: MemoryOrigin,
  /** The person or thing that the row is about, by which an erasure finds it. */
  subject: Schema.optionalKey(MemoryName),
  /** Identifies the row: a second row of the agent with this key is the same row. */
  key: Schema.optionalKey(MemoryName),
  /** The row that this one replaces. Absent = none. */
  supersedes: Schema.optionalKey(MemoryId),
  /** When the row was written, in ms since 1970. */
  at: Schema.Int,
  /** The text's embedding, made by the embedder `embedded_by`. */
  embedding: Schema.optionalKey(Schema.String),
  /** The name of the embedder that made its vector. Absent = it has none. */
  embedded_by: Schema.optionalKey(Schema.String)
})
export interface NewMemoryRow extends Schema.Schema.Type<typeof NewMemoryRow> {}

/** A row of memory as it is stored. */
export const MemoryRow = Schema.Struct({
  ...NewMemoryRow.fields,
  /** The row's id. */
  id: MemoryId,
  /** How many times the same text was given to be remembered. */
  seen: Schema.Int,
  /** The row that replaced it. Absent = it holds. */
  superseded_by: Schema.optionalKey(MemoryId),
  /** Who took it back. Absent = nobody did. */
  undone_by: Schema.optionalKey(MemoryName)
})
export interface MemoryRow extends Schema.Schema.Type<typeof MemoryRow> {}

/** Whether the row is current: neither superseded nor undone. */
export const isCurrent = (row: Pick<MemoryRow, "superseded_by" | "undone_by">): boolean =>
  row.superseded_by === undefined && row.undone_by === undefined

/** The tiers of runs and conversations accept only episodic memories. Undefined = the tier accepts this kind. */
export const typologyFault = (tier: MemoryTier, typology: Typology): string | undefined =>
  tier === "persistent" || typology === "episodic"
    ? undefined
    : `the ${tier} tier holds only episodic memories, not ${typology} ones`

/**
 * The origin for a memory that a handler writes in its `call`. `author` is `model` if the model chose the text, and `tool` if
 * the tool made it.
 */
export const originOfCall = (
  {
    call,
    run
  }: {
    /** The run of the call. */
    readonly run: RunId
    /** The call that writes. */
    readonly call: CallId
  },
  author: MemoryAuthor = "tool"
): MemoryOrigin => {
  const step = Number(/\/(\d+)\.\d+$/.exec(call)?.[1])
  return {
    source: "tool_call",
    author,
    run,
    ...(Number.isSafeInteger(step) ? { step } : undefined),
    call
  }
}

const procedural =
  /^\s*(?:to\s+\w+[^.]*,|when(?:ever)?\b|if\b|before\b|after\b|always\b|never\b|first\b|use\b|do not\b|don't\b|\d+[.)]\s)|\b(?:always|never|must|should)\b/i
/** Matches a time, or a verb in the past tense. */
const episodic =
  /\b(?:was|were|did|had|went|sent|said|paid|told|got|made|gave|took|came|yesterday|today|tonight|ago|last (?:week|month|year|night)|\w{2,}ed)\b|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}:\d{2}\b/i
const semantic =
  /\b(?:is|are|am|has|have|prefers?|likes?|wants?|lives?|works?|uses?|means?|costs?|equals?|belongs?|speaks?|needs?|knows?|owns?|contains?|consists?)\b/i

/** A guess by the forms of English sentences. Any other text is episodic, the one kind that every tier accepts. */
export const classify = (text: string): Typology => {
  if (procedural.test(text)) return "procedural"
  if (episodic.test(text)) return "episodic"
  return semantic.test(text) ? "semantic" : "episodic"
}

/** The kind of a text in a tier: the stated one, or else a guess. */
export const typologyOf = (
  tier: MemoryTier,
  text: string,
  stated: Typology | undefined
): Typology => stated ?? (tier === "persistent" ? classify(text) : "episodic")

/**
 * Why a memory was refused.
 *
 * - `invalid`: the text, a name or a key is empty, too long or cannot be stored.
 *
 * - `typology`: the tier does not accept that kind.
 *
 * - `canonical`: the text copies or contains a canonical text.
 *
 * - `from_memory`: the text is what the run recalled, and not a new fact.
 *
 * - `superseded`: the row to supersede or undo has a successor, is already undone, or is not in this memory.
 *
 * - `replay`: a replay may not change memories.
 *
 * - `full`: the tier already has as many rows as it may have.
 */
export const RefusalReason = Schema.Literals([
  "invalid",
  "typology",
  "canonical",
  "from_memory",
  "superseded",
  "replay",
  "full"
])
export type RefusalReason = typeof RefusalReason.Type

/** The memory was not written or changed; `reason` and `message` say why. */
export class MemoryRefused extends Schema.TaggedError<MemoryRefused>()("MemoryRefused", {
  /** A code for programs. */
  reason: RefusalReason,
  /** A sentence that does not contain the refused text. */
  message: Schema.String,
  /** The name of the canonical text that was copied. Absent for other reasons. */
  canonical: Schema.optionalKey(Schema.String),
  /** The successor of the row. Absent = the row is not in this memory, or another reason. */
  superseded_by: Schema.optionalKey(MemoryId)
}) {}

/** The error for a row that is not there, or is another agent's. */
export const noSuchMemory = (): MemoryRefused =>
  new MemoryRefused({ reason: "superseded", message: "there is no such memory" })

/** Why the row cannot be superseded; undefined if it can. A row that was undone is no longer there. */
export const supersedingFault = (
  row: Pick<MemoryRow, "superseded_by" | "undone_by"> | undefined
): MemoryRefused | undefined => {
  if (row !== undefined && isCurrent(row)) return undefined
  const superseded_by = row?.superseded_by
  if (superseded_by === undefined) return noSuchMemory()
  const message = `the memory has been superseded by ${superseded_by}`
  return new MemoryRefused({ reason: "superseded", message, superseded_by })
}
