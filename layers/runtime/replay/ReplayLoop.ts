/**
 * The services of a loop that replays a run: the model and the tools of the recording, and a journal of the replay's own.
 */
import { Clock, Effect, FiberSet } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import type { Who } from "../../../src/principal/Principal.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import type { Recording } from "../../../src/replay/Recording.ts"
import { cancelRun } from "../../../src/run/RunCommand.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { RunStopping } from "../../../src/run/RunEvent.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { ModelGateway } from "../../../services/ModelGateway.ts"
import { BlobBounds } from "../../../services/BlobStore.ts"
import { PermissionPolicy } from "../../../services/PermissionPolicy.ts"
import { policyVersionOf } from "../../../src/permission/PolicyVersion.ts"
import { PriceBook } from "../../../services/PriceBook.ts"
import { RunJournal } from "../../../services/RunJournal.ts"
import { RunReader } from "../../../services/RunReader.ts"
import { Tokenizer } from "../../../services/Tokenizer.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"
import * as RoleDirectory from "../directory/RoleDirectory.ts"
import * as LimitApproval from "../loop/LimitApproval.ts"
import { guardApproval } from "../loop/RunQuestion.ts"
import * as LoopScheduler from "../fiber/LoopScheduler.ts"
import type { LoopServices } from "../loop/LoopServices.ts"
import type { PromptFiles } from "../loop/PromptFiles.ts"
import * as PromptMeter from "../loop/PromptMeter.ts"
import type { RunWakeup } from "../loop/RunWakeup.ts"
import { wakeRun } from "../loop/RunWakeup.ts"
import type { StartedWork } from "../tool/CallHost.ts"
import * as Deadlines from "../tool/Deadlines.ts"
import { makeFaultReporter } from "../tool/FaultReport.ts"
import type { HandoffRefusal } from "../tool/UnresolvedCall.ts"
import { not_for_customers, notForCustomers } from "../tool/UnresolvedCall.ts"
import { callFinished, duplicateFinished } from "../tool/CallOutcome.ts"
import type { RunHeld } from "../tool/HeldKeys.ts"
import { isKeyReason } from "../tool/HeldKeys.ts"
import * as ToolInvoker from "../tool/ToolInvoker.ts"
import * as ReplayTools from "./ReplayTools.ts"
import type { ReplayedCalls } from "./ReplayTools.ts"
import { memoised } from "../../../src/value/Memoised.ts"
import {
  guardsOf,
  recallOf,
  recordedModel,
  discardedFiles,
  authorizationsOf
} from "./RecordedServices.ts"

export interface Options {
  readonly run: RunId
  readonly recording: Recording
  /** The model that takes the turns. Undefined = the recorded turns are used. */
  readonly model: ModelGateway["Service"] | undefined
  /** The files of the recorded run, for another model. Absent = prompts only mention them. */
  readonly files?: PromptFiles | undefined
}

/** The owner of the run in the journal of the replay. It stops the run where the recording ends. */
export const replayOwner = "replay"

/** Whether the run was stopped from outside its own loop, by a person or by a supervisor. */
const isForeign = (stopping: RunStopping | undefined): stopping is RunStopping =>
  stopping !== undefined && stopping.by !== "runtime"

const stopsOf = (
  journal: RunJournal["Service"],
  { recording: { stopping }, run }: Options,
  wakeup: RunWakeup
) => {
  const stop = (who: Who | string, reason: string, status: "cancelled" | "failed") =>
    Effect.ignore(
      Effect.tap(
        journal.amend(run, (state) => cancelRun(state, run, who, reason, status)),
        () => Effect.sync(() => wakeRun(wakeup))
      )
    )
  const stopAs = (reason: string) =>
    isForeign(stopping)
      ? stop(
          { by: stopping.by, ...defined({ via: stopping.via }) },
          stopping.reason,
          stopping.status === "failed" ? "failed" : "cancelled"
        )
      : stop(replayOwner, reason, "cancelled")
  return {
    stop,
    /** Stops the run as it was stopped in the recording, or else because the recording ends. */
    stopAtEnd: stopAs("end_of_recording"),
    /** Stops the run as it was stopped in the recording, or else because its questions have no answer. */
    stopUnanswered: stopAs("nobody_is_asked")
  }
}

const withSettled = <Input extends RunInput | undefined>(
  calls: ReplayedCalls,
  input: Input
): Input =>
  input?._tag === "Finished" ? { ...input, settled: calls.settled(input.settled) } : input

/** Refuses a handoff if the recorded one was refused because of the customer, of whom a recording says no more. */
const recordedHandoffRefusal =
  ({ calls }: Recording): HandoffRefusal =>
  (host, to) => {
    const { id } = host.call()
    const outcome = calls.find((call) => call.id === id)?.outcome
    const isRefused = outcome?._tag === "Failed" && outcome.error.reason === not_for_customers
    return Effect.succeed(isRefused ? notForCustomers(to) : undefined)
  }

