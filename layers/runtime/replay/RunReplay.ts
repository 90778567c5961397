/**
 * Runs a recorded run once more through the real loop and the real gate, on a journal of its own: turns from the recording
 * or from another model, results from the recording as each tool's policy allows, decisions as they were made. Nobody is
 * asked, and nothing is written anywhere else.
 */
import { Clock, Effect, FiberSet } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import type { Past } from "../../../src/conversation/Compaction.ts"
import type { RunId } from "../../../src/Ids.ts"
import { firstDifference } from "../../../src/replay/Comparison.ts"
import type { Divergence } from "../../../src/replay/Divergence.ts"
import type { Recording } from "../../../src/replay/Recording.ts"
import { cancelRun } from "../../../src/run/RunCommand.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { JournalEntry, RunEvent, RunStopping } from "../../../src/run/RunEvent.ts"
import { fold } from "../../../src/run/RunState.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { AgentMemories } from "../../../services/AgentMemory.ts"
import type { ModelGateway } from "../../../services/ModelGateway.ts"
import { PermissionPolicy } from "../../../services/PermissionPolicy.ts"
import { PriceBook } from "../../../services/PriceBook.ts"
import { RunJournal } from "../../../services/RunJournal.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"
import { Tokenizer } from "../../../services/Tokenizer.ts"
import { policyVersionOf } from "../tool/CallDigests.ts"
import * as Deadlines from "../tool/Deadlines.ts"
import { makeFaultReporter } from "../tool/Faults.ts"
import * as LimitApproval from "../loop/LimitApproval.ts"
import * as LoopScheduler from "../loop/LoopScheduler.ts"
import * as PromptMeter from "../loop/PromptMeter.ts"
import type { StartedWork } from "../tool/CallHost.ts"
import * as ReplayAnswers from "./ReplayAnswers.ts"
import * as ReplayModel from "./ReplayModel.ts"
import type { ReplayedCall } from "./ReplayTools.ts"
import * as ReplayTools from "./ReplayTools.ts"
import * as RoleDirectory from "../desk/RoleDirectory.ts"
import type { LoopServices } from "../loop/LoopServices.ts"
import { run as runLoop } from "../loop/RunLoop.ts"
import type { RunWakeup } from "../loop/RunWakeup.ts"
import { makeWakeup, wakeRun } from "../loop/RunWakeup.ts"
import type { Lost } from "../loop/RunWriter.ts"
import * as ToolInvoker from "../tool/ToolInvoker.ts"

export interface RunReplayed {
  /** The first difference from the recording; of another model's run the first one of many. */
  readonly divergence: Divergence | undefined
  readonly entries: ReadonlyArray<JournalEntry>
  readonly calls: ReadonlyArray<ReplayedCall>
  readonly state: RunState
}

export interface Options {
  readonly run: RunId
  readonly recording: Recording
  /** What came before the run in its conversation. */
  readonly past: Past
  /** Absent = the recorded turns. */
  readonly model: ModelGateway["Service"] | undefined
}

const owner = "replay"
const page_max = 10_000

/** Who is not the runtime stopped the run from outside. */
const isForeign = (stopping: RunStopping | undefined): stopping is RunStopping =>
  stopping !== undefined && stopping.by !== "runtime"

const readAll = Effect.fnUntraced(function* (journal: RunJournal["Service"], run: RunId) {
  const entries: Array<JournalEntry> = []
  for (;;) {
    const page = yield* journal.read(run, entries.length, page_max)
    entries.push(...page)
    if (page.length < page_max) return entries
  }
})

