/**
 * Decoders for arguments of public entry points. Each takes any value, and returns one of its type or fails with `InvalidInput`.
 * Implementations of ports decode their arguments first, so the same rules apply to embedders who compose Layers, to callers of
 * the facade and to HTTP clients.
 */
import { Effect, Schema, Result } from "effect"
import type { Decision } from "../approval/Approval.ts"
import {
  ClientAnswer,
  client_answer_expected,
  any_decision_expected,
  AnyDecision,
  decisionOf,
  Reason
} from "../approval/Approval.ts"
import type { PartInput } from "../conversation/Part.ts"
import { InitiatedBy, Metadata } from "../conversation/Conversation.ts"
import * as Ids from "../value/Ids.ts"
import { logRefusedAct } from "../principal/RefusedActs.ts"
import { Acting, Principal, Roles } from "../principal/Principal.ts"
import { CheckedAnswerSchema } from "../run/AnswerSchema.ts"
import { ForkOptions } from "../replay/ForkOptions.ts"
import { Nesting, nestingOf } from "../run/Nesting.ts"
import { CheckedRunContext } from "../run/RunContext.ts"
import type { NotEntitled } from "../principal/NotEntitled.ts"
import type { RightName } from "../principal/Rights.ts"
import {
  DeclaredRoles,
  isReadFor,
  principalIn,
  rightRefusal,
  unknownRole
} from "../principal/Rights.ts"
import { expectedTime } from "../value/Times.ts"
import { Settlement, settlement_expected } from "../run/UnknownCall.ts"
import { bounds_result, readJson } from "../value/BoundedJson.ts"
import { InvalidInput, inputReader } from "../schema/InvalidInput.ts"
import { FileDigest, FileName, fileTypeOf, MediaType, parts_max } from "../conversation/Part.ts"
import { between, textUpTo } from "../value/Bounds.ts"
import { defined } from "../value/PlainObject.ts"

/** A decoded part: with its bytes, or with the digest of a file that was uploaded before. */
export type ReadPart =
  | Exclude<PartInput, { readonly data: unknown }>
  | (Omit<Extract<PartInput, { readonly data: unknown }>, "data"> & { readonly data: Uint8Array })

const FileType = Schema.Literals(["image", "audio", "file"])

const readText = inputReader(
  Schema.Struct({
    type: Schema.Literal("text"),
    text: Schema.String.check(Schema.isMinLength(1))
  })
)
const described = {
  type: FileType,
  media_type: MediaType,
  name: Schema.optionalKey(FileName)
}
const readDescribed = inputReader(Schema.Struct(described))
const readReference = inputReader(
  Schema.Struct({
    ...described,
    digest: FileDigest,
    size: Schema.optionalKey(Schema.Int)
  })
)

const decodeBase64 = Schema.decodeUnknownResult(Schema.Uint8ArrayFromBase64)

const part_expected =
  'Expected { type: "text", text }, or { type: "image" | "audio" | "file", media_type, data | digest, name? }'

const data_expected = "Expected the bytes (Uint8Array), or base64 of them without a `data:` prefix"

const refuse = (field: string, message: string) =>
  Effect.fail(new InvalidInput({ field, reason: message }))

const readBytes = (data: unknown, field: string): Effect.Effect<Uint8Array, InvalidInput> => {
  const bytes = Result.try(() =>
    data instanceof Uint8Array
      ? Result.succeed(new Uint8Array(data))
      : typeof data === "string"
        ? decodeBase64(data)
        : Result.fail(undefined)
  )
  if (Result.isFailure(bytes) || Result.isFailure(bytes.success))
    return refuse(field, data_expected)
  return bytes.success.success.length === 0
    ? refuse(field, "a file has at least one byte")
    : Effect.succeed(bytes.success.success)
}

interface Described {
  readonly type: string
  readonly media_type: string
}

