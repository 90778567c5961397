/**
 * A run as the UI message stream of the AI SDK, version 1 (package `ai` 7): its steps become the chunks from which `useChat` makes the
 * run's one message, whose id is the run's. A step of the message is a turn of the run's own agent with its calls.
 */
import { Result } from "effect"
import type { Outcome } from "../run/RunEvent.ts"
import { failureTextForUser } from "../error/ToolError.ts"
import type { ApprovalId, CallId, ConversationId, FrameId, RunId } from "../value/Ids.ts"
import { callOpening, rootFrame, stepKey } from "../value/Ids.ts"
import { defined } from "../value/PlainObject.ts"
import type { RunStep, TurnAt } from "./RunView.ts"

/** A chunk of the stream, in the SDK's form. */
export type UiChunk = { readonly type: string } & Readonly<Record<string, unknown>>

/** The response has these headers besides its content type, `text/event-stream`. */
export const ui_headers = { "x-vercel-ai-ui-message-stream": "v1" } as const

/** What comes behind the last chunk. */
export const ui_end = "data: [DONE]\n\n"

export const uiFrame = (chunk: UiChunk): string => `data: ${JSON.stringify(chunk)}\n\n`

/** How the SDK calls why a model stopped. */
const finishes: Readonly<Record<string, string>> = {
  length: "length",
  content_filter: "content-filter",
  refusal: "content-filter",
  other: "other"
}

const parsed = (json: string): unknown =>
  Result.getOrElse(
    Result.try(() => JSON.parse(json)),
    () => json
  )

/** A specialist's text is sent again whole while it grows: after this many characters more, and after an eighth of itself. */
const preview_units = 64

interface Specialist {
  readonly agent: string
  text: string
  sent: number
}

interface Options {
  readonly run: RunId
  readonly conversation: ConversationId
  /** Members of the request that were left out. Absent = none. */
  readonly ignored?: ReadonlyArray<string> | undefined
  /** The address of a file by its digest. */
  readonly fileAt: (digest: string) => string
}

export class UiMessages {
  readonly #options: Options
  readonly #specialists = new Map<FrameId, Specialist>()
  /** The kinds of text of the open turn that have begun. */
  readonly #open = new Set<"text" | "reasoning">()
  /** The parts of questions that are about no call that the reader sees, by approval. */
  readonly #own = new Map<ApprovalId, string>()
  readonly #asked = new Map<ApprovalId, { readonly id: string; readonly tool: string }>()
  /** What the open step has: nothing yet, what belongs to a turn, or questions of their own. Undefined = none is open. */
  #step: "empty" | "turn" | "questions" | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** The first chunk: the client's message has the id of the run. */
  get start(): UiChunk {
    const { conversation, ignored, run } = this.#options
    const troupe = { run, conversation, status: "processing", ...defined({ ignored }) }
    return { type: "start", messageId: run, messageMetadata: { troupe } }
  }

