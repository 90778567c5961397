/**
 * An agent as a tool of `effect/ai`, for a program in Effect that calls its own models:
 *
 * ```ts
 * const askShop = agentTool("ask_shop", { agent: shop, by: Customer })
 * const answer = LanguageModel.generateText({ prompt, toolkit: Toolkit.make(Weather, askShop.tool) })
 * answer.pipe(Effect.provide([WeatherLive, askShop.layer]), Effect.provideService(Customer, carl))
 * ```
 *
 * A run that waits for people answers at once, and says what for. The model decides nothing: `approvalRequests` gives the questions as
 * parts of `effect/ai`, and `answerApproval` takes a person's answer.
 */
import { Context, Effect, Layer, Schema } from "effect"
import type { Response } from "effect/ai"
import type * as Prompt from "effect/ai/Prompt"
import { makePart } from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import { error_status } from "../../../src/operation/ErrorStatus.ts"
import type { PrincipalInput } from "../../../src/principal/Principal.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { ApprovalId } from "../../../src/value/Ids.ts"
import { RunId } from "../../../src/value/Ids.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import type { Time } from "../../../src/value/Times.ts"
import { asked_elsewhere, McpResult, result_description } from "../../../src/wire/McpTools.ts"
import { askedText, unsettled } from "../../../src/wire/WireShapes.ts"
import { ApprovalUrl } from "../../service/ApprovalUrl.ts"
import type { Answer } from "../promises/Answer.ts"
import { Troupe } from "./Troupe.ts"

const Message = Schema.String.check(Schema.isMinLength(1)).annotate({
  description: "What to say to the agent."
})

/** Only ids that cannot be guessed: a model must not name a conversation that it has not been told of. */
const Conversation = Schema.String.check(
  Schema.isPattern(/^(?:[A-Za-z0-9._@~-]{1,150}:)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, {
    description: "the conversation of an earlier result"
  })
).annotate({
  description: "The conversation of an earlier result, to go on there. Absent = a new one."
})

/** What a tool that asks an agent takes. */
export const AskAgent = Schema.Struct({
  message: Message,
  conversation: Schema.optionalKey(Conversation)
})

/** What a tool that reads on takes. */
export const RunOfAgent = Schema.Struct({
  run: RunId.annotate({ description: "The run of an earlier result." })
})

/** How far a run has come, and what it waits for people with. */
export const AgentResult = McpResult
export type AgentResult = McpResult

/** Why nothing was done: the name of the error, and a sentence where it says more. */
export const AgentRefusal = Schema.Struct({ error: Schema.String, message: Schema.String })
export type AgentRefusal = typeof AgentRefusal.Type

/** For whom a tool speaks to its agent, and how long it waits. */
export interface AgentToolOptions<Asker> {
  /**
   * Whose rights hold: a principal, or a service that each request to the model has to provide. The model has no say in it, and no
   * right beyond it.
   */
  readonly by: PrincipalInput | Context.Key<Asker, PrincipalInput>
  /** How long a call waits for its run, in ms; then its status is `processing`, and the run goes on. Absent = 5 minutes. */
  readonly wait_ms?: Time
  /** What the model reads about the tool. Absent = what its agent says about itself. */
  readonly description?: string
}

/** A tool, and the Layer of its handler, which speaks to the agents of a `Troupe`. */
export interface ToolOfAgent<Name extends string, Parameters extends Schema.Top, Asker> {
  /** For a `Toolkit`, beside other tools. */
  readonly tool: Tool.Tool<
    Name,
    {
      readonly parameters: Parameters
      readonly success: typeof AgentResult
      readonly failure: typeof AgentRefusal
      readonly failureMode: "return"
    },
    Asker
  >
  /** Its handler. */
  readonly layer: Layer.Layer<Tool.Handler<Name>, never, Troupe>
}

const wait_ms_default = 300_000
const nobody = { id: "", tenant: "", roles: [] } satisfies PrincipalInput

const waitingFor = (answer: Answer, url: string | undefined): AgentResult["waiting_for"] => {
  if (answer.status !== "awaiting_approval") return []
  const waiting = [
    ...answer.approvals.map(({ id, payload }) => ({
      summary: askedText(payload),
      approval: id,
      ...defined({ url: url?.replaceAll("{id}", id) })
    })),
    ...answer.client_calls.map(() => ({
      summary: "The client of the conversation has to answer a call."
    })),
    ...answer.unknown.map(() => ({ summary: unsettled }))
  ]
  return waiting.length === 0 ? [{ summary: "Somebody has to decide first." }] : waiting
}

const resultOf = (answer: Answer, url: string | undefined) => ({
  status: answer.status,
  text: answer.text ?? "",
  run: answer.run,
  conversation: answer.conversation,
  waiting_for: waitingFor(answer, url)
})

/** A refusal, for the model; what the service itself fails for says nothing about it. */
const refusalOf = (error: { readonly _tag: string; readonly message: string }): AgentRefusal => {
  const status = (error_status as Readonly<Record<string, number>>)[error._tag] ?? 500
  return status >= 500
    ? { error: "Unavailable", message: "The service did not answer. It may work later." }
    : { error: error._tag, message: error.message }
}

type TroupeAnswer = ReturnType<Troupe["Service"]["ask"]>

/** The tool and its handler; `answer` sends or reads, and waits. */
const toolOf = <
  const Name extends string,
  Parameters extends Schema.Codec<unknown, unknown>,
  Asker
