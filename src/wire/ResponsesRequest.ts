/**
 * What a client of the Responses API or of Chat Completions asks for: of its body count the agent, the conversation, the newest content of
 * a person, and answers to questions. Instructions, history, results and settings are dropped.
 */
import { Result, Schema } from "effect"
import type { PartInput } from "../conversation/Part.ts"
import { fileTypeOf, MediaType, parts_max } from "../conversation/Part.ts"
import { readJson } from "../value/BoundedJson.ts"
import { textUpTo } from "../value/Bounds.ts"
import { ApprovalId, isRunId } from "../value/Ids.ts"
import { defined } from "../value/PlainObject.ts"
import type { Stretch } from "./Responses.ts"
import { server_label } from "./Responses.ts"
import type { WrongMember } from "./WireShapes.ts"
import { memberDecoder, wrongMember as wrong } from "./WireShapes.ts"

const on_off = "Expected true or false"
const called_here =
  "Tools run in the service, not at its client: give them to `start({ tools })`, name them in the agent's `tools`, and leave this out"
const text_alone =
  "An answer is a text here: leave this out. For data send the message to POST /v1/messages, with an `answer_schema`"

const decoded = memberDecoder(
  {
    model: "Expected the name of an agent, as GET models lists them",
    messages:
      'Expected a list of messages, the last one a person\'s: { role: "user", content: "..." }',
    input: "Expected a text or a list of items",
    stream: on_off,
    background: on_off,
    approve: on_off,
    stream_options: "Expected an object, with `include_usage` true or false",
    metadata: "Expected an object, whose `conversation` is a name of 1 to 200 characters",
    conversation: "Expected a name of 1 to 200 characters",
    previous_response_id: "Expected the id of a response of this service",
    reason: "Expected a text of 1 to 4000 characters"
  },
  {
    tools: called_here,
    functions: called_here,
    response_format: text_alone,
    text: text_alone,
    n: "There is one answer: leave this out"
  }
)

/** What a person says. */
export interface Said {
  readonly text: string
  readonly parts?: ReadonlyArray<PartInput>
}

/** An answer to a question. */
export interface GivenAnswer {
  readonly approval: ApprovalId
  readonly approved: boolean
  readonly reason?: string
  /** The arguments as they came back with the history, as JSON text. Absent = they did not. */
  readonly shown?: string
}

export interface ModelRequest {
  /** The name of the agent. */
  readonly model: string
  /** The client's name of the conversation. Absent = it has none. */
  readonly chat?: string
  readonly previous?: Stretch
  readonly asked:
    | ({ readonly _tag: "Said" } & Said)
    | { readonly _tag: "Answers"; readonly answers: ReadonlyArray<GivenAnswer> }
  readonly isStreamed: boolean
  readonly isBackground: boolean
  readonly hasUsage: boolean
  /** Members of the body that nobody reads, at most 20. */
  readonly ignored: ReadonlyArray<string>
}

/** How many questions one request may answer. */
const answers_max = 8

const isApprovalId = Schema.is(ApprovalId)

/** The stretch that the id of a response names; undefined = it is none. */
export const stretchOf = (id: string): Stretch | undefined => {
  const [first = "", ...answered] = id.split(".", answers_max + 2)
  const run = first.startsWith("resp_") ? first.slice(5) : ""
  return isRunId(run) && answered.length <= answers_max && answered.every(isApprovalId)
    ? { run, answered }
    : undefined
}

const name = textUpTo(200)
const flag = Schema.optionalKey(Schema.NullOr(Schema.Boolean))

const dataUrl = /^data:([^;,]+)[^,]*;base64,(.*)$/s

const fileOf = (url: unknown, filename: unknown): PartInput | undefined => {
  const [, type = "", data = ""] = typeof url === "string" ? (dataUrl.exec(url) ?? []) : []
  if (!Schema.is(MediaType)(type)) return undefined
  return {
    type: fileTypeOf(type),
    media_type: type,
    data,
    ...(typeof filename === "string" ? { name: filename } : undefined)
  }
}

interface Content {
  readonly type?: unknown
  readonly text?: unknown
  readonly image_url?: unknown
  readonly file_data?: unknown
  readonly filename?: unknown
  readonly file?: { readonly file_data?: unknown; readonly filename?: unknown }
}

const urlOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "url" in value ? value.url : value

/** A part of a person's message: a text, or a file with its bytes. */
const partOf = (part: Content): string | PartInput | undefined => {
  switch (part.type) {
    case "input_text":
    case "text":
      return typeof part.text === "string" ? part.text : undefined
    case "input_image":
    case "image_url":
      return fileOf(urlOf(part.image_url), undefined)
    case "input_file":
      return fileOf(part.file_data, part.filename)
    case "file":
      return fileOf(part.file?.file_data, part.file?.filename)
    default:
      return undefined
  }
}

const isPart = Schema.is(Schema.Record(Schema.String, Schema.Unknown))

