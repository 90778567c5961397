/**
 * What one run shows, as steps that every wire understands: the fold of the feed's items of this run. Journaled items alone give the
 * same steps as those that were watched live, but for how a text is cut into pieces.
 */
import type { ApprovalPayload, Decision } from "../approval/Approval.ts"
import type { CustomerFinish } from "../conversation/CustomerView.ts"
import { customerEvent, isForCustomers } from "../conversation/CustomerView.ts"
import type { Usage } from "../cost/TurnCost.ts"
import type { FilePart } from "../conversation/Part.ts"
import type { FeedItem } from "../run/FeedItem.ts"
import type { Source } from "../run/ProviderWork.ts"
import type { WaitingQuestion } from "../run/QueuedBehind.ts"
import { customerQueuedBehind, waitingQuestions } from "../run/QueuedBehind.ts"
import type {
  ApprovalRequested,
  EndStatus,
  FinishReason,
  ModelTurned,
  Outcome,
  RunEvent
} from "../run/RunEvent.ts"
import { evolve } from "../run/RunFold.ts"
import type { FoldState } from "../run/RunState.ts"
import { emptyState, isParkable } from "../run/RunState.ts"
import type { AgentName, ApprovalId, CallId, FrameId, RunId } from "../value/Ids.ts"
import { callId, rootFrame, stepKey } from "../value/Ids.ts"
import { defined } from "../value/PlainObject.ts"

/** A turn of a model. */
export interface TurnAt {
  /** `0` = the run's own agent; another one = a specialist, whose frame has the id of the call that opened it. */
  readonly frame: FrameId
  /** Counts the frame's turns from 1. */
  readonly step: number
}

/** What a person is asked. */
export interface Asked {
  readonly approval: ApprovalId
  /** The call that waits. Absent = it is about a limit of the run or a text, or the reader may not see calls. */
  readonly call?: CallId
  readonly payload: ApprovalPayload
  /** What would run: all arguments. Absent = the reader may not see them. */
  readonly arguments?: unknown
  /** Of what an approval is bound to. Absent = the reader may not see it. */
  readonly digest?: string
  /** ms since 1970. Absent = never. */
  readonly expires_at?: number
}

/**
 * One step. `TurnRestarted`: what was shown of this turn is void, and begins anew. `Parked`: nothing goes on until somebody answers.
 * `Ended.unsaid`: an answer that no turn has said. `Note`: somebody is asked or has answered, and the reader may not know what.
 */
export type RunStep =
  | ({ readonly _tag: "TurnBegun" | "TurnRestarted" } & TurnAt)
  | ({ readonly _tag: "Text" | "Reasoning"; readonly text: string } & TurnAt)
  | ({
      readonly _tag: "TurnEnded"
      readonly finish?: FinishReason
      /** The tokens that it took. Absent = not known, or not for the reader. */
      readonly usage?: Usage
    } & TurnAt)
  | ({
      readonly _tag: "CallProposed"
      readonly call: CallId
      readonly tool: string
      readonly arguments: unknown
      /** What the model gave in place of JSON. */
      readonly malformed?: string
      /** The specialist whose call it is. Absent = it is the run's own agent's. */
      readonly agent?: AgentName
    } & TurnAt)
  | { readonly _tag: "CallShows"; readonly call: CallId; readonly json: string }
  | { readonly _tag: "CallUnknown"; readonly call: CallId }
  | { readonly _tag: "CallEnded"; readonly call: CallId; readonly outcome: Outcome }
  | ({ readonly _tag: "Asked" } & Asked)
  | { readonly _tag: "Answered"; readonly approval: ApprovalId; readonly decision: Decision }
  | {
      readonly _tag: "QuestionClosed"
      readonly approval: ApprovalId
      readonly how: "expired" | "cancelled"
    }
  | { readonly _tag: "Note"; readonly what: "asked" | "answered" }
  | {
      readonly _tag: "SpecialistBegun"
      readonly frame: FrameId
      readonly call: CallId
      readonly agent: AgentName
    }
  | { readonly _tag: "HandedOff"; readonly to: AgentName }
  | { readonly _tag: "Queued"; readonly questions: ReadonlyArray<WaitingQuestion> }
  | { readonly _tag: "Parked"; readonly questions: ReadonlyArray<WaitingQuestion> }
  | {
      readonly _tag: "Ended"
      readonly status: EndStatus
      readonly reason: string
      readonly text: string
      readonly unsaid: string
      readonly finish?: FinishReason | CustomerFinish
      readonly sources?: ReadonlyArray<Source>
      readonly files?: ReadonlyArray<FilePart>
    }

