/**
 * Removes what a subject said or was told from the events of a run. What remains says what happened: who acts, which tools were
 * used, how it ended and what it cost, with a mark in place of each text. The result is still a valid event and folds as before.
 */
import { isErased } from "../replay/Erased.ts"
import type { RunStopping } from "../run/RunEvent.ts"
import type { Eraser } from "./ErasedValue.ts"
import { markOf, markText, namesIn } from "./ErasedValue.ts"

/**
 * Members that contain no text of a person: names of agents, tools and models, positions, codes, amounts. All others are erased.
 */
const kept = new Set(
  (
    "_tag tenant agent roles trace_id span_id limits pins nested owner frame call approval authorization finish finish_raw " +
    "usage cost spent model of kind class cause how policy_version approvers tool tool_key tool_digest key on_loss via limit " +
    "status type media_type model_id name server id tier typology source author run tool_name agent_name correlation_id " +
    "undeclared client context_secrets without permission from to handed_by"
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
    for (const [name, member] of Object.entries(value)) {
      if (isTurn && this.#eraser.whole && dropped.has(name)) continue
      // A file's name is a person's text, and a tool's is not.
      if (kept.has(name) && !(isFile && name === "name")) members.push([name, member])
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
