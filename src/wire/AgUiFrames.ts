/**
 * A run as the events of AG-UI 1.0 (package `@ag-ui/core` 1): what one request is answered with, from `RUN_STARTED` until the run has
 * ended or waits for people. A turn is a step with one message; the ids of messages and calls begin with the run's, so that a client
 * that is told them again knows them.
 */
import type { Usage } from "../cost/TurnCost.ts"
import type { FilePart } from "../conversation/Part.ts"
import type { WaitingQuestion } from "../run/QueuedBehind.ts"
import type { ApprovalId, CallId, ConversationId, FrameId, RunId } from "../value/Ids.ts"
import { callOpening, frameOpenedBy, rootFrame, stepKey } from "../value/Ids.ts"
import { defined } from "../value/PlainObject.ts"
import { AgUiMessages } from "./AgUiMessages.ts"
import type { AgUiFrame } from "./AgUiShapes.ts"
import { isVoid, responseSchema, resultOf } from "./AgUiShapes.ts"
import type { RunStep, TurnAt } from "./RunView.ts"

type Step<Tag extends RunStep["_tag"]> = Extract<RunStep, { readonly _tag: Tag }>
type Kind = "text" | "reasoning"

/** A turn that is under way. `attempt`: how often it was begun. */
interface Turn {
  readonly at: TurnAt
  attempt: number
  readonly open: Set<Kind>
}

/** What is shown of a specialist. `isOpen`: it was begun in this answer, and not finished. */
interface Specialist {
  readonly agent: string
  isOpen: boolean
}

interface Options {
  readonly thread: string
  /** The client's id of the run: of one request. */
  readonly client_run: string
  readonly run: RunId
  readonly conversation: ConversationId
  /** Whether the client speaks 1.0, and not what was before. */
  readonly isVersionOne: boolean
  /** Members of the request that were left out. */
  readonly ignored: ReadonlyArray<string>
  /** The messages that the client has. Absent = too much to be told again: there is no snapshot. */
  readonly before?: ReadonlyArray<unknown> | undefined
  /** Ids of messages of this run that the client has. */
  readonly known: ReadonlyArray<string>
  /** Whether the run is told from its start: what the client has of it does not count. */
  readonly isWhole: boolean
  /** The address of a file by its digest. */
  readonly fileAt: (digest: string) => string
}

export class AgUiFrames {
  readonly #options: Options
  readonly #messages: AgUiMessages
  readonly #turns = new Map<string, Turn>()
  readonly #specialists = new Map<FrameId, Specialist>()
  /** The frames of calls that are a specialist's. */
  readonly #frames = new Map<CallId, FrameId>()
  readonly #asked = new Map<ApprovalId, Step<"Asked">>()
  /** Arguments with which a person has replaced those of a call. */
  readonly #edited = new Map<CallId, unknown>()
  /** The number of the attempt of a turn with which the client knows it, by the id of its message. */
  readonly #attempts = new Map<string, number>()
  #usage: Required<Omit<Usage, "estimated">> | undefined

  constructor(options: Options) {
    this.#options = options
    this.#messages = new AgUiMessages(options.run)
    for (const each of options.known) {
      const [, id = "", attempt = "1"] = /^(.*?)(?:~(\d{1,6}))?(?::thought)?$/.exec(each) ?? []
      const number = Number(attempt) + (options.isWhole ? 1 : 0)
      this.#attempts.set(id, Math.max(number, this.#attempts.get(id) ?? 1))
    }
  }