/** What a message's content says. */
const saidIn = (
  content: unknown,
  ...at: ReadonlyArray<string | number>
): Result.Result<Said, WrongMember> => {
  if (typeof content === "string") {
    return content.trim() === ""
      ? wrong("It says nothing", ...at)
      : Result.succeed({ text: content })
  }
  if (!Array.isArray(content) || content.length === 0 || content.length > parts_max) {
    return wrong(`Expected a text or 1 to ${parts_max} parts`, ...at)
  }
  const texts: Array<string> = []
  const files: Array<PartInput> = []
  for (const [index, part] of content.entries()) {
    const read = isPart(part) ? partOf(part as Content) : undefined
    if (read === undefined) {
      return wrong(
        "Expected a text, or a file as a data URL: no address of a client is fetched",
        ...at,
        index
      )
    }
    if (typeof read === "string") texts.push(read)
    else files.push(read)
  }
  const text = texts.join("\n\n")
  if (text.trim() === "" && files.length === 0) return wrong("It says nothing", ...at)
  return Result.succeed(files.length === 0 ? { text } : { text, parts: files })
}

const Item = Schema.Struct({
  type: Schema.optionalKey(Schema.Unknown),
  role: Schema.optionalKey(Schema.Unknown),
  content: Schema.optionalKey(Schema.Unknown)
})
const Answer = Schema.Struct({
  approval_request_id: Schema.String,
  approve: Schema.Boolean,
  reason: Schema.optionalKey(Schema.NullOr(textUpTo(4_000)))
})
const Asked = Schema.Struct({ id: Schema.String, arguments: Schema.String })

const isUser = (item: unknown): boolean =>
  Schema.is(Schema.Struct({ role: Schema.Literal("user") }))(item)
const typeOf = (item: unknown): unknown => (isPart(item) ? item["type"] : undefined)

/** A value of a body within the bounds of all JSON. */
const bounded = (value: unknown, ...at: ReadonlyArray<string | number>) =>
  Result.mapError(
    Result.flatMap(
      Result.try(() => JSON.stringify(value) ?? "null"),
      (text) => readJson(text)
    ),
    (error): WrongMember => ({
      path: at,
      message: error instanceof Error ? error.message : "It cannot be read"
    })
  )

const answersIn = (items: ReadonlyArray<unknown>, from: number) =>
  Result.gen(function* () {
    const answers: Array<GivenAnswer> = []
    for (let at = from; at < items.length; at++) {
      if (typeOf(items[at]) !== "mcp_approval_response") continue
      const {
        approval_request_id: id,
        approve,
        reason
      } = yield* decoded(Answer, items[at], "input", at)
      const approval = id.startsWith("mcpr_") ? id.slice(5) : ""
      if (!isApprovalId(approval)) {
        return yield* wrong(
          "Expected the id of an mcp_approval_request",
          "input",
          at,
          "approval_request_id"
        )
      }
      const asked = items.find((each) => isPart(each) && each["id"] === id)
      const shown = Schema.is(Asked)(asked) ? asked.arguments : undefined
      answers.push({
        approval,
        approved: approve,
        ...defined({ reason: reason ?? undefined, shown })
      })
    }
    if (answers.length > answers_max) {
      return yield* wrong(`At most ${answers_max} questions are answered at once`, "input")
    }
    return answers
  })

/** The newest of a list of items: answers behind the last message of a person, or that message. */
const newestOf = (input: unknown): Result.Result<ModelRequest["asked"], WrongMember> =>
  Result.gen(function* () {
    if (typeof input === "string") {
      return { _tag: "Said", ...(yield* saidIn(input, "input")) } as const
    }
    if (!Array.isArray(input) || input.length === 0) {
      return yield* wrong("Expected a text or a list of items", "input")
    }
    const items: ReadonlyArray<unknown> = input
    const last = items.findLastIndex(isUser)
    const answers = yield* answersIn(items, last + 1)
    if (answers.length > 0) return { _tag: "Answers", answers } as const
    if (last !== items.length - 1) {
      return yield* wrong(
        "The last item is no message of a person, and answers no question: tools run in the service, which has their results",
        "input",
        items.length - 1
      )
    }
    const { content } = yield* decoded(
      Item,
      yield* bounded(items[last], "input", last),
      "input",
      last
    )
    return { _tag: "Said", ...(yield* saidIn(content, "input", last, "content")) } as const
  })

const Conversation = Schema.Union([name, Schema.Struct({ id: name })])
const Tools = Schema.Array(
  Schema.Struct({
    type: Schema.Literal("mcp"),
    server_label: Schema.Literal(server_label)
  })
)

const body = {
  model: name,
  input: Schema.Unknown,
  stream: flag,
  background: flag,
  previous_response_id: Schema.optionalKey(Schema.NullOr(textUpTo(400))),
  conversation: Schema.optionalKey(Schema.NullOr(Conversation)),
  tools: Schema.optionalKey(Schema.NullOr(Tools)),
  text: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        format: Schema.optionalKey(Schema.Struct({ type: Schema.Literal("text") }))
      })
    )
  )
} as const