/** Fails if the media type does not fit the part's type, such as audio for an image. A `file` may have any media type. */
const failUnlessFits = ({ media_type, type }: Described, field: string) =>
  type === "file" || fileTypeOf(media_type) === type
    ? Effect.void
    : refuse(`${field}.media_type`, `Expected a media type that begins with ${type}/`)

const readPart = Effect.fnUntraced(function* (
  value: unknown,
  field: string
): Effect.fn.Return<ReadPart, InvalidInput> {
  const copied = Result.try(() =>
    typeof value === "object" && value !== null ? { ...value } : undefined
  )
  const plain: { readonly [name: string]: unknown } | undefined = Result.getOrUndefined(copied)
  if (plain === undefined) return yield* refuse(field, part_expected)
  if (plain["type"] === "text") return yield* readText(plain, field)
  if ("data" in plain) {
    const { data, ...rest } = plain
    const read = yield* readDescribed(rest, field)
    yield* failUnlessFits(read, field)
    return { ...read, data: yield* readBytes(data, `${field}.data`) }
  }
  if (!("digest" in plain)) return yield* refuse(field, part_expected)
  const read = yield* readReference(plain, field)
  yield* failUnlessFits(read, field)
  return read
})

/** Decodes 1 to 32 parts. */
export const readParts = (
  value: unknown,
  field: string
): Effect.Effect<ReadonlyArray<ReadPart>, InvalidInput> => {
  const items = Result.try(() =>
    Array.isArray(value) && value.length > 0 && value.length <= parts_max
      ? Array.from<unknown>(value)
      : undefined
  )
  return Result.isSuccess(items) && items.success !== undefined
    ? Effect.forEach(items.success, (part, index) => readPart(part, `${field}.${index}`))
    : refuse(field, `Expected a list of 1 to ${parts_max} parts`)
}

/** Separates a message's parts from its other members; undefined if the value has no parts. */
export const splitParts = (
  value: unknown
): { readonly rest: object; readonly parts: unknown } | undefined => {
  const read = Result.try(() => {
    if (typeof value !== "object" || value === null || !("parts" in value)) return undefined
    const { parts, ...rest } = value
    return parts === undefined ? undefined : { rest, parts }
  })
  return Result.getOrUndefined(read)
}

/** Checks only the form of a call's id. Whether the call exists is checked against its run. */
const CallId = textUpTo(2_000).check(Ids.plainText).pipe(Schema.brand("CallId"))

export const runId = inputReader(Ids.RunId)
export const approvalId = inputReader(Ids.ApprovalId)
export const conversationId = inputReader(Ids.ConversationId)
export const tenant = inputReader(Ids.Tenant)
export const callId = inputReader(CallId)
export const reason = inputReader(Reason)
export const flag = inputReader(Schema.Boolean)
export const forkOptions = inputReader(ForkOptions)
/** A name or hash for a look-up: 1 to 200 characters. */
export const Word = textUpTo(200).check(Ids.plainText)
export const word = inputReader(Word)

/** A name that another system chose, such as an MCP server's name for its tool: 1 to 2,000 characters. */
export const Name = textUpTo(2_000).check(Ids.plainText)
export const name = inputReader(Name)

/** Decodes a limit on rows: 1 to `max`. */
export const limitUpTo = (max: number) => inputReader(between(1, max))

/** The longest time that a JavaScript timer supports. */
const wait_ms_max = 2 ** 31 - 1

/** Decodes how long to wait, in ms. */
export const wait_ms = inputReader(between(1, wait_ms_max), {
  expected: expectedTime(1, wait_ms_max)
})

const int_max = 2 ** 31 - 1

/** Decodes a position in a conversation; `{ ordinal: 0, seq: -1 }` is its beginning. */
export const cursor = inputReader(
  Schema.Struct({
    ordinal: between(0, int_max),
    seq: between(-1, int_max),
    beside: Schema.optional(
      Schema.Struct({ ordinal: between(1, int_max), seq: between(0, int_max) })
    )
  })
)

