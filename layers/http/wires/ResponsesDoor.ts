/**
 * The door for clients of the Responses API: agents are its models, a conversation goes on by the id of the response before, questions are
 * `mcp_approval_request` items.
 */
import { Effect, Schema } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import { agentOfRun } from "../../../src/run/RunState.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import type { Stretch } from "../../../src/wire/Responses.ts"
import { behindNumber, responseFrame, Responses } from "../../../src/wire/Responses.ts"
import type { GivenAnswer, ModelRequest } from "../../../src/wire/ResponsesRequest.ts"
import { responsesRequestOf, stretchOf } from "../../../src/wire/ResponsesRequest.ts"
import { followedTask } from "../../service/CustomerRules.ts"
import { answerAll, postedOf, runOfApproval, stop } from "../../service/WireEffects.ts"
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
import { bodyOf, missing, wrongMember } from "./WireRequest.ts"
import type { Shown, WireTexts } from "./WireStream.ts"
import { openAnswer, readRun, streamRun } from "./WireStream.ts"

const wire = "responses"

const shownOf = (
  { conversation, id: run, ordinal }: AgentTask,
  { answered }: Pick<Stretch, "answered">
): Shown => ({
  run,
  conversation,
  ordinal,
  isStretch: true,
  answered
})

const makerOf = (
  task: AgentTask,
  { answered }: Pick<Stretch, "answered">,
  more: {
    readonly previous?: string | undefined
    readonly ignored?: ReadonlyArray<string>
    readonly isBackground?: boolean
  } = {}
) =>
  new Responses({
    run: task.id,
    answered,
    agent: agentOfRun(task),
    created_at: task.created_at,
    ...more
  })

/** As an event stream, behind the number that the client has seen. */
const streamTexts = (maker: Responses, seen = -1): WireTexts => {
  const textOf = (frames: Responses["first"]) =>
    frames
      .flatMap((frame) => behindNumber(frame, seen) ?? [])
      .map(responseFrame)
      .join("")
  return {
    start: textOf(maker.first),
    next: (step, { seq }) => textOf(maker.next(step, seq)),
    failed: (problem) =>
      responseFrame({ ...modelError(problem), type: "error", sequence_number: 0 }),
    end: () => "",
    begin: () => maker.begin()
  }
}

/** As one object at the end, behind spaces that keep the connection. */
const wholeTexts = (maker: Responses): WireTexts => ({
  start: "",
  next: (step, { seq }) => {
    maker.next(step, seq)
    return ""
  },
  failed: (problem) => JSON.stringify({ error: modelError(problem) }),
  end: () => JSON.stringify(maker.response),
  begin: () => maker.begin(),
  beat: " ",
  contentType: "application/json"
})

/** Decides the questions, and gives their run: that of the first, which has to be that of all. */
const answered = Effect.fnUntraced(function* (call: WireCall, answers: ReadonlyArray<GivenAnswer>) {
  const [first] = answers
  if (first === undefined) return yield* Effect.fail(missing)
  const run = yield* runOfApproval(call.by, first.approval)
  const task = yield* followedTask(run, call.by)
  yield* answerAll(
    call.by,
    run,
    answers.map(({ shown, ...given }) => ({
      ...given,
      isAsShown: (approval) =>
        shown === undefined || isSame(shown, approval.arguments, approval.payload.args_summary)
    }))
  )
  return task
})

/** Whether the arguments that came back are those of the question, as staff or a customer was shown them. */
const isSame = (shown: string, args: unknown, summary: string): boolean =>
  shown === JSON.stringify(args) ||
  shown === JSON.stringify({ summary }) ||
  shown === canonical(args)

const begun = Effect.fnUntraced(function* (call: WireCall, request: ModelRequest) {
  const { asked, chat, previous } = request
  if (asked._tag === "Answers") {
    const stretch = { answered: asked.answers.map(({ approval }) => approval) }
    return { task: yield* answered(call, asked.answers), stretch }
  }
  const agent = yield* agentNamed(request.model)
  const { parts, text } = asked
  const follows = previous && (yield* followedTask(previous.run, call.by))
  const posted = yield* postedOf(call.by, [wire, agent, chat ?? null, previous ?? null, asked])
  const conversation = follows?.conversation ?? (yield* namedBy(call.by, wire, agent, chat))
  const message = { agent, text, ...defined({ parts, conversation, follows: follows?.id }) }
  const task = yield* said(call, { posted, isOnce: previous !== undefined }, message)
  return { task, stretch: { answered: [] } }
})

