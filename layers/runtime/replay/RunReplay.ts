/**
 * Runs a recorded run again through the real loop and the real gate, on a journal of its own. The turns come from the recording
 * or from another model, the results from the recording as each tool's policy allows, and the decisions are made as they were. No
 * person is asked, and nothing is written anywhere else.
 */
import { Effect } from "effect"
import { Digest } from "effect/crypto"
import type { Past } from "../../../src/conversation/Compaction.ts"
import { firstDifference } from "../../../src/replay/Divergence.ts"
import type { Divergence } from "../../../src/replay/Divergence.ts"
import type { JournalEntry, ApprovalRequested } from "../../../src/run/RunEvent.ts"
import { fold } from "../../../src/run/RunFold.ts"
import { openQuestions } from "../../../src/run/RunState.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { Principal } from "../../../src/principal/Principal.ts"
import type { Recording } from "../../../src/replay/Recording.ts"
import { decideApproval, expireApproval } from "../../../src/run/RunCommand.ts"
import { AgentMemories } from "../../../services/AgentMemory.ts"
import type { RunJournal } from "../../../services/RunJournal.ts"
import { RunOwnership } from "../../../services/RunOwnership.ts"
import { run as runLoop } from "../loop/RunLoop.ts"
import { makeWakeup, wakeRun } from "../loop/RunWakeup.ts"
import type { ReplayedCall } from "./ReplayTools.ts"
import * as ReplayLoop from "./ReplayLoop.ts"
import { withoutWrites } from "./RecordedServices.ts"
import { readEntries } from "./ReplayReport.ts"
import { boundDigest } from "../tool/CallDigests.ts"

/** The open questions of a run. */
const openRequests = (state: RunState): ReadonlyArray<ApprovalRequested> => {
  const questions = [...openQuestions(state)]
  for (const { phase } of state.open) {
    // A replay asks no client, so there are no questions to clients.
    if (phase._tag !== "AwaitingApproval") continue
    if (phase.request._tag === "ApprovalRequested") questions.push(phase.request)
  }
  return questions
}

/** The key by which questions are matched: the tool and arguments, or for a question that is about no call what stands in its place. */
const subjectOf = ({
  arguments: args,
  call,
  guarded,
  limit,
  tool_key
}: ApprovalRequested): string =>
  limit === undefined && guarded === undefined ? `${tool_key} ${canonical(args)}` : call

const late = Number.MAX_SAFE_INTEGER

/** Answers questions as they were answered in the recording, by the same person, so that nobody is asked. */
const makeAnswers = (
  digest: Digest.Digest["Service"],
  journal: RunJournal["Service"],
  run: RunId,
  recording: Recording
) => {
  const left = Map.groupBy(recording.questions, ({ request }) => subjectOf(request))
  /** False = the recording has no such question, or no answer to it. */
  return Effect.fnUntraced(function* (state: RunState, request: ApprovalRequested) {
    const same = left.get(subjectOf(request)) ?? []
    // The question of the same call comes first. Another model than the recorded one may ask it at another call.
    const place = same.findIndex((each) => each.request.call === request.call)
    const [found] = same.splice(Math.max(place, 0), 1)
    if (found?.answer === undefined) return false
    const { answer } = found
    const { approval, call } = request
    if (answer._tag === "ApprovalClosed") {
      if (answer.how !== "expired" || request.expires_at === undefined) return false
      yield* Effect.ignore(journal.amend(run, (now) => expireApproval(now, call, approval, late)))
      return true
    }
    const { by, decision } = answer
    const { tenant } = state.accepted
    // The desk checked whether the person may decide when the decision was recorded.
    const verdict = {
      call,
      approval,
      decision,
      by: new Principal({ id: by, tenant, roles: ["admin"] }),
      digest: yield* boundDigest(digest, { ...request, run_id: run, tenant }, decision)
    }
    yield* Effect.ignore(journal.amend(run, (now) => decideApproval(now, verdict, 0)))
    return true
  })
}

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

/** Replays a run to its end, or to that of its recording. Needs an empty journal, which is of no other use after that. */
export const replayRun = Effect.fnUntraced(function* (options: Options) {
  const { past, recording, run } = options
  const wakeup = makeWakeup()
  const { calls, loop, stops } = yield* ReplayLoop.make(options, wakeup)
  const { journal, reader } = loop
  const answer = makeAnswers(yield* Digest.Digest, journal, run, recording)
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
      runLoop(
        loop,
        { run, state, worked_ms, last_append_at, hasWaited, beside: recording.beside },
        past,
        wakeup,
        undefined
      ),
      memory
    )
    if (finish.how !== "parkable") break
    ;({ state, worked_ms } = finish)
    last_append_at = undefined
    hasWaited = true
    let answered = 0
    for (const request of openRequests(state)) {
      if (yield* answer(state, request)) answered++
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
}, Effect.scoped)
