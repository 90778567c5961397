/**
 * Drives one run: decides on what has happened, appends once, starts the work that is wanted and not running, interrupts
 * what is running and not wanted, and waits for a bell. It is the run's one writer. Recovery, cancel and foreign
 * decisions are no special cases: they change the state, and the state says what is wanted.
 */
import { Cause, Effect, Exit, Random } from "effect"
import type { Context } from "effect"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import type { CallId, FrameId, RunId } from "../../src/Ids.ts"
import { rootFrame } from "../../src/Ids.ts"
import { conclude } from "../../src/run/RunConclusion.ts"
import type { RunInput } from "../../src/run/RunDecider.ts"
import { decide } from "../../src/run/RunDecider.ts"
import type { AskModel, RunCall, Work } from "../../src/run/RunWork.ts"
import { work } from "../../src/run/RunWork.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { RunState } from "../../src/run/RunState.ts"
import { evolve, fold, isParkable, make as emptyState, statusOf } from "../../src/run/RunState.ts"
import type { AgentDirectory, ResidentAgent } from "../../services/AgentDirectory.ts"
import type { ModelDelta, ModelGateway } from "../../services/ModelGateway.ts"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import type {
  Claim,
  Fence,
  FencedOff,
  JournalError,
  RunJournal
} from "../../services/RunJournal.ts"
import type { Deadlines } from "./Deadlines.ts"
import { askModel, turnFailed } from "./ModelTurn.ts"
import type { Started } from "./ToolBody.ts"
import type { ToolInvoker } from "./ToolInvoker.ts"
import type { Fork, Worker } from "./Workers.ts"
import { Workers } from "./Workers.ts"

export interface Services {
  readonly journal: RunJournal["Service"]
  readonly model: ModelGateway["Service"]
  readonly directory: AgentDirectory["Service"]
  readonly invoker: ToolInvoker
  readonly deadlines: Deadlines
  /** How long a run that waits only for people stays in the process, in ms. */
  readonly park_ms: number
  /** Called after each commit, never before. */
  readonly committed: (run: RunId, state: RunState, events: ReadonlyArray<RunEvent>) => void
  /** Called when others appended to the run. */
  readonly amended: (run: RunId, state: RunState) => void
  readonly delta: (run: RunId, frame: FrameId, step: number, delta: ModelDelta) => void
}

/** A handle by which others ring a run that is here. */
export interface Bell {
  /** Somebody appended to the run, and the loop has not looked yet. */
  rung: boolean
  ring: () => void
  /** Starts no more work, and parks as soon as nothing is on its way. */
  drain: () => void
}

export interface Finish {
  /** `ended`: over. `parked`: only people can move it, or the process is stopping, and nothing of it runs. */
  readonly how: "ended" | "parked"
  /** What the supervisor's frame has seen and said. */
  readonly transcript: ReadonlyArray<TranscriptEntry>
}

interface Report {
  readonly input: RunInput
  readonly key?: string
  /** Told after the append, whether or not the event stands. */
  readonly written?: () => void
}

interface Transaction {
  readonly call: CallId
  readonly key: string
  readonly body: Effect.Effect<unknown, unknown, AgentMemory>
  readonly record: (exit: Exit.Exit<unknown, unknown>) => RunInput
  readonly done: () => void
}

/** A generator over ready values never yields the thread, so the loop does, every so many drains. */
const drains_per_yield = 32
/** Tries of an append whose store does not answer, before the actor's supervisor takes over. */
const append_tries_max = 8

/**
 * Runs a claimed run until it ends or parks. Fails with FencedOff when another owner has taken it, and with JournalError
 * when the journal stays away. Its fibers end with it. `stop` is a reason to fail it at once.
 */
export const run = (
  services: Services,
  claim: Claim,
  history: ReadonlyArray<TranscriptEntry>,
  bell: Bell,
  stop: string | undefined
): Effect.Effect<Finish, FencedOff | JournalError, AgentMemory> =>
  Effect.contextWith((context: Context.Context<AgentMemory>) =>
    new Loop(Effect.runForkWith(context), services, claim, history, bell).run(stop)
  )

class Loop {
  readonly #services: Services
  readonly #run: RunId
  readonly #history: ReadonlyArray<TranscriptEntry>
  readonly #workers: Workers
  #state: RunState
  #fence: Fence
  #inbox: Array<Report> = []
  #transactions: Array<Transaction> = []
  readonly #bell: Bell
  #draining = false
  #wake: (() => void) | undefined

