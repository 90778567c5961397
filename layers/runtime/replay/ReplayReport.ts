/**
 * Reads the recording of a run, replays it through the decider, and reports what differs.
 */
import { Effect, Result, Schema } from "effect"
import type { Digest } from "effect/crypto"
import type { RunId } from "../../../src/value/Ids.ts"
import { stepKey } from "../../../src/value/Ids.ts"
import type { Divergence } from "../../../src/replay/Divergence.ts"
import { positionOf } from "../../../src/replay/Divergence.ts"
import type { ErasedPlace } from "../../../src/replay/Erased.ts"
import { erasedPlaces, isErased } from "../../../src/replay/Erased.ts"
import type { RecordedStep, RunFixture } from "../../../src/replay/Fixture.ts"
import { firstOddStep } from "../../../src/replay/Fixture.ts"
import type { RecordedDecision, JournalReplay } from "../../../src/replay/JournalReplay.ts"
import { recordedDecisions, replayJournal } from "../../../src/replay/JournalReplay.ts"
import type { Recording } from "../../../src/replay/Recording.ts"
import { recordingOf } from "../../../src/replay/Recording.ts"
import { withCopiedResult } from "../../../src/run/CallResult.ts"
import { RunNotFound } from "../../../src/run/RunCommand.ts"
import type { JournalEntry, ModelTurned } from "../../../src/run/RunEvent.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import { foldWhole } from "../../../src/run/Quarantine.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"
import { frameOf } from "../../../src/run/RunState.ts"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { RunReader } from "../../../services/RunReader.ts"
import { entriesWithin, forEachEntry } from "../../../services/RunReader.ts"
import { digestOf } from "../tool/CallDigests.ts"

/** The entries of a transcript as texts. Each entry is serialised once, however many steps were shown it. */
class EntryTexts {
  #of: ReadonlyArray<TranscriptEntry> | undefined
  #texts: Array<string> = []

