/**
 * What a person is told: the copy that the application keeps, and on which other channels the person wants it.
 */
import { Schema } from "effect"
import { ChannelName, ChannelPlace } from "../conversation/ChannelBinding.ts"
import { AgentName, ApprovalId, ConversationId, RunId, Tenant } from "../Ids.ts"

export const NoticeId = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, {
    description: "a lower-case UUID"
  })
).pipe(Schema.brand("NoticeId"))
export type NoticeId = typeof NoticeId.Type

/** `answer`: an agent said something. `question`: a call waits for a decision. */
export const NoticeKind = Schema.Literals(["answer", "question"])

/** What is told, whoever is told. */
export const NoticeContent = Schema.Struct({
  kind: NoticeKind,
  conversation: ConversationId,
  agent: AgentName,
  /** The first 4,000 characters of what was said; the conversation has all of it. */
  text: Schema.String,
  run_id: Schema.optionalKey(RunId),
  /** Of a question. */
  approval: Schema.optionalKey(ApprovalId)
})
export interface NoticeContent extends Schema.Schema.Type<typeof NoticeContent> {}

export const notice_units_max = 4_000

export const Notice = Schema.Struct({
  id: NoticeId,
  tenant: Tenant,
  recipient: ChannelPlace,
  ...NoticeContent.fields,
  created_at: Schema.Int,
  /** Absent = it was not read. */
  read_at: Schema.optionalKey(Schema.Int)
})
export interface Notice extends Schema.Schema.Type<typeof Notice> {}

/** `digest`: what waits is told together, when the channel's interval has passed. `off`: only the in-app copy is kept. */
export const DeliveryMode = Schema.Literals(["immediately", "digest", "off"])
export type DeliveryMode = typeof DeliveryMode.Type

/** By channel; one that is not named is `immediately`. At most 32. */
export const NoticePreferences = Schema.Struct({
  channels: Schema.Record(ChannelName, DeliveryMode).check(Schema.isMaxProperties(32))
})
export interface NoticePreferences extends Schema.Schema.Type<typeof NoticePreferences> {}

export const noPreferences: NoticePreferences = { channels: {} }

export const modeOf = ({ channels }: NoticePreferences, channel: ChannelName): DeliveryMode =>
  Object.hasOwn(channels, channel) ? (channels[channel] ?? "immediately") : "immediately"
