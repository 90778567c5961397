/**
 * Drives one run: decides on what has happened, appends once, starts the work that is wanted and not running, interrupts
 * what is running and not wanted, and waits for a wakeup. It is the run's one writer. Recovery, cancel and foreign
 * decisions are no special cases: they change the state, and the state says what is wanted. A run that waits only for
 * people leaves the loop: its actor holds its state, and begins another loop when somebody has answered.
 */
import { Effect, Exit } from "effect"
import type { Context } from "effect"
import type { Past } from "../../../src/conversation/Compaction.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"
import type { Exception } from "../../../src/error/Exception.ts"
import type { FrameId, RunId } from "../../../src/Ids.ts"
import { rootFrame } from "../../../src/Ids.ts"
import type { Prices } from "../../../src/cost/PriceTable.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { AskModel, RunCall, Work } from "../../../src/run/RunWork.ts"
import { calls, work } from "../../../src/run/RunWork.ts"
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import { isParkable } from "../../../src/run/RunState.ts"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { ModelDelta, ModelGateway } from "../../../services/ModelGateway.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { RunJournal } from "../../../services/RunJournal.ts"
import { brokenWork } from "./BrokenWork.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import type { Steps } from "./Coroutine.ts"
import { Coroutine } from "./Coroutine.ts"
import type { FaultAnnotations, ReportFault } from "../tool/Faults.ts"
import type { ToolOutput } from "./Feed.ts"
import type { Loop as LoopHost } from "./LoopCall.ts"
import type { AskLimitApproval } from "./LimitApproval.ts"
import { LoopCall } from "./LoopCall.ts"
import { askModel, ModelTurn, unknownAgent } from "./ModelTurn.ts"
import type { LoopScheduler } from "./LoopScheduler.ts"
import type { Weights } from "./PromptMeter.ts"
import { PromptMeter } from "./PromptMeter.ts"
import type { RunWakeup } from "./RunWakeup.ts"
import type { Lost, Transaction } from "./RunWriter.ts"
import { RunWriter } from "./RunWriter.ts"
import type { Fork, StartedWork, ActorContext } from "../tool/CallHost.ts"
import type { ToolInvoker } from "../tool/ToolInvoker.ts"
import type { Services as WallServices, WallClockLimit } from "./WallClockLimit.ts"
import * as Wall from "./WallClockLimit.ts"
import type { Host as InFlightHost, WorkInFlight } from "./InFlight.ts"
import { InFlight } from "./InFlight.ts"

export interface Services extends WallServices {
  readonly journal: RunJournal["Service"]
  readonly model: ModelGateway["Service"]
  readonly directory: AgentDirectory["Service"]
  readonly invoker: ToolInvoker
  readonly deadlines: Deadlines
  readonly scheduler: LoopScheduler
  readonly weights: Weights
  readonly askLimitApproval: AskLimitApproval
  readonly prices: Prices | undefined
  /** Tells operators what broke. */
  readonly report: ReportFault
  /** Called with events once they are durable, never before. */
  readonly onDurable: (run: RunId, state: RunState, events: ReadonlyArray<RunEvent>) => void
  /** Called when others appended to the run. */
  readonly onAmended: (run: RunId, state: RunState) => void
  readonly delta: (run: RunId, frame: FrameId, step: number, delta: ModelDelta | ToolOutput) => void
}

/** A run as its actor holds it while nothing of it runs. */
export interface Held {
  readonly run: RunId
  /** The fold of the journal, up to the last append. */
  readonly state: RunState
  /** How long it has been at work, in ms, as `WorkedTime` counts. */
  readonly worked_ms: number
  /** When the last of the journal was appended, in ms since 1970; undefined of a run that rested. */
  readonly since: number | undefined
  /** It waited here for people, and nothing of an earlier owner is left to decide. */
  readonly rested: boolean
}

export interface Finish {
  /** `ended`: over. `rests`: only people can move it. `parked`: the process is stopping. Nothing of it runs. */
  readonly how: "ended" | "rests" | "parked"
  readonly state: RunState
  /** How long it has been at work, in ms. */
  readonly worked_ms: number
  /** What the supervisor's frame has seen and said. */
  readonly transcript: ReadonlyArray<TranscriptEntry>
}

/** Who is told when what arrived is written, whether or not its event stands: a piece that counts as running until then. */
type Told = WorkInFlight | { readonly key?: undefined; readonly written: () => void }

/** A list that nobody wrote to yet: the first entry makes a list of one, where a push would make room for many. */
const nothing: Array<never> = []

const and = <A>(list: Array<A>, item: A): Array<A> =>
  list === nothing ? [item] : (list.push(item), list)