  constructor(
    fork: Fork,
    services: Services,
    claim: Claim,
    history: ReadonlyArray<TranscriptEntry>,
    bell: Bell
  ) {
    this.#services = services
    this.#run = claim.head.run_id
    this.#history = history
    this.#bell = bell
    this.#state = fold(claim.entries.map((entry) => entry.event))
    this.#fence = { epoch: this.#state.epoch, length: this.#state.length }
    this.#workers = new Workers({
      fork,
      deadlines: services.deadlines,
      report: (key, input) => this.#report({ input, key }),
      silent: () => this.#awake(),
      died: (failed, exit) => this.#died(failed, exit)
    })
    bell.ring = () => {
      bell.rung = true
      this.#awake()
    }
    bell.drain = () => {
      this.#draining = true
      this.#awake()
    }
  }

  run(stop: string | undefined): Effect.Effect<Finish, FencedOff | JournalError, AgentMemory> {
    this.#inbox.push({ input: { _tag: "Recovered" } })
    const reason = this.#isDefined() ? stop : "unknown_agent"
    if (reason !== undefined) {
      const stopping = { status: "failed", by: "runtime", reason } as const
      this.#inbox.push({ input: { _tag: "Stops", stopping } })
    }
    return Effect.ensuring(
      this.#loop(),
      Effect.sync(() => this.#workers.interruptAll())
    )
  }

  readonly #loop = Effect.fnUntraced(function* (this: Loop) {
    for (let drains = 1; ; drains++) {
      if (this.#bell.rung) yield* this.#catchUp()
      yield* this.#drain()
      for (;;) {
        const transaction = this.#transactions.shift()
        if (transaction === undefined) break
        yield* this.#transact(transaction)
      }
      if (this.#state.ended !== undefined) return this.#finish("ended")
      this.#reconcile()
      if (drains % drains_per_yield === 0) yield* Effect.yieldNow
      if (this.#inbox.length > 0 || this.#transactions.length > 0 || this.#bell.rung) continue
      if (this.#draining && this.#workers.busy === 0) return this.#finish("parked")
      const parkable = isParkable(this.#state)
      if (!(yield* this.#wait(parkable ? this.#services.park_ms : undefined)))
        return this.#finish("parked")
    }
  })

  #finish(how: Finish["how"]): Finish {
    return { how, transcript: this.#state.frames.get(rootFrame)?.transcript ?? [] }
  }

  /** Everything that has arrived, decided and appended as one; asked again from the journal where it was refused. */
  readonly #drain = Effect.fnUntraced(function* (this: Loop) {
    const reports = this.#inbox
    this.#inbox = []
    for (let tries = 1; ; tries++) {
      const events: Array<RunEvent> = []
      for (const { input } of reports) this.#apply(decide(this.#state, input), events)
      for (let event = conclude(this.#state); event !== undefined; event = conclude(this.#state)) {
        evolve(this.#state, event)
        events.push(event)
      }
      if (events.length === 0) break
      const exit = yield* Effect.exit(
        this.#services.journal.append({
          run: this.#run,
          fence: this.#fence,
          events,
          status: statusOf(this.#state)
        })
      )
      if (Exit.isSuccess(exit)) {
        this.#advance(events)
        break
      }
      yield* this.#refused(exit, tries)
    }
    for (const report of reports) {
      if (report.key !== undefined) this.#workers.written(report.key)
      report.written?.()
    }
  })

  #apply(decided: ReadonlyArray<RunEvent>, events: Array<RunEvent>) {
    for (const event of decided) {
      evolve(this.#state, event)
      events.push(event)
    }
  }

  #advance(events: ReadonlyArray<RunEvent>) {
    this.#fence = { epoch: this.#fence.epoch, length: this.#fence.length + events.length }
    this.#services.committed(this.#run, this.#state, events)
  }

  /** The state had run ahead of the journal: fold it anew. The same inputs are decided again by the caller. */
  readonly #refused = Effect.fnUntraced(function* (
    this: Loop,
    exit: Exit.Failure<void, FencedOff | JournalError | { readonly _tag: "StaleAppend" }>,
    tries: number
  ) {
    const error = Cause.findErrorOption(exit.cause)
    if (error._tag === "None") return yield* Effect.failCause(exit.cause as Cause.Cause<never>)
    if (error.value._tag === "FencedOff") return yield* Effect.fail(error.value)
    if (error.value._tag === "JournalError") {
      if (tries >= append_tries_max) return yield* Effect.fail(error.value)
      yield* Effect.sleep((yield* Random.nextIntBetween(10, 50)) * 2 ** tries)
    }
    yield* this.#reload(tries)
  })

  readonly #reload = Effect.fnUntraced(function* (this: Loop, tries: number) {
    const state = emptyState()
    for (;;) {
      const page = yield* this.#read(state.length, tries)
      for (const entry of page) evolve(state, entry.event)
      if (page.length < page_max) break
    }
    this.#state = state
    this.#bell.rung = false
    this.#fence = { epoch: this.#fence.epoch, length: state.length }
    this.#wakeAnswered()
  })

  /** Loads what others appended. Runs only between appends, when the state is exactly the journal. */
  readonly #catchUp = Effect.fnUntraced(function* (this: Loop) {
    while (this.#bell.rung) {
      this.#bell.rung = false
      const page = yield* this.#read(this.#fence.length, 1)
      for (const entry of page) evolve(this.#state, entry.event)
      this.#fence = { epoch: this.#fence.epoch, length: this.#fence.length + page.length }
      if (page.length === page_max) this.#bell.rung = true
      if (page.length > 0) this.#services.amended(this.#run, this.#state)
    }
    this.#wakeAnswered()
  })

  #read(from: number, tries: number) {
    const read = this.#services.journal.read(this.#run, from, page_max)
    return Effect.retry(read, { times: Math.max(append_tries_max - tries, 0) })
  }

  /** A call whose question is answered passes the gate again; one that was settled meanwhile is interrupted instead. */
  #wakeAnswered() {
    this.#workers.wakeAnswered((waiting) => {
      if (waiting._tag !== "RunCall") return false
      const tag = this.#state.calls.get(waiting.call)?.phase._tag
      return tag === "Decided" || tag === "Proposed"
    })
  }

  readonly #transact = Effect.fnUntraced(function* (this: Loop, transaction: Transaction) {
    const { body, call, done, key, record } = transaction
    const dispatches: RunInput = { _tag: "Dispatches", call, key, on_loss: "unknown" }
    for (let tries = 1; ; tries++) {
      const dispatched = decide(this.#state, dispatches)
      if (dispatched[0]?._tag !== "CallDispatched") {
        // It may not be dispatched, and the decider says why; or it is no longer wanted, and says nothing.
        this.#inbox.push({ input: dispatches })
        break
      }
      const events: Array<RunEvent> = []
      const exit = yield* Effect.exit(
        this.#services.journal.transact(this.#run, this.#fence, body, (result) => {
          this.#apply(dispatched, events)
          this.#apply(decide(this.#state, record(result)), events)
          return { events, status: statusOf(this.#state) }
        })
      )
      if (Exit.isSuccess(exit)) {
        this.#advance(events)
        break
      }
      yield* this.#refused(exit, tries)
    }
    done()
  })

  /** Is every agent of the run defined in this process? */
  #isDefined(): boolean {
    for (const frame of this.#state.frames.values()) {
      if (this.#services.directory.get(frame.agent) === undefined) return false
    }
    return true
  }

  #reconcile() {
    const wanted = work(this.#state)
    const workers = this.#workers
    workers.keep(wanted)
    if (this.#draining) return
    let parallel = workers.busy
    const most = this.#state.accepted!.limits.calls_parallel_max
    for (const each of wanted) {
      if (workers.has(each.key)) continue
      if (each._tag === "AskModel") {
        workers.start(each, () => ({ effect: this.#turn(each) }))
      } else if (each.start && parallel < most) {
        if (!workers.start(each, (worker) => this.#call(each, worker))) parallel++
      }
    }
  }

  #died(failed: Work, exit: Exit.Failure<unknown, never>): RunInput {
    return failed._tag === "RunCall"
      ? this.#services.invoker.died(failed.call, exit.cause)
      : turnFailed(failed, "model_defect", "the model gateway failed by a defect")
  }

  #report(report: Report) {
    this.#inbox.push(report)
    this.#awake()
  }

  #awake() {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }

  /** Until something arrives; false when `park_ms` passes first. */
  #wait(park_ms: number | undefined): Effect.Effect<boolean> {
    return Effect.callback((resume) => {
      let cancel: (() => void) | undefined
      this.#wake = () => {
        cancel?.()
        resume(Effect.succeed(true))
      }
      if (park_ms !== undefined) {
        cancel = this.#services.deadlines.after(park_ms, () => {
          this.#wake = undefined
          resume(Effect.succeed(false))
        })
      }
      return Effect.sync(() => {
        this.#wake = undefined
        cancel?.()
      })
    })
  }

  #agentOf(frame: FrameId): ResidentAgent | undefined {
    return this.#services.directory.get(this.#state.frames.get(frame)!.agent)
  }

  #turn(wanted: AskModel): Effect.Effect<RunInput> {
    const agent = this.#agentOf(wanted.frame)
    const frame = this.#state.frames.get(wanted.frame)!
    const history = wanted.frame === rootFrame ? this.#history : []
    return askModel(this.#services, this.#run, agent, wanted, history, frame.transcript)
  }

  #call(wanted: RunCall, worker: Worker): Started {
    const { call } = wanted
    const current = () => this.#state.calls.get(call)!
    /** Reports, and answers once the event is written or did not stand. */
    const written = <A>(input: RunInput, stands: () => A): Effect.Effect<A> =>
      Effect.callback((resume) => {
        this.#report({ input, written: () => resume(Effect.sync(stands)) })
      })
    const answered: Effect.Effect<void> = Effect.callback((resume) => {
      // Answered between the append and here, or never asked: the gate sees it at once.
      if (current().phase._tag !== "Asking") return resume(Effect.void)
      worker.answered = () => resume(Effect.void)
      // While a person thinks, another call may have this one's place.
      this.#awake()
    })
    return this.#services.invoker.start({
      run: this.#run,
      accepted: this.#state.accepted!,
      agent: this.#agentOf(current().frame)!,
      call: current,
      ask: (input) =>
        Effect.andThen(
          written(input, () => {}),
          answered
        ),
      dispatch: (input) =>
        written(input, () => {
          const { phase } = current()
          return phase._tag === "Dispatched" && phase.epoch === this.#fence.epoch
        }),
      transact: (key, body, record) =>
        Effect.callback((resume) => {
          this.#transactions.push({ call, key, body, record, done: () => resume(Effect.void) })
          this.#awake()
        })
    })
  }
}

const page_max = 10_000
