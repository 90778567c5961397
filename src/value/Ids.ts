/**
 * Branded identifiers. A run has the id of its task, and a frame has the id of the call that opened it. A call's id is
 * `frame/step.index`, so it depends on the call's position in the run and not on the order in which calls arrive.
 */
import { Schema } from "effect"

const uuid_pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** A UUID in lower case, of any version. */
export const Uuid = Schema.String.check(
  Schema.isPattern(uuid_pattern, { description: "a lower-case UUID" })
)

/**
 * Well-formed text without control characters and line separators, as every id and key from outside has to be: in a log, a header
 * or a terminal they would stand for something else.
 */
export const isPlainText: (text: string) => true | string = (text) =>
  (text.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(text)) ||
  "Expected a text without control characters"

/** A check of `isPlainText`. */
export const plainText = Schema.makeFilter(isPlainText)

const named = (description: string) =>
  Schema.String.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._:@~-]{0,199}$/, { description }))
const Name = named("1 to 200 characters: letters, digits and . _ : @ ~ -")

/** A UUID whose errors say what it is the id of. */
const idOf = (what: string) => {
  const message = `Expected ${what}: a lower-case UUID`
  const description = "a lower-case UUID"
  return Schema.String.annotate({ message }).check(
    Schema.isPattern(uuid_pattern, { description, message })
  )
}

/** The id of a run, as `send` gives it: a lower-case UUID. */
export const RunId = idOf("the id of a run, as `send` gives it").pipe(Schema.brand("RunId"))
export type RunId = typeof RunId.Type
export const isRunId = Schema.is(RunId)

/** The id of a question, as `pending` lists it: a lower-case UUID. */
export const ApprovalId = idOf("the id of a question, as `pending` lists it").pipe(
  Schema.brand("ApprovalId")
)
export type ApprovalId = typeof ApprovalId.Type

/** The id of an authorization in advance: a lower-case UUID. */
export const AuthorizationId = Uuid.pipe(Schema.brand("AuthorizationId"))
export type AuthorizationId = typeof AuthorizationId.Type

/** The id of a stored access token. It is not secret. */
export const TokenId = Uuid.pipe(Schema.brand("TokenId"))
export type TokenId = typeof TokenId.Type

/** The id of an outbox message. It is the same at every delivery. */
export const MessageId = Uuid.pipe(Schema.brand("MessageId"))
export type MessageId = typeof MessageId.Type

/** The id of a conversation: 1 to 200 letters, digits and `. _ : @ ~ -`. The application may choose it. */
export const ConversationId = named(
  "1 to 200 characters: letters, digits and . _ : @ ~ -, and no other (a customer auth0|7 begins auth0~007c7:NAME)"
).pipe(Schema.brand("ConversationId"))
export type ConversationId = typeof ConversationId.Type

/**
 * The same schema with another constructor type: as a field of a struct it accepts a plain text, which the struct's constructor
 * checks, and throws if it does not fit. So nobody who writes a definition by hand needs a separate constructor for a name.
 */
const plainInConstructors = <S extends Schema.Top>(
  schema: S
): Omit<S, "~type.make"> & { readonly "~type.make": S["~type.make.in"] } => schema

/** The name of an agent: a lower-case letter and up to 63 of them, digits, `_` or `-`. */
export const AgentName = plainInConstructors(
  Schema.String.check(
    Schema.isPattern(/^[a-z][a-z0-9_-]{0,63}$/, {
      description:
        "a name such as order-desk: a lower-case letter and up to 63 of them, digits, _ or -"
    })
  ).pipe(Schema.brand("AgentName"))
)
export type AgentName = typeof AgentName.Type

/** Whose data it is: 1 to 200 letters, digits and `. _ : @ ~ -`. No tenant sees another's. */
export const Tenant = plainInConstructors(Name.pipe(Schema.brand("Tenant")))
export type Tenant = typeof Tenant.Type

/** `0` is the frame of the run's own agent; a specialist's frame has the id of the call that opened it. */
export const FrameId = Schema.String.pipe(Schema.brand("FrameId"))
export type FrameId = typeof FrameId.Type

/** `frame/step.index`, for example `0/3.1`. */
export const CallId = Schema.String.pipe(Schema.brand("CallId"))
export type CallId = typeof CallId.Type

export const rootFrame = FrameId.make("0")

const stepText = (frame: FrameId, step: number): string => `${frame}/${step}`

const known_steps = 64
const known_indexes = 64
const isKnown = (number: number, known: number): boolean =>
  number < known && number >= 0 && Number.isInteger(number)

const stepsOfRoot: Array<string> = []
const callsOfRoot: Array<CallId> = []

/**
 * A text that identifies a turn of a frame. The texts of the first 64 steps of a run, and the ids of their first 64 calls, are
 * made once for all runs: V8 also keeps their hashes, which every look-up of a call needs (bench row `step`).
 */
export const stepKey = (frame: FrameId, step: number): string =>
  frame === rootFrame && isKnown(step, known_steps)
    ? (stepsOfRoot[step] ??= stepText(frame, step))
    : stepText(frame, step)

export const callId = (frame: FrameId, step: number, index: number): CallId =>
  frame === rootFrame && isKnown(step, known_steps) && isKnown(index, known_indexes)
    ? (callsOfRoot[step * known_indexes + index] ??= callText(frame, step, index))
    : callText(frame, step, index)

const callText = (frame: FrameId, step: number, index: number): CallId =>
  `${stepText(frame, step)}.${index}` as CallId

/** The id of the frame that this call opens. */
export const frameOpenedBy = (call: CallId): FrameId => call as string as FrameId

/** The id of the call that opened this frame. The frame must not be the root frame. */
export const callOpening = (frame: FrameId): CallId => frame as string as CallId

/** The depth of a frame: 0 for the run's own agent, 1 for its specialist, and so on. */
export const frameDepth = (frame: FrameId): number => frame.split("/").length - 1

/** One instance of an agent. `key` names its conversation, its session in a world, or an operator's task. */
export class Address extends Schema.Opaque<Address>()(
  Schema.Struct({
    /** The agent. */
    agent: AgentName,
    /** The conversation, session or task that this instance is for. */
    key: ConversationId
  })
) {}

/** A text that identifies an address within a tenant. `key` cannot contain a slash. */
export const addressKey = (address: Address): string => `${address.agent}/${address.key}`

/** A text that identifies an actor. The same address in two tenants means two actors. */
export const actorKey = (tenant: Tenant, address: Address): string =>
  `${tenant}/${addressKey(address)}`

/** The tenant and the address in a text that `actorKey` returned. */
export const parseActorKey = (
  key: string
): { readonly tenant: Tenant; readonly address: Address } => {
  const [tenant, agent, conversation] = key.split("/")
  return {
    tenant: tenant as Tenant,
    address: { agent: agent as AgentName, key: conversation as ConversationId }
  }
}