const create = Effect.fnUntraced(function* (call: WireCall) {
  const body = yield* bodyOf(call)
  const request = yield* Effect.mapError(Effect.fromResult(responsesRequestOf(body)), wrongMember)
  const { ignored, isBackground, isStreamed } = request
  const opened = yield* openAnswer(call)
  const { stretch, task } = yield* begun(call, request)
  const previous = body["previous_response_id"]
  const maker = makerOf(task, stretch, {
    ignored,
    isBackground,
    ...(typeof previous === "string" ? { previous } : undefined)
  })
  if (isBackground && !isStreamed) {
    return HttpServerResponse.jsonUnsafe({ ...maker.response, status: "queued" })
  }
  const texts = isStreamed ? streamTexts(maker) : wholeTexts(maker)
  return yield* afterAcceptance(streamRun(call, opened, shownOf(task, stretch), texts))
})

/** The response that an address names, with its run. */
const named = Effect.fnUntraced(function* (call: WireCall) {
  const stretch = stretchOf(call.params["id"] ?? "")
  if (stretch === undefined) return yield* Effect.fail(missing)
  return { stretch, task: yield* followedTask(stretch.run, call.by) }
})

const current = Effect.fnUntraced(function* ({ by }: WireCall, task: AgentTask, stretch: Stretch) {
  const maker = makerOf(task, stretch)
  const reader = yield* readRun(by, shownOf(task, stretch), wholeTexts(maker))
  // Nobody has answered these questions.
  return reader.isShown
    ? HttpServerResponse.jsonUnsafe(maker.response)
    : yield* Effect.fail(missing)
})

const Seen = Schema.FiniteFromString.check(
  Schema.isBetween({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER })
)

const retrieve = Effect.fnUntraced(function* (call: WireCall) {
  const { stretch, task } = yield* named(call)
  const { searchParams } = new URL((yield* HttpServerRequest.HttpServerRequest).url, "http://wire")
  if (searchParams.get("stream") !== "true") return yield* current(call, task, stretch)
  const seen = yield* Effect.mapError(
    Schema.decodeUnknownEffect(Seen)(searchParams.get("starting_after") ?? "-1"),
    () => wrongMember({ path: ["starting_after"], message: "Expected the number of an event" })
  )
  const opened = yield* openAnswer(call)
  return yield* streamRun(
    call,
    opened,
    shownOf(task, stretch),
    streamTexts(makerOf(task, stretch), seen)
  )
})

const cancelled = Effect.fnUntraced(function* (call: WireCall) {
  const { stretch, task } = yield* named(call)
  yield* stop(call.by, task.id, "Cancelled by its client.")
  return yield* current(call, task, stretch)
})

const inputItems = Effect.fnUntraced(function* (call: WireCall) {
  const { task } = yield* named(call)
  const id = `msg_${task.id}:in`
  const content = [{ type: "input_text", text: task.message }]
  const item = { id, type: "message", role: "user", status: "completed", content }
  return HttpServerResponse.jsonUnsafe({
    object: "list",
    data: [item],
    first_id: id,
    last_id: id,
    has_more: false
  })
})

export const responsesRoutes = [
  ...modelRoutes,
  { method: "POST", path: "/wires/v1/responses", right: "send", answer: create, refused },
  { method: "GET", path: "/wires/v1/responses/:id", right: "follow", answer: retrieve, refused },
  {
    method: "POST",
    path: "/wires/v1/responses/:id/cancel",
    right: "cancel",
    answer: cancelled,
    refused
  },
  {
    method: "GET",
    path: "/wires/v1/responses/:id/input_items",
    right: "follow",
    answer: inputItems,
    refused
  }
] as const