  /** The first events. What the client has of a run that is told again is taken back. */
  get start(): ReadonlyArray<AgUiFrame> {
    const { before, isWhole, known } = this.#options
    const isAgain = isWhole && known.length > 0
    // A snapshot leaves thoughts where they are.
    const thoughts = known.filter((id) => isAgain && id.endsWith(":thought"))
    return [
      this.#started,
      ...thoughts.flatMap((messageId) => [
        { type: "REASONING_MESSAGE_START", messageId, role: "reasoning", ...isVoid },
        { type: "REASONING_MESSAGE_END", messageId }
      ]),
      ...(isAgain ? this.#snapshot(before) : [])
    ]
  }

  #snapshot(before: ReadonlyArray<unknown> | undefined): ReadonlyArray<AgUiFrame> {
    if (before === undefined) return []
    return [{ type: "MESSAGES_SNAPSHOT", messages: this.#messages.behind(before) }]
  }

  get #started(): AgUiFrame {
    const { client_run, conversation, ignored, isVersionOne, run, thread } = this.#options
    const troupe = { run, conversation, ...(ignored.length > 0 ? { ignored } : undefined) }
    return {
      type: "RUN_STARTED",
      threadId: thread,
      runId: client_run,
      ...(isVersionOne ? { protocolVersion: "1.0" } : undefined),
      metadata: { troupe }
    }
  }

  /** What comes from here on is told to a client that has what was before. */
  begin(): void {
    this.#usage = undefined
  }

  /** The events of the next step. `cursor`: where the conversation can be followed from behind it. */
  next(step: RunStep, cursor: string): ReadonlyArray<AgUiFrame> {
    const frames = this.#next(step, cursor)
    for (const frame of frames) this.#messages.add(frame)
    return frames
  }

  #next(step: RunStep, cursor: string): ReadonlyArray<AgUiFrame> {
    switch (step._tag) {
      case "TurnBegun":
        return this.#begun(step)
      case "TurnRestarted":
        return this.#restarted(step)
      case "Text":
        return this.#said(step, "text", step.text)
      case "Reasoning":
        return this.#said(step, "reasoning", step.text)
      case "TurnEnded":
        return this.#turned(step)
      case "CallProposed":
        return this.#proposed(step)
      case "CallShows":
        return [this.#custom("output", { toolCallId: this.#idOf(step.call), output: step.json })]
      case "CallUnknown":
        return [this.#custom("unknown", { toolCallId: this.#idOf(step.call) })]
      case "CallEnded":
        return this.#ended(step)
      case "Asked":
        this.#asked.set(step.approval, step)
        return []
      case "Answered":
        return this.#answered(step)
      case "QuestionClosed":
      case "Note":
        return []
      case "SpecialistBegun":
        this.#specialists.set(step.frame, { agent: step.agent, isOpen: false })
        return this.#reached(step.frame)
      case "HandedOff":
        return [this.#custom("handed_off", { agent: step.to })]
      case "Queued":
        return this.#paused("queued", step.questions, [], cursor)
      case "Parked":
        return this.#parked(step.questions, cursor)
      case "Ended":
        return this.#end(step, cursor)
    }
  }

  #idOf(call: CallId | string): string {
    return `${this.#options.run}:${call}`
  }

  #custom(name: string, value: unknown): AgUiFrame {
    return { type: "CUSTOM", name: `troupe.${name}`, value }
  }

  /** Whose an event is: a specialist's, or the run's own agent's. */
  #of(frame: FrameId): { readonly subagentRunId?: string } {
    return frame === rootFrame ? {} : { subagentRunId: this.#idOf(frame) }
  }

  /** Begins the specialists of a frame that this answer has not begun, the outermost first. */
  #reached(frame: FrameId): ReadonlyArray<AgUiFrame> {
    const specialist = this.#specialists.get(frame)
    if (specialist === undefined || specialist.isOpen) return []
    specialist.isOpen = true
    const call = callOpening(frame)
    const parent = this.#frames.get(call)
    return [
      ...(parent === undefined ? [] : this.#reached(parent)),
      {
        type: "SUBAGENT_STARTED",
        subagentRunId: this.#idOf(frame),
        name: specialist.agent,
        parentToolCallId: this.#idOf(call),
        ...defined({ parentSubagentRunId: parent && this.#idOf(parent) })
      }
    ]
  }

  /** Finishes what is under way, the innermost first. */
  #closed(end: (frame: FrameId) => AgUiFrame): ReadonlyArray<AgUiFrame> {
    const frames = [...this.#turns.values()].flatMap((turn) => this.#finished(turn, true))
    for (const [frame, specialist] of [...this.#specialists].toReversed()) {
      if (!specialist.isOpen) continue
      specialist.isOpen = false
      frames.push(end(frame))
    }
    return frames
  }

  #begun({ frame, step }: TurnAt): ReadonlyArray<AgUiFrame> {
    const stepName = stepKey(frame, step)
    const attempt = this.#attempts.get(this.#idOf(stepName)) ?? 1
    this.#turns.set(stepName, { at: { frame, step }, attempt, open: new Set() })
    return [...this.#reached(frame), { type: "STEP_STARTED", stepName, ...this.#of(frame) }]
  }

  #messageId({ at, attempt }: Turn): string {
    const id = this.#idOf(stepKey(at.frame, at.step))
    return attempt === 1 ? id : `${id}~${attempt}`
  }

  /** Ends the texts of a turn. `isLost`: they do not count. */
  #endTexts(turn: Turn, isLost = false): Array<AgUiFrame> {
    const messageId = this.#messageId(turn)
    const more = { ...this.#of(turn.at.frame), ...(isLost ? isVoid : undefined) }
    const frames = [...turn.open].flatMap((kind): ReadonlyArray<AgUiFrame> => {
      if (kind === "text") return [{ type: "TEXT_MESSAGE_END", messageId, ...more }]
      const thought = { messageId: `${messageId}:thought`, ...this.#of(turn.at.frame) }
      return [
        { type: "REASONING_MESSAGE_END", ...thought, ...more, messageId: thought.messageId },
        { type: "REASONING_END", ...thought }
      ]
    })
    turn.open.clear()
    return frames
  }

  #finished(turn: Turn, isLost = false): Array<AgUiFrame> {
    const stepName = stepKey(turn.at.frame, turn.at.step)
    this.#turns.delete(stepName)
    return [
      ...this.#endTexts(turn, isLost),
      { type: "STEP_FINISHED", stepName, ...this.#of(turn.at.frame) }
    ]
  }

  #restarted({ frame, step }: TurnAt): ReadonlyArray<AgUiFrame> {
    const turn = this.#turns.get(stepKey(frame, step))
    if (turn === undefined) return []
    const frames = this.#endTexts(turn, true)
    turn.attempt++
    return frames
  }

  #said({ frame, step }: TurnAt, kind: Kind, delta: string): ReadonlyArray<AgUiFrame> {
    const turn = this.#turns.get(stepKey(frame, step))
    if (turn === undefined) return []
    const isText = kind === "text"
    const messageId = this.#messageId(turn) + (isText ? "" : ":thought")
    const of = { messageId, ...this.#of(frame) }
    const type = isText ? "TEXT_MESSAGE" : "REASONING_MESSAGE"
    const frames: Array<AgUiFrame> = []
    if (!turn.open.has(kind)) {
      turn.open.add(kind)
      if (!isText) frames.push({ type: "REASONING_START", ...of })
      frames.push({ type: `${type}_START`, role: isText ? "assistant" : "reasoning", ...of })
    }
    frames.push({ type: `${type}_CONTENT`, delta, ...of })
    return frames
  }

  #turned({ frame, step, usage }: Step<"TurnEnded">): ReadonlyArray<AgUiFrame> {
    if (usage !== undefined) this.#count(usage)
    const turn = this.#turns.get(stepKey(frame, step))
    return turn === undefined ? [] : this.#finished(turn)
  }

  #count(usage: Usage): void {
    const { cache_write_tokens = 0, cached_tokens = 0, reasoning_tokens = 0 } = usage
    const sum = this.#usage
    this.#usage = {
      input_tokens: (sum?.input_tokens ?? 0) + usage.input_tokens,
      output_tokens: (sum?.output_tokens ?? 0) + usage.output_tokens,
      cached_tokens: (sum?.cached_tokens ?? 0) + cached_tokens,
      cache_write_tokens: (sum?.cache_write_tokens ?? 0) + cache_write_tokens,
      reasoning_tokens: (sum?.reasoning_tokens ?? 0) + reasoning_tokens
    }
  }

