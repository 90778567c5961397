/**
 * Asks the guards of an agent: for its frame's message and the results of its calls before a turn is shown them, and for a turn's
 * text before it is journaled. What they say is an input for the decider, and so an event like any other; a replay is not asked
 * again, because its agents have the guards of the recording.
 */
import { Cause, Effect, Exit, Predicate } from "effect"
import type { Guard, Subject, Verdict } from "../../../src/agent/Guard.ts"
import { guarded_units_max, readVerdict } from "../../../src/agent/Guard.ts"
import type { CallId, RunId } from "../../../src/value/Ids.ts"
import {
  guardedTextOf,
  isJudged,
  refusedTurn,
  toldOf,
  turnWithText
} from "../../../src/run/Guarding.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"
import type { Guarded, GuardedText } from "../../../src/run/GuardVerdict.ts"
import { guard_failed, isRefusal } from "../../../src/run/GuardVerdict.ts"
import type { RunInput, Turn } from "../../../src/run/RunDecider.ts"
import type { ApprovalRequested, ModelTurned } from "../../../src/run/RunEvent.ts"
import type { Roles } from "../../../src/principal/Principal.ts"
import { senderOf } from "../../../src/run/Forked.ts"
import type { FrameState, RunState } from "../../../src/run/RunState.ts"
import type { CallModel } from "../../../src/run/RunWork.ts"
import type { AgentGuards, ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import { callCatching } from "../fiber/Catching.ts"
import { makeExitWithin } from "../tool/BodyRunner.ts"
import { isDone } from "../fiber/Coroutine.ts"
import type { ActorContext, InputWork } from "../tool/CallHost.ts"
import { exceptionOf } from "../tool/FaultReport.ts"
import type { LoopServices } from "./LoopServices.ts"

/** A turn whose texts have guards. */
interface GuardedTurn {
  readonly services: Pick<LoopServices, "deadlines" | "report" | "requestGuardApproval">
  readonly work: CallModel
  readonly run: RunId
  readonly state: RunState
  readonly frame: FrameState
  readonly agent: ResolvedAgent
}

/** A text that guards have not judged, and what it is. */
interface Pending {
  readonly on: GuardedText
  readonly text: string
  readonly guards: ReadonlyArray<Guard>
  readonly call?: CallId
  readonly tool?: string
}

/** What guards have left of a text. */
interface Judged {
  readonly verdicts: ReadonlyArray<Guarded>
  readonly text: string
}

const dieOf: (defect: unknown) => Exit.Exit<never> = Exit.die

/** What the guard's function gives, or is about to. From JavaScript that may be anything. */
const given = ({ judge }: Guard, subject: Subject): Effect.Effect<unknown, unknown> => {
  const said: unknown = callCatching(judge, subject, undefined, dieOf)
  if (Effect.isEffect(said)) return said as Effect.Effect<unknown, unknown>
  if (!Predicate.isPromiseLike(said)) return Exit.succeed(said)
  return Effect.callback((resume) => {
    said.then(
      (value) => resume(Exit.succeed(value)),
      (error: unknown) => resume(Exit.die(error))
    )
  })
}

/** A signal that is made when it is first read: to abort one takes as long as to judge most texts (bench row `send`). */
class VerdictSignal {
  #controller: AbortController | undefined
  #isOver = false

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#isOver) this.#controller.abort()
    return this.#controller.signal
  }

  abort(): void {
    this.#isOver = true
    this.#controller?.abort()
  }
}

/** What a guard is shown. A literal with a getter takes longer to make than most texts to judge (bench row `send`). */
class JudgedText implements Subject {
  readonly on: GuardedText
  readonly text: string
  readonly tenant: Subject["tenant"]
  readonly run: RunId
  readonly conversation: Subject["conversation"]
  readonly agent: Subject["agent"]
  readonly principal: string
  readonly roles: Roles
  readonly frame: Subject["frame"]
  readonly step: number
  declare readonly call?: CallId
  declare readonly tool?: string
  readonly #held: VerdictSignal

  constructor(
    { agent, frame, run, state: { accepted }, work }: GuardedTurn,
    { call, on, tool }: Pending,
    text: string,
    held: VerdictSignal
  ) {
    this.on = on
    this.text = text
    this.tenant = accepted.tenant
    this.run = run
    this.conversation = accepted.conversation
    this.agent = agent.spec.name
    this.principal = senderOf(accepted)
    this.roles = accepted.roles ?? []
    this.frame = frame.id
    this.step = work.step
    if (call !== undefined) this.call = call
    if (tool !== undefined) this.tool = tool
    this.#held = held
  }

