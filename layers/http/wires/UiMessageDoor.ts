/**
 * The door for clients of the AI SDK (`useChat` with its `DefaultChatTransport`, package `ai` 7). A client's chat is a conversation of
 * the caller's tenant with the agent of the address: its message is sent, its answers to questions are decided, and the run is streamed.
 */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { Approval } from "../../../src/approval/Approval.ts"
import { RunNotFound } from "../../../src/run/RunCommand.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import type { ConversationId } from "../../../src/value/Ids.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import { history_runs_max, runOfSaid, UiHistory } from "../../../src/wire/UiHistory.ts"
import { ui_end, ui_headers, uiFrame, UiMessages } from "../../../src/wire/UiMessages.ts"
import type { UiAnswer, UiAsked } from "../../../src/wire/UiRequest.ts"
import { uiRequestOf } from "../../../src/wire/UiRequest.ts"
import { followedTask, isCustomer } from "../../service/CustomerRules.ts"
import {
  answerAll,
  conversationOf,
  keyOf,
  newestTask,
  sendTo,
  stopNewest,
  taskAtWork
} from "../../service/WireEffects.ts"
import { Limits } from "../boundary/Limits.ts"
import { cursorOf } from "../stream/EventStream.ts"
import type { OpenedStream } from "../stream/StreamHost.ts"
import type { WireCall } from "./WireRequest.ts"
import { agentIn, bodyOf, filesOf, missing, wrongMember } from "./WireRequest.ts"
import type { Shown, WireTexts } from "./WireStream.ts"
import { forEachItem, openAnswer, shownOf, streamRun } from "./WireStream.ts"

const wire = "ui-messages"

const chatIn = Effect.fnUntraced(function* (call: WireCall) {
  const agent = yield* agentIn(call)
  const { chat } = call.params
  return yield* conversationOf(call.by, { wire, agent, name: chat ?? "" })
})

/** The texts of a run's message. */
const textsOf = (
  call: WireCall,
  { conversation, run }: Shown,
  ignored: ReadonlyArray<string>
): WireTexts => {
  const messages = new UiMessages({
    run,
    conversation,
    ignored: ignored.length === 0 ? undefined : ignored,
    fileAt: filesOf(call, conversation)
  })
  return {
    start: uiFrame(messages.start),
    next: (step, { cursor }) => messages.next(step, cursor).map(uiFrame).join(""),
    failed: ({ detail }) => uiFrame({ type: "error", errorText: detail }) + ui_end,
    end: () => ui_end
  }
}

const streamed = Effect.fnUntraced(function* (
  call: WireCall,
  opened: OpenedStream,
  shown: Shown,
  ignored: ReadonlyArray<string> = []
) {
  const response = yield* streamRun(call, opened, shown, textsOf(call, shown, ignored))
  return HttpServerResponse.setHeaders(response, ui_headers)
})

/** Whether the client answers what its person was shown. */
const isAsShown =
  (call: WireCall, { digest, input }: UiAnswer) =>
  (approval: Approval): boolean =>
    (digest === undefined || digest === approval.digest) &&
    canonical(input ?? null) ===
      canonical(
        isCustomer(call.by) ? { summary: approval.payload.args_summary } : approval.arguments
      )

const answered = Effect.fnUntraced(function* (
  call: WireCall,
  conversation: ConversationId,
  { answers, run }: Extract<UiAsked, { _tag: "Answers" }>
) {
  const task = yield* followedTask(run, call.by)
  if (task.conversation !== conversation) return yield* new RunNotFound({ run_id: run })
  yield* answerAll(
    call.by,
    run,
    answers.map((each) => ({ ...each, isAsShown: isAsShown(call, each) }))
  )
  return { ...shownOf(task), answered: answers.map(({ approval }) => approval) }
})

const post = Effect.fnUntraced(function* (call: WireCall) {
  const agent = yield* agentIn(call)
  const { asked, chat, ignored } = yield* Effect.mapError(
    Effect.fromResult(uiRequestOf(yield* bodyOf(call))),
    wrongMember
  )
  const { by } = call
  const conversation = yield* conversationOf(by, { wire, agent, name: chat })
  const opened = yield* openAnswer(call)
  if (asked._tag === "Answers") {
    return yield* streamed(call, opened, yield* answered(call, conversation, asked), ignored)
  }
  yield* Limits.use((limits) => limits.message(by))
  if (asked._tag === "Regenerate") {
    const replaces = asked.run ?? (yield* newestTask(by, conversation))?.id
    if (replaces === undefined) return yield* Effect.fail(missing)
    const { task } = yield* sendTo(by, { agent, conversation, replaces, text: "" })
    return yield* streamed(call, opened, shownOf(task), ignored)
  }
  const { edits, id, parts, text } = asked
  const replaces = edits ? runOfSaid(id) : undefined
  const idempotency_key = yield* keyOf(by, {
    wire,
    agent,
    conversation,
    id,
    ...defined({ text: replaces && text })
  })
  const said = { agent, conversation, text, parts, idempotency_key, replaces }
  const { task } = yield* sendTo(by, said, edits)
  return yield* streamed(call, opened, shownOf(task), ignored)
})

const resume = Effect.fnUntraced(function* (call: WireCall) {
  const task = yield* taskAtWork(call.by, yield* chatIn(call))
  return task === undefined
    ? HttpServerResponse.empty({ status: 204 })
    : yield* streamed(call, yield* openAnswer(call), shownOf(task))
})

/** The newest messages, as the client would hold them, had it followed the conversation. */
const history = Effect.fnUntraced(function* (call: WireCall) {
  const { by } = call
  const conversation = yield* chatIn(call)
  const newest = yield* newestTask(by, conversation)
  if (newest === undefined) return HttpServerResponse.jsonUnsafe([])
  const fileAt = filesOf(call, conversation)
  const messages = new UiHistory({ conversation, isCustomer: isCustomer(by), fileAt })
  const runtime = yield* AgentRuntime
  const from = { ordinal: Math.max(0, newest.ordinal - history_runs_max), seq: -1 }
  const read = forEachItem(runtime.openFeed(conversation, from, by), (item) => {
    messages.add(item, item._tag === "Event" ? cursorOf(item) : "")
    return false
  })
  const limits = yield* Limits
  yield* limits.page(by, read)
  return HttpServerResponse.jsonUnsafe(messages.messages)
})

const stop = Effect.fnUntraced(function* (call: WireCall) {
  yield* stopNewest(call.by, yield* chatIn(call))
  return HttpServerResponse.empty({ status: 204 })
})

export const uiMessageRoutes = [
  { method: "POST", path: `/wires/${wire}/:agent`, right: "send", answer: post },
  { method: "GET", path: `/wires/${wire}/:agent/:chat/stream`, right: "follow", answer: resume },
  { method: "GET", path: `/wires/${wire}/:agent/:chat/messages`, right: "follow", answer: history },
  { method: "POST", path: `/wires/${wire}/:agent/:chat/stop`, right: "cancel", answer: stop }
] as const
