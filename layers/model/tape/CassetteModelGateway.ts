/**
 * Records the turns of any gateway, and replays them for the same requests. A replay asks no model: a request that
 * differs from the recorded one fails, with the step and the inputs that differ.
 */
import { Clock, Context, Effect, Layer, Redacted, Result, Schema } from "effect"
import { Digest } from "effect/crypto"
import { Base64 } from "effect/encoding"
import { ModelError, ModelGateway } from "../../../services/ModelGateway.ts"
import type { ModelDelta, ModelRequest } from "../../../services/ModelGateway.ts"
import { withDefaults } from "../../../src/value/PlainObject.ts"
import type { Turn } from "../../../src/run/RunDecider.ts"
import type { RequestDigest, Tape, TapeBounds } from "./CassetteTape.ts"
import {
  bounds_default,
  CassetteUnreadable,
  InputDigests,
  RecordedTurn,
  recordedTurns,
  RequestDigests
} from "./CassetteTape.ts"

/**
 * A request of a replay is not in the recording. `differs` has the inputs that have changed; empty = nothing was recorded for
 * the step.
 */
export class CassetteDiverged extends Schema.TaggedError<CassetteDiverged>()("CassetteDiverged", {
  node_name: Schema.String,
  step_id: Schema.Int,
  differs: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const step = `step ${this.step_id} of ${this.node_name}`
    return this.differs.length === 0
      ? `nothing is recorded for ${step}`
      : `${step} is not as it was recorded: ${this.differs.join(", ")} differ`
  }
}

/** A replay ended before the recording did. At most 100 entries. */
export class CassetteLeft extends Schema.TaggedError<CassetteLeft>()("CassetteLeft", {
  left: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `recorded and never requested: ${this.left.join("; ")}`
  }
}

/** The state of a recording or a replay. */
export class Cassette extends Context.Service<
  Cassette,
  {
    /** The number of turns that were recorded or replayed. */
    readonly turns: Effect.Effect<number>
    /** Fails with the first divergence, or with the turns that the replay did not use. A recording is always complete. */
    readonly assertComplete: Effect.Effect<void, CassetteDiverged | CassetteLeft>
  }
>()("troupe/layers/model/Cassette") {}

export interface RecordOptions extends Partial<TapeBounds> {
  /** Texts that are removed from a recording, wherever they occur. */
  readonly secrets?: ReadonlyArray<Redacted.Redacted<string>>
}

const left_max = 100

const nodeOf = (request: ModelRequest): string => `${request.agent}:${request.frame}`

const configuration = (message: string, reason?: string) =>
  new ModelError({
    kind: "configuration",
    message,
    ...(reason === undefined ? undefined : { reason })
  })

const hiding = (secrets: ReadonlyArray<Redacted.Redacted<string>>) => {
  // As they stand inside a JSON text.
  const texts = secrets
    .map((secret) => JSON.stringify(Redacted.value(secret)).slice(1, -1))
    .filter((text) => text !== "")
  return (text: string): string => {
    let hidden = text
    for (const secret of texts) hidden = hidden.split(secret).join("[hidden]")
    return hidden
  }
}

const encode = Schema.encodeEffect(Schema.fromJsonString(RecordedTurn))

const outputOf = (
  request: ModelRequest,
  result: Result.Result<Turn, ModelError>
): RecordedTurn["output"] => {
  if (Result.isSuccess(result)) {
    return { _tag: "ModelTurned", frame: request.frame, step: request.step, ...result.success }
  }
  const { kind, message, reason, retry_after_ms } = result.failure
  return {
    _tag: "ModelFailed",
    kind,
    message,
    ...(retry_after_ms === undefined ? undefined : { retry_after_ms }),
    ...(reason === undefined ? undefined : { reason })
  }
}

const generatedBy = (result: Result.Result<Turn, ModelError>): Pick<RecordedTurn, "generated"> =>
  Result.isSuccess(result) && result.success.generated !== undefined
    ? {
        generated: result.success.generated.map((file) => ({
          ...file,
          data: typeof file.data === "string" ? file.data : Base64.encode(file.data)
        }))
      }
    : {}

const lineOf = Effect.fnUntraced(function* (
  digests: RequestDigests,
  request: ModelRequest,
  digest: RequestDigest,
  entries: number,
  result: Result.Result<Turn, ModelError>
) {
  const calls = Result.isSuccess(result) ? result.success.calls : []
  const hashed = yield* Effect.forEach(calls, (call) =>
    Effect.map(digests.of(call.arguments), (tool_args_hash) => ({
      tool_name: call.name,
      tool_args_hash
    }))
  )
  return yield* encode({
    v: 1,
    node_name: nodeOf(request),
    step_id: request.step,
    model_id: Result.isSuccess(result) ? (result.success.model ?? null) : null,
    ...digest,
    entries,
    output: outputOf(request, result),
    ...generatedBy(result),
    calls: hashed,
    wall_clock_ts: yield* Clock.currentTimeMillis
  })
})

