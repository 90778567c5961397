/**
 * A run in the form of the Responses API: one response for each stretch between its message, or an answer to its questions, and where it
 * waits for people next or ends. Calls are items of the type `mcp_call`, which the client does not make; questions are
 * `mcp_approval_request`.
 */
import type { Outcome } from "../run/RunEvent.ts"
import { failureTextForUser } from "../error/ToolError.ts"
import type { AgentName, ApprovalId, CallId, RunId } from "../value/Ids.ts"
import { rootFrame, stepKey } from "../value/Ids.ts"
import { defined } from "../value/PlainObject.ts"
import type { RunStep, TurnAt } from "./RunView.ts"

type Members = Readonly<Record<string, unknown>>

/** The label of the server that makes the calls, here and in a client's list of tools. */
export const server_label = "troupe"

/** Which stretch of a run a response is: that behind the answers to these questions; none = the first. */
export interface Stretch {
  readonly run: RunId
  readonly answered: ReadonlyArray<ApprovalId>
}

export const responseId = ({ answered, run }: Stretch): string =>
  ["resp_" + run, ...answered].join(".")

interface Options extends Stretch {
  readonly agent: AgentName
  /** When the message was accepted, in ms since 1970. */
  readonly created_at: number
  /** Of the request: the response before, and members of the body that nobody reads. */
  readonly previous?: string | undefined
  readonly ignored?: ReadonlyArray<string> | undefined
  readonly isBackground?: boolean | undefined
}

/** The numbers of an event's frames begin here; those of the pieces of a text that comes before the next event in the middle. */
const per_event = 2 ** 20
const of_texts = 2 ** 19

interface Message {
  readonly item: { readonly id: string; text: string }
  readonly index: number
}

interface Call {
  readonly tool: string
  readonly arguments: string
}

/** A frame of the stream: its type, its number and its members. */
export type Frame = { readonly type: string; readonly sequence_number: number } & Members

