/**
 * The storage of a recording: lines of JSON, one `RecordedTurn` each, in a file or in memory, bounded; and the digests by which a
 * request is found in it.
 */
import { Effect, FileSystem, Schema, Semaphore } from "effect"
import type { ModelRequest, ModelTool } from "../../../services/ModelGateway.ts"
import { ModelErrorKind } from "../../../services/ModelGateway.ts"
import { RunEvent } from "../../../src/run/RunEvent.ts"
import { Digest } from "effect/crypto"
import { canonical } from "../../../src/value/Canonical.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"

/** Bounds of a recording, when it is written and when it is read. */
export interface TapeBounds {
  readonly turns_max: number
  readonly bytes_max: number
}

export const bounds_default: TapeBounds = { turns_max: 10_000, bytes_max: 64_000_000 }

/** A recording that cannot be written or read. */
export class CassetteUnreadable extends Schema.TaggedError<CassetteUnreadable>()(
  "CassetteUnreadable",
  {
    /** What cannot be read, and where. */
    message: Schema.String
  }
) {}

/** SHA-256 of what a turn depends on, each in lower-case hex. `transcript` covers `entries` entries, one after the other. */
export const InputDigests = Schema.Struct({
  model: Schema.String,
  system: Schema.String,
  settings: Schema.String,
  tools: Schema.String,
  history: Schema.String,
  transcript: Schema.String
})
export interface InputDigests extends Schema.Schema.Type<typeof InputDigests> {}

/**
 * One recorded turn. The prompt is recorded only as digests, the model's output completely. The names are Stargraph's;
 * `node_name` is agent and frame, `step_id` counts the frame's turns from 1.
 */
export const RecordedTurn = Schema.Struct({
  v: Schema.Literal(1),
  node_name: Schema.String,
  step_id: Schema.Int,
  model_id: Schema.NullOr(Schema.String),
  input_hash: Schema.String,
  prompt_hash: Schema.String,
  inputs: InputDigests,
  entries: Schema.Int,
  /** `ModelTurned`, or the error that the gateway failed with. */
  output: Schema.Union([
    RunEvent,
    Schema.TaggedStruct("ModelFailed", {
      kind: ModelErrorKind,
      message: Schema.String,
      retry_after_ms: Schema.optionalKey(Schema.Int),
      reason: Schema.optionalKey(Schema.String)
    })
  ]),
  /** Files that the model made, with their bytes in base64. Absent = none. */
  generated: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        type: Schema.Literals(["image", "audio", "file"]),
        media_type: Schema.String,
        data: Schema.String,
        name: Schema.optionalKey(Schema.String)
      })
    )
  ),
  calls: Schema.Array(Schema.Struct({ tool_name: Schema.String, tool_args_hash: Schema.String })),
  /** In ms since 1970. */
  wall_clock_ts: Schema.Int
})
export interface RecordedTurn extends Schema.Schema.Type<typeof RecordedTurn> {}

export interface Tape {
  /** All lines, oldest first. */
  readonly lines: Effect.Effect<ReadonlyArray<string>, CassetteUnreadable>
  /** Appends a line; concurrent appends are serialised. */
  readonly append: (line: string) => Effect.Effect<void, CassetteUnreadable>
}

/** A tape in memory. */
export const memoryTape = (lines: ReadonlyArray<string> = []): Tape => {
  const kept = [...lines]
  return {
    lines: Effect.sync(() => [...kept]),
    append: (line) => Effect.sync(() => void kept.push(line))
  }
}

/** A tape in a file, which is created if it is missing; its directory must exist. */
export const fileTape = (path: string): Effect.Effect<Tape, never, FileSystem.FileSystem> =>
  Effect.map(FileSystem.FileSystem, (files) => {
    const one = Semaphore.makeUnsafe(1)
    const broken = (what: string) => () =>
      new CassetteUnreadable({ message: `the recording could not be ${what}` })
    return {
      lines: Effect.gen(function* () {
        if (!(yield* files.exists(path))) return []
        const { size } = yield* files.stat(path)
        if (Number(size) > bounds_default.bytes_max) {
          return yield* new CassetteUnreadable({
            message: `the recording is larger than ${bounds_default.bytes_max} bytes`
          })
        }
        const text = yield* files.readFileString(path)
        return text.split("\n").filter((line) => line !== "")
      }).pipe(Effect.catchTag("PlatformError", broken("read"))),
      append: (line) =>
        one
          .withPermit(files.writeFileString(path, `${line}\n`, { flag: "a" }))
          .pipe(Effect.mapError(broken("written")))
    }
  })

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(RecordedTurn))