  texts(transcript: ReadonlyArray<TranscriptEntry>): ReadonlyArray<string> {
    // A compaction replaces the list with a new one.
    if (this.#of !== transcript) this.#texts = []
    this.#of = transcript
    for (let i = this.#texts.length; i < transcript.length; i++) {
      this.#texts.push(canonical(transcript[i]))
    }
    return this.#texts
  }
}

interface Turned {
  readonly event: ModelTurned
  readonly at: number
  readonly agent: string
  /** The texts of the frame. This turn was shown the first `entries` of them; later turns add to the list. */
  readonly texts: ReadonlyArray<string>
  readonly entries: number
}

/** The digest of the first `entries` texts of a growing list. It is computed from the digest of one text fewer. */
const chainedDigest = Effect.fnUntraced(function* (
  digest: Digest.Digest["Service"],
  known: Map<ReadonlyArray<string>, { entries: number; hash: string }>,
  { entries, texts }: Pick<Turned, "entries" | "texts">
) {
  let chain = known.get(texts)
  if (chain === undefined) known.set(texts, (chain = { entries: 0, hash: "" }))
  for (; chain.entries < entries; chain.entries++) {
    chain.hash = yield* digestOf(digest, [chain.hash, texts[chain.entries]])
  }
  return chain.hash
})

interface StepwiseReplay extends JournalReplay {
  readonly steps: ReadonlyArray<RecordedStep>
}

/**
 * Replays a journal, and adds the steps with a digest of the input of each, so that a replay can say at which step the input
 * differs: of what the frame's model was shown of the run, without the part of the prompt that comes from the agent's definition.
 */
const replaySteps = Effect.fnUntraced(function* (
  digest: Digest.Digest["Service"],
  run: RunId,
  entries: ReadonlyArray<JournalEntry>
) {
  const turned: Array<Turned> = []
  const frames = new Map<string, EntryTexts>()
  const replayed = replayJournal(run, entries, (state, { at, event }) => {
    if (event._tag !== "ModelTurned") return
    const frame = frameOf(state, event.frame)
    let shown = frames.get(event.frame)
    if (shown === undefined) frames.set(event.frame, (shown = new EntryTexts()))
    const texts = shown.texts(frame.transcript)
    turned.push({ event, at, agent: frame.agent, texts, entries: texts.length })
  })
  const known = new Map<ReadonlyArray<string>, { entries: number; hash: string }>()
  const steps: Array<RecordedStep> = []
  for (const each of turned) {
    const { agent, at, event } = each
    const calls = yield* Effect.forEach(event.calls, (call) =>
      Effect.map(digestOf(digest, call.arguments), (tool_args_hash) => ({
        tool_name: call.name,
        tool_args_hash
      }))
    )
    steps.push({
      step_id: stepKey(event.frame, event.step),
      node_name: `${agent}:${event.frame}`,
      model_id: event.model ?? null,
      input_hash: yield* chainedDigest(digest, known, each),
      output_hash: yield* digestOf(digest, event),
      calls,
      wall_clock_ts: at
    })
  }
  const stepwise: StepwiseReplay = { ...replayed, steps }
  return stepwise
})

/** The run has not ended, so its recording is not complete. */
export class RunStillOpen extends Schema.TaggedError<RunStillOpen>()("RunStillOpen", {
  run_id: Schema.String,
  status: Schema.String
}) {
  override get message(): string {
    return `run ${this.run_id} is ${this.status}: it can be replayed when it has ended (answer its questions, or cancel it).`
  }
}

/** The texts of the run were erased, so it cannot be replayed. */
export class RunErased extends Schema.TaggedError<RunErased>()("RunErased", {
  run_id: Schema.String
}) {
  override get message(): string {
    return `run ${this.run_id} was erased: its journal has digests in place of what it said, and cannot be replayed.`
  }
}

/** The journal of the run has more than a replay may hold in memory. */
export class RunTooLarge extends Schema.TaggedError<RunTooLarge>()("RunTooLarge", {
  run_id: Schema.String,
  units: Schema.Int,
  units_max: Schema.Int
}) {
  override get message(): string {
    return `run ${this.run_id} has about ${this.units} characters, and a replay in this process may hold ${this.units_max}: give it a larger heap (--max-old-space-size).`
  }
}

/** The replay of a fixture differs from it. The message names the first step, call and difference. */
export class FixtureDiverged extends Schema.TaggedError<FixtureDiverged>()("FixtureDiverged", {
  run_id: Schema.String,
  step: Schema.String,
  call: Schema.String,
  what: Schema.String,
  expected: Schema.Json,
  got: Schema.Json
}) {
  override get message(): string {
    const at = [this.step, this.call].filter((text) => text !== "").join(", call ")
    return `run ${this.run_id} diverges${at === "" ? "" : ` at step ${at}`}: ${this.what}. Expected ${short(this.expected)}, got ${short(this.got)}.`
  }
}

const short_units = 400

const short = (value: Schema.Json): string => JSON.stringify(value).slice(0, short_units)

/** A run that was loaded and replayed from its journal. */
export interface JournalReport {
  readonly run: RunId
  readonly recording: Recording
  readonly events: number
  /** How many of the recorded events the decider made again. */
  readonly same: number
  readonly divergence: Divergence | undefined
  readonly steps: ReadonlyArray<RecordedStep>
  /** The recorded decisions, in the order of the questions. */
  readonly decisions: ReadonlyArray<RecordedDecision>
  readonly erased: ReadonlyArray<ErasedPlace>
}

const page_max = 10_000

/** All entries of a run, oldest first; empty if there is no such run. */
export const readEntries = Effect.fnUntraced(function* (
  reader: RunReader["Service"],
  run: RunId
): Effect.fn.Return<ReadonlyArray<JournalEntry>, JournalError | RunQuarantined> {
  const entries: Array<JournalEntry> = []
  yield* forEachEntry(reader, run, page_max, (entry) => void entries.push(entry))
  return entries
})

/** As `readEntries`; fails where the entries have more than `units_max` UTF-16 units, and does not hold them then. */
const readWithin = Effect.fnUntraced(function* (
  reader: RunReader["Service"],
  run: RunId,
  units_max: number
): Effect.fn.Return<ReadonlyArray<JournalEntry>, JournalError | RunQuarantined | RunTooLarge> {
  const { entries, units } = yield* entriesWithin(reader, run, units_max)
  return units > units_max ? yield* new RunTooLarge({ run_id: run, units, units_max }) : entries
})

/** The recording of a run, ended or not, with the model's copies of long results; undefined if there is no such run. */
export const readRecording = Effect.fnUntraced(function* (
  reader: RunReader["Service"],
  run: RunId
): Effect.fn.Return<Recording | undefined, JournalError | RunQuarantined> {
  const entries: Array<JournalEntry> = []
  yield* forEachEntry(reader, run, page_max, (entry) => {
    entries.push({ ...entry, event: withCopiedResult(entry.event) })
  })
  return recordingOf(entries)
})

/** Whether the whole run was erased. In runs of others, an erasure removes only what names its subject. */
export const isErasedRun = ({ accepted }: Recording): boolean =>
  isErased(accepted.message) && isErased(accepted.by)

/** The recording of a run that has ended. Fails if there is no such run, or if it has not ended, was erased or is too large. */
export const loadRecording = Effect.fnUntraced(function* (
  reader: RunReader["Service"],
  run: RunId,
  units_max: number
): Effect.fn.Return<
  Recording,
  RunNotFound | RunStillOpen | RunErased | RunTooLarge | RunQuarantined | JournalError
> {
  const head = yield* reader.head(run)
  const recording = recordingOf(yield* readWithin(reader, run, units_max))
  if (recording === undefined) return yield* new RunNotFound({ run_id: run })
  if (recording.ended === undefined) {
    return yield* new RunStillOpen({ run_id: run, status: head.status })
  }
  if (isErasedRun(recording)) return yield* new RunErased({ run_id: run })
  return recording
})

/** Replays a recording through the decider. */
export const replayRecording = Effect.fnUntraced(function* (
  digest: Digest.Digest["Service"],
  run: RunId,
  recording: Recording
) {
  const { entries } = recording
  const { divergence, same, steps } = yield* replaySteps(digest, run, entries)
  const report: JournalReport = {
    run,
    recording,
    events: entries.length,
    same,
    divergence,
    steps,
    decisions: recordedDecisions(entries),
    erased: erasedPlaces(entries)
  }
  return report
})

/** The run as a fixture for a test. */
export const fixtureOf = ({ recording, run, steps }: JournalReport): RunFixture => ({
  troupe_fixture: 1,
  run,
  entries: [...recording.entries],
  steps: [...steps]
})

const divergedError = (
  run: RunId,
  { call, expected, got, step, what }: Divergence
): FixtureDiverged =>
  new FixtureDiverged({
    run_id: run,
    step: step ?? "",
    call: call ?? "",
    what,
    expected,
    got
  })

/** The recording of a fixture, whose journal may lack events or be in another order: somebody edited or merged the file. */
const recordingOfFixture = ({ entries, run }: RunFixture): Result.Result<Recording, Divergence> => {
  const folded = foldWhole(run, entries, entries.length)
  const recording = Result.isSuccess(folded) ? recordingOf(entries) : undefined
  if (recording !== undefined) return Result.succeed(recording)
  const { reason, seq } = Result.isFailure(folded) ? folded.failure : { reason: "gap", seq: 0 }
  const event = entries[seq]?.event
  return Result.fail({
    seq,
    ...(event === undefined ? { step: undefined, call: undefined } : positionOf(event)),
    what:
      reason === "gap"
        ? `event ${seq} should stand here`
        : `event ${seq} does not follow from the events before it`,
    // Events are JSON, which their types do not say.
    expected: (event ?? null) as never,
    got: null
  })
}

/** Replays a fixture. Fails with the first step or event that differs. */
export const replayFixture = Effect.fnUntraced(function* (
  digest: Digest.Digest["Service"],
  fixture: RunFixture
): Effect.fn.Return<JournalReport, FixtureDiverged> {
  const { run } = fixture
  const recording = recordingOfFixture(fixture)
  if (Result.isFailure(recording)) return yield* divergedError(run, recording.failure)
  const report = yield* replayRecording(digest, run, recording.success)
  // A different input explains the differences after it, so it is reported first.
  const odd = firstOddStep(fixture, report.steps) ?? report.divergence
  if (odd !== undefined) return yield* divergedError(run, odd)
  return report
})
