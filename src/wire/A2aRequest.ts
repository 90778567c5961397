/**
 * What a client of A2A 1.0 asks for, over JSON-RPC. Of a message count its text, its files, its answers to open questions, and the names
 * of its task and its context; a client has no address that is called.
 */
import { DateTime, Option, Result, Schema } from "effect"
import type { PartInput } from "../conversation/Part.ts"
import { FileName, fileTypeOf, MediaType, parts_max } from "../conversation/Part.ts"
import { schemaIssues } from "../schema/SchemaIssues.ts"
import { textUpTo } from "../value/Bounds.ts"
import { ApprovalId, ConversationId, isRunId, RunId } from "../value/Ids.ts"
import { CheckedJsonRecord } from "../value/JsonObject.ts"
import { defined } from "../value/PlainObject.ts"
import type { A2aState } from "./A2aShapes.ts"
import { a2a_states, a2aError, missingTask, wrongParam } from "./A2aShapes.ts"
import type { RpcId, RpcRefusal } from "./JsonRpc.ts"
import { rpc_codes, rpcIdOf, RpcRequest } from "./JsonRpc.ts"

/** An answer to a question. */
export interface A2aAnswer {
  readonly approval: ApprovalId
  readonly approved: boolean
  readonly reason?: string
  /** All arguments of the call, in place of the proposed ones. */
  readonly edited?: typeof CheckedJsonRecord.Type
  /** The digest that came with the question. Absent = the client does not send it back. */
  readonly digest?: string
}

export interface A2aMessage {
  readonly id: string
  readonly task?: RunId
  readonly context?: ConversationId
  readonly said:
    | {
        readonly _tag: "Said"
        readonly text: string
        readonly parts?: ReadonlyArray<PartInput>
      }
    | { readonly _tag: "Answers"; readonly answers: ReadonlyArray<A2aAnswer> }
  /** Members that nobody reads. */
  readonly ignored: ReadonlyArray<string>
}

export type A2aAsked =
  | {
      readonly _tag: "SendMessage" | "SendStreamingMessage"
      readonly message: A2aMessage
      readonly isImmediate: boolean
      readonly hasHistory: boolean
    }
  | {
      readonly _tag: "GetTask" | "CancelTask" | "SubscribeToTask"
      readonly task: RunId
      readonly hasHistory: boolean
    }
  | {
      readonly _tag: "ListTasks"
      readonly context?: ConversationId
      readonly state?: A2aState
      /** ms since 1970. */
      readonly changed_from?: number
      readonly size: number
      /** Behind this task, before which there were so many. */
      readonly after?: { readonly task: RunId; readonly before: number }
      readonly hasHistory: boolean
      readonly hasArtifacts: boolean
    }

export interface A2aRequest {
  readonly id: RpcId
  readonly asked: A2aAsked
}

type Refused<A> = Result.Result<A, RpcRefusal>

const strictly = { onExcessProperty: "error" } as const

/** The decoded value; `at`: where it is in the parameters. */
const decoded = <A, I>(
  schema: Schema.Codec<A, I>,
  given: unknown,
  at: ReadonlyArray<string | number> = [],
  options = {}
): Refused<A> =>
  Result.mapError(Schema.decodeUnknownResult(schema, options)(given), ({ issue }) => {
    const [first] = schemaIssues(issue, given)
    return wrongParam([...at, ...(first?.path ?? [])], first?.message ?? "Wrong")
  })

const refused = (path: ReadonlyArray<string | number>, description: string) =>
  Result.fail(wrongParam(path, description))

/** The length in UTF-16 units of a client's id of a message. */
const name = textUpTo(200)
const count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))
const nothing = Schema.optionalKey(
  Schema.Literal("").annotate({ message: "The token says whose tenant it is" })
)
const history = { tenant: nothing, historyLength: Schema.optionalKey(count) }

const Send = Schema.Struct({
  tenant: nothing,
  message: Schema.Struct({
    messageId: name,
    role: Schema.Literal("ROLE_USER"),
    parts: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)).check(
      Schema.isMinLength(1),
      Schema.isMaxLength(parts_max)
    ),
    taskId: Schema.optionalKey(Schema.String),
    contextId: Schema.optionalKey(Schema.String)
  }),
  configuration: Schema.optionalKey(
    Schema.Struct({
      returnImmediately: Schema.optionalKey(Schema.Boolean),
      historyLength: history.historyLength,
      taskPushNotificationConfig: Schema.optionalKey(Schema.Unknown)
    })
  )
})
const OneTask = Schema.Struct({ ...history, id: Schema.String })

/** The most tasks of a page, and of one that says no number. */
const [page_max, page_default] = [100, 50]

const List = Schema.Struct({
  ...history,
  contextId: Schema.optionalKey(Schema.String),
  status: Schema.optionalKey(Schema.Literals(["TASK_STATE_UNSPECIFIED", ...a2a_states])),
  pageSize: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: page_max }))
  ),
  pageToken: Schema.optionalKey(Schema.String),
  statusTimestampAfter: Schema.optionalKey(Schema.String),
  includeArtifacts: Schema.optionalKey(Schema.Boolean)
})

