/**
 * The door for clients of AG-UI (`HttpAgent` of `@ag-ui/client`, 1.0 and before). A client's thread is a conversation of the caller's
 * tenant with the agent of the address; each of its runs sends a message or answers interrupts, and is told the run from there on.
 */
import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Approval } from "../../../src/approval/Approval.ts"
import { ApprovalNotFound } from "../../../src/approval/Approval.ts"
import { RunNotFound } from "../../../src/run/RunCommand.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import type { AgentName, ConversationId } from "../../../src/value/Ids.ts"
import { AgUiFrames } from "../../../src/wire/AgUiFrames.ts"
import type { AgUiAnswer, AgUiRequest } from "../../../src/wire/AgUiRequest.ts"
import { agUiRequestOf, argumentsIn, knownIn } from "../../../src/wire/AgUiRequest.ts"
import { agUiText } from "../../../src/wire/AgUiShapes.ts"
import { followedTask } from "../../service/CustomerRules.ts"
import {
  answerAll,
  conversationOf,
  keyOf,
  runOfApproval,
  sendTo,
  stopNewest
} from "../../service/WireEffects.ts"
import { Limits } from "../boundary/Limits.ts"
import type { WireCall } from "./WireRequest.ts"
import { agentIn, bodyOf, filesOf, wrongMember } from "./WireRequest.ts"
import type { Shown, WireTexts } from "./WireStream.ts"
import { openAnswer, shownOf, streamRun } from "./WireStream.ts"

const wire = "ag-ui"

type Said = Extract<AgUiRequest["asked"], { _tag: "Said" }>
type Answers = Extract<AgUiRequest["asked"], { _tag: "Answers" }>

/** The texts of a run's events. */
const textsOf = (
  call: WireCall,
  { conversation, run }: Shown,
  { asked, messages, ...request }: AgUiRequest
): WireTexts => {
  const frames = new AgUiFrames({
    ...request,
    run,
    conversation,
    known: knownIn(messages, run),
    isWhole: asked._tag === "Said",
    fileAt: filesOf(call, conversation)
  })
  return {
    start: frames.start.map(agUiText).join(""),
    next: (step, { cursor }) => frames.next(step, cursor).map(agUiText).join(""),
    failed: ({ detail, type }) => agUiText({ type: "RUN_ERROR", message: detail, code: type }),
    end: () => "",
    begin: () => frames.begin()
  }
}

/** Whether the client answers what its person was shown. */
const isAsShown =
  ({ digest }: AgUiAnswer, { messages }: AgUiRequest) =>
  (approval: Approval): boolean => {
    if (digest !== undefined && digest !== approval.digest) return false
    const text = argumentsIn(messages, `${approval.run_id}:${approval.call}`)
    if (text === undefined) return true
    const given = Result.try((): unknown => JSON.parse(text))
    return Result.isSuccess(given) && canonical(given.success) === canonical(approval.arguments)
  }

const answered = Effect.fnUntraced(function* (
  { by }: WireCall,
  conversation: ConversationId,
  request: AgUiRequest,
  { answers }: Answers
) {
  const id = answers[0].approval
  const run = yield* runOfApproval(by, id)
  const task = yield* followedTask(run, by)
  if (task.conversation !== conversation) return yield* new ApprovalNotFound({ id })
  yield* answerAll(
    by,
    run,
    answers.map((each) => ({
      ...each,
      // Else nobody could go on with the thread: the client has to answer all that it was asked.
      mayBeSettled: true,
      mayBeExpired: each.isCancelled,
      isAsShown: isAsShown(each, request)
    }))
  )
  return { ...shownOf(task), answered: answers.map(({ approval }) => approval) }
})

const sent = Effect.fnUntraced(function* (
  { by }: WireCall,
  {
    agent,
    client_run,
    conversation
  }: Record<"client_run", string> & {
    readonly agent: AgentName
    readonly conversation: ConversationId
  },
  { by: answering, parts, text }: Said
) {
  // A client that lost its connection asks again for what it has in part.
  if (answering !== undefined) {
    const task = yield* followedTask(answering, by)
    return task.conversation === conversation && task.message === text
      ? shownOf(task)
      : yield* new RunNotFound({ run_id: answering })
  }
  yield* Limits.use((limits) => limits.message(by))
  const idempotency_key = yield* keyOf(by, { wire, agent, conversation, run: client_run })
  const { task } = yield* sendTo(by, { agent, conversation, text, parts, idempotency_key })
  return shownOf(task)
})

const post = Effect.fnUntraced(function* (call: WireCall) {
  const agent = yield* agentIn(call)
  const request = yield* Effect.mapError(
    Effect.fromResult(agUiRequestOf(yield* bodyOf(call))),
    wrongMember
  )
  const { asked, client_run, thread } = request
  const conversation = yield* conversationOf(call.by, { wire, agent, name: thread })
  const opened = yield* openAnswer(call)
  const shown =
    asked._tag === "Answers"
      ? yield* answered(call, conversation, request, asked)
      : yield* sent(call, { agent, client_run, conversation }, asked)
  return yield* streamRun(call, opened, shown, textsOf(call, shown, request))
})

const stop = Effect.fnUntraced(function* (call: WireCall) {
  const agent = yield* agentIn(call)
  const name = call.params["thread"] ?? ""
  yield* stopNewest(call.by, yield* conversationOf(call.by, { wire, agent, name }))
  return HttpServerResponse.empty({ status: 204 })
})

export const agUiRoutes = [
  { method: "POST", path: `/wires/${wire}/:agent`, right: "send", answer: post },
  { method: "POST", path: `/wires/${wire}/:agent/:thread/stop`, right: "cancel", answer: stop }
] as const
