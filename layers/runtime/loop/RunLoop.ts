/**
 * The loop of one run, in the process that owns the run. It appends through its `RunWriter` only. Commands, such as a cancel
 * or a decision, are appended by others, and the loop reads them after a wakeup. Each pass
 *
 * 1. reads what others appended, if a wakeup is pending;
 * 2. decides on all inputs that have arrived: completed work, dispatches, questions;
 * 3. if that gave events, starts what does not wait until they are durable (`#startEarly`), and decides on the inputs that have
 *    arrived by then, such as the results of calls that were done at once;
 * 4. appends the events of the pass at once, and notifies those who wait for that;
 * 5. runs the pending transactions, one after the other: each appends its own dispatch and result;
 * 6. interrupts work in flight that is no longer wanted, and starts wanted work that is not in flight;
 * 7. sleeps until work completes or a wakeup comes.
 *
 * It ends when the run has ended, when the run waits for people alone, when its process drains and nothing of the run is in
 * flight, or when the run has to make room for others (`RunMemory`). What the state wants (`work`) is all that it starts, so recovery, cancels and decisions by others are no special
 * cases: they change the state.
 */
import { Deferred, Effect, Exit } from "effect"
import type { Context } from "effect"
import type { Past } from "../../../src/conversation/Compaction.ts"
import { pastUnits } from "../../../src/conversation/Compaction.ts"
import type { Exception } from "../../../src/error/Exception.ts"
import type { AgentName, FrameId, RunId } from "../../../src/value/Ids.ts"
import { appended } from "../../../src/value/ShortList.ts"
import type { RunBeside } from "../../../src/run/RunEvent.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { CallModel, RunCall, Work } from "../../../src/run/RunWork.ts"
import { wantedCalls, wantedWork } from "../../../src/run/RunWork.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import { callOf, frameOf, isParkable } from "../../../src/run/RunState.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { ActorContext, Fork, StartedWork } from "../tool/CallHost.ts"
import type { RunSecrets } from "../tool/RunSecrets.ts"
import type { PartStore } from "../tool/StoredParts.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import type { FaultAnnotations } from "../tool/FaultReport.ts"
import { defectInput } from "./DefectInput.ts"
import type { Steps } from "../fiber/Coroutine.ts"
import { Coroutine } from "../fiber/Coroutine.ts"
import type { ToolOutput } from "../feed/Feed.ts"
import type { WorkInFlight } from "./LoopHost.ts"
import { InFlight } from "./InFlight.ts"
import { LoopCall } from "./LoopCall.ts"
import type { LoopHost } from "./LoopHost.ts"
import type { LoopServices } from "./LoopServices.ts"
import { callModel, ModelTurn, unknownAgent } from "./ModelTurn.ts"
import { shownFileBytes } from "./PromptFiles.ts"
import { PromptMeter } from "./PromptMeter.ts"
import type { RunShare } from "./RunMemory.ts"
import type { RunWakeup } from "./RunWakeup.ts"
import type { LoopFailure, Transaction } from "./RunWriter.ts"
import { durable, RunWriter } from "./RunWriter.ts"
import type { WallClockLimit } from "./WallClockLimit.ts"
import * as Wall from "./WallClockLimit.ts"

/** A run as its actor holds it while no loop runs. */
interface RunSnapshot {
  readonly run: RunId
  /** The fold of the journal, up to the last append. */
  readonly state: RunState
  /** How long it has been at work, in ms, as `WorkedTime` counts. */
  readonly worked_ms: number
  /** When the last entry was appended, in ms since 1970; undefined for a run that has waited here. */
  readonly last_append_at: number | undefined
  /** It waited in this process for people, so no earlier owner has left anything to recover. */
  readonly hasWaited: boolean
  /** It is to answer beside a run that waits. Absent = it is the first of its address. */
  readonly beside?: RunBeside | undefined
}

export interface Finish {
  /** `ended`: it is over. `parkable`: only people can move it. `drained`: the process stops. `crowded`: it makes room for others. */
  readonly how: "ended" | "parkable" | "drained" | "crowded"
  readonly state: RunState
  /** How long it has been at work, in ms. */
  readonly worked_ms: number
}