const makeRecorder = Effect.fnUntraced(function* (tape: Tape, options: RecordOptions) {
  const model = yield* ModelGateway
  const { secrets, ...bounds } = options
  const { bytes_max, turns_max } = withDefaults(bounds_default, bounds)
  const hide = hiding(secrets ?? [])
  const digests = new RequestDigests(yield* Digest.Digest, hide)
  if ((yield* tape.lines).length > 0) {
    return yield* new CassetteUnreadable({ message: "the tape holds a recording already" })
  }
  let turns = 0
  let bytes = 0
  const turn = Effect.fnUntraced(function* (
    request: ModelRequest,
    sink: (delta: ModelDelta) => void
  ) {
    // The transcript grows in place, and the answer is to what it was before.
    const entries = request.transcript.length
    const digest = yield* digests.request(request)
    if (turns >= turns_max || bytes >= bytes_max) {
      return yield* configuration("the recording is full", "cassette_full")
    }
    turns++
    const result = yield* Effect.result(model.turn(request, sink))
    const line = hide(yield* Effect.orDie(lineOf(digests, request, digest, entries, result)))
    bytes += line.length
    yield* Effect.mapError(tape.append(line), (error) => configuration(error.message))
    return yield* Effect.fromResult(result)
  })
  return Context.make(ModelGateway, { ...model, turn }).pipe(
    Context.add(Cassette, { turns: Effect.sync(() => turns), assertComplete: Effect.void })
  )
})

type Left = Map<string, Array<RecordedTurn>>

const stepName = (turn: { readonly node_name: string; readonly step_id: number }): string =>
  `step ${turn.step_id} of ${turn.node_name}`

const inputNames = Object.keys(InputDigests.fields) as ReadonlyArray<keyof InputDigests>

const differing = (recorded: RecordedTurn, now: RequestDigest): ReadonlyArray<string> =>
  inputNames.filter((name) => recorded.inputs[name] !== now.inputs[name])

/** Takes the turn that was recorded for this request. Turns of several runs in one recording are kept apart. */
const taken = (
  left: Left,
  request: ModelRequest,
  digest: RequestDigest
): RecordedTurn | CassetteDiverged => {
  const place = { node_name: nodeOf(request), step_id: request.step }
  const turns = left.get(stepName(place)) ?? []
  const at = turns.findIndex((turn) => turn.input_hash === digest.input_hash)
  const [found] = at < 0 ? [] : turns.splice(at, 1)
  if (found !== undefined) return found
  const [first] = turns
  const differs = first === undefined ? [] : differing(first, digest)
  return new CassetteDiverged({ ...place, differs })
}

/** Sends the turn's whole text to the sink at once, because its pieces were not recorded. */
const speak = (turn: Turn, sink: (delta: ModelDelta) => void): void => {
  const reasoning = (turn.reasoning ?? []).map((part) => part.text).join("")
  if (reasoning !== "") sink({ kind: "reasoning", text: reasoning, offset: 0 })
  if (turn.text !== "") sink({ kind: "text", text: turn.text, offset: 0 })
}

const turnOf = ({ generated, output }: RecordedTurn): Turn | ModelError => {
  if (output._tag === "ModelTurned") {
    const { _tag, frame: _frame, step: _step, ...turn } = output
    return generated === undefined ? turn : { ...turn, generated }
  }
  if (output._tag === "ModelFailed") {
    const { _tag, ...error } = output
    return new ModelError(error)
  }
  return configuration("the recording holds an event that is no turn")
}

const makePlayer = Effect.fnUntraced(function* (tape: Tape, bounds: Partial<TapeBounds>) {
  const digests = new RequestDigests(yield* Digest.Digest, (text) => text)
  const left: Left = new Map()
  for (const turn of yield* recordedTurns(tape, withDefaults(bounds_default, bounds))) {
    const place = stepName(turn)
    const turns = left.get(place)
    if (turns === undefined) left.set(place, [turn])
    else turns.push(turn)
  }
  const isEmpty = left.size === 0
  let turns = 0
  let diverged: CassetteDiverged | undefined
  const turn = Effect.fnUntraced(function* (
    request: ModelRequest,
    sink: (delta: ModelDelta) => void
  ) {
    const found = taken(left, request, yield* digests.request(request))
    if (found instanceof CassetteDiverged) {
      diverged ??= found
      const why = isEmpty ? ": the recording is empty, or its file is not there" : ""
      return yield* configuration(`${found.message}${why}`, "cassette_diverged")
    }
    turns++
    const answer = turnOf(found)
    if (answer instanceof ModelError) return yield* answer
    speak(answer, sink)
    return answer
  })
  const assertComplete = Effect.suspend(
    (): Effect.Effect<void, CassetteDiverged | CassetteLeft> => {
      if (diverged !== undefined) return Effect.fail(diverged)
      const over = [...left.values()].flat().slice(0, left_max).map(stepName)
      return over.length === 0 ? Effect.void : Effect.fail(new CassetteLeft({ left: over }))
    }
  )
  return Context.make(ModelGateway, { turn }).pipe(
    Context.add(Cassette, { turns: Effect.sync(() => turns), assertComplete })
  )
})

/** Records every turn of the wrapped gateway on an empty tape: errors are included, interrupted turns are not. */
export const recording = <E, R>(
  tape: Effect.Effect<Tape, E, R>,
  options: RecordOptions = {}
): Layer.Layer<ModelGateway | Cassette, E | CassetteUnreadable, R | ModelGateway | Digest.Digest> =>
  Layer.effectContext(Effect.flatMap(tape, (each) => makeRecorder(each, options)))

/** Replays the tape. Each build of the layer starts at the tape's beginning. */
export const layer = <E, R>(
  tape: Effect.Effect<Tape, E, R>,
  bounds: Partial<TapeBounds> = {}
): Layer.Layer<ModelGateway | Cassette, E | CassetteUnreadable, R | Digest.Digest> =>
  Layer.effectContext(Effect.flatMap(tape, (each) => makePlayer(each, bounds)))
