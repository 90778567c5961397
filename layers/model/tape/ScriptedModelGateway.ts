/**
 * A model that follows a script: for tests, examples and a start without a key. Turns are data or a function of the
 * request. A turn without a wait is an `Exit`, which the loop takes without a fiber.
 */
import { Context, Effect, Exit, Layer, Schema } from "effect"
import { ModelError, ModelGateway } from "../../../services/ModelGateway.ts"
import type { ModelDelta, ModelErrorKind, ModelRequest } from "../../../services/ModelGateway.ts"
import type { Json } from "../../../src/value/Canonical.ts"
import type { Usage } from "../../../src/cost/TurnCost.ts"
import type { ProposedCall } from "../../../src/run/RunEvent.ts"
import type { Turn } from "../../../src/run/RunDecider.ts"

/** One turn of a script: what the model says, or an Effect of it (which may wait, or fail with a `ModelError`). */
export type ScriptedTurn = Turn | Effect.Effect<Turn, ModelError>

/**
 * - A list: one turn for each request, in the order of the requests, whichever agent sends them.
 * - A record: a list for each frame (`0`, `0/1.0`) or each agent; a frame's own list goes first.
 * - A function: what to say to this request, of which `transcript` has the message and what followed, and `history` what was
 *   before; undefined = the script has nothing to say. It alone is safe to restart: where it looks at nothing but the request, a
 *   new process says what the old one would have said.
 */
export type Script =
  | ReadonlyArray<ScriptedTurn>
  | Readonly<Record<string, ReadonlyArray<ScriptedTurn>>>
  | ((request: ModelRequest) => ScriptedTurn | undefined)

export interface ScriptOptions {
  /** Sends text and reasoning to the sink in pieces of so many UTF-16 units; absent = whole. At least 1. */
  readonly piece_units?: number | undefined
  /** Waits so many ms before each piece; absent or 0 = no wait, and the turn is finished at once. */
  readonly piece_delay_ms?: number | undefined
  /** What a turn that gives no `usage` has used. Absent = its provider counted nothing. */
  readonly usage?: Usage | undefined
  /** As many requests are kept, the newest; absent = 1,000. */
  readonly requests_max?: number | undefined
}

/** The requests did not match the script. At most 100 entries each. */
export class ScriptMismatch extends Schema.TaggedError<ScriptMismatch>()("ScriptMismatch", {
  /** Turns that were not requested. */
  left: Schema.Array(Schema.String),
  /** Requests that the script had no turn for. */
  beyond: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const parts: Array<string> = []
    if (this.left.length > 0) parts.push(`never requested: ${this.left.join("; ")}`)
    if (this.beyond.length > 0) parts.push(`requested beyond the script: ${this.beyond.join("; ")}`)
    return parts.join(". ")
  }
}

/** What was requested of a scripted model, for a test to look at. */
export class ModelScript extends Context.Service<
  ModelScript,
  {
    /** The newest requests, oldest first, each with the transcript as it was then. */
    readonly requests: Effect.Effect<ReadonlyArray<ModelRequest>>
    /** How many requests there were. */
    readonly requestCount: Effect.Effect<number>
    /** Fails unless every turn was requested and every request had a turn. */
    readonly assertComplete: Effect.Effect<void, ScriptMismatch>
  }
>()("troupe/layers/model/ModelScript") {}

/** A turn that answers. */
export const text = (content: string, also?: Partial<Turn>): Turn => ({
  text: content,
  calls: [],
  finish: "stop",
  ...also
})

/** A turn that calls one tool. */
export const call = (tool: string, args: Json = {}, also?: Partial<Turn>): Turn => ({
  text: "",
  calls: [{ model_id: "call_0", name: tool, arguments: args }],
  finish: "tool_calls",
  ...also
})

/** A turn that calls several tools at once: the calls of the given turns, in order, with ids of their own. */
export const calls = (turns: ReadonlyArray<Turn>, also?: Partial<Turn>): Turn => {
  const proposed: Array<ProposedCall> = []
  for (const turn of turns) {
    for (const each of turn.calls) proposed.push({ ...each, model_id: `call_${proposed.length}` })
  }
  return { text: "", calls: proposed, finish: "tool_calls", ...also }
}

/** A turn that fails. */
export const fails = (
  kind: typeof ModelErrorKind.Type,
  message: string
): Effect.Effect<never, ModelError> => Exit.fail(new ModelError({ kind, message }))

const mismatches_max = 100

/** Pieces of at most `units` UTF-16 units, never cut inside a surrogate pair. */
const pieces = (whole: string, units: number): ReadonlyArray<string> => {
  const list: Array<string> = []
  let from = 0
  while (from < whole.length) {
    let to = Math.min(from + Math.max(1, units), whole.length)
    const last = whole.charCodeAt(to - 1)
    if (to < whole.length && last >= 0xd800 && last <= 0xdbff) to++
    list.push(whole.slice(from, to))
    from = to
  }
  return list
}

