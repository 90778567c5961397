/** Agents as tools of an MCP server: what they take, and what a run shows there. */
import { Schema } from "effect"
import { EndStatus } from "../run/RunEvent.ts"
import type { WaitingQuestion } from "../run/QueuedBehind.ts"
import { between, textUpTo } from "../value/Bounds.ts"
import type { AgentName } from "../value/Ids.ts"
import { ApprovalId, ConversationId, rootFrame, RunId } from "../value/Ids.ts"
import { defined } from "../value/PlainObject.ts"
import type { RunStep } from "./RunView.ts"
import { askedText, unsettled } from "./WireShapes.ts"

/** How long a call waits at most for its run, in s: the official clients give up after 60. */
export const wait_max_s = 45

const wait_s = Schema.optionalKey(
  between(0, wait_max_s).annotate({
    description: `How many seconds to wait at most for the answer. Absent = ${wait_max_s}.`
  })
)

/** What `ask_AGENT` takes. */
export const AskInput = Schema.Struct({
  message: Schema.String.check(Schema.isMinLength(1)).annotate({
    description: "What to say to the agent."
  }),
  conversation: Schema.optionalKey(
    textUpTo(200).annotate({
      description:
        "Which conversation it belongs to: the one of an earlier result, or any name. Absent = a new one."
    })
  ),
  idempotency_key: Schema.optionalKey(
    textUpTo(200).annotate({
      description: "Of calls with the same key and message only the first one sends the message."
    })
  ),
  wait_s
})

/** What `run_result` takes. */
export const ResultInput = Schema.Struct({
  run: RunId.annotate({ description: "The run of an earlier result." }),
  wait_s
})

const Waiting = Schema.Struct({
  summary: Schema.String.annotate({ description: "What is asked." }),
  approval: Schema.optionalKey(ApprovalId),
  url: Schema.optionalKey(Schema.String.annotate({ description: "Where a person decides it." }))
})
type Waiting = typeof Waiting.Type

/** What both tools give. */
export const McpResult = Schema.Struct({
  status: Schema.Literals(["processing", "awaiting_approval", ...EndStatus.literals]).annotate({
    description:
      "processing and awaiting_approval: it goes on by itself, or when a person has decided; call run_result for more."
  }),
  text: Schema.String.annotate({ description: "What the agent has said." }),
  run: RunId,
  conversation: ConversationId,
  waiting_for: Schema.Array(Waiting).annotate({
    description: "What people have to decide elsewhere. No tool decides it."
  })
})
export type McpResult = typeof McpResult.Type

/** The result of a call. */
export const toolResult = (result: McpResult): object => ({
  content: [{ type: "text", text: JSON.stringify(result) }],
  structuredContent: result,
  ...(result.status === "failed" && { isError: true })
})

const schemaOf = (schema: Schema.Top) =>
  Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" }).schema

export const result_tool = "run_result"
const ask = "ask_"

/** The agent that a tool asks; undefined = it asks none. */
export const agentOfTool = (tool: string): string | undefined =>
  tool.startsWith(ask) ? tool.slice(ask.length) : undefined

/** What a model is told of every tool that asks an agent. */
export const asked_elsewhere =
  "A call that waits for a person is decided elsewhere: see waiting_for."

/** The tool that asks an agent. */
export const askTool = (agent: AgentName, description: string): object => ({
  name: ask + agent,
  title: `Ask ${agent}`,
  description: `${description || `Asks the agent ${agent}.`}\n\n${asked_elsewhere}`,
  inputSchema: schemaOf(AskInput),
  outputSchema: schemaOf(McpResult),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false }
})

/** What a model is told of the tool that reads on. */
export const result_description =
  "How far a run has come, by the run of an earlier result. Waits until it has ended or waits for people."

/** The tool that reads on. */
export const resultTool = (): object => ({
  name: result_tool,
  title: "Result of a run",
  description: result_description,
  inputSchema: schemaOf(ResultInput),
  outputSchema: schemaOf(McpResult),
  annotations: { readOnlyHint: true }
})

export const mcp_instructions =
  "Each ask_ tool talks to an agent that works under its owner's rules. Some of its calls wait for a person, who decides elsewhere; run_result then has the rest."

/** What a run has come to, as its steps say. */
export class McpProgress {
  readonly #asked = new Map<ApprovalId, string>()
  /** What the run's own agent said, by turns. */
  readonly #said: Array<string> = []
  #status: McpResult["status"] = "processing"
  #end: string | undefined
  #waiting: ReadonlyArray<WaitingQuestion> = []
  #at = 0

  /** When its last event was journaled, in ms since 1970; 0 = there is none. */
  get at(): number {
    return this.#at
  }

  /** Whether it waits for people, and not only for the questions whose pages somebody has opened. */
  waitsBeyond(opened: ReadonlySet<string>): boolean {
    if (this.#status !== "awaiting_approval") return false
    const isNew = ({ approval }: WaitingQuestion) => approval === undefined || !opened.has(approval)
    return this.#waiting.length === 0 || this.#waiting.some(isNew)
  }

  /** `at`: when it was journaled; 0 = it is not, yet. */
  next(step: RunStep, at = 0): void {
    if (at > 0) this.#at = at
    this.#status = "processing"
    this.#waiting = []
    switch (step._tag) {
      case "TurnBegun":
        if (step.frame === rootFrame) this.#said.push("")
        return
      case "TurnRestarted":
        if (step.frame === rootFrame) this.#said[this.#said.length - 1] = ""
        return
      case "Text":
        if (step.frame === rootFrame) this.#said.push((this.#said.pop() ?? "") + step.text)
        return
      case "Asked":
        this.#asked.set(step.approval, askedText(step.payload))
        return
      case "Queued":
      case "Parked":
        this.#status = "awaiting_approval"
        this.#waiting = step.questions
        return
      case "Ended":
        this.#status = step.status
        this.#end = step.text
        return
      default:
    }
  }

  /** `urlOf`: where people see a question. */
  result(
    of: Pick<McpResult, "run" | "conversation">,
    urlOf: (approval: ApprovalId) => string | undefined
  ): McpResult {
    const waiting = this.#waiting.map(({ approval }): Waiting => {
      if (approval === undefined) return { summary: unsettled }
      const summary = this.#asked.get(approval) ?? "An earlier message of the conversation waits."
      return { summary, approval, ...defined({ url: urlOf(approval) }) }
    })
    const isWaiting = this.#status === "awaiting_approval"
    return {
      status: this.#status,
      text: this.#end ?? this.#said.filter((each) => each !== "").join("\n\n"),
      ...of,
      waiting_for:
        isWaiting && waiting.length === 0 ? [{ summary: "Somebody has to decide first." }] : waiting
    }
  }
}
