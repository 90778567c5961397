/**
 * The door for clients of Chat Completions. A conversation is named by `metadata.conversation` or the header `x-conversation`, or it is that
 * of which the posted history was said and answered here.
 */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import { AgentBusy } from "../../../src/delivery/AgentTask.ts"
import { agentOfRun } from "../../../src/run/RunState.ts"
import type { AgentName } from "../../../src/value/Ids.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import { ChatCompletions, queued } from "../../../src/wire/ChatCompletions.ts"
import type { ChatRequest, Said } from "../../../src/wire/ResponsesRequest.ts"
import { chatRequestOf } from "../../../src/wire/ResponsesRequest.ts"
import { isNewest, postedBefore, postedOf } from "../../service/WireEffects.ts"
import {
  afterAcceptance,
  agentNamed,
  modelError,
  modelRoutes,
  namedBy,
  refused,
  said
} from "./ModelDoor.ts"
import type { WireCall } from "./WireRequest.ts"
import { bodyOf, wrongMember } from "./WireRequest.ts"
import type { WireTexts } from "./WireStream.ts"
import { openAnswer, readRun, shownOf, streamRun } from "./WireStream.ts"

const wire = "chat-completions"

const dataOf = (value: object): string => `data: ${JSON.stringify(value)}\n\n`

const streamTexts = (maker: ChatCompletions): WireTexts => ({
  start: dataOf(maker.first),
  next: (step) => maker.next(step).map(dataOf).join(""),
  failed: (problem) => dataOf({ error: modelError(problem) }),
  end: () => `${maker.last.map(dataOf).join("")}data: [DONE]\n\n`
})

const wholeTexts = (maker: ChatCompletions): WireTexts => ({
  start: "",
  next: (step) => {
    maker.next(step)
    return ""
  },
  failed: (problem) => JSON.stringify({ error: modelError(problem) }),
  end: () => JSON.stringify(maker.completion),
  beat: " ",
  contentType: "application/json"
})

/** How many of the newest runs with the same words before them are looked at for one whose answer was posted. */
const looked_max = 32

const makerOf = ({ base }: WireCall, task: AgentTask, hasUsage: boolean) =>
  new ChatCompletions({
    run: task.id,
    agent: agentOfRun(task),
    created_at: task.created_at,
    hasUsage,
    placeOf: (approval) => `${base}/v1/approvals/${approval}`
  })

/** Whether a run was answered so: where it waited, or at its end. Who was queued behind another one is not known later. */
const isAnswer = Effect.fnUntraced(function* (call: WireCall, task: AgentTask, text: string) {
  if (text === queued && task.ordinal > 1) return true
  const maker = makerOf(call, task, false)
  let isSaid = false
  yield* readRun(
    call.by,
    { ...shownOf(task), through: "all" },
    {
      ...wholeTexts(maker),
      next: (step) => {
        if (step._tag === "Parked" || step._tag === "Queued") isSaid ||= maker.textAt(step) === text
        else maker.next(step)
        return ""
      },
      end: () => {
        isSaid ||= maker.text === text
        return ""
      }
    }
  )
  return isSaid
})

/**
 * The digest of what was posted, and the run that it follows if the history is what was said and answered here: each run's digest has
 * those of the runs before it. Of several alike one is taken that nothing follows yet.
 */
const postedIn = Effect.fnUntraced(function* (
  call: WireCall,
  agent: AgentName,
  { history, said: asked }: ChatRequest
) {
  const { by } = call
  const digestOf = (before: unknown, { parts, text }: Said) =>
    postedOf(by, [wire, agent, before, text, parts ?? null])
  const fresh = { posted: yield* digestOf(null, asked), follows: undefined }
  if (history === undefined || history.length === 0) return fresh
  let posted = ""
  let answer: Said | undefined
  for (const turn of history) {
    if (turn.role === "user") posted = yield* digestOf(answer ? [posted, answer.text] : null, turn)
    else answer = turn
  }
  const text = answer?.parts === undefined ? answer?.text : undefined
  let found: AgentTask | undefined
  for (const task of yield* postedBefore(by, posted, looked_max)) {
    if (text === undefined || !(yield* isAnswer(call, task, text))) continue
    found ??= task
    if (!(yield* isNewest(task))) continue
    found = task
    break
  }
  if (found === undefined) return fresh
  return { posted: yield* digestOf([posted, text], asked), follows: found }
})

/** Sends the message where its conversation is: that of its name, or of its history. */
const sent = Effect.fnUntraced(function* (call: WireCall, agent: AgentName, request: ChatRequest) {
  const { chat, said: asked } = request
  const { by } = call
  const { parts, text } = asked
  const message = { agent, text, ...defined({ parts }) }
  if (chat !== undefined) {
    const conversation = yield* namedBy(by, wire, agent, chat)
    const posted = yield* postedOf(by, [wire, agent, { chat }, asked])
    return { task: yield* said(call, { posted }, { ...message, conversation }), began: false }
  }
  const { follows, posted } = yield* postedIn(call, agent, request)
  const on = follows && { conversation: follows.conversation, follows: follows.id }
  const task = yield* said(call, { posted }, { ...message, ...on })
  return { task, began: follows === undefined }
})

const complete = Effect.fnUntraced(function* (call: WireCall) {
  const body = yield* bodyOf(call)
  const request = yield* Effect.mapError(
    Effect.fromResult(chatRequestOf(body, call.request.headers["x-conversation"])),
    wrongMember
  )
  const { hasUsage, ignored, isStreamed, model } = request
  const agent = yield* agentNamed(model)
  const opened = yield* openAnswer(call)
  // Of two alike at the same moment the second looks for another run to follow.
  const { began, task } = yield* Effect.retry(sent(call, agent, request), {
    times: 1,
    while: (error) => error instanceof AgentBusy && error.replaces !== undefined
  })
  const maker = makerOf(call, task, hasUsage)
  const texts = isStreamed ? streamTexts(maker) : wholeTexts(maker)
  const response = yield* afterAcceptance(streamRun(call, opened, shownOf(task), texts))
  return HttpServerResponse.setHeaders(response, {
    "x-troupe-run": task.id,
    "x-troupe-conversation": task.conversation,
    // The history of the request was dropped: this is another conversation than it may seem.
    ...(began ? { "x-troupe-began": "true" } : undefined),
    ...(ignored.length === 0 ? undefined : { "x-troupe-ignored": ignored.join(",") })
  })
})

export const chatRoutes = [
  ...modelRoutes,
  { method: "POST", path: "/wires/v1/chat/completions", right: "send", answer: complete, refused }
] as const
