/**
 * What a client of AG-UI asks for: of its body count the names, its last message, which a person wrote, and its answers to open
 * interrupts. State, context, forwarded properties and the history that come along are dropped, and a client has no tools of its own.
 */
import { Array as Arr, Result, Schema } from "effect"
import type { PartInput } from "../conversation/Part.ts"
import { fileTypeOf, MediaType, parts_max } from "../conversation/Part.ts"
import { readJson } from "../value/BoundedJson.ts"
import { textUpTo } from "../value/Bounds.ts"
import type { RunId } from "../value/Ids.ts"
import { ApprovalId, isRunId } from "../value/Ids.ts"
import { CheckedJsonRecord } from "../value/JsonObject.ts"
import { defined } from "../value/PlainObject.ts"
import type { WrongMember } from "./WireShapes.ts"
import { memberDecoder, wrongMember as wrong } from "./WireShapes.ts"

/** An answer to a question, with what its person was shown. */
export interface AgUiAnswer {
  readonly approval: ApprovalId
  readonly approved: boolean
  readonly reason?: string
  /** All arguments of the call, in place of the proposed ones. */
  readonly edited?: typeof CheckedJsonRecord.Type
  /** Whether its person gave no answer, which approves nothing. */
  readonly isCancelled: boolean
  /** The digest that came with the question. Absent = the client does not send it back. */
  readonly digest?: string
}

export interface AgUiRequest {
  /** The client's name of the conversation, and of this request. */
  readonly thread: string
  readonly client_run: string
  readonly isVersionOne: boolean
  readonly asked:
    | {
        readonly _tag: "Said"
        readonly text: string
        readonly parts?: ReadonlyArray<PartInput>
        /** The run of which the client has something behind this message: it answers it. Absent = the client has nothing. */
        readonly by?: RunId
      }
    | {
        readonly _tag: "Answers"
        readonly answers: readonly [AgUiAnswer, ...ReadonlyArray<AgUiAnswer>]
      }
  /** What the client sent as its history. */
  readonly messages: ReadonlyArray<unknown>
  /** Members of the body that nobody reads, at most 20. */
  readonly ignored: ReadonlyArray<string>
  /** The client's messages, to be told again. Absent = they are too long, or no messages. */
  readonly before?: ReadonlyArray<unknown>
}

/** The most UTF-16 units of a client's messages that are told again. */
export const snapshot_units_max = 200_000
/** The most answers at once. */
const answers_max = 100

const name = textUpTo(200)

const decoded = memberDecoder({
  tools: "Expected none: tools run in the service, not at its client",
  content: `Expected a text, or 1 to ${parts_max} parts: texts, and files with their data, as no address of a client is fetched`
})

const Body = Schema.Struct({
  threadId: name,
  runId: name,
  protocolVersion: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^1\.\d{1,4}$/, { description: "a version 1" }))
  ),
  messages: Schema.Array(Schema.Unknown),
  tools: Schema.optionalKey(Schema.Array(Schema.Unknown).check(Schema.isMaxLength(0))),
  resume: Schema.optionalKey(Schema.Array(Schema.Unknown).check(Schema.isMaxLength(answers_max)))
})

const FileData = { value: Schema.String, mimeType: MediaType }
const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literals(["image", "audio", "video", "document"]),
    source: Schema.Struct({
      type: Schema.String.check(
        Schema.isPattern(/^data$/, { description: "data: no address of a client is fetched" })
      ),
      ...FileData
    })
  }),
  // As clients before 1.0 send it.
  Schema.Struct({ type: Schema.Literal("binary"), data: Schema.String, mimeType: MediaType })
])

const UserMessage = Schema.Struct({
  role: Schema.Literal("user"),
  content: Schema.Union([
    Schema.String,
    Schema.Array(Part).check(Schema.isMinLength(1), Schema.isMaxLength(parts_max))
  ])
})

const Entry = Schema.Struct({
  interruptId: ApprovalId,
  status: Schema.Literals(["resolved", "cancelled"]),
  payload: Schema.optionalKey(Schema.Unknown),
  metadata: Schema.optionalKey(Schema.Unknown)
})
const Payload = Schema.Struct({
  approved: Schema.Boolean,
  editedArgs: Schema.optionalKey(Schema.NullOr(CheckedJsonRecord)),
  reason: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(4_000))))
})
const isDigested = Schema.is(Schema.Struct({ digest: Schema.String }))

/** What a client sent, within the bounds of all JSON and without what only objects have. */
const bounded = (value: unknown): Result.Result<unknown, WrongMember> =>
  Result.mapError(
    Result.flatMap(
      Result.try(() => JSON.stringify(value) ?? "null"),
      (text) => readJson(text)
    ),
    (error) => ({
      path: [],
      message: error instanceof Error ? error.message : "It cannot be read"
    })
  )

const placed = <A>(
  result: Result.Result<A, WrongMember>,
  ...at: ReadonlyArray<string | number>
): Result.Result<A, WrongMember> =>
  Result.mapError(result, ({ message, path }) => ({ message, path: [...at, ...path] }))

