/**
 * Runs a recorded run again through the real loop and the real gate, on a journal of its own. The turns come from the recording
 * or from another model, the results from the recording as each tool's policy allows, and the decisions are made as they were. No
 * person is asked, and nothing is written anywhere else.
 */
import { Effect } from "effect"
import { Digest } from "effect/crypto"
import type { SecureRandom } from "effect/crypto"
import type { Past } from "../../../src/conversation/Compaction.ts"
import { firstDifference } from "../../../src/replay/Divergence.ts"
import type { Divergence } from "../../../src/replay/Divergence.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import { fold } from "../../../src/run/RunFold.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { AgentMemories } from "../../../services/AgentMemory.ts"
import type { RunJournal } from "../../../services/RunJournal.ts"
import { RunOwnership } from "../../../services/RunOwnership.ts"
import type { RunReader } from "../../../services/RunReader.ts"
import type { ToolRegistry } from "../../../services/ToolRegistry.ts"
import { run as runLoop } from "../loop/RunLoop.ts"
import { makeWakeup, wakeRun } from "../loop/RunWakeup.ts"
import type { LoopFailure } from "../loop/RunWriter.ts"
import * as ReplayAnswers from "./ReplayAnswers.ts"
import type { ReplayedCall } from "./ReplayedCalls.ts"
import * as ReplayLoop from "./ReplayLoop.ts"
import { withoutWrites } from "./ReplayMemory.ts"
import { readEntries } from "./ReplayReport.ts"

export interface RunReplayed {
  /** The first difference from the recording. With another model there are usually many, and this is the first of them. */
  readonly divergence: Divergence | undefined
  readonly entries: ReadonlyArray<JournalEntry>
  readonly calls: ReadonlyArray<ReplayedCall>
  readonly state: RunState
}

export interface Options extends ReplayLoop.Options {
  /** The part of the run's conversation before it. */
  readonly past: Past
}

/** The entries without the replay's own stop, because the difference is the call or question before it. */
const withoutOwnStop = (entries: ReadonlyArray<JournalEntry>): ReadonlyArray<JournalEntry> =>
  entries.filter(({ event }) => event._tag !== "RunStopping" || event.by !== ReplayLoop.replayOwner)

const replay = Effect.fnUntraced(function* (options: Options) {
  const { past, recording, run } = options
  const wakeup = makeWakeup()
  const { calls, loop, stops } = yield* ReplayLoop.make(options, wakeup)
  const { journal, reader } = loop
  const answers = ReplayAnswers.make(yield* Digest.Digest, journal, run, recording)
  yield* journal.create(run, 1, recording.accepted)
  const claim = yield* Effect.orDie((yield* RunOwnership).claim(run, ReplayLoop.replayOwner))
  const { address, tenant } = recording.accepted
  const kind = loop.directory.get(address.agent)?.spec.memory?.anchor
  const memory = withoutWrites(yield* (yield* AgentMemories).get(tenant, address, kind))
  let state = fold(claim.entries.map(({ event }) => event))
  let last_append_at = claim.entries.at(-1)?.at
  let worked_ms = 0
  let hasWaited = false
  for (;;) {
    const finish = yield* Effect.provideContext(
      runLoop(loop, { run, state, worked_ms, last_append_at, hasWaited }, past, wakeup, undefined),
      memory
    )
    if (finish.how !== "parkable") break
    ;({ state, worked_ms } = finish)
    last_append_at = undefined
    hasWaited = true
    let answered = 0
    for (const request of ReplayAnswers.openRequests(state)) {
      if (yield* answers.answer(state, request)) answered++
    }
    if (answered === 0) yield* stops.stopUnanswered
    wakeRun(wakeup)
  }
  const entries = yield* readEntries(reader, run)
  const replayed: RunReplayed = {
    entries,
    calls: calls.calls,
    state: fold(entries.map(({ event }) => event)),
    divergence: firstDifference(recording.entries, withoutOwnStop(entries))
  }
  return replayed
})

/**
 * Replays a run to its end, or to the end of its recording. Needs an empty journal. The replay is written to it, and it should be
 * thrown away after that.
 */
export const replayRun = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<
  RunReplayed,
  LoopFailure,
  | AgentDirectory
  | AgentMemories
  | Digest.Digest
  | RunJournal
  | RunOwnership
  | RunReader
  | SecureRandom.SecureRandom
  | ToolRegistry
> {
  return yield* Effect.scoped(replay(options))
})