interface Transacting {
  readonly transaction: Transaction
  readonly done: () => void
}

/** A generator over ready values never yields the thread, so the loop does, every so many drains. */
const drains_per_yield = 32

/**
 * Runs a claimed run until it ends or waits only for people. Fails with FencedOff when another owner has taken it, with JournalError
 * when the journal stays away, and with RunQuarantined when it does not fold. Its fibers end with it. `stop` is a reason to fail it at once.
 */
export const run = (
  services: Services,
  held: Held,
  past: Past,
  wakeup: RunWakeup,
  stop: string | undefined
): Effect.Effect<Finish, Lost, AgentMemory> =>
  Effect.contextWith((context: Context.Context<AgentMemory>) => {
    const loop = new Loop(context, services, held, past, wakeup)
    if (!held.rested) loop.recover(stop)
    return loop.run()
  })

class Loop implements LoopHost, InFlightHost {
  readonly #services: Services
  readonly #meter: PromptMeter
  readonly #inFlight: InFlight
  readonly #wakeup: RunWakeup
  readonly writer: RunWriter
  readonly context: ActorContext
  readonly fork: Fork
  readonly delta: Services["delta"]
  readonly deadlines: Deadlines
  #inbox: Array<RunInput> = nothing
  /** Most of what arrives was done at once, and tells nobody. */
  #told: Array<Told> = nothing
  #transactions: Array<Transacting> = nothing
  #coroutine: Coroutine<Finish, Lost> | undefined
  /** Only of a run whose time is bounded. */
  readonly #wall: WallClockLimit | undefined
  /** Something happened since the loop last looked: an append or a yield may come between that look and its sleep. */
  #news = false

  constructor(
    context: ActorContext,
    services: Services,
    held: Held,
    past: Past,
    wakeup: RunWakeup
  ) {
    this.#services = services
    this.#meter = new PromptMeter(services.weights, past)
    this.#wakeup = wakeup
    this.writer = new RunWriter(services, held.run, held.state, wakeup)
    this.context = context
    this.fork = Effect.runForkWith(context)
    this.delta = services.delta
    this.deadlines = services.deadlines
    this.#inFlight = new InFlight(this)
    wakeup.waiter = this
    if (held.state.accepted.limits.wall_ms_max > 0) {
      this.#wall = Wall.make(services, held, () => this.#report({ _tag: "TimeIsUp" }))
    }
  }