/** What a turn has said. */
interface Said {
  reasoning: string
  text: string
}

/**
 * A turn in progress: what the reader was shown, and what the attempt that is under way has said so far, which is the same object
 * while they are the same.
 */
interface Turn {
  shown: Said
  now: Said
}

const kinds = [
  ["reasoning", "Reasoning"],
  ["text", "Text"]
] as const

/** Whether one may become the other by going on. */
const agrees = (a: string, b: string): boolean =>
  a.length <= b.length ? b.startsWith(a) : a.startsWith(b)

/** Whether what was shown is a beginning of what is said now, or the other way round. */
const goesOn = ({ now, shown }: Turn): boolean =>
  agrees(shown.reasoning, now.reasoning) &&
  agrees(shown.text, now.text) &&
  // An attempt that says its text has said all that it thought.
  (now.text === "" || shown.reasoning.length <= now.reasoning.length)

const parked = (questions: ReadonlyArray<WaitingQuestion>): RunStep => ({
  _tag: "Parked",
  questions
})

/** A question as staff see it. */
const askedBy = (event: ApprovalRequested): RunStep => {
  const { approval, call, digest, expires_at, guarded, limit, payload } = event
  const isOfCall = limit === undefined && guarded === undefined
  return {
    _tag: "Asked",
    approval,
    payload,
    digest,
    arguments: event.arguments,
    ...defined({ call: isOfCall ? call : undefined, expires_at })
  }
}

export class RunView {
  readonly #run: RunId
  readonly #isCustomer: boolean
  readonly #state: FoldState = emptyState()
  readonly #turns = new Map<string, Turn>()
  /** What the run's own agent said in its last turn. */
  #said = ""

  /** `isCustomer`: shows what a customer may see (`CustomerView`), instead of what staff may. */
  constructor(run: RunId, isCustomer: boolean) {
    this.#run = run
    this.#isCustomer = isCustomer
  }

  /** The steps of the next item of the conversation's feed, which has delivered all events of the run from its first one on. */
  next(item: FeedItem): ReadonlyArray<RunStep> {
    if (item._tag === "CaughtUp" || item.run !== this.#run) return []
    switch (item._tag) {
      case "Queued": {
        const behind = this.#isCustomer ? customerQueuedBehind(item.behind) : item.behind
        return [{ _tag: "Queued", questions: behind.questions }]
      }
      case "Output":
        return this.#isCustomer && !isForCustomers(item.frame, "output")
          ? []
          : [{ _tag: "CallShows", call: item.call, json: item.text }]
      case "Delta":
        return this.#isCustomer && !isForCustomers(item.frame, item.kind) ? [] : this.#piece(item)
      case "Event":
        return this.#event(item.entry.event)
    }
  }

  #turn(at: TurnAt, steps: Array<RunStep>): Turn {
    const key = stepKey(at.frame, at.step)
    let turn = this.#turns.get(key)
    if (turn === undefined) {
      const said = { reasoning: "", text: "" }
      turn = { shown: said, now: said }
      this.#turns.set(key, turn)
      steps.push({ _tag: "TurnBegun", ...at })
    }
    return turn
  }

