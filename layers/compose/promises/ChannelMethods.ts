/**
 * The methods of a service for events, channels and notices.
 */
import { Effect, Schema } from "effect"
import { ChannelBindings } from "../../../services/ChannelBindings.ts"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import { EventIntake } from "../../../services/EventIntake.ts"
import { Notices } from "../../../services/Notices.ts"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import { AgentNotFound } from "../../../src/agent/AgentSpec.ts"
import {
  BindingTarget,
  ChannelName,
  ChannelPlace
} from "../../../src/conversation/ChannelBinding.ts"
import { ConversationNotFound } from "../../../src/conversation/Conversation.ts"
import { customerNotice } from "../../../src/conversation/CustomerView.ts"
import type { IncomingEvent } from "../../../src/delivery/IncomingEvent.ts"
import { NoticeId, NoticePreferences } from "../../../src/delivery/Notice.ts"
import * as Entries from "../../../src/entry/Entries.ts"
import { inputReader } from "../../../src/schema/InvalidInput.ts"
import type { AgentName, ConversationId, Tenant } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { isCustomer } from "../assembly/CustomerAccess.ts"

const readTarget = inputReader(BindingTarget)
const readChannel = inputReader(ChannelName)
const readPlace = inputReader(ChannelPlace)
const readPreferences = inputReader(NoticePreferences)
const readIds = inputReader(Schema.Array(NoticeId).check(Schema.isMaxLength(500)))
const readQuery = inputReader(
  Schema.Struct({
    unread: Schema.optionalKey(Schema.Boolean),
    limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 }))),
    after: Schema.optionalKey(NoticeId)
  })
)

interface Events {
  readonly agent: AgentName
  readonly bindings?: ReadonlyArray<BindingTarget>
  readonly retention_ms?: number
}

/** The settings of the event intake, with the agent that they name. Fails if no agent has this name. */
export const intakeOf = Effect.fnUntraced(function* (
  events: Events | undefined,
  agents: ReadonlyArray<AgentSpec>
) {
  if (events === undefined) return undefined
  const agent = agents.find(({ name }) => name === events.agent)
  return agent === undefined
    ? yield* new AgentNotFound({ agent: events.agent, available: agents.map(({ name }) => name) })
    : { ...events, agent }
})

export const publish = (event: unknown, by: Principal) =>
  EventIntake.use((intake) => intake.publish(event as IncomingEvent, by))

export const bind = Effect.fnUntraced(function* (id: unknown, to: unknown, by: Principal) {
  const { tenant } = yield* Entries.entitled(by, "bind")
  const conversation = yield* Entries.conversationId(id, "conversation")
  const target = yield* readTarget(to, "to")
  yield* ChannelBindings.use((all) => all.bind(tenant, conversation, target))
})

export const unbind = Effect.fnUntraced(function* (
  id: unknown,
  channel: unknown,
  address: unknown,
  by: Principal
) {
  const { tenant } = yield* Entries.entitled(by, "bind")
  const conversation = yield* Entries.conversationId(id, "conversation")
  const which = yield* readChannel(channel, "channel")
  const place = yield* readPlace(address, "address")
  return yield* ChannelBindings.use((all) => all.unbind(tenant, conversation, which, place))
})

const failUnlessThere = (tenant: Tenant, id: ConversationId) =>
  Effect.flatMap(
    ConversationStore.use((store) => store.read(tenant, id)),
    (found) => (found === undefined ? new ConversationNotFound({ id }) : Effect.void)
  )

export const bindings = Effect.fnUntraced(function* (id: unknown, by: Principal) {
  const { tenant } = yield* Entries.entitled(by, "bind")
  const conversation = yield* Entries.conversationId(id, "conversation")
  yield* failUnlessThere(tenant, conversation)
  return yield* ChannelBindings.use((all) => all.of(tenant, conversation))
})

export const notices = Effect.fnUntraced(function* (query: unknown, by: Principal) {
  const who = yield* Entries.entitled(by, "readNotices")
  const { limit = 50, ...filters } = yield* readQuery(query, "query")
  const found = yield* Notices.use((all) =>
    all.list({ tenant: who.tenant, recipient: who.id, limit, ...filters })
  )
  return isCustomer(who) ? found.map(customerNotice) : found
})

export const read = Effect.fnUntraced(function* (given: unknown, by: Principal) {
  const { id, tenant } = yield* Entries.entitled(by, "readNotices")
  const ids = yield* readIds(given, "ids")
  return yield* Notices.use((all) => all.read(tenant, id, ids))
})

export const preferences = Effect.fnUntraced(function* (by: Principal) {
  const { id, tenant } = yield* Entries.entitled(by, "readNotices")
  return yield* Notices.use((all) => all.preferences(tenant, id))
})

export const prefer = Effect.fnUntraced(function* (given: unknown, by: Principal) {
  const { id, tenant } = yield* Entries.entitled(by, "readNotices")
  const wanted = yield* readPreferences(given, "preferences")
  yield* Notices.use((all) => all.prefer(tenant, id, wanted))
})