const PrincipalShape = Schema.Struct({
  ...Principal.fields,
  // Checked to be an array, because a text has `includes` too.
  roles: Roles,
  via: Schema.optionalKey(Schema.Struct({ ...Acting.fields, roles: Roles }))
})
const readPrincipal = inputReader(PrincipalShape, {
  shape: '{ id: "olga", tenant: "default", roles: ["operator"] }'
})

/** Principals that this module decoded. They cannot be changed, so they need not be decoded again. */
const decoded = new WeakSet<Principal>()

/**
 * Decodes a `Principal`, or an object of its shape, into a new object that the caller cannot change afterwards. Fails for a role
 * that the service does not have. A principal that was decoded before for this service is returned unchanged.
 */
export const principal = (value: unknown, field: string): Effect.Effect<Principal, InvalidInput> =>
  value instanceof Principal && decoded.has(value) && isReadFor(value)
    ? Effect.succeed(value)
    : Effect.flatMap(DeclaredRoles, (declared) =>
        value instanceof Principal && decoded.has(value) && isReadFor(value, declared)
          ? Effect.succeed(value)
          : readNew(value, field, declared)
      )

const none = { roles: [] }

/** A principal as a plain object, also where it or who acts for it is an instance. */
const membersOf = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  const { id, roles, tenant, via } = value as Partial<Principal>
  const plain = value instanceof Principal ? { id, tenant, roles, ...defined({ via }) } : value
  return via instanceof Principal ? { ...plain, via: membersOf(via) } : plain
}

const readNew = Effect.fnUntraced(function* (
  value: unknown,
  field: string,
  declared: DeclaredRoles
) {
  const plain = yield* Effect.try({
    try: () => membersOf(value),
    catch: () => new InvalidInput({ field, reason: "it cannot be read" })
  })
  const checked = yield* readPrincipal(plain, field)
  for (const [place, { roles }] of Object.entries({ "": checked, ".via": checked.via ?? none })) {
    const unknown = unknownRole(roles, declared)
    if (unknown === undefined) continue
    const [at, message] = unknown
    return yield* new InvalidInput({ field: `${field}${place}.roles.${at}`, reason: message })
  }
  if (checked.via !== undefined && checked.via.tenant !== checked.tenant) {
    const reason = "it is another tenant's: who acts for somebody is of the same one"
    return yield* new InvalidInput({ field: `${field}.via.tenant`, reason })
  }
  const read = principalIn(declared, checked)
  decoded.add(read)
  return read
})

/** Decodes a principal and fails with `NotEntitled` unless it has the right, at least with the reach `own`. */
export const entitled = (
  value: unknown,
  right: RightName
): Effect.Effect<Principal, InvalidInput | NotEntitled> =>
  Effect.flatMap(principal(value, "by"), (by) => {
    const refusal = rightRefusal(by, right)
    return refusal === undefined
      ? Effect.succeed(by)
      : Effect.andThen(logRefusedAct(by, right, refusal), Effect.fail(refusal))
  })

const readDecision = inputReader(AnyDecision, { expected: any_decision_expected })

/** Decodes a `Decision` in its stored form, or in the form that the HTTP API takes. */
export const decision = (value: unknown, field: string): Effect.Effect<Decision, InvalidInput> =>
  Effect.map(readDecision(value, field), decisionOf)

/** Decodes a client's answer to its call. Narrower bounds on the result are checked where it is used. */
export const clientAnswer = inputReader(ClientAnswer, {
  expected: client_answer_expected,
  bounds: bounds_result
})

const readSettlement = inputReader(Settlement, { expected: settlement_expected })