  /** The chunks of the next step. `cursor`: where the conversation can be followed from behind it. */
  next(step: RunStep, cursor: string): ReadonlyArray<UiChunk> {
    switch (step._tag) {
      case "TurnBegun":
        return step.frame === rootFrame ? this.#beginStep() : []
      case "TurnRestarted":
        return this.#restarted(step)
      case "Text":
        return this.#said(step, "text", step.text)
      case "Reasoning":
        return this.#said(step, "reasoning", step.text)
      case "TurnEnded":
        return step.frame === rootFrame ? this.#endTexts(step) : this.#preview(step.frame, true)
      case "CallProposed":
        return [this.#proposed(step)]
      case "CallShows":
        return [this.#output(step.call, parsed(step.json), true)]
      case "CallUnknown":
        return [this.#status({ status: "awaiting_approval" })]
      case "CallEnded":
        return [this.#ended(this.#idOf(step.call), step.outcome)]
      case "Asked":
        return this.#question(step)
      case "Answered":
        return this.#answered(step)
      case "QuestionClosed":
        return this.#closed(step)
      case "Note":
        return []
      case "SpecialistBegun":
        this.#specialists.set(step.frame, { agent: step.agent, text: "", sent: 0 })
        return []
      case "HandedOff":
        return [this.#status({ agent: step.to })]
      case "Queued":
        return this.#pause("queued", step.questions, cursor)
      case "Parked":
        return this.#pause("awaiting_approval", step.questions, cursor)
      case "Ended":
        return this.#end(step, cursor)
    }
  }

  #idOf(call: CallId): string {
    return `${this.#options.run}:${call}`
  }

  #status(troupe: Readonly<Record<string, unknown>>): UiChunk {
    return { type: "message-metadata", messageMetadata: { troupe } }
  }

  #endStep(): ReadonlyArray<UiChunk> {
    return this.#step === undefined ? [] : [{ type: "finish-step" }]
  }

  /** A step that has nothing is used by what comes next, whatever that is. */
  #beginStep(): ReadonlyArray<UiChunk> {
    if (this.#step === "empty") return []
    const before = this.#endStep()
    this.#step = "empty"
    return [...before, { type: "start-step" }]
  }

  #restarted({ frame }: TurnAt): ReadonlyArray<UiChunk> {
    if (frame === rootFrame) {
      this.#open.clear()
      this.#step = "empty"
      return [{ type: "reset-step" }]
    }
    const specialist = this.#specialists.get(frame)
    if (specialist !== undefined) specialist.text = ""
    return []
  }

  #said(at: TurnAt, kind: "text" | "reasoning", delta: string): ReadonlyArray<UiChunk> {
    if (at.frame !== rootFrame) {
      const specialist = this.#specialists.get(at.frame)
      if (specialist === undefined || kind === "reasoning") return []
      specialist.text += delta
      return this.#preview(at.frame, false)
    }
    const id = stepKey(at.frame, at.step)
    const chunks: Array<UiChunk> = []
    this.#step = "turn"
    if (!this.#open.has(kind)) {
      this.#open.add(kind)
      chunks.push({ type: `${kind}-start`, id })
    }
    chunks.push({ type: `${kind}-delta`, id, delta })
    return chunks
  }