>(
  name: Name,
  { by, description = "" }: AgentToolOptions<Asker>,
  parameters: Parameters,
  answer: (troupe: Troupe["Service"], given: Parameters["Type"], by: PrincipalInput) => TroupeAnswer
): ToolOfAgent<Name, Parameters, Asker> => {
  const tool = Tool.make(name, {
    description,
    parameters,
    success: AgentResult,
    failure: AgentRefusal,
    failureMode: "return"
  })
  const handlers = Effect.gen(function* () {
    const troupe = yield* Troupe
    const url = yield* ApprovalUrl
    const handle = Effect.fnUntraced(function* (given: Parameters["Type"]) {
      const who = (Context.isKey(by) ? yield* by : by) as PrincipalInput | undefined
      // Without anybody it would be the service itself.
      return yield* answer(troupe, given, who ?? nobody).pipe(
        Effect.map((found) => resultOf(found, url)),
        Effect.catchTag("WaitTimedOut", ({ conversation, run }) =>
          Effect.succeed({ status: "processing", text: "", run, conversation, waiting_for: [] })
        ),
        Effect.mapError(refusalOf)
      )
    })
    return { [name]: handle } as never
  })
  return { tool, layer: Toolkit.make(tool).toLayer(handlers) } as never
}

/**
 * A tool that says a message to an agent, and gives what its run has come to: an answer, or what it waits for. It is refused with an
 * `AgentRefusal` for whatever `by` may not do. An interruption ends the wait, and never the run.
 */
export const agentTool = <const Name extends string, Asker = never>(
  name: Name,
  options: AgentToolOptions<Asker> & {
    /** The agent: its name, or the agent as it was made, which describes the tool. */
    readonly agent: string | Pick<AgentSpec, "description" | "name">
  }
): ToolOfAgent<Name, typeof AskAgent, Asker> => {
  const to = options.agent
  const { description: own, name: agent } =
    typeof to === "string" ? { name: to, description: "" } : to
  const description = `${options.description ?? (own || `Asks the agent ${agent}.`)}\n\n${asked_elsewhere}`
  const wait = { timeout_ms: options.wait_ms ?? wait_ms_default }
  return toolOf(
    name,
    { ...options, description },
    AskAgent,
    (troupe, { message: text, ...rest }, by) => troupe.ask({ agent, text, ...rest }, by, wait)
  )
}

/** A tool that reads on in a run of an agent, when people have decided or more time has passed. */
export const runResultTool = <const Name extends string, Asker = never>(
  name: Name,
  options: AgentToolOptions<Asker>
): ToolOfAgent<Name, typeof RunOfAgent, Asker> => {
  const { description = result_description, wait_ms = wait_ms_default } = options
  return toolOf(name, { ...options, description }, RunOfAgent, (troupe, { run }, by) =>
    troupe.result(run, by, { timeout_ms: wait_ms })
  )
}

const isAgentResult = Schema.is(AgentResult)
const requests_max = 100

/** The questions that a response of a model names: whichever tool gave them, and each once. */
const questionsIn = (content: ReadonlyArray<Response.AnyPart>) => {
  const calls = new Map<ApprovalId, string>()
  for (const part of content) {
    if (part.type !== "tool-result" || !isAgentResult(part.encodedResult)) continue
    for (const { approval } of part.encodedResult.waiting_for) {
      if (approval !== undefined) calls.set(approval, part.id)
    }
  }
  return [...calls].slice(0, requests_max)
}

/**
 * The open questions that a response of a model names, at most 100, each as the part by which `effect/ai` asks for approval. What is
 * asked is in `metadata.troupe`, as the desk has it and not the response. Without those that `by` may not see.
 */
export const approvalRequests = Effect.fnUntraced(function* (
  content: ReadonlyArray<Response.AnyPart>,
  by: PrincipalInput
) {
  const { approval } = yield* Troupe
  const parts: Array<Response.ToolApprovalRequestPart> = []
  for (const [approvalId, toolCallId] of questionsIn(content)) {
    const found = yield* Effect.catchTag(
      approval(approvalId, by),
      "ApprovalNotFound",
      () => Effect.undefined
    )
    if (found?.status !== "pending") continue
    const { expires_at, payload, url } = found
    const { agent_name, args_summary, effect_description, tool_name } = payload
    const asked = { agent_name, tool_name, args_summary, effect_description }
    parts.push(
      makePart("tool-approval-request", {
        approvalId,
        toolCallId,
        metadata: { troupe: { ...asked, ...defined({ expires_at, url }) } }
      })
    )
  }
  return parts
})

type Answered = Pick<Prompt.ToolApprovalResponsePart, "approvalId" | "approved" | "reason">

/**
 * Decides a question by the answer of a person, `by` whom it is: the part says only yes or no, and why. Fails as `decide` does, and
 * gives the question as it is then.
 */
export const answerApproval = Effect.fnUntraced(function* (
  { approvalId, approved, reason }: Answered,
  by: PrincipalInput
) {
  if (typeof approved !== "boolean") {
    return yield* new InvalidInput({ field: "approved", reason: "it is neither true nor false" })
  }
  const { decide } = yield* Troupe
  const decision = approved
    ? ({ decision: "approve", ...defined({ note: reason || undefined }) } as const)
    : ({ decision: "deny", reason: reason || "Denied in the chat." } as const)
  return yield* decide(approvalId, decision, by)
})