const deltas = (turn: Turn, options: ScriptOptions): ReadonlyArray<ModelDelta> => {
  const units = options.piece_units ?? Infinity
  const list: Array<ModelDelta> = []
  const push = (kind: ModelDelta["kind"], whole: string) => {
    let offset = 0
    for (const piece of pieces(whole, units)) {
      list.push({ kind, text: piece, offset })
      offset += piece.length
    }
  }
  if (turn.reasoning !== undefined) push("reasoning", turn.reasoning.map((r) => r.text).join(""))
  push("text", turn.text)
  return list
}

const spoken = (
  given: Turn,
  sink: (delta: ModelDelta) => void,
  options: ScriptOptions
): Effect.Effect<Turn> => {
  const turn =
    options.usage === undefined || "usage" in given ? given : { ...given, usage: options.usage }
  if (turn.text === "" && turn.reasoning === undefined) return Exit.succeed(turn)
  const delay = options.piece_delay_ms ?? 0
  if (delay <= 0) {
    for (const delta of deltas(turn, options)) sink(delta)
    return Exit.succeed(turn)
  }
  return Effect.as(
    Effect.forEach(
      deltas(turn, options),
      (delta) =>
        Effect.andThen(
          Effect.sleep(delay),
          Effect.sync(() => sink(delta))
        ),
      { discard: true }
    ),
    turn
  )
}

const describe = (request: ModelRequest): string =>
  `agent ${request.agent}, frame ${request.frame}, step ${request.step}`

interface Reader {
  next(request: ModelRequest): ScriptedTurn | undefined
  left(): ReadonlyArray<string>
}

const listReader = (name: string, turns: ReadonlyArray<ScriptedTurn>): Reader => {
  let at = 0
  return {
    next: () => turns[at++],
    left: () =>
      at < turns.length ? [`${name}turns ${at + 1} to ${turns.length} of ${turns.length}`] : []
  }
}

const reader = (script: Script): Reader => {
  if (typeof script === "function") return { next: script, left: () => [] }
  if (Array.isArray(script)) return listReader("", script as ReadonlyArray<ScriptedTurn>)
  const readers = new Map<string, Reader>()
  for (const [name, turns] of Object.entries(script)) {
    readers.set(name, listReader(`${name}: `, turns as ReadonlyArray<ScriptedTurn>))
  }
  return {
    next: (request) => (readers.get(request.frame) ?? readers.get(request.agent))?.next(request),
    left: () => [...readers.values()].flatMap((each) => each.left())
  }
}

interface Kept {
  readonly request: ModelRequest
  readonly history: number
  readonly transcript: number
}

/** A frame's transcript grows in place: a kept request remembers how long it was. */
const asItWas = ({ history, request, transcript }: Kept): ModelRequest => ({
  ...request,
  history: request.history.slice(0, history),
  transcript: request.transcript.slice(0, transcript)
})

const make = (script: Script, options: ScriptOptions) => {
  const turns = reader(script)
  const kept: Array<Kept> = []
  const kept_max = options.requests_max ?? 1_000
  const beyond: Array<string> = []
  let count = 0

  const record = (request: ModelRequest) => {
    count++
    if (kept_max <= 0) return
    // Dropped in bulk: shifting the list at each request would cost as much as the list is long.
    if (kept.length >= kept_max * 2) kept.splice(0, kept.length - kept_max + 1)
    kept.push({
      request,
      history: request.history.length,
      transcript: request.transcript.length
    })
  }

  const turn: ModelGateway["Service"]["turn"] = (request, sink) => {
    record(request)
    let scripted: ScriptedTurn | undefined
    try {
      scripted = turns.next(request)
    } catch (defect) {
      return Exit.die(defect)
    }
    if (scripted === undefined) {
      const who = describe(request)
      if (beyond.length < mismatches_max) beyond.push(who)
      return Exit.fail(
        new ModelError({ kind: "configuration", message: `the script has no turn for ${who}` })
      )
    }
    if (!Effect.isEffect(scripted)) return spoken(scripted, sink, options)
    if (Exit.isExit(scripted) && Exit.isFailure(scripted)) return scripted
    return Effect.flatMap(scripted, (turn) => spoken(turn, sink, options))
  }

  return Context.make(ModelGateway, { turn }).pipe(
    Context.add(ModelScript, {
      requests: Effect.sync(() => kept.slice(-kept_max).map(asItWas)),
      requestCount: Effect.sync(() => count),
      assertComplete: Effect.suspend(() => {
        const left = turns.left().slice(0, mismatches_max)
        return left.length === 0 && beyond.length === 0
          ? Effect.void
          : Effect.fail(new ScriptMismatch({ left, beyond: [...beyond] }))
      })
    })
  )
}

/** A model that follows the script. Each build of the layer begins the script anew. */
export const layer = (
  script: Script,
  options: ScriptOptions = {}
): Layer.Layer<ModelGateway | ModelScript> =>
  Layer.effectContext(Effect.sync(() => make(script, options)))

/** What a turn of `scripted` has used where it does not say, so that limits and prices hold in a test as in production. */
export const usage_default: Usage = { input_tokens: 100, output_tokens: 20 }

/** `layer` with `usage_default` for the turns that give no usage; `usage: undefined` plays a provider that counts nothing. */
export const scripted = (
  script: Script,
  options: ScriptOptions = {}
): Layer.Layer<ModelGateway | ModelScript> => layer(script, { usage: usage_default, ...options })