/** Ends a call as another one with its key ended it in the recording: a replay holds no key. */
const recordedKeys =
  ({ calls }: Recording): RunHeld =>
  (host, tool, _identity, begin) => {
    const { id } = host.call()
    const { outcome, repeats } = calls.find((call) => call.id === id) ?? {}
    if (outcome === undefined) return begin()
    if (repeats !== undefined)
      return Effect.succeed(duplicateFinished(host, tool, id, outcome, repeats))
    const isRefused = outcome._tag === "Failed" && isKeyReason(outcome.error.reason)
    return isRefused ? Effect.succeed(callFinished(id, outcome)) : begin()
  }

/** The work of a call, with the recorded result in place of the result of its body. */
const withRecordedResult = (calls: ReplayedCalls, started: StartedWork): StartedWork =>
  started.inputOfExit === undefined
    ? { effect: Effect.map(started.effect, (input) => withSettled(calls, input)) }
    : {
        effect: started.effect,
        timeout_ms: started.timeout_ms,
        ...(started.fork === undefined ? undefined : { fork: started.fork }),
        inputOfExit: (exit) => withSettled(calls, started.inputOfExit(exit)),
        inputOfTimeout: () => withSettled(calls, started.inputOfTimeout())
      }

/** The agents with the tools of the replay, and with guards that say what was recorded. */
const recordedAgents = (
  directory: AgentDirectory["Service"],
  recording: Recording,
  tools: Pick<Effect.Success<ReturnType<typeof ReplayTools.make>>, "agent">
) => {
  const guards = guardsOf(recording)
  // One object each time, by which gates and prompts are cached.
  const recorded = memoised((agent: ResolvedAgent): ResolvedAgent => {
    const { guards: _live, ...rest } = tools.agent(agent)
    return guards === undefined ? rest : { ...rest, guards }
  })
  return (name: string): ResolvedAgent | undefined => {
    const agent = directory.get(name)
    return agent === undefined ? undefined : recorded(agent)
  }
}

export const make = Effect.fnUntraced(function* (options: Options, wakeup: RunWakeup) {
  const { model, recording } = options
  const digest = yield* Digest.Digest
  const random = yield* SecureRandom.SecureRandom
  const clock = yield* Clock.Clock
  const journal = yield* RunJournal
  const registry = yield* ToolRegistry
  const directory = RoleDirectory.make(yield* AgentDirectory)(recording.accepted.roles)
  const policy = yield* PermissionPolicy
  const policy_version = yield* policyVersionOf(
    (bytes) => digest.digestHex(Digest.sha256, bytes),
    policy
  )
  const deadlines = yield* Deadlines.make
  const stops = stopsOf(journal, options, wakeup)
  const tools = yield* ReplayTools.make(digest, recording)
  const { calls } = tools
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const agentOf = recordedAgents(directory, recording, tools)
  const authorize = authorizationsOf(recording)
  const gate = {
    registry,
    digest,
    random,
    clock,
    deadlines,
    policy,
    policy_version,
    authorize,
    agentOf,
    handoffRefusal: recordedHandoffRefusal(recording),
    held: recordedKeys(recording)
  }
  // Limits of tools do not apply, because a recorded result is not another call.
  const invoker = ToolInvoker.make(gate)
  const loop: LoopServices = {
    journal,
    reader: yield* RunReader,
    clock,
    deadlines,
    scheduler: yield* LoopScheduler.make(LoopScheduler.loops_per_turn),
    model: model ?? recordedModel(recording, stops.stopAtEnd),
    directory: { all: directory.all, get: agentOf },
    invoker: {
      died: invoker.died,
      start: (host) => withRecordedResult(calls, invoker.start(host))
    },
    recall: recallOf(recording),
    ...(options.files === undefined ? undefined : { files: options.files }),
    parts: { blobs: discardedFiles, bounds: yield* BlobBounds, digest },
    weights: PromptMeter.make(yield* Tokenizer),
    // A recorded turn has its cost already.
    prices: model === undefined ? undefined : yield* PriceBook,
    requestLimitApproval: LimitApproval.make({ digest, random, policy_version }),
    requestGuardApproval: guardApproval({ digest, random, policy_version }),
    report: yield* makeFaultReporter,
    // A refusal stops the run only once the call's result is durable: an earlier stop would replace the result.
    onDurable: (_run, _state, events) => {
      for (const event of events) {
        const refusal = event._tag === "CallSettled" ? calls.refusalOf(event.call) : undefined
        if (refusal === undefined) continue
        void fork(stops.stop(replayOwner, `replay_${refusal.reason}`, "failed"))
      }
    },
    onAmended: () => {},
    delta: () => {}
  }
  return { loop, stops, calls }
})
