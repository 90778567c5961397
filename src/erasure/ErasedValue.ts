/**
 * What an erasure of a subject writes in place of what it said or was told, in texts, in events of runs and in rows of tables. A
 * mark contains a keyed digest, from which nobody without the key can guess a short text; the same text has the same mark within
 * one erasure. What remains of an event says what happened: who acts, which tools were used, how it ended and what it cost. It is
 * still a valid event and folds as before.
 */
import { Result, Option, Schema } from "effect"
import { canonical } from "../value/Canonical.ts"
import type { Erased } from "../replay/Erased.ts"
import { isErased } from "../replay/Erased.ts"
import type { RunStopping } from "../run/RunEvent.ts"

export interface Eraser {
  /** Whether a text names the subject. */
  readonly names: (text: string) => boolean
  /** The keyed digest of a text: 64 hex digits in lower case. */
  readonly digest: (text: string) => string
}

export const markOf = (eraser: Eraser, value: unknown): Erased => ({
  erased: eraser.digest(canonical(value))
})

/** The mark as JSON text, for places where a text is expected. */
export const markText = (eraser: Eraser, text: string): string =>
  isErased(text) ? text : JSON.stringify(markOf(eraser, text))

/** Parses a text that is a JSON object or list; undefined if it is not. */
const parsed = (text: string): unknown =>
  /^\s*[[{"]/.test(text)
    ? Result.getOrUndefined(Result.try((): unknown => JSON.parse(text)))
    : undefined

/** Whether the value names the subject: in a text, in the name of a member, or in a text that is itself JSON. */
export const namesIn = (value: unknown, eraser: Eraser): boolean => {
  if (typeof value === "string") {
    if (eraser.names(value)) return true
    const said = parsed(value)
    return said !== undefined && namesIn(said, eraser)
  }
  if (typeof value !== "object" || value === null) return false
  return Object.entries(value).some(
    ([name, member]) => eraser.names(name) || namesIn(member, eraser)
  )
}

const none: ReadonlySet<string> = new Set()

/**
 * Replaces what names the subject in a record's texts: the record itself if it is a text, or its members with the given names,
 * at any depth. All else says what the record is and stays, even if the subject's name equals a state or a member's name.
 * Returns the record itself if nothing changes.
 */
export const textsWithoutNames = (
  record: unknown,
  eraser: Eraser,
  texts: ReadonlySet<string> = none
): unknown => markedTexts(record, eraser, texts, true)

const markedTexts = (
  value: unknown,
  eraser: Eraser,
  texts: ReadonlySet<string>,
  isText: boolean
): unknown => {
  if (typeof value === "string")
    return isText && namesIn(value, eraser) ? markText(eraser, value) : value
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map((each) => markedTexts(each, eraser, texts, isText))
    return items.some((each, i) => each !== value[i]) ? items : value
  }
  const members = Object.entries(value)
  const marked = members.map(
    ([name, member]) => [name, markedTexts(member, eraser, texts, texts.has(name))] as const
  )
  return marked.some(([, member], i) => member !== members[i]?.[1])
    ? Object.fromEntries(marked)
    : value
}

/**
 * Like `textsWithoutNames`, for a stored text. If `texts` are given, the text is a record as JSON; otherwise it is one text,
 * plain or as JSON.
 */
export const textWithoutNames = (
  text: string,
  eraser: Eraser,
  texts?: ReadonlySet<string>
): string => {
  if (!namesIn(text, eraser)) return text
  const said = parsed(text)
  if (texts === undefined || said === undefined) {
    return typeof said === "string"
      ? JSON.stringify(markText(eraser, said))
      : markText(eraser, text)
  }
  const marked = textsWithoutNames(said, eraser, texts)
  return marked === said ? text : JSON.stringify(marked)
}

/**
 * Members that contain no text of a person: names of agents, tools and models, positions, codes, amounts. All others are erased.
 */
const kept = new Set(
  (
    "_tag tenant agent roles trace_id span_id limits pins nested owner frame call approval authorization finish finish_raw " +
    "usage cost spent model of kind class cause how policy_version approvers tool tool_key tool_digest key on_loss via limit " +
    "status type media_type model_id name server id tier typology source author run tool_name agent_name correlation_id " +
    "undeclared client context_secrets without permission step from to handed_by guard mode on verdict replaces"
  ).split(" ")
)

/**
 * Digests of what a person said or was shown. Short texts could be guessed from them, so they are digested again with the key.
 */
const digests = new Set(["digest", "shown_digest", "proposal"])

/** Members with JSON of a tool, a host or a provider, which are erased as a whole. */
const opaque = new Set(["arguments", "context", "answer_schema", "target", "values", "provider"])

/**
 * Members of a turn that are dropped: the positions of its parts in its texts, because the texts change, and the provider to
 * which they may be sent back, because it would refuse them.
 */
const dropped: ReadonlySet<string> = new Set(["parts", "origin"])

export interface RunEraser extends Eraser {
  /** True = every text is erased. False = only values that name the subject are. */
  readonly whole: boolean
  /** Replaces the subject's name in the key of an address. */
  readonly rename: (key: string) => string
}

const marked = (value: unknown, eraser: Eraser): unknown =>
  typeof value === "string"
    ? markText(eraser, value)
    : isErased(value)
      ? value
      : markOf(eraser, value)

/** Erases the events of one run. The reasons in `codes` come from the runtime and not from a person, so they stay. */
class EventEraser {
  readonly #eraser: RunEraser
  readonly #codes: ReadonlySet<string>

  constructor(eraser: RunEraser, codes: ReadonlySet<string>) {
    this.#eraser = eraser
    this.#codes = codes
  }

  #text(name: string, text: string): string {
    const { digest, rename, whole } = this.#eraser
    if (name === "conversation") return rename(text)
    if (digests.has(name)) return whole ? digest(text) : text
    if (name === "reason" && this.#codes.has(text)) return text
    return whole || namesIn(text, this.#eraser) ? markText(this.#eraser, text) : text
  }

  #opaque(value: unknown): unknown {
    const isErasedToo = this.#eraser.whole ? value !== null : namesIn(value, this.#eraser)
    return isErasedToo ? marked(value, this.#eraser) : value
  }

  /** Erases a value. `name` is the member's name; items of a list have the name of the list. */
  value(name: string, value: unknown): unknown {
    if (opaque.has(name)) return this.#opaque(value)
    if (typeof value === "string") return this.#text(name, value)
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) return value.map((each) => this.value(name, each))
    return this.members(value)
  }

  members(value: object): object {
    const members: Array<[string, unknown]> = []
    const isTurn = "_tag" in value && value._tag === "ModelTurned"
    const isFile = "media_type" in value
    const isDispatch = "_tag" in value && value._tag === "CallDispatched"
    for (const [name, member] of Object.entries(value)) {
      if (isTurn && this.#eraser.whole && dropped.has(name)) continue
      // A file's name is a person's text, and a tool's is not; so is who acted for somebody, and not how a call was sent.
      const isText = (isFile && name === "name") || (!isDispatch && name === "via")
      if (kept.has(name) && !isText) members.push([name, member])
      else if (name === "address")
        members.push([name, this.#address(member as Record<string, unknown>)])
      else members.push([name, this.value(name, member)])
    }
    return Object.fromEntries(members)
  }

  #address(address: Record<string, unknown>): unknown {
    const { key } = address
    return typeof key === "string" ? { ...address, key: this.#eraser.rename(key) } : address
  }
}

/** The reasons in these events for which the runtime itself ended the run. */
export const codesIn = (events: Iterable<unknown>): ReadonlySet<string> => {
  const codes = new Set(["complete"])
  for (const event of events) {
    if (isStopping(event) && event.by === "runtime") codes.add(event.reason)
  }
  return codes
}

const isStopping = (event: unknown): event is RunStopping =>
  typeof event === "object" && event !== null && "_tag" in event && event._tag === "RunStopping"

/** The erased event, as JSON. `codes` are those of its run. If the original event can be decoded, the result can be too. */
export const erasedEvent = (event: object, codes: ReadonlySet<string>, eraser: RunEraser): object =>
  new EventEraser(eraser, codes).members(event)

/** Erases a member of a record that contains the same data as events of the run. */
export const erasedMember = (
  name: string,
  value: unknown,
  codes: ReadonlySet<string>,
  eraser: RunEraser
): unknown => new EventEraser(eraser, codes).value(name, value)

/**
 * What is overwritten in a column: `text`, the whole column, which is one text; `said`, what would be overwritten in an event of
 * a run; or a set, these members of the record that the column holds as JSON.
 */
export type ErasureMark = "text" | "said" | ReadonlySet<string>

export interface ErasureMarks {
  /**
   * Columns with texts from outside: a row that names the subject in one of them, or one of the subject's runs or conversations,
   * is removed.
   */
  readonly removed?: ReadonlyArray<string>
  /** A member of the record that a column holds as JSON: a row where it is the subject is removed. */
  readonly owner?: readonly [column: string, member: string]
  /** What is overwritten in each column of a row that stays. */
  readonly marked?: Readonly<Record<string, ErasureMark>>
}

const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

/** No codes, because a reason is in a column of its own. */
const no_codes: ReadonlySet<string> = new Set()

/** The column's text after the erasure; the same text if nothing in it has to be overwritten. */
export const markedColumn = (
  name: string,
  as: ErasureMark,
  text: string,
  eraser: RunEraser
): string => {
  if (as === "text") return textWithoutNames(text, eraser)
  if (as !== "said") return textWithoutNames(text, eraser, as)
  const said = Option.getOrUndefined(decodeJson(text))
  if (said === undefined || !namesIn(said, eraser)) return textWithoutNames(text, eraser)
  return JSON.stringify(erasedMember(name, said, no_codes, { ...eraser, whole: false }))
}