/** Members that say nothing which anybody here could not do. */
const harmless: ReadonlyArray<string> = [
  "store",
  "include",
  "parallel_tool_calls",
  "tool_choice",
  "truncation",
  "user",
  "prompt_cache_key"
]

const ignoredIn = (given: object, known: ReadonlyArray<string>): ReadonlyArray<string> =>
  Object.entries(given)
    .filter(([key, value]) => value !== null && !known.includes(key) && !harmless.includes(key))
    .map(([key]) => key)
    .slice(0, 20)

/** Reads the body of a new response. */
export const responsesRequestOf = (
  given: Readonly<Record<string, unknown>>
): Result.Result<ModelRequest, WrongMember> =>
  Result.gen(function* () {
    const {
      background,
      conversation,
      input,
      model,
      previous_response_id: before,
      stream
    } = yield* decoded(Schema.Struct(body), given)
    const previous = before == null ? undefined : stretchOf(before)
    if (before != null && previous === undefined) {
      return yield* wrong("Expected the id of a response of this service", "previous_response_id")
    }
    if (previous !== undefined && conversation != null) {
      return yield* wrong("Give either this or previous_response_id", "conversation")
    }
    const chat = typeof conversation === "object" ? conversation?.id : conversation
    return {
      model,
      ...defined({ chat, previous }),
      asked: yield* newestOf(input),
      isStreamed: stream === true,
      isBackground: background === true,
      hasUsage: true,
      ignored: ignoredIn(given, Object.keys(body))
    }
  })

const chat_body = {
  model: name,
  messages: Schema.Array(Schema.Unknown).check(Schema.isMinLength(1)),
  stream: flag,
  stream_options: Schema.optionalKey(Schema.NullOr(Schema.Struct({ include_usage: flag }))),
  metadata: Schema.optionalKey(
    Schema.NullOr(Schema.Struct({ conversation: Schema.optionalKey(name) }))
  ),
  n: Schema.optionalKey(Schema.NullOr(Schema.Literal(1))),
  tools: Schema.optionalKey(
    Schema.NullOr(Schema.Array(Schema.Unknown).check(Schema.isMaxLength(0)))
  ),
  functions: Schema.optionalKey(
    Schema.NullOr(Schema.Array(Schema.Unknown).check(Schema.isMaxLength(0)))
  ),
  response_format: Schema.optionalKey(
    Schema.NullOr(Schema.Struct({ type: Schema.Literal("text") }))
  )
} as const

/** What a person or the agent said before. */
interface ChatTurn extends Said {
  readonly role: "user" | "assistant"
}

/**
 * What was said before, a person's message and its answer in turn; texts of the system do not count. Undefined = there is something else,
 * which was never said here.
 */
const historyIn = (messages: ReadonlyArray<unknown>): ReadonlyArray<ChatTurn> | undefined => {
  const turns: Array<ChatTurn> = []
  for (const message of messages) {
    if (!isPart(message)) return undefined
    const { content, role, tool_calls: calls } = message
    if (role === "system" || role === "developer") continue
    const said = Result.getOrUndefined(saidIn(content))
    const next = turns.length % 2 === 0 ? "user" : "assistant"
    if (role !== next || said === undefined || calls != null) return undefined
    turns.push({ role: next, ...said })
  }
  return turns.length % 2 === 0 ? turns : undefined
}

/** A message with what was said before it. Absent = that is none that anybody here could have said. */
export interface ChatRequest extends Pick<
  ModelRequest,
  "chat" | "hasUsage" | "ignored" | "isStreamed" | "model"
> {
  readonly said: Said
  readonly history?: ReadonlyArray<ChatTurn>
}

/** Reads the body of a chat completion. `named`: the conversation that a header names. */
export const chatRequestOf = (
  given: Readonly<Record<string, unknown>>,
  named: string | undefined
): Result.Result<ChatRequest, WrongMember> =>
  Result.gen(function* () {
    const {
      messages,
      metadata,
      model,
      stream,
      stream_options: options
    } = yield* decoded(Schema.Struct(chat_body), given)
    const last = messages.length - 1
    if (!isUser(messages[last])) {
      return yield* wrong(
        "The last message is not a person's, of the role user: tools run in the service, which has their results",
        "messages",
        last
      )
    }
    const { content } = yield* decoded(
      Item,
      yield* bounded(messages[last], "messages", last),
      "messages",
      last
    )
    const said = yield* saidIn(content, "messages", last, "content")
    return {
      model,
      ...defined({
        chat: metadata?.conversation ?? named,
        history: historyIn(messages.slice(0, last))
      }),
      said,
      isStreamed: stream === true,
      hasUsage: stream !== true || options?.include_usage === true,
      ignored: ignoredIn(given, Object.keys(chat_body))
    }
  })
