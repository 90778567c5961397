/**
 * A notice to a person: the copy that the application keeps, and on which other channels the person wants it.
 */
import { Schema } from "effect"
import { ChannelName, ChannelPlace } from "../conversation/ChannelBinding.ts"
import { AgentName, ApprovalId, ConversationId, RunId, Tenant, Uuid } from "../value/Ids.ts"

export const NoticeId = Uuid.pipe(Schema.brand("NoticeId"))
export type NoticeId = typeof NoticeId.Type

/**
 * `answer`: an agent answered. `question`: a call waits for a decision. `settled`: a question that was decided, or that nobody can
 * decide any more; it takes the place of the question.
 */
export const NoticeKind = Schema.Literals(["answer", "question", "settled"])

/** The content of a notice, independent of its recipient. */
export const NoticeContent = Schema.Struct({
  kind: NoticeKind,
  conversation: ConversationId,
  agent: AgentName,
  /** The first 4,000 characters of the text; the conversation has all of it. */
  text: Schema.String,
  run_id: Schema.optionalKey(RunId),
  /** The approval of a question, also of a settled one; absent on an answer. */
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
  /** Absent = the notice has not been read. */
  read_at: Schema.optionalKey(Schema.Int)
})
export interface Notice extends Schema.Schema.Type<typeof Notice> {}

/**
 * How a channel delivers notices. `digest`: waiting notices are sent together when the channel's interval has passed. `off`:
 * only the in-app copy is kept.
 */
export const DeliveryMode = Schema.Literals(["immediately", "digest", "off"])
export type DeliveryMode = typeof DeliveryMode.Type

/** A person's delivery mode for each channel, for at most 32 channels. A channel that is not named has `immediately`. */
export const NoticePreferences = Schema.Struct({
  channels: Schema.Record(ChannelName, DeliveryMode).check(Schema.isMaxProperties(32))
})
export interface NoticePreferences extends Schema.Schema.Type<typeof NoticePreferences> {}

export const noPreferences: NoticePreferences = { channels: {} }

export const modeOf = ({ channels }: NoticePreferences, channel: ChannelName): DeliveryMode =>
  Object.hasOwn(channels, channel) ? (channels[channel] ?? "immediately") : "immediately"