  #proposed(step: Step<"CallProposed">): ReadonlyArray<AgUiFrame> {
    const { call, frame, malformed } = step
    const turn = this.#turns.get(stepKey(frame, step.step))
    if (turn === undefined) return []
    if (frame !== rootFrame) this.#frames.set(call, frame)
    const of = { toolCallId: this.#idOf(call), ...this.#of(frame) }
    const delta = malformed ?? JSON.stringify(step.arguments) ?? ""
    return [
      ...this.#endTexts(turn),
      {
        type: "TOOL_CALL_START",
        toolCallName: step.tool,
        parentMessageId: this.#messageId(turn),
        ...of
      },
      ...(delta === "" ? [] : [{ type: "TOOL_CALL_ARGS", delta, ...of }]),
      { type: "TOOL_CALL_END", ...of }
    ]
  }

  #answered({ approval, decision }: Step<"Answered">): ReadonlyArray<AgUiFrame> {
    const call = this.#asked.get(approval)?.call
    if (call !== undefined && decision._tag === "Modify") {
      this.#edited.set(call, decision.arguments)
    }
    return []
  }

  #ended({ call, outcome }: Step<"CallEnded">): ReadonlyArray<AgUiFrame> {
    const [content, how] = resultOf(outcome)
    const toolCallId = this.#idOf(call)
    const frame = this.#frames.get(call) ?? rootFrame
    const troupe = defined({ outcome: how, arguments: this.#edited.get(call) })
    return [
      ...this.#reached(frame),
      ...this.#returned(frameOpenedBy(call), content, how),
      {
        type: "TOOL_CALL_RESULT",
        messageId: `${toolCallId}:result`,
        toolCallId,
        content,
        role: "tool",
        ...this.#of(frame),
        ...(Object.keys(troupe).length > 0 ? { metadata: { troupe } } : undefined)
      }
    ]
  }

  /** A specialist is done. */
  #returned(frame: FrameId, message: string, how?: string): ReadonlyArray<AgUiFrame> {
    const specialist = this.#specialists.get(frame)
    if (specialist === undefined) return []
    const frames = this.#reached(frame)
    specialist.isOpen = false
    const subagentRunId = this.#idOf(frame)
    const end =
      how === undefined
        ? { type: "SUBAGENT_FINISHED", subagentRunId, outcome: { type: "success" } }
        : { type: "SUBAGENT_ERROR", subagentRunId, message, code: how }
    const turns = [...this.#turns.values()].filter(({ at }) => at.frame === frame)
    return [...frames, ...turns.flatMap((turn) => this.#finished(turn, true)), end]
  }

  #interrupt(step: Step<"Asked">): Readonly<Record<string, unknown>> {
    const { approval, call, digest, expires_at, payload } = step
    const { agent_name, args_summary, effect_description, tool_name } = payload
    const frame = (call && this.#frames.get(call)) ?? rootFrame
    return {
      id: approval,
      reason: call === undefined ? "question" : "tool_call",
      message: effect_description,
      responseSchema: responseSchema(call !== undefined),
      metadata: {
        tool: tool_name,
        agent: agent_name,
        summary: args_summary,
        ...defined({ digest, arguments: call === undefined ? step.arguments : undefined })
      },
      ...this.#of(frame),
      ...defined({
        toolCallId: call && this.#idOf(call),
        expiresAt: expires_at === undefined ? undefined : new Date(expires_at).toISOString()
      })
    }
  }

  #parked(questions: ReadonlyArray<WaitingQuestion>, cursor: string): ReadonlyArray<AgUiFrame> {
    const asked = questions.flatMap(({ approval }) => {
      const found = approval && this.#asked.get(approval)
      return found === undefined ? [] : [found]
    })
    return this.#paused("awaiting_approval", questions, asked, cursor)
  }

  /** Nothing goes on until somebody answers: what the reader is asked, or that somebody else is. */
  #paused(
    status: string,
    waiting: ReadonlyArray<WaitingQuestion>,
    asked: ReadonlyArray<Step<"Asked">>,
    cursor: string
  ): ReadonlyArray<AgUiFrame> {
    const closed = this.#closed((frame) => ({
      type: "SUBAGENT_FINISHED",
      subagentRunId: this.#idOf(frame),
      outcome: { type: "suspended", interruptIds: asked.map(({ approval }) => approval) }
    }))
    const result = { status, waiting, cursor }
    if (asked.length === 0) return [...closed, this.#over({ type: "success" }, result)]
    for (const frame of closed) this.#messages.add(frame)
    const snapshot = this.#snapshot(this.#options.before)
    const interrupts = asked.map((each) => this.#interrupt(each))
    return [...closed, ...snapshot, this.#over({ type: "interrupt", interrupts }, result)]
  }

  #over(outcome: unknown, result: Readonly<Record<string, unknown>>): AgUiFrame {
    const { client_run, thread } = this.#options
    return {
      type: "RUN_FINISHED",
      threadId: thread,
      runId: client_run,
      outcome,
      result,
      ...this.#used
    }
  }

  get #used() {
    const sum = this.#usage
    if (sum === undefined) return undefined
    return {
      usage: [
        {
          inputTokens: sum.input_tokens,
          outputTokens: sum.output_tokens,
          totalTokens: sum.input_tokens + sum.output_tokens,
          reasoningTokens: sum.reasoning_tokens,
          cachedInputTokens: sum.cached_tokens,
          cacheWriteInputTokens: sum.cache_write_tokens
        }
      ]
    }
  }

  #unsaid(delta: string): ReadonlyArray<AgUiFrame> {
    if (delta === "") return []
    const messageId = this.#idOf("answer")
    return [
      { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
      { type: "TEXT_MESSAGE_CONTENT", messageId, delta },
      { type: "TEXT_MESSAGE_END", messageId }
    ]
  }

  #end(step: Step<"Ended">, cursor: string): ReadonlyArray<AgUiFrame> {
    const { files = [], reason, sources = [], status, text, unsaid } = step
    const closed = this.#closed((frame) => ({
      type: "SUBAGENT_ERROR",
      subagentRunId: this.#idOf(frame),
      message: "The run ended before it.",
      code: "cancelled"
    }))
    const failed = (message: string, code: string) => [
      ...closed,
      { type: "RUN_ERROR", message, code, ...this.#used }
    ]
    const result = {
      status,
      cursor,
      ...(sources.length > 0 ? { sources } : undefined),
      ...(files.length > 0 ? { files: files.map((each) => this.#file(each)) } : undefined)
    }
    switch (status) {
      case "complete":
        return [...closed, ...this.#unsaid(unsaid), this.#over({ type: "success" }, result)]
      case "failed":
        return failed(text === "" ? `The run failed: ${reason}` : text, reason)
      case "cancelled":
        return this.#options.isVersionOne
          ? [...closed, this.#over({ type: "cancelled" }, result)]
          : failed(`The run was cancelled: ${reason}`, "cancelled")
    }
  }

  #file({ digest, media_type, name }: FilePart) {
    return { url: this.#options.fileAt(digest), media_type, ...defined({ name }) }
  }
}