  #endTexts({ frame, step }: TurnAt): ReadonlyArray<UiChunk> {
    const chunks = [...this.#open].map((kind) => ({
      type: `${kind}-end`,
      id: stepKey(frame, step)
    }))
    this.#open.clear()
    return chunks
  }

  /** What a specialist says, as a preliminary output of the call that delegates to it. */
  #preview(frame: FrameId, isWhole: boolean): ReadonlyArray<UiChunk> {
    const specialist = this.#specialists.get(frame)
    if (specialist === undefined) return []
    const { agent, sent, text } = specialist
    const grown = text.length - sent
    if (grown === 0 || (!isWhole && grown < Math.max(preview_units, sent / 8))) return []
    specialist.sent = text.length
    return [this.#output(callOpening(frame), { agent, text }, true)]
  }

  #output(call: CallId, output: unknown, preliminary: boolean): UiChunk {
    return {
      type: "tool-output-available",
      toolCallId: this.#idOf(call),
      output,
      dynamic: true,
      providerExecuted: true,
      ...(preliminary ? { preliminary } : undefined)
    }
  }

  /** The part of a call. `providerExecuted`: the client is not to run it, and waits for what comes. */
  #input(toolCallId: string, toolName: string, input: unknown, title?: string): UiChunk {
    return {
      type: "tool-input-available",
      toolCallId,
      toolName,
      input,
      dynamic: true,
      providerExecuted: true,
      ...defined({ title })
    }
  }

  #proposed(step: Extract<RunStep, { _tag: "CallProposed" }>): UiChunk {
    const { agent, call, malformed, tool } = step
    this.#step = "turn"
    const title = agent === undefined ? undefined : `${agent}: ${tool}`
    return this.#input(this.#idOf(call), tool, malformed ?? step.arguments, title)
  }

  #ended(toolCallId: string, outcome: Outcome): UiChunk {
    const failed = (errorText: string): UiChunk => ({
      type: "tool-output-error",
      toolCallId,
      errorText,
      dynamic: true,
      providerExecuted: true
    })
    switch (outcome._tag) {
      case "Value":
        return {
          type: "tool-output-available",
          toolCallId,
          output: parsed(outcome.json),
          dynamic: true,
          providerExecuted: true
        }
      case "Failed":
        return failed(failureTextForUser(outcome.error))
      case "Denied":
      case "Revised":
        return { type: "tool-output-denied", toolCallId }
      case "Expired":
        return failed("Nobody decided in time.")
      case "Cancelled":
        return failed("It was cancelled.")
      case "Unknown":
        return failed("Nobody knows whether it was done.")
    }
  }

  #question(step: Extract<RunStep, { _tag: "Asked" }>): ReadonlyArray<UiChunk> {
    const { approval, call, digest, expires_at, payload } = step
    const { args_summary, effect_description, tool_name } = payload
    const id = call === undefined ? `${this.#options.run}:${approval}` : this.#idOf(call)
    this.#asked.set(approval, { id, tool: tool_name })
    const chunks: Array<UiChunk> = []
    if (call === undefined) {
      this.#own.set(approval, id)
      if (this.#step !== "questions") chunks.push(...this.#beginStep())
      this.#step = "questions"
      chunks.push(this.#input(id, tool_name, step.arguments ?? { summary: args_summary }))
    }
    chunks.push({
      type: "tool-approval-request",
      approvalId: approval,
      toolCallId: id,
      reason: effect_description,
      approvalDescriptor: { summary: args_summary, ...defined({ digest, expires_at }) }
    })
    return chunks
  }

  #answered(step: Extract<RunStep, { _tag: "Answered" }>): ReadonlyArray<UiChunk> {
    const { approval, decision } = step
    const asked = this.#asked.get(approval)
    if (asked === undefined) return []
    const approved = decision._tag === "Approve" || decision._tag === "Modify"
    const reason =
      decision._tag === "Deny"
        ? decision.reason
        : decision._tag === "RequestRevision"
          ? decision.note
          : undefined
    const chunks: Array<UiChunk> = []
    if (decision._tag === "Modify") {
      chunks.push(this.#input(asked.id, asked.tool, decision.arguments))
    }
    chunks.push({
      type: "tool-approval-response",
      approvalId: approval,
      approved,
      providerExecuted: true,
      ...(reason === undefined || reason === "" ? undefined : { reason })
    })
    const own = this.#own.get(approval)
    if (own !== undefined) {
      chunks.push(
        approved
          ? this.#ended(own, { _tag: "Value", json: '"approved"' })
          : this.#ended(own, { _tag: "Denied", by: "", reason: "" })
      )
    }
    return chunks
  }

  #closed({ approval, how }: Extract<RunStep, { _tag: "QuestionClosed" }>): ReadonlyArray<UiChunk> {
    const own = this.#own.get(approval)
    if (own === undefined) return []
    return [this.#ended(own, { _tag: how === "expired" ? "Expired" : "Cancelled" })]
  }

  #pause(status: string, waiting: unknown, cursor: string): ReadonlyArray<UiChunk> {
    return [
      // What comes when somebody has answered is of this step too.
      ...this.#endStep(),
      this.#status({ status, waiting, cursor }),
      { type: "finish", finishReason: "tool-calls" }
    ]
  }

  #end(step: Extract<RunStep, { _tag: "Ended" }>, cursor: string): ReadonlyArray<UiChunk> {
    const { files = [], finish, reason, sources = [], status, text, unsaid } = step
    const chunks: Array<UiChunk> = []
    if (unsaid !== "") {
      const id = "answer"
      chunks.push(...this.#beginStep(), { type: "text-start", id })
      chunks.push({ type: "text-delta", id, delta: unsaid }, { type: "text-end", id })
    }
    for (const [index, { title, url }] of sources.entries()) {
      if (url === undefined) continue
      chunks.push({ type: "source-url", sourceId: String(index), url, ...defined({ title }) })
    }
    for (const { digest, media_type: mediaType } of files) {
      chunks.push({ type: "file", mediaType, url: this.#options.fileAt(digest) })
    }
    chunks.push(...this.#endStep(), this.#status({ status, waiting: [], cursor }))
    switch (status) {
      case "complete":
        chunks.push({ type: "finish", finishReason: finishes[finish ?? ""] ?? "stop" })
        break
      case "failed":
        chunks.push({ type: "error", errorText: text === "" ? `The run failed: ${reason}` : text })
        break
      case "cancelled":
        chunks.push({ type: "abort", reason })
        break
    }
    return chunks
  }
}