export class Responses {
  readonly #options: Options
  readonly #output: Array<Members> = []
  readonly #calls = new Map<CallId, Call>()
  /** The calls that questions are about. */
  readonly #questions = new Map<ApprovalId, CallId>()
  readonly #usage = { input: 0, output: 0, cached: 0, reasoning: 0, isKnown: false }
  /** The message of the turn in progress. */
  #message: Message | undefined
  /** How often the turn in progress began anew. */
  #attempts = 0
  /** How many items were begun, also those that are void by now. */
  #items = 0
  #status = "in_progress"
  #error: Members | null = null
  #note: string | undefined
  /** The last event that showed something, and how many frames of which event there are. */
  #base = -1
  #at = -1
  #count = 0
  #number = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** Begins the stretch anew: what was shown before belongs to the response before. */
  begin(): void {
    this.#output.length = 0
    this.#items = 0
    this.#status = "in_progress"
    this.#note = undefined
    Object.assign(this.#usage, { input: 0, output: 0, cached: 0, reasoning: 0, isKnown: false })
  }

  get response(): Members {
    const { agent, created_at, ignored = [], isBackground = false, previous = null } = this.#options
    const { cached, input, isKnown, output, reasoning } = this.#usage
    const left_out = ignored.length === 0 ? undefined : ignored.join(",").slice(0, 512)
    return {
      id: responseId(this.#options),
      object: "response",
      created_at: Math.floor(created_at / 1_000),
      status: this.#status,
      error: this.#error,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      metadata: defined({ troupe_ignored: left_out, troupe_status: this.#note }),
      model: agent,
      output: [...this.#output],
      parallel_tool_calls: true,
      previous_response_id: previous,
      reasoning: { effort: null, summary: null },
      store: true,
      background: isBackground,
      temperature: null,
      text: { format: { type: "text" } },
      tool_choice: "auto",
      tools: [],
      top_p: null,
      truncation: "disabled",
      usage: isKnown
        ? {
            input_tokens: input,
            input_tokens_details: { cached_tokens: cached },
            output_tokens: output,
            output_tokens_details: { reasoning_tokens: reasoning },
            total_tokens: input + output
          }
        : null
    }
  }

  /** The first frames. */
  get first(): ReadonlyArray<Frame> {
    return ["response.created", "response.in_progress"].map((type, sequence_number) => ({
      type,
      sequence_number,
      response: this.response
    }))
  }

  /** The frames of the next step, behind event `seq` of the run. */
  next(step: RunStep, seq: number): ReadonlyArray<Frame> {
    if (seq !== this.#at) {
      this.#at = seq
      this.#count = 0
    }
    const frames = this.#of(step)
    const isOfTurn =
      step._tag === "TurnBegun" || step._tag === "TurnRestarted" || step._tag === "Text"
    if (!isOfTurn && step._tag !== "Reasoning" && frames.length > 0) this.#base = seq
    return frames
  }

  #of(step: RunStep): ReadonlyArray<Frame> {
    switch (step._tag) {
      case "Text":
        return step.frame === rootFrame ? this.#text(step, step.text) : []
      case "TurnRestarted":
        return step.frame === rootFrame ? this.#restarted() : []
      case "TurnEnded":
        return this.#turnEnded(step)
      case "CallProposed": {
        const { agent, arguments: args, call, malformed, tool } = step
        const name = agent === undefined ? tool : `${agent}.${tool}`
        this.#calls.set(call, { tool: name, arguments: malformed ?? JSON.stringify(args) })
        return []
      }
      case "Answered":
        return this.#answered(step)
      case "CallEnded":
        return this.#called(step.call, step.outcome)
      case "Asked":
        return this.#asked(step)
      case "Queued":
        this.#status = "queued"
        this.#note = "queued behind a question"
        return [this.#frame("response.queued", { response: this.response })]
      case "Parked":
        this.#status = "completed"
        this.#note = "awaiting_approval"
        return [this.#frame("response.completed", { response: this.response })]
      case "Ended":
        return this.#ended(step)
      default:
        return []
    }
  }

  #frame(type: string, members: Members, number?: number): Frame {
    // A text that begins anew would begin before its end.
    const sequence_number = Math.max(
      this.#number,
      number ?? (this.#at + 1) * per_event + 2 + this.#count++
    )
    this.#number = sequence_number
    return { type, sequence_number, ...members }
  }

  /** The number of a frame of a text that comes before the next event; `offset`: where in the text. */
  #textNumber(offset: number): number {
    return (this.#base + 1) * per_event + of_texts + Math.min(offset + 2, of_texts - 1)
  }

  #begun({ frame, step }: TurnAt): {
    readonly message: Message
    readonly frames: ReadonlyArray<Frame>
  } {
    const more = this.#attempts === 0 ? "" : `.${this.#attempts}`
    const id = `msg_${this.#options.run}:${stepKey(frame, step)}${more}`
    const message: Message = { item: { id, text: "" }, index: this.#items++ }
    this.#message = message
    const part = { type: "output_text", text: "", annotations: [], logprobs: [] }
    const at = { item_id: id, output_index: message.index, content_index: 0 }
    const item = { id, type: "message", status: "in_progress", role: "assistant", content: [] }
    const number = this.#textNumber(-2)
    return {
      message,
      frames: [
        this.#frame("response.output_item.added", { output_index: message.index, item }, number),
        this.#frame("response.content_part.added", { ...at, part }, number + 1)
      ]
    }
  }

  #text(at: TurnAt, delta: string): ReadonlyArray<Frame> {
    const begun = this.#message === undefined ? this.#begun(at) : undefined
    const message = begun?.message ?? this.#message
    if (message === undefined) return []
    const { index: output_index, item } = message
    item.text += delta
    const frame = this.#frame(
      "response.output_text.delta",
      { item_id: item.id, output_index, content_index: 0, delta, logprobs: [] },
      this.#textNumber(item.text.length)
    )
    return [...(begun?.frames ?? []), frame]
  }

  /** Ends a message. `number`: of its frames, where they are not of an event. */
  #closed(
    { index: output_index, item: { id, text } }: Message,
    status: "completed" | "incomplete",
    number?: number
  ): ReadonlyArray<Frame> {
    const at = { item_id: id, output_index, content_index: 0 }
    const part = { type: "output_text", text, annotations: [], logprobs: [] }
    const item = { id, type: "message", status, role: "assistant", content: [part] }
    if (status === "completed") this.#output.push(item)
    return [
      this.#frame("response.output_text.done", { ...at, text, logprobs: [] }, number),
      this.#frame("response.content_part.done", { ...at, part }, number),
      this.#frame("response.output_item.done", { output_index, item }, number)
    ]
  }

  /** A text that is void ends as incomplete, and is not in the response. */
  #restarted(): ReadonlyArray<Frame> {
    const message = this.#message
    this.#message = undefined
    this.#attempts++
    if (message === undefined) return []
    return this.#closed(message, "incomplete", this.#textNumber(message.item.text.length))
  }