const Raw = Schema.Struct({
  raw: Schema.String,
  mediaType: Schema.optionalKey(MediaType),
  filename: Schema.optionalKey(FileName)
})

const Answer = Schema.Struct({
  approval: ApprovalId,
  decision: Schema.Literals(["approve", "deny", "modify"]),
  arguments: Schema.optionalKey(CheckedJsonRecord),
  reason: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(4_000))),
  digest: Schema.optionalKey(Schema.String)
})

const isAnswering = Schema.is(Schema.Struct({ approval: Schema.Unknown }))

const answerIn = (data: unknown, at: ReadonlyArray<string | number>): Refused<A2aAnswer> =>
  Result.gen(function* () {
    const given = yield* decoded(Answer, data, at, strictly)
    const { approval, arguments: edited, decision, digest, reason } = given
    if ((edited !== undefined) !== (decision === "modify")) {
      return yield* refused(
        [...at, "arguments"],
        "They come with the decision modify, and only then"
      )
    }
    return { approval, approved: decision !== "deny", ...defined({ digest, edited, reason }) }
  })

type PartRead =
  | { readonly text: string }
  | { readonly file: PartInput }
  | { readonly answer: A2aAnswer }

const kinds = ["text", "raw", "url", "data"] as const

const partIn = (
  part: Readonly<Record<string, unknown>>,
  at: ReadonlyArray<string | number>
): Refused<PartRead> =>
  Result.gen(function* () {
    const [kind, other] = kinds.filter((each) => part[each] !== undefined)
    if (kind === undefined || other !== undefined) {
      return yield* refused(at, "A part has one of text, raw, url and data")
    }
    const place = [...at, kind]
    const given = part[kind]
    switch (kind) {
      case "text":
        return { text: yield* decoded(Schema.String, given, place) }
      case "raw": {
        // Members that say nothing come as empty texts.
        const { filename, mediaType, raw } = yield* decoded(Raw, withoutEmpty(part), at)
        const media_type = mediaType ?? "application/octet-stream"
        const type = fileTypeOf(media_type)
        return { file: { type, media_type, data: raw, ...defined({ name: filename }) } }
      }
      case "data":
        if (isAnswering(given)) return { answer: yield* answerIn(given, place) }
        return yield* unreadable(place, "It answers no question: it names no approval")
      case "url":
        return yield* unreadable(place, "No address of a client is called: send the file as raw")
    }
  })

const withoutEmpty = (part: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(part).filter(([name, value]) => name === "raw" || value !== ""))

const unreadable = (path: ReadonlyArray<string | number>, why: string) =>
  Result.fail(a2aError("content", `${path.join(".")}: ${why}.`, { field: path.join(".") }))

const saidIn = (
  parts: ReadonlyArray<Readonly<Record<string, unknown>>>
): Refused<A2aMessage["said"]> =>
  Result.gen(function* () {
    const at = ["message", "parts"]
    const texts: Array<string> = []
    const files: Array<PartInput> = []
    const answers: Array<A2aAnswer> = []
    for (const [index, part] of parts.entries()) {
      const read = yield* partIn(part, [...at, index])
      if ("text" in read) texts.push(read.text)
      else if ("file" in read) files.push(read.file)
      else if (answers.some(({ approval }) => approval === read.answer.approval)) {
        return yield* refused([...at, index, "data", "approval"], "It is answered twice")
      } else answers.push(read.answer)
    }
    if (answers.length > 0) {
      return texts.length + files.length > 0
        ? yield* refused(at, "A message says something or answers questions, and not both")
        : { _tag: "Answers", answers }
    }
    const text = texts.join("\n\n")
    if (text.trim() === "" && files.length === 0) return yield* refused(at, "It says nothing")
    return { _tag: "Said", text, ...(files.length > 0 && { parts: files }) } as const
  })

/** An id of a task: another text is that of none. */
const taskIn = (id: string): Refused<RunId> =>
  isRunId(id) ? Result.succeed(id) : Result.fail(missingTask)

const isContext = Schema.is(ConversationId)

export const noContext = wrongParam(
  ["contextId"],
  "It is no conversation that the caller may use here: leave it out to begin one"
)

const contextIn = (id: string): Refused<ConversationId> =>
  isContext(id) ? Result.succeed(id) : Result.fail(noContext)

/** An empty text stands for no value. */
const ifAny = <A>(
  given: string | undefined,
  read: (text: string) => Refused<A>
): Refused<A | undefined> =>
  given === undefined || given === "" ? Result.succeed(undefined) : read(given)

const read_members = ["messageId", "role", "parts", "taskId", "contextId"]

const isSaying = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== "" &&
  (typeof value !== "object" || Object.keys(value).length > 0)