/** Who waits for the append of an input: work that stays in flight until then, or a function to call. */
type AppendWaiter = WorkInFlight | { readonly key?: undefined; readonly onDurable: () => void }

interface PendingTransaction {
  readonly transaction: Transaction
  readonly onDone: () => void
}

/**
 * The empty list of inputs, waiters and transactions. All loops share it, so it is never pushed to: a loop that has nothing to
 * do allocates no list, and `list === no_items` tells an empty list.
 */
const no_items: Array<never> = []

/** While every value that a pass needs is ready, the loop keeps the thread, so it yields the thread after this many passes. */
const passes_per_yield = 32

/** Why a run fails before it does anything; the message is for operators. */
export interface StopReason {
  readonly reason: string
  readonly message: string
}

/**
 * Runs a claimed run until it ends, is parkable or has drained; its fibers end with it. `stopped` fails a run that was just
 * claimed: it is ignored for one that has waited in this process, and `unknown_agent` takes its place where this process
 * does not define an agent of the run.
 *
 * Fails with FencedOff when another owner has the run, with JournalError when the journal does not answer for two minutes,
 * and with RunQuarantined when the journal does not fold.
 */
export const run = (
  services: LoopServices,
  snapshot: RunSnapshot,
  past: Past,
  wakeup: RunWakeup,
  stopped: StopReason | undefined
): Effect.Effect<Finish, LoopFailure, AgentMemory> =>
  Effect.contextWith((context: Context.Context<AgentMemory>) => {
    const loop = new Loop(context, services, snapshot, past, wakeup)
    if (!snapshot.hasWaited) loop.recover(stopped, snapshot.beside)
    return loop.run()
  })

class Loop implements LoopHost {
  readonly #services: LoopServices
  readonly #meter: PromptMeter
  readonly #inFlight: InFlight
  readonly #wakeup: RunWakeup
  readonly writer: RunWriter
  readonly context: ActorContext
  readonly fork: Fork
  readonly deadlines: Deadlines
  /** Inputs that no pass has decided on yet. */
  #inbox: Array<RunInput> = no_items
  /** Those of the inbox's inputs that somebody waits for; work that was done at once has no waiter. */
  #waiters: Array<AppendWaiter> = no_items
  #transactions: Array<PendingTransaction> = no_items
  #coroutine: Coroutine<Finish, LoopFailure, AgentMemory> | undefined
  /** The frame of the last work, and its agent. */
  #frame: FrameId | undefined
  #agent: ResolvedAgent | undefined
  #switches = 0
  /** Undefined for a run without `wall_ms_max`. */
  readonly #wall: WallClockLimit | undefined
  /** Completed when the run is being stopped; undefined = no call has asked for it. */
  #stopped: Deferred.Deferred<void> | undefined
  /** Something completed or woke the loop since a pass last took the inbox, which may be during an append or a yield. */
  #hasNews = false
  /**
   * When the last call ended that was done at once in this pass, in ms since 1970: the append of the pass needs no further
   * reading of the clock, which takes a fiftieth of a step (bench row `step`). Undefined = there was none.
   */
  #ended_at: number | undefined
  readonly #share: RunShare | undefined
  /** Of the conversation before the run. */
  readonly #past_units: number
  /** Bytes of results that are not durable. */
  #undurable = 0
  /** Wanted work was not started, because there is no room for it. */
  #isWaiting = false

  constructor(
    context: ActorContext,
    services: LoopServices,
    snapshot: RunSnapshot,
    past: Past,
    wakeup: RunWakeup
  ) {
    this.#services = services
    this.#meter = new PromptMeter(services.weights, past)
    this.#wakeup = wakeup
    this.writer = new RunWriter(services, snapshot.run, snapshot.state, wakeup)
    this.context = context
    this.fork = Effect.runForkWith(context)
    this.deadlines = services.deadlines
    this.#inFlight = new InFlight(this)
    this.#share = services.share
    this.#past_units = services.share === undefined ? 0 : pastUnits(past)
    wakeup.waiter = this
    if (snapshot.state.accepted.limits.wall_ms_max > 0) {
      this.#wall = Wall.make(services, snapshot, () => this.#submit({ _tag: "TimeIsUp" }))
    }
  }

