/**
 * Drives one run: decides on what has happened, appends once, starts the work that is wanted and not running, interrupts
 * what is running and not wanted, and waits for a bell. It is the run's one writer. Recovery, cancel and foreign
 * decisions are no special cases: they change the state, and the state says what is wanted.
 */
import { Cause, Effect, Exit, Random } from "effect"
import type { Fiber } from "effect"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import type { CallId, FrameId, RunId } from "../../src/Ids.ts"
import { rootFrame } from "../../src/Ids.ts"
import { conclude } from "../../src/run/RunConclusion.ts"
import type { RunInput } from "../../src/run/RunDecider.ts"
import { decide } from "../../src/run/RunDecider.ts"
import type { Work } from "../../src/run/RunWork.ts"
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
import type { CallHost } from "./ToolBody.ts"
import type { ToolInvoker } from "./ToolInvoker.ts"

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

interface Running {
  readonly work: Work
  fiber: Fiber.Fiber<RunInput | undefined> | undefined
  cancelDeadline: (() => void) | undefined
  /** Wakes the call's fiber when its question is answered. */
  answered: (() => void) | undefined
}

type Fork = <A, E>(effect: Effect.Effect<A, E, AgentMemory>) => Fiber.Fiber<A, E>

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
  Effect.suspend(() => new Loop(services, claim, history, bell).run(stop))

class Loop {
  readonly #services: Services
  readonly #run: RunId
  readonly #history: ReadonlyArray<TranscriptEntry>
  readonly #running = new Map<string, Running>()
  #state: RunState
  #fence: Fence
  #inbox: Array<Report> = []
  #transactions: Array<Transaction> = []
  readonly #bell: Bell
  #draining = false
  #wake: (() => void) | undefined

  constructor(
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
      Effect.flatMap(Effect.context<AgentMemory>(), (context) =>
        this.#loop(Effect.runForkWith(context))
      ),
      Effect.sync(() => this.#interruptAll())
    )
  }

