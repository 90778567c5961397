/**
 * Makes a digest of the input of each turn of a run, so that a replay can say at which step the input differs. A digest covers
 * what the frame's model was shown of the run, without the part of the prompt that comes from the agent's definition.
 */
import { Effect } from "effect"
import type { Digest } from "effect/crypto"
import { canonical } from "../../../src/value/Canonical.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { replayJournal } from "../../../src/replay/JournalReplay.ts"
import type { JournalReplay } from "../../../src/replay/JournalReplay.ts"
import { stepKey } from "../../../src/value/Ids.ts"
import type { RecordedStep } from "../../../src/replay/Fixture.ts"
import type { JournalEntry, ModelTurned } from "../../../src/run/RunEvent.ts"
import { digestOf } from "../tool/CallDigests.ts"
import { frameOf } from "../../../src/run/RunState.ts"

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

/** Replays a journal, and adds the steps with their digests, in the order of the turns. */
export const replaySteps = Effect.fnUntraced(function* (
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