/** The turns of a tape, oldest first. Fails with the number of the first line that is not a turn. */
export const recordedTurns = (
  tape: Tape,
  bounds: TapeBounds
): Effect.Effect<ReadonlyArray<RecordedTurn>, CassetteUnreadable> =>
  Effect.flatMap(tape.lines, (lines) =>
    lines.length > bounds.turns_max
      ? new CassetteUnreadable({
          message: `the recording holds more than ${bounds.turns_max} turns`
        })
      : Effect.forEach(lines, (line, index) =>
          Effect.mapError(
            decode(line),
            () =>
              new CassetteUnreadable({
                message: `line ${index + 1} of the recording is no recorded turn`
              })
          )
        )
  )

export interface RequestDigest {
  readonly inputs: InputDigests
  /** The digest of all inputs together. */
  readonly input_hash: string
  /** The digest of what the model is shown, without the model's name and settings. */
  readonly prompt_hash: string
}

interface Chain {
  entries: number
  last: TranscriptEntry | undefined
  hash: string
}

const encoder = new TextEncoder()

/** Digests all on which a model's answer depends: no run ids, times or agent. Of a grown transcript only new entries are read. */
export class RequestDigests {
  readonly #digest: Digest.Digest["Service"]
  /** Hides texts that must not be in a recording. This happens before digesting, so a replay computes the same digests. */
  readonly #hide: (text: string) => string
  readonly #chains = new WeakMap<ReadonlyArray<TranscriptEntry>, Chain>()
  readonly #tools = new WeakMap<ReadonlyArray<ModelTool>, string>()

  constructor(digest: Digest.Digest["Service"], hide: (text: string) => string) {
    this.#digest = digest
    this.#hide = hide
  }

  /** SHA-256 of canonical JSON, in lower-case hex. */
  of(value: unknown): Effect.Effect<string> {
    return Effect.suspend(() =>
      this.#digest.digestHex(Digest.sha256, encoder.encode(this.#hide(canonical(value))))
    )
  }

  #ofTools = Effect.fnUntraced(function* (this: RequestDigests, tools: ReadonlyArray<ModelTool>) {
    const known = this.#tools.get(tools)
    if (known !== undefined) return known
    const hash = yield* this.of(tools)
    this.#tools.set(tools, hash)
    return hash
  })

  #ofTranscript = Effect.fnUntraced(function* (
    this: RequestDigests,
    transcript: ReadonlyArray<TranscriptEntry>
  ) {
    const known = this.#chains.get(transcript)
    const chain: Chain =
      known === undefined || transcript[known.entries - 1] !== known.last
        ? { entries: 0, last: undefined, hash: "" }
        : { ...known }
    for (const entry of transcript.slice(chain.entries)) {
      chain.last = entry
      chain.hash = yield* this.of([chain.hash, entry])
      chain.entries++
    }
    this.#chains.set(transcript, chain)
    return chain.hash
  })

  request = Effect.fnUntraced(function* (this: RequestDigests, request: ModelRequest) {
    const inputs: InputDigests = {
      model: yield* this.of(request.model ?? null),
      system: yield* this.of(request.system),
      // Those of agents without any stay the digests that they were.
      settings: yield* this.of(
        request.provider_tools === undefined
          ? (request.settings ?? null)
          : [request.settings ?? null, request.provider_tools]
      ),
      tools: yield* this.#ofTools(request.tools),
      history: yield* this.#ofTranscript(request.history),
      transcript: yield* this.#ofTranscript(request.transcript)
    }
    const { history, system, tools, transcript } = inputs
    const digest: RequestDigest = {
      inputs,
      input_hash: yield* this.of(inputs),
      prompt_hash: yield* this.of({ history, system, tools, transcript })
    }
    return digest
  })
}