  readonly #loop = Effect.fnUntraced(function* (this: Loop, fork: Fork) {
    for (let drains = 1; ; drains++) {
      if (this.#bell.rung) yield* this.#catchUp()
      yield* this.#drain()
      for (;;) {
        const transaction = this.#transactions.shift()
        if (transaction === undefined) break
        yield* this.#transact(transaction)
      }
      if (this.#state.ended !== undefined) return this.#finish("ended")
      this.#reconcile(fork)
      if (drains % drains_per_yield === 0) yield* Effect.yieldNow
      if (this.#inbox.length > 0 || this.#transactions.length > 0 || this.#bell.rung) continue
      if (this.#draining && this.#isIdle()) return this.#finish("parked")
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
      if (report.key !== undefined) this.#running.delete(report.key)
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

  /** A call whose question is settled goes on: its fiber passes the gate again from decode. */
  #wakeAnswered() {
    for (const running of this.#running.values()) {
      if (running.answered === undefined || running.work._tag !== "RunCall") continue
      const tag = this.#state.calls.get(running.work.call)?.phase._tag
      // A call that was settled meanwhile is no longer wanted: its fiber is interrupted, not woken.
      if (tag !== "Decided" && tag !== "Proposed") continue
      const wake = running.answered
      running.answered = undefined
      wake()
    }
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

  /** Does nothing run but calls that wait for a person? */
  #isIdle(): boolean {
    for (const running of this.#running.values()) if (running.answered === undefined) return false
    return true
  }

  #reconcile(fork: Fork) {
    const wanted = work(this.#state)
    if (this.#running.size > 0) this.#interruptUnwanted(wanted)
    if (this.#draining) return
    let parallel = 0
    for (const running of this.#running.values()) if (running.answered === undefined) parallel++
    const most = this.#state.accepted!.limits.calls_parallel_max
    for (const each of wanted) {
      if (this.#running.has(each.key)) continue
      if (each._tag === "RunCall") {
        if (!each.start || parallel >= most) continue
        parallel++
      }
      if (this.#start(each, fork) && each._tag === "RunCall") parallel--
    }
  }

  #interruptUnwanted(wanted: ReadonlyArray<Work>) {
    const keys = new Set(wanted.map((each) => each.key))
    for (const [key, running] of this.#running) {
      if (keys.has(key)) continue
      this.#running.delete(key)
      running.cancelDeadline?.()
      running.fiber?.interruptUnsafe()
    }
  }

  #interruptAll() {
    for (const running of this.#running.values()) {
      running.cancelDeadline?.()
      running.fiber?.interruptUnsafe()
    }
    this.#running.clear()
  }

  /** Starts a piece of work. True if it was done at once: then its input is in the inbox, and no fiber is left. */
  #start(wanted: Work, fork: Fork): boolean {
    const running: Running = {
      work: wanted,
      fiber: undefined,
      cancelDeadline: undefined,
      answered: undefined
    }
    this.#running.set(wanted.key, running)
    const started =
      wanted._tag === "AskModel" ? { effect: this.#turn(wanted) } : this.#call(wanted, running)
    const fiber = fork(started.effect)
    running.fiber = fiber
    const done = fiber.pollUnsafe()
    if (done !== undefined) {
      this.#finished(wanted, running, done)
      return true
    }
    if ("late" in started && started.late !== undefined && started.timeout_ms !== undefined) {
      const late = started.late
      running.cancelDeadline = this.#services.deadlines.after(started.timeout_ms, () => {
        if (this.#running.get(wanted.key) !== running) return
        // The deadline's input is reported before the fiber ends, so that its own end is no longer asked for.
        running.fiber = undefined
        this.#report({ input: late(), key: wanted.key })
        fiber.interruptUnsafe()
      })
    }
    fiber.addObserver((exit) => {
      running.cancelDeadline?.()
      if (this.#running.get(wanted.key) === running && running.fiber === fiber) {
        this.#finished(wanted, running, exit)
      }
    })
    return false
  }

  #finished(wanted: Work, running: Running, exit: Exit.Exit<RunInput | undefined>) {
    running.fiber = undefined
    if (Exit.isSuccess(exit)) {
      if (exit.value !== undefined) return this.#report({ input: exit.value, key: wanted.key })
      // Nothing to say: its event is written already, or did not stand. What is still wanted starts again.
      this.#running.delete(wanted.key)
      return this.#awake()
    }
    // Nobody here interrupted it, or it would not be looked at: whatever ended it is a defect.
    this.#report({
      key: wanted.key,
      input:
        wanted._tag === "RunCall"
          ? this.#services.invoker.died(wanted.call, exit.cause)
          : {
              _tag: "TurnFailed",
              frame: wanted.frame,
              step: wanted.step,
              reason: "model_defect",
              message: "the model gateway failed by a defect",
              transient: false
            }
    })
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

  #turn(wanted: Extract<Work, { _tag: "AskModel" }>): Effect.Effect<RunInput> {
    const { frame, step } = wanted
    const agent = this.#agentOf(frame)
    if (agent === undefined) {
      return Effect.succeed({
        _tag: "TurnFailed",
        frame,
        step,
        reason: "unknown_agent",
        message: "the agent is not defined in this process",
        transient: false
      })
    }
    const request = {
      run: this.#run,
      agent: agent.spec.name,
      frame,
      step,
      model: agent.spec.model,
      system: agent.spec.instructions,
      history: frame === rootFrame ? this.#history : [],
      transcript: this.#state.frames.get(frame)!.transcript,
      tools: wanted.tools ? agent.modelTools : []
    }
    const sink = (delta: ModelDelta) => this.#services.delta(this.#run, frame, step, delta)
    // Suspended, so that a gateway which throws fails this turn and not the loop.
    return Effect.match(
      Effect.suspend(() => this.#services.model.turn(request, sink)),
      {
        onSuccess: (finished): RunInput => ({ _tag: "TurnFinished", frame, step, turn: finished }),
        onFailure: (error): RunInput => ({
          _tag: "TurnFailed",
          frame,
          step,
          reason: `model_${error.kind}`,
          message: error.message,
          transient: error.kind === "transient"
        })
      }
    )
  }

  #call(wanted: Extract<Work, { _tag: "RunCall" }>, running: Running) {
    const { call } = wanted
    const written = (input: RunInput, stands: () => boolean) =>
      Effect.callback<boolean>((resume) => {
        this.#report({ input, written: () => resume(Effect.succeed(stands())) })
      })
    const phase = () => this.#state.calls.get(call)!.phase
    const host: CallHost = {
      run: this.#run,
      accepted: this.#state.accepted!,
      agent: this.#agentOf(this.#state.calls.get(call)!.frame)!,
      call: () => this.#state.calls.get(call)!,
      ask: (input) =>
        Effect.andThen(
          written(input, () => true),
          Effect.callback<void>((resume) => {
            // Answered between the append and here, or never asked: the gate sees it at once.
            if (phase()._tag !== "Asking") return resume(Effect.void)
            running.answered = () => resume(Effect.void)
            // One place less is taken while a person thinks.
            this.#awake()
          })
        ),
      dispatch: (input) =>
        written(input, () => {
          const now = phase()
          return now._tag === "Dispatched" && now.epoch === this.#fence.epoch
        }),
      transact: (key, body, record) =>
        Effect.callback((resume) => {
          this.#transactions.push({ call, key, body, record, done: () => resume(Effect.void) })
          this.#awake()
        })
    }
    return this.#services.invoker.start(host)
  }
}

const page_max = 10_000
