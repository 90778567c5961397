/** The door for clients of Chat Completions. A conversation is named by `metadata.conversation` or the header `x-conversation`. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { agentOfRun } from "../../../src/run/RunState.ts"
import { ChatCompletions } from "../../../src/wire/ChatCompletions.ts"
import { chatRequestOf } from "../../../src/wire/ResponsesRequest.ts"
import { postedOf } from "../../service/WireEffects.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import { afterAcceptance, agentNamed, modelRoutes, namedBy, refused, said } from "./ModelDoor.ts"
import type { WireCall } from "./WireRequest.ts"
import { bodyOf, wrongMember } from "./WireRequest.ts"
import type { WireTexts } from "./WireStream.ts"
import { openAnswer, streamRun } from "./WireStream.ts"

const wire = "chat-completions"

const dataOf = (value: object): string => `data: ${JSON.stringify(value)}\n\n`

const streamTexts = (maker: ChatCompletions): WireTexts => ({
  start: dataOf(maker.first),
  next: (step) => maker.next(step).map(dataOf).join(""),
  failed: ({ detail, type }) =>
    dataOf({ error: { message: detail, type: "server_error", param: null, code: type } }),
  end: () => `${maker.last.map(dataOf).join("")}data: [DONE]\n\n`
})

const wholeTexts = (maker: ChatCompletions): WireTexts => ({
  start: "",
  next: (step) => {
    maker.next(step)
    return ""
  },
  failed: ({ detail, type }) =>
    JSON.stringify({ error: { message: detail, type: "server_error", param: null, code: type } }),
  end: () => JSON.stringify(maker.completion),
  beat: " ",
  contentType: "application/json"
})

const complete = Effect.fnUntraced(function* (call: WireCall) {
  const body = yield* bodyOf(call)
  const request = yield* Effect.mapError(
    Effect.fromResult(chatRequestOf(body, call.request.headers["x-conversation"])),
    ({ message, path }) => wrongMember(path, message)
  )
  const { asked, chat, hasUsage, ignored, isStreamed, model } = request
  const agent = yield* agentNamed(model)
  const opened = yield* openAnswer(call)
  const { parts, text } = asked._tag === "Said" ? asked : { text: "", parts: undefined }
  const { by } = call
  const conversation = yield* namedBy(by, wire, agent, chat)
  const posted = yield* postedOf(by, [wire, agent, chat ?? null, text, parts ?? null])
  const message = { agent, text, ...defined({ parts, conversation }) }
  const task = yield* said(call, { posted }, message)
  const { id: run, ordinal } = task
  const maker = new ChatCompletions({
    run,
    agent: agentOfRun(task),
    created_at: task.created_at,
    hasUsage,
    placeOf: (approval) => `${call.base}/v1/approvals/${approval}`
  })
  const texts = isStreamed ? streamTexts(maker) : wholeTexts(maker)
  const response = yield* afterAcceptance(
    streamRun(call, opened, { run, conversation: task.conversation, ordinal }, texts)
  )
  return HttpServerResponse.setHeaders(response, {
    "x-troupe-run": run,
    "x-troupe-conversation": task.conversation,
    // The history of the request was dropped: this is another conversation than it may seem.
    ...(chat === undefined ? { "x-troupe-began": "true" } : undefined),
    ...(ignored.length === 0 ? undefined : { "x-troupe-ignored": ignored.join(",") })
  })
})

export const chatRoutes = [
  ...modelRoutes,
  { method: "POST", path: "/wires/v1/chat/completions", right: "send", answer: complete, refused }
] as const