  get parts(): PartStore | undefined {
    return this.#services.parts
  }

  get budgets(): LoopServices["budgets"] {
    return this.#services.budgets
  }

  get secrets(): RunSecrets | undefined {
    return this.#services.secrets
  }

  get stopped(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.writer.state.stopping !== undefined) return Effect.void
      this.#stopped ??= Deferred.makeUnsafe()
      return Deferred.await(this.#stopped)
    })
  }

  /** Decides at the first pass on what an earlier owner left, and stops a run that cannot go on here. */
  recover(stopped: StopReason | undefined, beside: RunBeside | undefined): void {
    this.#submit({ _tag: "Recovered" })
    if (beside !== undefined) this.#submit({ _tag: "Answers", beside })
    const agent = this.#missingAgent()
    const stops =
      agent === undefined
        ? stopped
        : {
            reason: "unknown_agent",
            message: `the agent ${agent} of the run is not defined in this process`
          }
    if (stops !== undefined) {
      this.#submit({ _tag: "Stops", stopping: { status: "failed", by: "runtime", ...stops } })
    }
  }

  run(): Effect.Effect<Finish, LoopFailure> {
    const coroutine = new Coroutine(this.#passes(), this.fork, this.#services.scheduler)
    this.#coroutine = coroutine
    return coroutine.run(() => {
      this.#wall?.stop()
      this.#wakeup.waiter = undefined
      return this.#inFlight.interruptAll()
    })
  }

  *#passes(): Steps<Finish, LoopFailure, AgentMemory> {
    for (let passes = 1; ; passes++) {
      if (this.#wakeup.pending) yield* this.writer.catchUp()

      this.#ended_at = undefined
      const waiters = this.#decide()
      // What has arrived until here is decided on. What arrives during the append is news.
      this.#hasNews = false
      const undurable = this.#undurable

      if (this.writer.isAhead) {
        const append = this.writer.append(this.#ended_at)
        // An append that is durable at once does not stop the generator (bench row `step`).
        const refused = append === durable ? undefined : yield* append
        if (refused !== undefined) yield* this.writer.appendAnew(refused)
      }
      if (this.#share !== undefined) this.#settleShare(this.#share, undurable)
      if (waiters.length > 0) this.#notify(waiters)
      if (this.#transactions.length > 0) yield* Loop.#transact(this)

      if (this.writer.state.ended !== undefined) return this.#finish("ended")
      this.#matchWork()
      this.#wall?.check(this.writer.state)

      if (passes % passes_per_yield === 0) yield* Effect.yieldNow
      if (this.#hasNews || this.#inbox.length > 0 || this.#wakeup.pending) continue
      if (this.#inFlight.count === 0) {
        if (this.#wakeup.draining) return this.#finish("drained")
        if (isParkable(this.writer.state)) return this.#finish("parkable")
        if (this.#isWaiting && this.#share?.mustLeave === true) return this.#finish("crowded")
      }
      // A bare `yield` sleeps until `wake` or `resumeSoon` continues the coroutine.
      yield
    }
  }

  /** Decides on all inputs that have arrived, and on those of work that is done at once. Gives the waiters for their append. */
  #decide(): ReadonlyArray<AppendWaiter> {
    do {
      const inputs = this.#inbox
      this.#inbox = no_items
      this.writer.decide(inputs)
      if (this.writer.isAhead) this.#startEarly(inputs)
    } while (this.#inbox !== no_items)
    const waiters = this.#waiters
    this.#waiters = no_items
    return waiters
  }

  /** Notifies waiters that the events of their inputs are durable, or that their inputs gave none. */
  #notify(waiters: ReadonlyArray<AppendWaiter>): void {
    for (const waiter of waiters) {
      if (waiter.key === undefined) waiter.onDurable()
      else this.#inFlight.remove(waiter.key)
    }
  }

  /** Runs the pending transactions, one after the other, and notifies those who wait for each. */
  static readonly #transact = Effect.fnUntraced(function* (self: Loop) {
    for (;;) {
      const next = self.#transactions.shift()
      if (next === undefined) return
      const { onDone, transaction } = next
      const isDispatched = yield* self.writer.transact(transaction)
      // A transaction appends its dispatch and its result. The call's result may end the step or the run: `write` without
      // inputs appends those events. A transaction that may not be dispatched appends nothing: `write` decides on its
      // dispatch, which gives the call a result that says why.
      yield* self.writer.write(isDispatched ? [] : [transaction.dispatches])
      onDone()
    }
  })

  #finish(how: Finish["how"]): Exit.Exit<Finish> {
    return Exit.succeed({
      how,
      state: this.writer.state,
      worked_ms: this.#wall?.worked() ?? 0
    })
  }

  /** The agent of an open frame that this process does not define, so that the run cannot go on here. */
  #missingAgent(): AgentName | undefined {
    const { directory } = this.#services
    return this.writer.state.openFrames.find(({ agent }) => !directory.get(agent))?.agent
  }

  /** Interrupts work that is no longer wanted; starts what is missing, unless the run is draining. */
  #matchWork(): void {
    const wanted = wantedWork(this.writer.state)
    this.#inFlight.interruptUnwanted(wanted)
    if (this.#stopped !== undefined && this.writer.state.stopping !== undefined) {
      Deferred.doneUnsafe(this.#stopped, Effect.void)
    }
    if (!this.#wakeup.draining) this.#startAll(wanted)
    if (!this.#isWaiting) this.#share?.withdraw()
  }

  // A call does not wait for the append of its turn: a read may be done again, and any other waits for its own dispatch.
  /** Starts what does not wait for the append of these inputs: calls, and a turn that guards let pass. */
  #startEarly(inputs: ReadonlyArray<RunInput>): void {
    if (this.#wakeup.draining) return
    const { state } = this.writer
    if (inputs.length === 1 && inputs[0]?._tag === "Guards") this.#startAll(wantedWork(state))
    else if (state.open.length > 0) this.#startAll(wantedCalls(state))
  }

  /** Starts wanted work that is not in flight; a call only while fewer than `calls_parallel_max` pieces of work are. */
  #startAll(wanted: ReadonlyArray<Work>): void {
    const inFlight = this.#inFlight
    let parallel = inFlight.count
    const parallel_max = this.writer.state.accepted.limits.calls_parallel_max
    this.#isWaiting = false
    for (const each of wanted) {
      if (inFlight.has(each.key)) continue
      const isCall = each._tag === "RunCall"
      if (each._tag !== "RequestLimitApproval" && !each.start) continue
      if (isCall && parallel >= parallel_max) continue
      const bytes = this.#share === undefined ? 0 : this.#bytesOf(this.#share, each)
      if (this.#share?.take(bytes) === false) return this.#waitForRoom(this.#share, bytes)
      // `start` returns true when the work was done at once: then nothing of it is in flight.
      if (inFlight.start(each, bytes)) this.#share?.give(bytes)
      else if (isCall) parallel++
    }
  }

  #bytesOf(share: RunShare, work: Work): number {
    const { state } = this.writer
    if (work._tag === "RunCall") return share.callBytes(callOf(state, work.call).proposed.name)
    if (work._tag === "RequestLimitApproval") return 0
    const frame = frameOf(state, work.frame)
    if (!this.#meter.hasFiles(state, frame)) return share.turnBytes(0)
    return share.turnBytes(shownFileBytes(this.#meter.history(state, frame), frame.transcript))
  }

  /** The loop is woken when there is room. A run for which there never will be any is stopped. */
  #waitForRoom(share: RunShare, bytes: number): void {
    this.#isWaiting = true
    if (!share.isBeyond(bytes)) return share.await(bytes, this)
    if (this.#inFlight.count > 0) return
    const message = `the run needs ${share.kept + bytes} bytes, and no run of this process may take more than ${share.bytes_max} (in_flight_bytes_max)`
    const stopping = {
      status: "failed",
      by: "runtime",
      reason: "memory_exceeded",
      message
    } as const
    this.#submit({ _tag: "Stops", stopping })
  }

  /** The events of this pass are durable: so many bytes of results are not in flight any more. */
  #settleShare(share: RunShare, undurable: number): void {
    share.keep(this.writer.state.units + this.#past_units)
    if (undurable === 0) return
    this.#undurable -= undurable
    share.give(undurable)
  }

  begin(wanted: Work): StartedWork {
    switch (wanted._tag) {
      case "RunCall":
        return this.#beginCall(wanted)
      case "CallModel":
        return this.#beginTurn(wanted)
      case "RequestLimitApproval": {
        const { run, state } = this.writer
        return { effect: this.#services.requestLimitApproval(run, state, wanted.limit) }
      }
    }
  }

  /** The agent of a frame, which changes with a handoff only; undefined = this process does not define it. */
  #agentOf(frame: FrameId): ResolvedAgent | undefined {
    const { switches } = this.writer.state
    if (this.#frame === frame && this.#switches === switches && this.#agent !== undefined)
      return this.#agent
    this.#frame = frame
    this.#switches = switches
    return (this.#agent = this.#services.directory.get(frameOf(this.writer.state, frame).agent))
  }

  #beginTurn(work: CallModel): StartedWork {
    const { run, state } = this.writer
    const frame = frameOf(state, work.frame)
    const agent = this.#agentOf(work.frame)
    if (agent === undefined) return { effect: Effect.succeed(unknownAgent(work)) }
    return callModel(new ModelTurn(this.#services, work, run, state, frame, agent, this.#meter))
  }

  #beginCall(wanted: RunCall): StartedWork {
    const call = callOf(this.writer.state, wanted.call)
    const agent = this.#agentOf(call.frame)
    if (agent === undefined) return { effect: Effect.die(new Error("an agent that is not hosted")) }
    return this.#services.invoker.start(new LoopCall(this, call, agent))
  }

  inputOfDefect(failed: Work, { cause }: Exit.Failure<unknown, never>): RunInput {
    return defectInput(this, this.#services.invoker, failed, cause)
  }

  complete(running: WorkInFlight | undefined, input: RunInput | undefined): void {
    this.#hasNews = true
    if (input === undefined) return
    if (this.#share !== undefined) this.#countResult(this.#share, running, input)
    if (running === undefined && input._tag === "Finished") {
      this.#ended_at = input.settled.ended_at
    }
    this.#enqueue(input, running)
  }

  /** What was taken for the work is what its result takes from here on, until that is durable. */
  #countResult(share: RunShare, running: WorkInFlight | undefined, input: RunInput): void {
    if (input._tag === "Finished" && input.settled.outcome._tag === "Value") {
      const tool = callOf(this.writer.state, input.settled.call).proposed.name
      const bytes = share.resultBytes(tool, input.settled.outcome.json.length)
      this.#undurable += bytes
      share.use(bytes)
    }
    if (running !== undefined) this.giveBack(running)
  }

  giveBack(running: WorkInFlight): void {
    const { bytes } = running
    running.bytes = 0
    this.#share?.give(bytes)
  }

  submit(input: RunInput, onDurable: () => void): void {
    this.#submit(input, { onDurable })
  }

  #submit(input: RunInput, waiter?: AppendWaiter): void {
    this.#enqueue(input, waiter)
    this.wake()
  }

  #enqueue(input: RunInput, waiter: AppendWaiter | undefined): void {
    this.#inbox = appended(this.#inbox, input)
    if (waiter !== undefined) this.#waiters = appended(this.#waiters, waiter)
  }

  transact(transaction: Transaction, onDone: () => void): void {
    this.#transactions = appended(this.#transactions, { transaction, onDone })
    this.wake()
  }

  wake(): void {
    this.#hasNews = true
    this.#coroutine?.wake()
  }

  resumeSoon(): void {
    this.#coroutine?.resumeSoon()
  }

  showOutput(frame: FrameId, step: number, output: ToolOutput): void {
    this.#services.delta(this.writer.run, frame, step, output)
  }

  reportFault(what: string, exception: Exception, about: FaultAnnotations): void {
    const { tenant, trace_id } = this.writer.state.accepted
    const run_id = this.writer.run
    this.#services.report(what, exception, { run_id, tenant, trace_id, ...about })
  }
}