  /** Shows what the attempt says beyond what was shown, or begins anew where it says something else. */
  #show(at: TurnAt, turn: Turn, steps: Array<RunStep>): void {
    const { now } = turn
    if (!goesOn(turn)) this.#restart(at, turn, steps)
    const { shown } = turn
    for (const [kind, tag] of kinds) {
      const text = now[kind].slice(shown[kind].length)
      if (text === "") continue
      steps.push({ _tag: tag, ...at, text })
      shown[kind] = now[kind]
    }
    if (kinds.every(([kind]) => shown[kind].length === now[kind].length)) turn.now = shown
  }

  #restart(at: TurnAt, turn: Turn, steps: Array<RunStep>): void {
    steps.push({ _tag: "TurnRestarted", ...at })
    turn.shown = { reasoning: "", text: "" }
  }

  #piece({ frame, kind, offset, step, text }: Extract<FeedItem, { _tag: "Delta" }>) {
    const steps: Array<RunStep> = []
    const at = { frame, step }
    const turn = this.#turn(at, steps)
    const { now, shown } = turn
    // Pieces in between were left out: the whole turn comes later.
    if (offset > now[kind].length) return steps
    if (now === shown && offset > 0 && offset === shown[kind].length) {
      shown[kind] += text
      steps.push({ _tag: kind === "text" ? "Text" : "Reasoning", ...at, text })
      return steps
    }
    const isAnew = offset === 0 && (kind === "reasoning" || now.text !== "")
    const kept = isAnew ? { reasoning: "", text: "" } : now
    turn.now = { ...kept, [kind]: kept[kind].slice(0, offset) + text }
    this.#show(at, turn, steps)
    return steps
  }

  #event(event: RunEvent): ReadonlyArray<RunStep> {
    evolve(this.#state, event)
    const steps: Array<RunStep> = []
    if (this.#isCustomer) this.#forCustomer(event, steps)
    else this.#forStaff(event, steps)
    if (isParkable(this.#state)) {
      const questions = waitingQuestions(this.#state)
      steps.push(
        parked(
          this.#isCustomer
            ? customerQueuedBehind({ run: this.#run, questions }).questions
            : questions
        )
      )
    }
    return steps
  }

  /** The whole of a turn, of which pieces were shown or none. */
  #turned(at: TurnAt, said: Said, steps: Array<RunStep>): void {
    const turn = this.#turn(at, steps)
    turn.now = said
    const { shown } = turn
    // Less than was shown is something else.
    const isLess =
      said.text.length < shown.text.length || said.reasoning.length < shown.reasoning.length
    if (isLess) this.#restart(at, turn, steps)
    this.#show(at, turn, steps)
    this.#turns.delete(stepKey(at.frame, at.step))
    if (at.frame === rootFrame) this.#said = said.text
  }

  #ended(event: Omit<Extract<RunStep, { _tag: "Ended" }>, "unsaid">): RunStep {
    const { text } = event
    return { ...event, unsaid: event.status === "complete" && text !== this.#said ? text : "" }
  }

  #forCustomer(event: RunEvent, steps: Array<RunStep>): void {
    const shown = customerEvent(event)
    if (shown === undefined) return this.#unseen(event, steps)
    switch (shown._tag) {
      case "ModelTurned": {
        const { finish, frame, step, text } = shown
        this.#turned({ frame, step }, { reasoning: "", text }, steps)
        steps.push({ _tag: "TurnEnded", frame, step, ...defined({ finish }) })
        return
      }
      case "ApprovalRequested":
        if ("approval" in shown) steps.push({ ...shown, _tag: "Asked" })
        else steps.push({ _tag: "Note", what: "asked" })
        return
      case "ClientRequested":
        steps.push({ _tag: "Note", what: "asked" })
        return
      case "ApprovalDecided":
      case "ApprovalClosed":
        this.#answeredOwn(event, steps)
        return
      case "HandedOff":
        steps.push({ _tag: "HandedOff", to: shown.to })
        return
      case "RunEnded": {
        const { message, text, ...ended } = shown
        steps.push(this.#ended({ ...ended, text: message ?? text, _tag: "Ended" }))
        return
      }
      default:
    }
  }

  /** A turn that a customer does not see, because it only has calls: what was shown of an attempt before it is void. */
  #unseen(event: RunEvent, steps: Array<RunStep>): void {
    if (event._tag !== "ModelTurned") return
    const { frame, step } = event
    if (!this.#turns.has(stepKey(frame, step))) return
    this.#turned({ frame, step }, { reasoning: "", text: "" }, steps)
    steps.push({ _tag: "TurnEnded", frame, step })
  }

  /** What became of a question that a customer was shown, which it may read; of others only that somebody answered. */
  #answeredOwn(event: RunEvent, steps: Array<RunStep>): void {
    if (event._tag !== "ApprovalDecided" && event._tag !== "ApprovalClosed") return
    const request = this.#state.requested?.findLast(({ approval }) => approval === event.approval)
    if (request?._tag !== "ApprovalRequested" || !request.approvers.includes("customer")) {
      steps.push({ _tag: "Note", what: "answered" })
    } else if (event._tag === "ApprovalClosed") {
      this.#closed(event, steps)
    } else {
      const isApproved = event.decision._tag === "Approve" || event.decision._tag === "Modify"
      steps.push({
        _tag: "Answered",
        approval: event.approval,
        // Not what staff have written, which is for the model.
        decision: isApproved ? { _tag: "Approve" } : { _tag: "Deny", reason: "" }
      })
    }
  }

  #closed(
    { approval, how }: Extract<RunEvent, { _tag: "ApprovalClosed" }>,
    steps: Array<RunStep>
  ): void {
    if (how !== "answered") steps.push({ _tag: "QuestionClosed", approval, how })
  }

  #forStaff(event: RunEvent, steps: Array<RunStep>): void {
    switch (event._tag) {
      case "ModelTurned":
        return this.#staffTurn(event, steps)
      case "ApprovalRequested":
        steps.push(askedBy(event))
        return
      case "ClientRequested":
        steps.push({ _tag: "Note", what: "asked" })
        return
      case "ApprovalDecided":
        steps.push({ _tag: "Answered", approval: event.approval, decision: event.decision })
        return
      case "ApprovalClosed":
        return this.#closed(event, steps)
      case "CallUnknown":
        steps.push({ _tag: "CallUnknown", call: event.call })
        return
      case "CallSettled":
        steps.push({ _tag: "CallEnded", call: event.call, outcome: event.outcome })
        return
      case "FrameOpened": {
        const { agent, call, frame } = event
        steps.push({ _tag: "SpecialistBegun", frame, call, agent })
        return
      }
      case "HandedOff":
        steps.push({ _tag: "HandedOff", to: event.to })
        return
      case "RunEnded": {
        const { files, finish, reason, sources, status, text } = event
        const more = defined({ files, finish, sources })
        steps.push(this.#ended({ _tag: "Ended", status, reason, text, ...more }))
        return
      }
      default:
    }
  }

  #staffTurn(turned: ModelTurned, steps: Array<RunStep>): void {
    const { calls, finish, frame, reasoning = [], step, text, usage } = turned
    const at = { frame, step }
    this.#turned(at, { reasoning: reasoning.map((part) => part.text).join(""), text }, steps)
    const own = frame === rootFrame ? undefined : this.#state.frames.get(frame)?.agent
    for (const [index, { arguments: args, malformed, name }] of calls.entries()) {
      steps.push({
        _tag: "CallProposed",
        ...at,
        call: callId(frame, step, index),
        tool: name,
        arguments: args,
        ...defined({ malformed, agent: own })
      })
    }
    steps.push({ _tag: "TurnEnded", ...at, finish, ...defined({ usage }) })
  }
}