/** Decodes a settlement. If it succeeded, its `json` has to be JSON within the bounds of a result. */
export const settlement = (
  value: unknown,
  field: string
): Effect.Effect<Settlement, InvalidInput> =>
  Effect.flatMap(readSettlement(value, field), (read) =>
    read._tag === "Succeeded"
      ? Effect.mapBoth(Effect.fromResult(readJson(read.json, bounds_result)), {
          onSuccess: (): Settlement => read,
          onFailure: ({ message }) => new InvalidInput({ field: `${field}.json`, reason: message })
        })
      : Effect.succeed(read)
  )

const key = textUpTo(200).check(Ids.plainText)

/** The text of a message. It has no upper bound at this point, because `send` limits its bytes with an error of its own. */
const text = Schema.String.check(
  Schema.isMinLength(1, { expected: "a text, which is empty only beside `parts` or `replaces`" })
)

/** The bounds of a message, with the depth and number of values that a schema for answers may have. */
const message_bounds = { bounds: { depth_max: 64, values_max: 10_000, units_max: 256_000_000 } }
const messageFields = {
  agent: Ids.AgentName,
  conversation: Schema.optionalKey(Ids.ConversationId),
  text,
  idempotency_key: Schema.optionalKey(key),
  channel_origin: Schema.optionalKey(key),
  initiated_by: Schema.optionalKey(InitiatedBy),
  answer_schema: Schema.optionalKey(CheckedAnswerSchema),
  context: Schema.optionalKey(CheckedRunContext),
  metadata: Schema.optionalKey(Metadata),
  replaces: Schema.optionalKey(Ids.RunId),
  follows: Schema.optionalKey(Ids.RunId),
  posted: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/)))
}

const readMessage = inputReader(
  Schema.Struct({ ...messageFields, nested: Schema.optionalKey(Nesting) }),
  message_bounds
)
/** Decodes a message whose text may be empty. */
const readMessageWithParts = inputReader(
  Schema.Struct({ ...messageFields, text: Schema.String, nested: Schema.optionalKey(Nesting) }),
  message_bounds
)

/** Decodes a message to an agent together with its parts. */
export const message = (value: unknown, field: string) => {
  const split = splitParts(value)
  return split === undefined
    ? readWhole(value, field)
    : Effect.gen(function* () {
        const read = yield* readMessageWithParts(split.rest, field)
        return { ...read, parts: yield* readParts(split.parts, `${field}.parts`) }
      })
}

/** A message without parts. Its text is empty only where the message of the run that it replaces is said again. */
const readWhole = (value: unknown, field: string) =>
  Effect.catch(readMessage(value, field), (refused) =>
    Effect.flatMap(readMessageWithParts(value, field), (read) =>
      read.replaces === undefined ? Effect.fail(refused) : Effect.succeed(read)
    )
  )

const readBaggage = inputReader(
  Schema.Struct({
    ...messageFields,
    // What a message without parts may not lack is checked with the message.
    text: Schema.String,
    baggage: Schema.String.check(Schema.isMaxLength(8_192))
  }),
  message_bounds
)

const traceHeader = Schema.optionalKey(Schema.String.check(Schema.isMaxLength(512)))

/** Decodes the headers of W3C Trace Context; whether their texts are well formed is looked at where they are used. */
export const traceHeaders = inputReader(
  Schema.Struct({ traceparent: traceHeader, tracestate: traceHeader })
)

/** Decodes a message together with the `baggage` header of the request that caused it. */
export const messageWithBaggage = (value: unknown, field: string) => {
  const split = splitParts(value)
  return Effect.flatMap(readBaggage(split?.rest ?? value, field), ({ baggage, ...rest }) =>
    Effect.mapBoth(Effect.fromResult(nestingOf(baggage)), {
      onSuccess: (nested) => ({
        ...rest,
        // The parts are decoded with the message.
        ...defined({ nested, parts: split?.parts as ReadonlyArray<PartInput> | undefined })
      }),
      onFailure: (problem) => new InvalidInput({ field: `${field}.baggage`, reason: problem })
    })
  )
}
