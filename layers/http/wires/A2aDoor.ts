/**
 * The door for clients of the Agent2Agent protocol (A2A) 1.0, over JSON-RPC. An agent has a card at its address; a run is a task, its
 * conversation a context.
 */
import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { Unauthorized } from "../../../services/Credentials.ts"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import type { RunStatus } from "../../../src/run/RunState.ts"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { Problem } from "../../../src/operation/Problem.ts"
import { agentOfRun } from "../../../src/run/RunState.ts"
import { RunNotFound } from "../../../src/run/RunCommand.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import type { AgentName, ConversationId, RunId } from "../../../src/value/Ids.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import type { A2aAsked, A2aMessage, A2aRequest } from "../../../src/wire/A2aRequest.ts"
import { a2aRequestOf, noContext } from "../../../src/wire/A2aRequest.ts"
import type { A2aState, Members } from "../../../src/wire/A2aShapes.ts"
import {
  a2aCard,
  a2aError,
  detailsOf,
  own_code,
  refusalOf,
  wrongParam
} from "../../../src/wire/A2aShapes.ts"
import { A2aTask } from "../../../src/wire/A2aTasks.ts"
import type { RpcId } from "../../../src/wire/JsonRpc.ts"
import { rpc_codes } from "../../../src/wire/JsonRpc.ts"
import { agentFor, conversationFor, followedTask } from "../../service/CustomerRules.ts"
import {
  answerAll,
  conversationOf,
  keyOf,
  ownRuns,
  sendTo,
  stop
} from "../../service/WireEffects.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import { Limits } from "../boundary/Limits.ts"
import { anyProblemOf } from "../boundary/Problems.ts"
import { signedCard } from "./CardSignature.ts"
import { Refused, refuse, respondError, rpcBody } from "./RpcAnswer.ts"
import { resultOf, streamTexts, wholeTexts } from "./A2aTexts.ts"
import type { WireCall } from "./WireRequest.ts"
import { agentIn, filesOf, missing, wire_bytes_max } from "./WireRequest.ts"
import type { Shown } from "./WireStream.ts"
import { followRun, openAnswer, readRun, shownOf, streamRun } from "./WireStream.ts"

const wire = "a2a"
const path = `/wires/${wire}/:agent` as const

type Asked<Tag extends A2aAsked["_tag"]> = Extract<A2aAsked, { readonly _tag: Tag }>

/** The answer to a request that is refused before its message is read. */
const refused = (problem: Problem) => {
  const { detail: message, status } = problem
  const code = status < 500 ? own_code : rpc_codes.internal
  const response = respondError({ status, code, message, data: detailsOf(problem) })
  return status === 401
    ? HttpServerResponse.setHeader(response, "www-authenticate", "Bearer")
    : response
}

const hosted = (name: AgentName) =>
  AgentDirectory.use((agents) => {
    const found = agents.get(name)
    return found === undefined ? Effect.fail(missing) : Effect.succeed(found.spec)
  })

/** The agent of the address, of which the caller may know. */
const agentAt = Effect.fnUntraced(function* (call: WireCall) {
  const name = yield* agentIn(call)
  yield* agentFor(call.by, "follow", name)
  return yield* hosted(name)
})

const cardOf = Effect.fnUntraced(function* (spec: AgentSpec, here: string) {
  const { card_key } = yield* HttpSettings
  const plain = a2aCard(spec, `${here}/wires/${wire}/${spec.name}`)
  return HttpServerResponse.jsonUnsafe(card_key === undefined ? plain : signedCard(plain, card_key))
})

const card = (call: WireCall) => Effect.flatMap(agentAt(call), (spec) => cardOf(spec, call.here))

/** For who has no token. Of any other agent it is not said whether there is one. */
const openCard = Effect.fnUntraced(function* (call: Pick<WireCall, "params" | "here">) {
  const { cards_open, customer_agents } = yield* HttpSettings
  const name = customer_agents.find((each) => each === call.params["agent"])
  if (!cards_open || name === undefined) return yield* new Unauthorized()
  return yield* cardOf(yield* hosted(name), call.here)
})

const respond = (id: RpcId, result: object) => HttpServerResponse.jsonUnsafe(resultOf(id, result))