  get #state(): RunState {
    return this.writer.state
  }

  /** What an earlier owner left is decided first. */
  recover(stop: string | undefined) {
    this.#report({ _tag: "Recovered" })
    const reason = this.#isDefined() ? stop : "unknown_agent"
    if (reason !== undefined) {
      const stopping = { status: "failed", by: "runtime", reason } as const
      this.#report({ _tag: "Stops", stopping })
    }
  }

  run(): Effect.Effect<Finish, Lost> {
    const coroutine = new Coroutine(this.#steps(), this.fork, this.#services.scheduler)
    this.#coroutine = coroutine
    return Effect.ensuring(
      coroutine.effect,
      Effect.suspend(() => {
        this.#wall?.stop()
        this.#wakeup.waiter = undefined
        return this.#inFlight.interruptAll()
      })
    )
  }

  *#steps(): Steps<Finish, Lost> {
    for (let drains = 1; ; drains++) {
      if (this.#wakeup.pending) yield* this.writer.catchUp()
      const told = this.#decide()
      // A read may be redone, so it does not wait for the journal; whatever may not waits itself. A call that was done
      // at once shares the append of the turn that asked for it.
      if (this.writer.isAhead) this.#startCalls()
      const toldOfCalls = this.#inbox === nothing ? nothing : this.#decide()
      // All that has happened so far is decided on, or seen to below.
      this.#news = false
      if (this.writer.isAhead) {
        const refused = yield* this.writer.append()
        if (refused !== undefined) yield* this.writer.appendAnew(refused)
      }
      if (told.length > 0) this.#written(told)
      if (toldOfCalls.length > 0) this.#written(toldOfCalls)
      if (this.#transactions.length > 0) yield* Loop.#transact(this)
      if (this.#state.ended !== undefined) return this.#finish("ended")
      this.#reconcile()
      this.#wall?.look(this.#state)
      if (drains % drains_per_yield === 0) yield* Effect.yieldNow
      if (this.#news || this.#inbox.length > 0 || this.#wakeup.pending) continue
      if (this.#wakeup.draining && this.#inFlight.busy === 0) return this.#finish("parked")
      if (this.#inFlight.busy === 0 && isParkable(this.#state)) return this.#finish("rests")
      yield
    }
  }

  /** Decides on all that has arrived; gives who is told once it is written. */
  #decide(): ReadonlyArray<Told> {
    const inputs = this.#inbox
    const told = this.#told
    this.#inbox = nothing
    this.#told = nothing
    this.writer.decide(inputs)
    return told
  }

  #finish(how: Finish["how"]): Exit.Exit<Finish> {
    return Exit.succeed({
      how,
      state: this.#state,
      worked_ms: this.#wall?.worked() ?? 0,
      transcript: this.#state.frames.get(rootFrame)?.transcript ?? []
    })
  }

  /** What has arrived was decided and appended as one: those who sent it are told. */
  #written(told: ReadonlyArray<Told>) {
    for (const each of told) {
      if (each.key === undefined) each.written()
      else this.#inFlight.written(each.key)
    }
  }

  static readonly #transact = Effect.fnUntraced(function* (self: Loop) {
    for (;;) {
      const next = self.#transactions.shift()
      if (next === undefined) return
      const done = yield* self.writer.transact(next.transaction)
      // What may not be dispatched is decided like any other input: the decider says why, or nothing. After what was,
      // the rest may follow from the state alone: a step that is over may have been the last one.
      yield* self.writer.write(done ? [] : [next.transaction.dispatches])
      next.done()
    }
  })

  /** Is every agent that is at work in the run defined in this process? One that is not should not have been claimed. */
  #isDefined(): boolean {
    const { directory } = this.#services
    return this.#state.openFrames.every(({ agent }) => directory.get(agent) !== undefined)
  }

  #reconcile() {
    const wanted = work(this.#state)
    const inFlight = this.#inFlight
    inFlight.keep(wanted)
    if (this.#wakeup.draining) return
    this.#startAll(wanted)
  }

  /** Starts calls before what asked for them is durable. */
  #startCalls() {
    if (!this.#wakeup.draining && this.#state.open.length > 0) this.#startAll(calls(this.#state))
  }

  #startAll(wanted: ReadonlyArray<Work>) {
    const inFlight = this.#inFlight
    let parallel = inFlight.busy
    const most = this.#state.accepted.limits.calls_parallel_max
    for (let i = 0; i < wanted.length; i++) {
      const each = wanted[i]!
      if (inFlight.has(each.key)) continue
      if (each._tag !== "RunCall") {
        if (each._tag === "AskLimit" || each.start) inFlight.start(each)
      } else if (each.start && parallel < most && !inFlight.start(each)) parallel++
    }
  }

  broke(what: string, exception: Exception, about: FaultAnnotations) {
    const { tenant, trace_id } = this.#state.accepted
    const run_id = this.writer.run
    this.#services.report(what, exception, { run_id, tenant, trace_id, ...about })
  }

  died(failed: Work, { cause }: Exit.Failure<unknown, never>): RunInput {
    return brokenWork({ broke: this.broke.bind(this) }, this.#services.invoker, failed, cause)
  }

  begin(wanted: Work): StartedWork {
    switch (wanted._tag) {
      case "RunCall":
        return this.#call(wanted)
      case "AskModel":
        return this.#turn(wanted)
      case "AskLimit":
        return {
          effect: this.#services.askLimitApproval(this.writer.run, this.#state, wanted.limit)
        }
    }
  }

  complete(running: WorkInFlight | undefined, input: RunInput | undefined) {
    this.#news = true
    if (input !== undefined) this.#arrived(input, running)
  }

  resumeSoon() {
    this.#coroutine?.resumeSoon()
  }

  report(input: RunInput, written: () => void) {
    this.#report(input, { written })
  }

  transact(transaction: Transaction, done: () => void) {
    this.#transactions = and(this.#transactions, { transaction, done })
    this.wake()
  }

  #report(input: RunInput, told?: Told) {
    this.#arrived(input, told)
    this.wake()
  }

  #arrived(input: RunInput, told: Told | undefined) {
    this.#inbox = and(this.#inbox, input)
    if (told !== undefined) this.#told = and(this.#told, told)
  }

  wake() {
    this.#news = true
    this.#coroutine?.wake()
  }

  #turn(asked: AskModel): StartedWork {
    const { run, state } = this.writer
    const frame = state.frames.get(asked.frame)!
    const agent = this.#services.directory.get(frame.agent)
    if (agent === undefined) return { effect: Effect.succeed(unknownAgent(asked)) }
    return askModel(new ModelTurn(this.#services, asked, run, state, frame, agent, this.#meter))
  }

  #call(wanted: RunCall): StartedWork {
    const { frame } = this.#state.calls.get(wanted.call)!
    const agent = this.#services.directory.get(this.#state.frames.get(frame)!.agent)!
    return this.#services.invoker.start(new LoopCall(this, wanted.call, agent))
  }
}
