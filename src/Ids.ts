/**
 * Branded identifiers. A run's id is its task's id; a frame's id is the call that opened it; a call's id is
 * `frame/step.index`, so that it depends on the script and never on the order of arrival.
 */
import { Schema } from "effect"

/** Version 4 or 7, lower case. */
const Uuid = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, {
    description: "a lower-case UUID"
  })
)

const Name = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._:@~-]{0,199}$/, {
    description: "1 to 200 characters: letters, digits and . _ : @ ~ -"
  })
)

export const RunId = Uuid.pipe(Schema.brand("RunId"))
export type RunId = typeof RunId.Type

export const ApprovalId = Uuid.pipe(Schema.brand("ApprovalId"))
export type ApprovalId = typeof ApprovalId.Type

/** What a dispatched outbox message is known by, at every delivery the same. */
export const MessageId = Uuid.pipe(Schema.brand("MessageId"))
export type MessageId = typeof MessageId.Type

export const ConversationId = Name.pipe(Schema.brand("ConversationId"))
export type ConversationId = typeof ConversationId.Type

export const AgentName = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]{0,63}$/, { description: "lower case, at most 64 characters" })
).pipe(Schema.brand("AgentName"))
export type AgentName = typeof AgentName.Type

export const Tenant = Name.pipe(Schema.brand("Tenant"))
export type Tenant = typeof Tenant.Type

/** `0` is the supervisor; a specialist's frame is named by the call that opened it. */
export const FrameId = Schema.String.pipe(Schema.brand("FrameId"))
export type FrameId = typeof FrameId.Type

/** `frame/step.index`, for example `0/3.1`. */
export const CallId = Schema.String.pipe(Schema.brand("CallId"))
export type CallId = typeof CallId.Type

export const rootFrame = FrameId.make("0")

export const callId = (frame: FrameId, step: number, index: number): CallId =>
  `${frame}/${step}.${index}` as CallId

/** A frame is named by the call that opened it. */
export const frameOpenedBy = (call: CallId): FrameId => call as string as FrameId

/** How deep a frame is: the supervisor's is 0, that of its specialist 1. */
export const frameDepth = (frame: FrameId): number => frame.split("/").length - 1

/** Which instance of an agent: `key` is a conversation, a world's session, or an operator's task. */
export const Address = Schema.Struct({ agent: AgentName, key: ConversationId })
export interface Address extends Schema.Schema.Type<typeof Address> {}

/** One text per address of a tenant; `key` cannot hold a slash. */
export const addressKey = (address: Address): string => `${address.agent}/${address.key}`

/** One text per actor: an address belongs to one tenant, and the same address of another is another actor. */
export const actorKey = (tenant: Tenant, address: Address): string =>
  `${tenant}/${addressKey(address)}`

/** The tenant and the address of a text that `actorKey` made. */
export const parseActorKey = (
  key: string
): { readonly tenant: Tenant; readonly address: Address } => {
  const [tenant, agent, conversation] = key.split("/")
  return {
    tenant: tenant as Tenant,
    address: { agent: agent as AgentName, key: conversation as ConversationId }
  }
}