/** The loop's services with the recording's model, tools and journal in their places. */
const make = Effect.fnUntraced(function* ({ model, recording, run }: Options, wakeup: RunWakeup) {
  const digest = yield* Digest.Digest
  const random = yield* SecureRandom.SecureRandom
  const clock = yield* Clock.Clock
  const journal = yield* RunJournal
  const registry = yield* ToolRegistry
  const directory = RoleDirectory.make(yield* AgentDirectory)(recording.accepted.roles)
  const policy = yield* PermissionPolicy
  const policy_version = yield* policyVersionOf(digest, policy)
  const deadlines = yield* Deadlines.make
  const stop = (by: string, reason: string, status: "cancelled" | "failed") =>
    Effect.ignore(
      Effect.tap(
        journal.amend(run, (state) => cancelRun(state, run, by, reason, status)),
        () => Effect.sync(() => wakeRun(wakeup))
      )
    )
  const stopAsRecorded = Effect.suspend(() => {
    const { stopping } = recording
    return isForeign(stopping)
      ? stop(stopping.by, stopping.reason, stopping.status === "failed" ? "failed" : "cancelled")
      : stop(owner, "end_of_recording", "cancelled")
  })
  const tools = yield* ReplayTools.make(digest, recording)
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const agentOf = (name: string): ResolvedAgent | undefined => {
    const agent = directory.get(name)
    return agent === undefined ? undefined : tools.agent(agent)
  }
  // Without limits of tools: what a recording gives is not one call more.
  const invoker = ToolInvoker.make({
    registry,
    digest,
    random,
    clock,
    deadlines,
    policy,
    policy_version,
    agentOf
  })
  const loop: LoopServices = {
    journal,
    clock,
    deadlines,
    scheduler: yield* LoopScheduler.make(LoopScheduler.loops_per_turn),
    model: model ?? ReplayModel.make(recording, stopAsRecorded),
    directory: {
      all: directory.all,
      get: agentOf
    },
    invoker: {
      died: invoker.died,
      start: (host) => servedBy(tools, invoker.start(host))
    },
    weights: PromptMeter.make(yield* Tokenizer),
    // A recorded turn has its cost.
    prices: model === undefined ? undefined : yield* PriceBook,
    askLimitApproval: LimitApproval.make({ digest, random, policy_version }),
    report: yield* makeFaultReporter,
    // Once it is written what was refused: the stop would take the call's result from it.
    onDurable: (_run, _state, events) => {
      for (const event of events) {
        const error = event._tag === "CallSettled" ? tools.refused.get(event.call) : undefined
        if (error !== undefined) void fork(stop(owner, `replay_${error.reason}`, "failed"))
      }
    },
    onAmended: () => {},
    delta: () => {}
  }
  const answers = ReplayAnswers.make(digest, journal, run, recording)
  return { answers, loop, stop, stopAsRecorded, tools }
})

const withServed = <Input extends RunInput | undefined>(
  tools: ReplayTools.ReplayTools,
  input: Input
): Input =>
  input?._tag === "Finished" ? { ...input, settled: tools.served(input.settled) } : input

const servedBy = (tools: ReplayTools.ReplayTools, started: StartedWork): StartedWork =>
  started.ended === undefined
    ? { effect: Effect.map(started.effect, (input) => withServed(tools, input)) }
    : {
        effect: started.effect,
        timeout_ms: started.timeout_ms,
        ...(started.fork === undefined ? undefined : { fork: started.fork }),
        ended: (exit) => withServed(tools, started.ended(exit)),
        late: () => withServed(tools, started.late())
      }

/**
 * Runs it to its end, or to the end of what was recorded. Needs an empty journal: what it writes is thrown away with it.
 */
export const replayRun = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<
  RunReplayed,
  Lost,
  | AgentDirectory
  | AgentMemories
  | Digest.Digest
  | RunJournal
  | SecureRandom.SecureRandom
  | ToolRegistry
> {
  return yield* Effect.scoped(replay(options))
})

const replay = Effect.fnUntraced(function* (options: Options) {
  const { past, recording, run } = options
  const wakeup = makeWakeup()
  const { answers, loop, stop, stopAsRecorded, tools } = yield* make(options, wakeup)
  const { journal } = loop
  yield* journal.create(run, 1, recording.accepted)
  const claim = yield* Effect.orDie(journal.claim(run, owner))
  const { address, tenant } = recording.accepted
  const memory = yield* (yield* AgentMemories).get(tenant, address)
  let state = fold(claim.entries.map(({ event }) => event))
  let since = claim.entries.at(-1)?.at
  let worked_ms = 0
  let rested = false
  for (;;) {
    const finish = yield* Effect.provideContext(
      runLoop(loop, { run, state, worked_ms, since, rested }, past, wakeup, undefined),
      memory
    )
    if (finish.how !== "rests") break
    ;({ state, worked_ms } = finish)
    since = undefined
    rested = true
    let answered = 0
    for (const request of ReplayAnswers.waiting(state)) {
      if (yield* answers.answer(state, request)) answered++
    }
    if (answered === 0) {
      if (isForeign(recording.stopping)) yield* stopAsRecorded
      else yield* stop(owner, "nobody_is_asked", "cancelled")
    }
    wakeRun(wakeup)
  }
  const entries = yield* readAll(journal, run)
  const events: ReadonlyArray<RunEvent> = entries.map(({ event }) => event)
  const replayed: RunReplayed = {
    entries,
    calls: tools.calls,
    state: fold(events),
    divergence: firstDifference(recording.entries, withoutOwnStop(entries))
  }
  return replayed
})

/** What the replay itself stopped for is told by the call or the question before it, and the stop is no difference of its own. */
const withoutOwnStop = (entries: ReadonlyArray<JournalEntry>): ReadonlyArray<JournalEntry> =>
  entries.filter(({ event }) => event._tag !== "RunStopping" || event.by !== owner)