  #turnEnded({ frame, usage }: Extract<RunStep, { _tag: "TurnEnded" }>): ReadonlyArray<Frame> {
    if (usage !== undefined) {
      const used = this.#usage
      used.isKnown = true
      used.input += usage.input_tokens
      used.output += usage.output_tokens
      used.cached += usage.cached_tokens ?? 0
      used.reasoning += usage.reasoning_tokens ?? 0
    }
    if (frame !== rootFrame) return []
    const message = this.#message
    this.#message = undefined
    this.#attempts = 0
    return message === undefined ? [] : this.#closed(message, "completed")
  }

  /** A whole item, which has come at once. */
  #item(item: Members, between: ReadonlyArray<readonly [string, Members]> = [], begun = item) {
    const output_index = this.#items++
    this.#output.push(item)
    return [
      this.#frame("response.output_item.added", { output_index, item: begun }),
      ...between.map(([type, members]) =>
        this.#frame(type, { output_index, item_id: item["id"], ...members })
      ),
      this.#frame("response.output_item.done", { output_index, item })
    ]
  }

  /** The arguments with which a person replaced those of the call. */
  #answered({ approval, decision }: Extract<RunStep, { _tag: "Answered" }>): ReadonlyArray<Frame> {
    const call = this.#questions.get(approval)
    const known = call === undefined ? undefined : this.#calls.get(call)
    if (call !== undefined && known !== undefined && decision._tag === "Modify") {
      this.#calls.set(call, { ...known, arguments: JSON.stringify(decision.arguments) })
    }
    return []
  }

  #called(call: CallId, outcome: Outcome): ReadonlyArray<Frame> {
    const known = this.#calls.get(call)
    if (known === undefined) return []
    const id = `mcp_${this.#options.run}:${call}`
    const isDone = outcome._tag === "Value"
    const error = isDone ? null : { type: "mcp_tool_execution_error", content: errorOf(outcome) }
    const item = {
      id,
      type: "mcp_call",
      status: isDone ? "completed" : "failed",
      name: known.tool,
      arguments: known.arguments,
      server_label,
      output: isDone ? outcome.json : null,
      error
    }
    return this.#item(
      item,
      [
        ["response.mcp_call.in_progress", {}],
        ["response.mcp_call_arguments.done", { arguments: known.arguments }],
        [`response.mcp_call.${isDone ? "completed" : "failed"}`, {}]
      ],
      { ...item, status: "in_progress", arguments: "", output: null, error: null }
    )
  }

  #asked(step: Extract<RunStep, { _tag: "Asked" }>): ReadonlyArray<Frame> {
    const { approval, call, payload } = step
    if (call !== undefined) this.#questions.set(approval, call)
    const known = call === undefined ? undefined : this.#calls.get(call)
    const args = step.arguments ?? { summary: payload.args_summary }
    return this.#item({
      id: `mcpr_${approval}`,
      type: "mcp_approval_request",
      name: known?.tool ?? payload.tool_name,
      arguments: JSON.stringify(args),
      server_label
    })
  }

  #ended(step: Extract<RunStep, { _tag: "Ended" }>): ReadonlyArray<Frame> {
    const { reason, sources = [], status, text, unsaid } = step
    const frames: Array<Frame> = []
    if (unsaid !== "") {
      const { frames: begun, message } = this.#begun({ frame: rootFrame, step: 0 })
      frames.push(
        ...begun.map(({ sequence_number: _number, type, ...rest }) => this.#frame(type, rest))
      )
      message.item.text = unsaid
      frames.push(...this.#closed(message, "completed"))
    }
    const urls = sources.flatMap(({ title, url }) => (url === undefined ? [] : [{ title, url }]))
    if (urls.length > 0) this.#cite(urls)
    this.#message = undefined
    if (status === "complete") this.#status = "completed"
    else {
      this.#status = status
      if (status === "failed") {
        this.#error = { code: "server_error", message: text === "" ? reason : text }
      }
    }
    // The form has no frame for a response that was cancelled: it is one that is not complete.
    const type = { complete: "completed", failed: "failed", cancelled: "incomplete" }[status]
    return [...frames, this.#frame(`response.${type}`, { response: this.response })]
  }

  /** What the answer refers to, at the end of its last message. */
  #cite(urls: ReadonlyArray<{ readonly title?: string | undefined; readonly url: string }>): void {
    const at = this.#output.findLastIndex(({ type }) => type === "message")
    const item = this.#output[at] as { readonly content: ReadonlyArray<Members> } | undefined
    const [part] = item?.content ?? []
    if (item === undefined || part === undefined) return
    const end_index = String(part["text"]).length
    const annotations = urls.map(({ title = "", url }) => ({
      type: "url_citation",
      url,
      title,
      start_index: end_index,
      end_index
    }))
    this.#output[at] = { ...item, content: [{ ...part, annotations }] }
  }
}

const errorOf = (outcome: Exclude<Outcome, { _tag: "Value" }>): string => {
  switch (outcome._tag) {
    case "Failed":
      return failureTextForUser(outcome.error)
    case "Denied":
      return `Denied: ${outcome.reason}`
    case "Revised":
      return `A person asks for another call: ${outcome.note}`
    case "Expired":
      return "Nobody decided in time."
    case "Cancelled":
      return "It was cancelled."
    case "Unknown":
      return "Nobody knows whether it was done."
  }
}

/** A frame as a server-sent event. */
export const responseFrame = (frame: Frame): string =>
  `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`

/** What of a frame is behind the number that a client has seen: all, nothing, or the rest of a piece of text. */
export const behindNumber = (frame: Frame, seen: number): Frame | undefined => {
  if (frame.sequence_number <= seen) return undefined
  if (frame.type !== "response.output_text.delta") return frame
  const delta = String(frame["delta"])
  // Pieces of a text are numbered by where they end in it.
  const begins = frame.sequence_number - delta.length
  return seen > begins &&
    Math.floor(seen / of_texts) === Math.floor(frame.sequence_number / of_texts)
    ? { ...frame, delta: delta.slice(seen - begins) }
    : frame
}
