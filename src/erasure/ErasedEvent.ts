/**
 * Events of a run without what a subject said or was told. What remains says what happened: who acts, which tools, how it
 * ended, what it cost, and a mark in the place of each text. It is an event still, and folds as before.
 */
import { isErased } from "../replay/Erased.ts"
import type { RunStopping } from "../run/RunEvent.ts"
import type { Eraser } from "./ErasedValue.ts"
import { markOf, markText, namesIn } from "./ErasedValue.ts"

/** Members that hold no text of a person: names of agents, tools and models, places, codes, amounts. All others are erased. */
const kept = new Set(
  (
    "_tag tenant agent roles trace_id span_id limits pins nested owner frame call approval authorization finish finish_raw " +
    "usage cost spent model of kind class cause how policy_version approvers tool tool_key tool_digest key on_loss via limit " +
    "status type media_type model_id name server id tier typology source author run tool_name agent_name correlation_id " +
    "undeclared client context_secrets without permission from to handed_by"
  ).split(" ")
)

/** Digests of what a person said or was shown, which somebody could guess: they are digested again, with the key. */
const digests = new Set(["digest", "shown_digest", "proposal"])

/** JSON of a tool, a host or a provider: erased as a whole. */
const opaque = new Set(["arguments", "context", "answer_schema", "target", "values", "provider"])

/**
 * Of a turn: where its parts stand in its texts, which are other texts now, and to which provider they may go back, which would
 * refuse them.
 */
const dropped: ReadonlySet<string> = new Set(["parts", "origin"])

export interface RunEraser extends Eraser {
  /** Everything that was said is erased; otherwise only what names the subject. */
  readonly whole: boolean
  /** The key of an address, without the subject's name. */
  readonly rename: (key: string) => string
}

const marked = (value: unknown, eraser: Eraser): unknown =>
  typeof value === "string"
    ? markText(eraser, value)
    : isErased(value)
      ? value
      : markOf(eraser, value)

/** One run's events, of which the reasons in `codes` are the runtime's and no person's. */
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

  /** `name` is that of the member; those of a list have the list's. */
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

/** Reasons for which the runtime ends a run, in these events of it. */
export const codesIn = (events: Iterable<unknown>): ReadonlySet<string> => {
  const codes = new Set(["complete"])
  for (const event of events) {
    if (isStopping(event) && event.by === "runtime") codes.add(event.reason)
  }
  return codes
}

const isStopping = (event: unknown): event is RunStopping =>
  typeof event === "object" && event !== null && "_tag" in event && event._tag === "RunStopping"

/** The event of a run whose codes these are, as JSON. It decodes where the event did. */
export const erasedEvent = (event: object, codes: ReadonlySet<string>, eraser: RunEraser): object =>
  new EventEraser(eraser, codes).members(event)

/** The same of a member of a record that says what events of the run say. */
export const erasedMember = (
  name: string,
  value: unknown,
  codes: ReadonlySet<string>,
  eraser: RunEraser
): unknown => new EventEraser(eraser, codes).value(name, value)