/** The task of this agent with an id. */
const taskOf = Effect.fnUntraced(function* ({ by }: WireCall, agent: AgentName, id: RunId) {
  const task = yield* followedTask(id, by)
  return task.address.agent === agent || agentOfRun(task) === agent
    ? task
    : yield* new RunNotFound({ run_id: id })
})

const isOver = ({ status }: AgentTask): boolean => status === "complete" || status === "failed"

const makerOf = (
  call: WireCall,
  task: AgentTask,
  { hasHistory }: { readonly hasHistory: boolean },
  ignored?: ReadonlyArray<string>
) =>
  new A2aTask({
    task,
    hasHistory,
    fileAt: filesOf(call, task.conversation, call.here),
    ...defined({ ignored })
  })

/** The task as far as it has come. */
const read = Effect.fnUntraced(function* (call: WireCall, task: AgentTask, maker: A2aTask) {
  yield* readRun(call.by, { ...shownOf(task), through: "waits" }, wholeTexts(0, maker))
  return maker.task
})

/** The conversation of a message: that of its task, the one that it names, or one that begins with it. */
const contextOf = Effect.fnUntraced(function* (
  { by }: WireCall,
  agent: AgentName,
  { context, id }: A2aMessage,
  task: AgentTask | undefined
) {
  if (task !== undefined) {
    return context === undefined || context === task.conversation
      ? task.conversation
      : yield* refuse(wrongParam(["message", "contextId"], "It is not that of the task"))
  }
  if (context === undefined) {
    return yield* conversationOf(by, { wire, agent, name: canonical([by.id, id]) })
  }
  const found = yield* Effect.catchTag(
    conversationFor(by, "send", context),
    "ConversationNotFound",
    () => Effect.undefined
  )
  return found?.address.agent === agent ? context : yield* refuse(noContext)
})

/** Sends what a message says, or decides what it answers, and gives its task. */
const accepted = Effect.fnUntraced(function* (
  call: WireCall,
  agent: AgentName,
  message: A2aMessage
) {
  const { by } = call
  const task = message.task && (yield* taskOf(call, agent, message.task))
  const conversation: ConversationId = yield* contextOf(call, agent, message, task)
  if (message.said._tag === "Answers") {
    if (task === undefined) return yield* Effect.fail(missing)
    const answers = message.said.answers.map(({ digest, ...given }) => ({
      ...given,
      isAsShown: (asked: { readonly digest: string }) =>
        digest === undefined || digest === asked.digest
    }))
    yield* answerAll(by, task.id, answers)
    return task
  }
  if (task !== undefined && isOver(task)) {
    return yield* refuse(
      a2aError("unsupported", "The task has ended: send the message without a taskId.")
    )
  }
  yield* Limits.use((limits) => limits.message(by))
  const { parts, text } = message.said
  const idempotency_key = yield* keyOf(by, { wire, agent, conversation, id: message.id })
  const said = { agent, conversation, text, idempotency_key, ...defined({ parts }) }
  const sent = yield* Effect.catchTag(sendTo(by, said), "IdempotencyConflict", () =>
    refuse(wrongParam(["message", "messageId"], "Another message had this id"))
  )
  return sent.task
})

const send = Effect.fnUntraced(function* (
  call: WireCall,
  agent: AgentName,
  id: RpcId,
  asked: Asked<"SendMessage" | "SendStreamingMessage">
) {
  const opened = yield* openAnswer(call)
  const task = yield* accepted(call, agent, asked.message)
  const maker = makerOf(call, task, asked, asked.message.ignored)
  if (asked._tag === "SendMessage" && asked.isImmediate) {
    return respond(id, { task: yield* read(call, task, maker) })
  }
  const texts = asked._tag === "SendMessage" ? wholeTexts(id, maker) : streamTexts(id, maker)
  return yield* streamRun(call, opened, { ...shownOf(task), through: "waits" }, texts)
})

const subscribe = Effect.fnUntraced(function* (
  call: WireCall,
  agent: AgentName,
  id: RpcId,
  asked: Asked<"GetTask" | "CancelTask" | "SubscribeToTask">
) {
  const opened = yield* openAnswer(call)
  const task = yield* taskOf(call, agent, asked.task)
  if (isOver(task)) return yield* refuse(a2aError("unsupported", "The task has ended."))
  const shown: Shown = { ...shownOf(task), through: "all" }
  return yield* streamRun(call, opened, shown, streamTexts(id, makerOf(call, task, asked)))
})

