/**
 * What a client of the AI SDK asks for: of its body count the names, its last message if a person wrote it, and its answers to questions
 * if that message is the agent's. The history that comes along, results, system texts and whatever else the body has are dropped.
 */
import { Result, Schema } from "effect"
import type { PartInput } from "../conversation/Part.ts"
import { fileTypeOf, MediaType, parts_max } from "../conversation/Part.ts"
import { readJson } from "../value/BoundedJson.ts"
import { textUpTo } from "../value/Bounds.ts"
import { ApprovalId, RunId } from "../value/Ids.ts"
import { defined } from "../value/PlainObject.ts"
import type { WrongMember } from "./WireShapes.ts"
import { memberDecoder, wrongMember as wrong } from "./WireShapes.ts"

/** An answer to a question, with what its person was shown. */
export interface UiAnswer {
  readonly approval: ApprovalId
  readonly approved: boolean
  readonly reason?: string
  /** The arguments as the client has them. */
  readonly input: unknown
  /** The digest that came with the question. Absent = the client does not have it. */
  readonly digest?: string
}

/** `Said`: a person's message; `edits`: it stands in place of the one with its id. `Regenerate`: an answer is made anew; absent `run` = the last. */
export type UiAsked =
  | {
      readonly _tag: "Said"
      readonly id: string
      readonly text: string
      readonly parts?: ReadonlyArray<PartInput>
      readonly edits: boolean
    }
  | { readonly _tag: "Regenerate"; readonly run?: RunId }
  | { readonly _tag: "Answers"; readonly run: RunId; readonly answers: ReadonlyArray<UiAnswer> }

export interface UiRequest {
  /** The client's name of the conversation. */
  readonly chat: string
  readonly asked: UiAsked
  /** Members of the body that nobody reads, at most 20. */
  readonly ignored: ReadonlyArray<string>
}

const name = textUpTo(200)

const decoded = memberDecoder({
  id: "Expected an id of 1 to 200 characters; of the agent's message that which it came with",
  trigger: "Expected submit-message or regenerate-message",
  messages: "Expected a list of messages, the last one a person's or the agent's with answers",
  role: "Expected user, or assistant with answers to questions",
  parts: `Expected 1 to ${parts_max} parts of the type text, or file with a data URL: no address of a client is fetched`,
  approval:
    "Expected the question's id, approved: true or false, and a reason of up to 4000 characters"
})

const Body = Schema.Struct({
  id: name,
  messages: Schema.Array(Schema.Unknown).check(Schema.isMinLength(1)),
  trigger: Schema.optionalKey(Schema.Literals(["submit-message", "regenerate-message"])),
  messageId: Schema.optionalKey(Schema.NullOr(name))
})

const dataUrl = Schema.String.check(
  Schema.isPattern(/^data:[^,]*;base64,/, {
    description: "a data URL with base64: no address of a client is fetched"
  })
)

const UserMessage = Schema.Struct({
  id: name,
  role: Schema.Literal("user"),
  parts: Schema.Array(
    Schema.Union([
      Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
      Schema.Struct({
        type: Schema.Literal("file"),
        mediaType: MediaType,
        url: dataUrl,
        filename: Schema.optionalKey(Schema.String)
      })
    ])
  ).check(Schema.isMinLength(1), Schema.isMaxLength(parts_max))
})

const AgentMessage = Schema.Struct({
  id: RunId,
  role: Schema.Literal("assistant"),
  parts: Schema.Array(Schema.Struct({ state: Schema.optionalKey(Schema.String) })).check(
    Schema.isMaxLength(10_000)
  )
})

const AnsweredPart = Schema.Struct({
  input: Schema.optionalKey(Schema.Unknown),
  approval: Schema.Struct({
    id: ApprovalId,
    approved: Schema.Boolean,
    reason: Schema.optionalKey(Schema.NullOr(textUpTo(4_000))),
    descriptor: Schema.optionalKey(Schema.Unknown)
  })
})

const saidBy = (
  { id, parts }: typeof UserMessage.Type,
  edits: boolean
): Result.Result<UiAsked, WrongMember> => {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []))
  const files = parts.flatMap((part): ReadonlyArray<PartInput> => {
    if (part.type === "text") return []
    const { filename, mediaType, url } = part
    const data = url.slice(url.indexOf(",") + 1)
    return [
      { type: fileTypeOf(mediaType), media_type: mediaType, data, ...defined({ name: filename }) }
    ]
  })
  const text = texts.join("\n\n")
  if (text.trim() === "" && files.length === 0) return wrong("It says nothing", "parts")
  const more = files.length === 0 ? undefined : { parts: files }
  return Result.succeed({ _tag: "Said", id, text, edits, ...more })
}

const isAnswered = Schema.is(Schema.Struct({ state: Schema.Literal("approval-responded") }))
const isDigested = Schema.is(Schema.Struct({ digest: Schema.String }))

const answersIn = (message: unknown): Result.Result<UiAsked, WrongMember> =>
  Result.gen(function* () {
    const { id: run, parts } = yield* decoded(AgentMessage, message)
    const given = (message as { readonly parts: ReadonlyArray<unknown> }).parts
    const answers: Array<UiAnswer> = []
    for (const at of parts.keys()) {
      if (!isAnswered(given[at])) continue
      const { approval, input } = yield* decoded(AnsweredPart, given[at], "parts", at)
      const { approved, descriptor, id, reason } = approval
      answers.push({
        approval: id,
        approved,
        input,
        ...defined({
          reason: reason ?? undefined,
          digest: isDigested(descriptor) ? descriptor.digest : undefined
        })
      })
    }
    if (answers.length === 0) {
      return yield* wrong(
        "The last message is the agent's, and answers no question: calls run here, not at the client",
        "parts"
      )
    }
    return { _tag: "Answers", run, answers } as const
  })

const members: ReadonlyArray<string> = ["id", "messages", "trigger", "messageId"]
const isRun = Schema.is(RunId)

/** Reads a body. Only its last message is looked into, within the bounds of all JSON. */
export const uiRequestOf = (
  body: Readonly<Record<string, unknown>>
): Result.Result<UiRequest, WrongMember> =>
  Result.gen(function* () {
    const { id: chat, messageId, messages, trigger } = yield* decoded(Body, body)
    const ignored = Object.keys(body).filter((each) => !members.includes(each))
    const common = { chat, ignored: ignored.slice(0, 20) }
    if (trigger === "regenerate-message") {
      const run = isRun(messageId) ? { run: messageId } : undefined
      return { ...common, asked: { _tag: "Regenerate", ...run } } as const
    }
    const at = messages.length - 1
    const placed = <A>(result: Result.Result<A, WrongMember>) =>
      Result.mapError(result, ({ message, path }) => ({
        message,
        path: ["messages", at, ...path]
      }))
    // Within bounds, and without what only objects have.
    const text = Result.try(() => JSON.stringify(messages[at]) ?? "null")
    const last = Result.mapError(
      Result.flatMap(text, (whole) => readJson(whole)),
      (error) => ({
        path: [],
        message: error instanceof Error ? error.message : "It cannot be read"
      })
    )
    const message = yield* placed(last)
    const role = Schema.is(Schema.Struct({ role: Schema.Literal("assistant") }))(message)
    const asked = role
      ? yield* placed(answersIn(message))
      : yield* placed(
          Result.flatMap(decoded(UserMessage, message), (said) =>
            saidBy(said, messageId === said.id)
          )
        )
    return { ...common, asked }
  })