  get signal(): AbortSignal {
    return this.#held.signal
  }
}

/** The guard's verdict within its time; undefined = it has none, of which operators are told. One that is given at once is taken at once. */
const verdictOf = (
  turn: GuardedTurn,
  guard: Guard,
  pending: Pending,
  text: string
): Effect.Effect<Verdict | undefined, never, AgentMemory> => {
  const { services } = turn
  const broken = (cause: Cause.Cause<unknown>): undefined => {
    const { agent, frame, run, state, work } = turn
    const { tenant, trace_id } = state.accepted
    const about = {
      guard: guard.name,
      run_id: run,
      tenant,
      trace_id,
      agent: agent.spec.name,
      frame: frame.id,
      step: work.step,
      ...defined({ call: pending.call, tool: pending.tool })
    }
    services.report("a guard failed", exceptionOf(cause), about)
  }
  const failed = (problem: unknown) => broken(Cause.die(problem))
  const read = (exit: Exit.Exit<unknown, unknown> | undefined): Verdict | undefined => {
    if (exit === undefined) return failed(new TypeError(`no verdict in ${guard.timeout_ms} ms`))
    if (Exit.isFailure(exit)) return broken(exit.cause)
    return callCatching(readVerdict, exit.value, undefined, failed)
  }
  if (text.length > guarded_units_max) {
    failed(new TypeError(`the text is longer than ${guarded_units_max} characters`))
    return Effect.undefined
  }
  const held = new VerdictSignal()
  const said = given(guard, new JudgedText(turn, pending, text, held))
  if (isDone(said)) {
    held.abort()
    return Exit.succeed(read(said))
  }
  return Effect.contextWith((context: ActorContext) =>
    makeExitWithin(services.deadlines)(said, guard.timeout_ms, Effect.runForkWith(context)).pipe(
      Effect.map(read),
      Effect.ensuring(Effect.sync(() => held.abort()))
    )
  )
}

/** Asks the guards of one text, one after the other, until one refuses it. */
const judged = Effect.fnUntracedEager(function* (turn: GuardedTurn, pending: Pending) {
  const { call, guards, on } = pending
  const verdicts: Array<Guarded> = []
  let { text } = pending
  for (const guard of guards) {
    const { mode, name } = guard
    const said = yield* verdictOf(turn, guard, pending, text)
    const fallback = mode === "enforce" ? "refuse" : "pass"
    const { verdict, reason = undefined } = said ?? { verdict: fallback, reason: guard_failed }
    const changed =
      mode === "enforce" && said?.verdict === "change" ? said.text.toWellFormed() : undefined
    text = changed ?? text
    const event: Guarded = {
      _tag: "Guarded",
      guard: name,
      mode,
      on,
      frame: turn.frame.id,
      step: turn.work.step,
      ...(call && { call }),
      verdict,
      ...(reason === undefined ? undefined : { reason }),
      // The journal has an answer in its turn.
      ...(changed === undefined || on === "answer" ? undefined : { text: changed })
    }
    verdicts.push(event)
    if (isRefusal(event)) break
  }
  return { verdicts, text } satisfies Judged
})

/** Messages and results that the turn is shown, and that guards of its agent have not judged. */
const pendingOf = (
  { frame, work: { step } }: GuardedTurn,
  guards: AgentGuards
): ReadonlyArray<Pending> => {
  const pending: Array<Pending> = []
  const add = (entry: TranscriptEntry, at: Omit<Pending, "guards" | "text">) => {
    const place = { ...at, frame: frame.id, step }
    const left = guards(place).filter(({ name }) => !isJudged(frame, place, name))
    const text = left.length === 0 ? undefined : guardedTextOf(entry)
    if (text !== undefined) pending.push({ ...at, text, guards: left })
  }
  const [message] = frame.transcript
  if (message !== undefined) add(message, { on: "message" })
  const results = frame.transcript.findLastIndex(({ role }) => role !== "tool") + 1
  for (const entry of frame.transcript.slice(results)) {
    if (entry.role === "tool") add(entry, { on: "result", call: entry.call, tool: entry.name })
  }
  return pending
}