const saidBy = (
  message: unknown
): Result.Result<Extract<AgUiRequest["asked"], { _tag: "Said" }>, WrongMember> =>
  Result.gen(function* () {
    const { content } = yield* decoded(UserMessage, yield* bounded(message))
    const parts = typeof content === "string" ? [{ type: "text", text: content } as const] : content
    const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []))
    const files = parts.flatMap((part): ReadonlyArray<PartInput> => {
      if (part.type === "text") return []
      const [data, media_type] =
        part.type === "binary"
          ? [part.data, part.mimeType]
          : [part.source.value, part.source.mimeType]
      return [{ type: fileTypeOf(media_type), media_type, data }]
    })
    const text = texts.join("\n\n")
    if (text.trim() === "" && files.length === 0) return yield* wrong("It says nothing", "content")
    return { _tag: "Said", text, ...(files.length > 0 ? { parts: files } : undefined) } as const
  })

const answerIn = (entry: unknown): Result.Result<AgUiAnswer, WrongMember> =>
  Result.gen(function* () {
    const given = yield* decoded(Entry, yield* bounded(entry))
    const { interruptId: approval, metadata, status } = given
    const digest = isDigested(metadata) ? metadata.digest : undefined
    const common = { approval, ...defined({ digest }) }
    if (status === "cancelled") return { ...common, approved: false, isCancelled: true }
    const { approved, editedArgs, reason } = yield* decoded(Payload, given.payload, "payload")
    const edited = editedArgs ?? undefined
    if (edited !== undefined && !approved) {
      return yield* wrong("It takes approved: true", "payload", "editedArgs")
    }
    const more = defined({ edited, reason: reason ?? undefined })
    return { ...common, approved, isCancelled: false, ...more }
  })

const isCalling = Schema.is(Schema.Struct({ toolCalls: Schema.Array(Schema.Unknown) }))
const isCall = Schema.is(
  Schema.Struct({ id: Schema.String, function: Schema.Struct({ arguments: Schema.String }) })
)

/** The arguments of a call, as JSON, as the client has them; undefined = it does not send them back. */
export const argumentsIn = (messages: ReadonlyArray<unknown>, call: string): string | undefined => {
  const calls = messages.flatMap((message) => (isCalling(message) ? message.toolCalls : []))
  return calls.filter(isCall).findLast(({ id }) => id === call)?.function.arguments
}

const isNamed = Schema.is(Schema.Struct({ id: Schema.String }))
/** The most messages of a run whose ids are looked at. */
const known_max = 2_000

/** The ids of messages of this run that the client has. */
export const knownIn = (messages: ReadonlyArray<unknown>, run: RunId): ReadonlyArray<string> =>
  messages
    .filter(isNamed)
    .flatMap(({ id }) => (id.startsWith(`${run}:`) && id.length <= 1_000 ? [id] : []))
    .slice(0, known_max)

/** The last message that is none of a run, and the run whose messages follow it. */
const lastSaid = (
  messages: ReadonlyArray<unknown>
): { readonly at: number; readonly run?: RunId } => {
  const runs = messages.map((message) => (isNamed(message) ? runOfMessage(message.id) : undefined))
  const run = runs.at(-1)
  const at = run === undefined ? messages.length - 1 : runs.findLastIndex((each) => each !== run)
  return { at: Math.max(0, at), ...defined({ run }) }
}

/** The run that an id of a message begins with. */
const runOfMessage = (id: string): RunId | undefined => {
  const [run] = id.split(":", 1)
  return id !== run && isRunId(run) ? run : undefined
}

const answersIn = (
  resume: ReadonlyArray<unknown>
): Result.Result<ReadonlyArray<AgUiAnswer>, WrongMember> =>
  Result.gen(function* () {
    const answers: Array<AgUiAnswer> = []
    for (const [at, entry] of resume.entries()) {
      const answer = yield* placed(answerIn(entry), "resume", at)
      if (answers.some(({ approval }) => approval === answer.approval)) {
        return yield* wrong("It is answered twice", "resume", at, "interruptId")
      }
      answers.push(answer)
    }
    return answers
  })

const members: ReadonlyArray<string> = Object.keys(Body.fields)

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === "object" && Object.keys(value).length === 0)

/** The messages if they are few enough to be told again. */
const beforeIn = (messages: ReadonlyArray<unknown>): ReadonlyArray<unknown> | undefined => {
  const text = Result.getOrElse(
    Result.try(() => JSON.stringify(messages)),
    () => undefined
  )
  if (text === undefined || text.length > snapshot_units_max) return undefined
  const read = Result.getOrUndefined(readJson(text))
  return Array.isArray(read) ? read : undefined
}

/** Reads a body. Of its messages only the last one is looked into that a person wrote. */
export const agUiRequestOf = (
  body: Readonly<Record<string, unknown>>
): Result.Result<AgUiRequest, WrongMember> =>
  Result.gen(function* () {
    const given = yield* decoded(Body, body)
    const { messages, resume = [], runId: client_run, threadId: thread } = given
    const { at, run } = lastSaid(messages)
    const answers = yield* answersIn(resume)
    const asked: AgUiRequest["asked"] = Arr.isReadonlyArrayNonEmpty(answers)
      ? { _tag: "Answers", answers }
      : { ...(yield* placed(saidBy(messages[at]), "messages", at)), ...defined({ by: run }) }
    const ignored = Object.keys(body).filter(
      (each) => !members.includes(each) && !isNothing(body[each])
    )
    return {
      thread,
      client_run,
      isVersionOne: given.protocolVersion !== undefined,
      asked,
      messages,
      ignored: ignored.slice(0, 20),
      ...defined({ before: beforeIn(messages) })
    }
  })