const ignoredIn = (params: Readonly<Record<string, unknown>>): ReadonlyArray<string> => {
  const message = params["message"] as Readonly<Record<string, unknown>>
  const own = Object.keys(message).filter(
    (each) => !read_members.includes(each) && isSaying(message[each])
  )
  const others = Object.keys(params).filter(
    (each) => !Object.hasOwn(Send.fields, each) && isSaying(params[each])
  )
  return [...others, ...own.map((each) => `message.${each}`)].slice(0, 20)
}

const sendIn = (
  _tag: "SendMessage" | "SendStreamingMessage",
  params: Readonly<Record<string, unknown>>
): Refused<A2aAsked> =>
  Result.gen(function* () {
    const { configuration = {}, message } = yield* decoded(Send, params)
    const { historyLength, returnImmediately, taskPushNotificationConfig: push } = configuration
    if (push !== undefined && push !== null) return yield* Result.fail(noPush)
    const said = yield* saidIn(message.parts)
    const task = yield* ifAny(message.taskId, taskIn)
    const context = yield* ifAny(message.contextId, contextIn)
    if (said._tag === "Answers" && task === undefined) {
      return yield* refused(["message", "taskId"], "An answer names the task that asks")
    }
    const ignored = ignoredIn(params)
    return {
      _tag,
      message: { id: message.messageId, said, ignored, ...defined({ task, context }) },
      isImmediate: returnImmediately === true,
      hasHistory: historyLength !== 0
    }
  })

const noPush = a2aError("push", "Clients are not called: subscribe to the task.")

const afterIn = (token: string): Refused<{ readonly task: RunId; readonly before: number }> => {
  const [task = "", before = ""] = token.split(".")
  return isRunId(task) && /^\d{1,9}$/.test(before)
    ? Result.succeed({ task, before: Number(before) })
    : refused(["pageToken"], "It is none that was given here")
}

const timeIn = (text: string): Refused<number> =>
  Option.match(DateTime.make(text), {
    onNone: () => refused(["statusTimestampAfter"], "Expected a time in ISO 8601"),
    onSome: (time) => Result.succeed(DateTime.toEpochMillis(time))
  })

const listIn = (params: Readonly<Record<string, unknown>>): Refused<A2aAsked> =>
  Result.gen(function* () {
    const given = yield* decoded(List, params)
    const { includeArtifacts, pageSize = page_default, status } = given
    const context = yield* ifAny(given.contextId, contextIn)
    const after = yield* ifAny(given.pageToken, afterIn)
    const changed_from = yield* ifAny(given.statusTimestampAfter, timeIn)
    const state = status === "TASK_STATE_UNSPECIFIED" ? undefined : status
    return {
      _tag: "ListTasks",
      size: pageSize,
      hasHistory: (given.historyLength ?? 0) > 0,
      hasArtifacts: includeArtifacts === true,
      ...defined({ context, state, changed_from, after })
    }
  })

const oneIn = (
  _tag: "GetTask" | "CancelTask" | "SubscribeToTask",
  params: Readonly<Record<string, unknown>>
): Refused<A2aAsked> =>
  Result.gen(function* () {
    const { historyLength, id } = yield* decoded(OneTask, params)
    return { _tag, task: yield* taskIn(id), hasHistory: historyLength !== 0 }
  })

const askedIn = (method: string, params: Readonly<Record<string, unknown>>): Refused<A2aAsked> => {
  switch (method) {
    case "SendMessage":
    case "SendStreamingMessage":
      return sendIn(method, params)
    case "GetTask":
    case "CancelTask":
    case "SubscribeToTask":
      return oneIn(method, params)
    case "ListTasks":
      return listIn(params)
    case "GetExtendedAgentCard":
      return Result.fail(a2aError("unsupported", "There is no other card."))
    case "CreateTaskPushNotificationConfig":
    case "GetTaskPushNotificationConfig":
    case "ListTaskPushNotificationConfigs":
    case "DeleteTaskPushNotificationConfig":
      return Result.fail(noPush)
    default:
      return Result.fail({
        status: 200,
        code: rpc_codes.method,
        message: "There is no such method."
      })
  }
}

const isRequest = Schema.is(RpcRequest)

/** Reads the JSON of a body. `version`: the one that the request names; one without is of before 1.0. */
export const a2aRequestOf = (json: unknown, version: string | undefined): Refused<A2aRequest> => {
  const id = rpcIdOf(json)
  if (!isRequest(json)) {
    const message = "The body is not one request of JSON-RPC 2.0 with an id."
    return Result.fail({ status: 400, code: rpc_codes.request, message, ...defined({ id }) })
  }
  const asked = /^1\.0(?:\.\d{1,4})?$/.test(version ?? "")
    ? askedIn(json.method, json.params ?? {})
    : Result.fail(
        a2aError("version", "This version of A2A is not spoken here.", { supported: "1.0" })
      )
  return Result.mapBoth(asked, {
    onSuccess: (asked) => ({ id: json.id, asked }),
    onFailure: (refusal) => ({ ...refusal, id: json.id })
  })
}