/** Of the guards that ask: the roles that each of them names. Where they have none in common only administrators decide. */
const approversOf = (asking: ReadonlyArray<Guard>): Roles => {
  const lists = asking.flatMap(({ approvers }) => (approvers.length === 0 ? [] : [approvers]))
  const [first, ...others] = lists
  if (first === undefined) return []
  const common = first.filter((role) => others.every((roles) => roles.includes(role)))
  return common.length === 0 ? ["admin"] : common
}

/** The question whether a text may pass about which a guard asks; undefined = none does, or another one has refused it. */
const questionOf = (
  turn: GuardedTurn,
  { call, guards, on }: Pick<Pending, "call" | "guards" | "on">,
  { text, verdicts }: Judged,
  turned?: ModelTurned
): Effect.Effect<Omit<ApprovalRequested, "_tag">> | undefined => {
  const asks = verdicts.filter(({ mode, verdict }) => mode === "enforce" && verdict === "ask")
  const { agent, frame, run, services, state, work } = turn
  if (asks.length === 0 || verdicts.some(isRefusal)) return undefined
  const by = asks.map(({ guard }) => guard)
  return services.requestGuardApproval(run, state, {
    guarded: {
      by: by.join(", "),
      on,
      frame: frame.id,
      step: work.step,
      ...defined({ call, turned })
    },
    text,
    reason: asks.map(({ reason = "" }) => reason).join("; "),
    agent: agent.spec.name,
    approvers: approversOf(guards.filter(({ name }) => by.includes(name)))
  })
}

const judgedTexts = Effect.fnUntracedEager(function* (
  turn: GuardedTurn,
  pending: ReadonlyArray<Pending>
): Effect.fn.Return<RunInput, never, AgentMemory> {
  const { frame, step } = turn.work
  const verdicts: Array<Guarded> = []
  for (const each of pending) {
    const all = yield* judged(turn, each)
    verdicts.push(...all.verdicts)
    const asked = questionOf(turn, each, all)
    if (asked !== undefined) {
      return { _tag: "Guards", frame, step, verdicts, question: yield* asked }
    }
    if (each.on === "message" && verdicts.some(isRefusal)) break
  }
  return { _tag: "Guards", frame, step, verdicts }
})

/** Has guards judge what the turn is shown, before anything of it is shown to anybody else. Undefined = they have. */
export const guardBefore = (turn: GuardedTurn, guards: AgentGuards): InputWork | undefined => {
  const pending = pendingOf(turn, guards)
  return pending.length === 0 ? undefined : { effect: judgedTexts(turn, pending) }
}

/** A turn as guards have left it: with another text, or with what is told of a refusal and nothing else. */
const turnAfter = (turn: Turn, { text, verdicts }: Judged): Turn => {
  const refusal = verdicts.find(isRefusal)
  if (refusal !== undefined) return refusedTurn(turn, toldOf(refusal))
  return text === turn.text ? turn : turnWithText(turn, text)
}

const judgedAnswer = Effect.fnUntracedEager(function* (
  turn: GuardedTurn,
  pending: Pending,
  given: Turn,
  finish: (left: Turn) => InputWork["effect"]
): Effect.fn.Return<RunInput | undefined, never, AgentMemory> {
  const all = yield* judged(turn, pending)
  const input = yield* finish(turnAfter(given, all))
  if (input?._tag !== "TurnFinished") return input
  const { verdicts } = all
  const asked = questionOf(turn, pending, all, input.turned)
  if (asked === undefined) return { ...input, guarded: verdicts }
  const { frame, step } = turn.work
  return { _tag: "Guards", frame, step, verdicts, question: yield* asked }
})

/**
 * Has guards judge the turn's text, and finishes what they have left of it; where one asks, a person is asked with the finished turn.
 * Undefined = there are no guards, or it has no text. A value that is no turn is refused later.
 */
export const guardAnswer = (
  turn: GuardedTurn,
  given: Turn,
  finish: (left: Turn) => InputWork["effect"]
): InputWork | undefined => {
  const { frame, step } = turn.work
  const guards = turn.agent.guards?.({ on: "answer", frame, step }) ?? []
  if (guards.length === 0 || typeof given?.text !== "string" || given.text.trim() === "") {
    return undefined
  }
  const pending = { on: "answer", text: given.text, guards } as const
  return { effect: judgedAnswer(turn, pending, given, finish) }
}