/** How long a cancellation waits for the run's end, in ms. */
const cancel_ms = 5_000

const cancelled = Effect.fnUntraced(function* (call: WireCall, task: AgentTask, maker: A2aTask) {
  const opened = yield* openAnswer(call)
  const isStopped = yield* stop(call.by, task.id, "Cancelled by its client.")
  const { until } = opened
  const shown: Shown = { ...shownOf(task), through: "all" }
  yield* followRun(call.by, shown, wholeTexts(0, maker), { until, wait_ms: cancel_ms })
  return isStopped || maker.state === "TASK_STATE_CANCELED"
    ? maker.task
    : yield* refuse(a2aError("over", "The task has ended."))
})

/** The status of runs among which those of a state are. */
const statuses: Readonly<Record<A2aState, RunStatus | "open">> = {
  TASK_STATE_SUBMITTED: "pending",
  TASK_STATE_WORKING: "open",
  TASK_STATE_INPUT_REQUIRED: "awaiting_approval",
  TASK_STATE_COMPLETED: "complete",
  TASK_STATE_FAILED: "failed",
  TASK_STATE_CANCELED: "cancelled"
}

const list = Effect.fnUntraced(function* (
  call: WireCall,
  agent: AgentName,
  asked: Asked<"ListTasks">
) {
  const { after, changed_from = 0, context: conversation, hasArtifacts, size, state } = asked
  const status = state && statuses[state]
  const found = yield* ownRuns(call.by, {
    agent,
    ...defined({ conversation, status, after: after?.task })
  })
  const page = found.items.slice(0, size)
  const tasks: Array<Members> = []
  for (const item of page) {
    const task = yield* followedTask(item.id, call.by)
    const maker = makerOf(call, task, asked)
    const { artifacts, ...rest } = yield* read(call, task, maker)
    // It may have changed meanwhile.
    if (state !== undefined && maker.state !== state) continue
    if (maker.changed_at < changed_from) continue
    tasks.push(hasArtifacts ? { ...rest, artifacts: artifacts ?? [] } : rest)
  }
  const before = after?.before ?? 0
  const next = page.length < found.items.length ? page.at(-1)?.id : found.last
  return {
    tasks,
    pageSize: size,
    totalSize: before + found.items.length,
    nextPageToken: next === undefined ? "" : `${next}.${before + page.length}`
  }
})

const answer = Effect.fnUntraced(function* (
  call: WireCall,
  agent: AgentName,
  { asked, id }: A2aRequest
) {
  switch (asked._tag) {
    case "SendMessage":
    case "SendStreamingMessage":
      return yield* send(call, agent, id, asked)
    case "SubscribeToTask":
      return yield* subscribe(call, agent, id, asked)
    case "ListTasks": {
      const limits = yield* Limits
      return respond(id, yield* limits.page(call.by, list(call, agent, asked)))
    }
    case "GetTask":
    case "CancelTask": {
      const task = yield* taskOf(call, agent, asked.task)
      const maker = makerOf(call, task, asked)
      const isRead = asked._tag === "GetTask"
      return respond(id, yield* isRead ? read(call, task, maker) : cancelled(call, task, maker))
    }
  }
})

const post = Effect.fnUntraced(function* (call: WireCall) {
  const { name } = yield* agentAt(call)
  const json = yield* rpcBody(call, wire_bytes_max)
  if (Result.isFailure(json)) return respondError(json.failure)
  const request = a2aRequestOf(json.success, call.request.headers["a2a-version"])
  if (Result.isFailure(request)) return respondError(request.failure)
  const { id } = request.success
  return yield* Effect.catch(answer(call, name, request.success), (error) => {
    if (error instanceof Refused) return Effect.succeed(respondError({ ...error.refusal, id }))
    const problem = anyProblemOf(error)
    // What the service fails for is logged, and told as that of any request.
    return problem === undefined || problem.status >= 500 || problem.status === 401
      ? Effect.fail(error)
      : Effect.succeed(respondError({ ...refusalOf(problem), id }))
  })
})

export const a2aRoutes = [
  { method: "POST", path, right: "follow", answer: post, refused },
  {
    method: "GET",
    path: `${path}/.well-known/agent-card.json`,
    right: "follow",
    answer: card,
    open: openCard,
    refused
  }
] as const
