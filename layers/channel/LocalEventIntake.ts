/**
 * Receives events for one agent: over HTTP and from programs (`EventIntake`), and from the outbox, where features of this service
 * put theirs.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SecureRandom } from "effect/crypto"
import { createHash } from "node:crypto"
import { AgentMemories, AgentMemory } from "../../services/AgentMemory.ts"
import type { RoomHandlers } from "../../services/DeliveryHandlers.ts"
import { DeliveryFailed, DeliveryRefused } from "../../services/DeliveryHandlers.ts"
import type { EventKey } from "../../services/EventInbox.ts"
import { EventInbox } from "../../services/EventInbox.ts"
import type { EventRefusal } from "../../services/EventIntake.ts"
import { EventIntake } from "../../services/EventIntake.ts"
import type { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { canonical } from "../../src/value/Canonical.ts"
import type { BindingTarget } from "../../src/conversation/ChannelBinding.ts"
import type { EventHandlers, Remember, Tell } from "../../src/delivery/EventEffect.ts"
import { effectOf } from "../../src/delivery/EventEffect.ts"
import type { IncomingEvent } from "../../src/delivery/IncomingEvent.ts"
import { EventOutOfTime, EventTypeUnknown, readEvent } from "../../src/delivery/IncomingEvent.ts"
import type { OutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import * as Entries from "../../src/entry/ArgumentReaders.ts"
import type { MessageId, RunId } from "../../src/value/Ids.ts"
import { firstWords } from "../../src/conversation/Conversation.ts"
import { Principal, rolesOf } from "../../src/principal/Principal.ts"

const day_ms = 86_400_000
const ahead_ms = 3_600_000
const sweep_max = 1_000

const retention_ms_default = 30 * day_ms

/** Configures which agent receives events. */
export class EventIntakeConfig extends Context.Service<
  EventIntakeConfig,
  {
    /** The agent that gets the messages and the memories. */
    readonly agent: AgentSpec
    /** What each type of event causes; others are refused. */
    readonly handlers: EventHandlers
    /** Topics of the outbox whose messages are events of the same type, as features put them there. Absent = none. */
    readonly topics?: ReadonlyArray<string>
    /** The channel bindings of conversations that an event begins. Absent = they are available only in the API. */
    readonly bindings?: ReadonlyArray<BindingTarget>
    /** How long events are remembered, in ms. An event that happened earlier is refused. Absent = 30 days. */
    readonly retention_ms?: number
  }
>()("troupe/layers/channel/EventIntakeConfig") {}

const hexOf = (text: string): string => createHash("sha256").update(text).digest("hex")

const keyOf = (
  { data, id, source, time, type }: IncomingEvent,
  { tenant }: Principal
): EventKey => ({
  tenant,
  source,
  id,
  digest: hexOf(canonical({ type, time, data }))
})

/** Fails for an event outside the remembered period, because it may have been received and forgotten before. */
const failOutOfTime = Effect.fnUntraced(function* ({ time }: IncomingEvent, retention_ms: number) {
  const age = (yield* Clock.currentTimeMillis) - Date.parse(time)
  if (age > retention_ms || age < -ahead_ms) {
    return yield* new EventOutOfTime({ time, retention_ms })
  }
})

const makeTell = Effect.gen(function* () {
  const { agent, bindings = [] } = yield* EventIntakeConfig
  const inbox = yield* EventInbox
  const random = yield* SecureRandom.SecureRandom

  return Effect.fnUntraced(function* (
    event: IncomingEvent,
    { conversation, text }: Tell,
    by: Principal
  ) {
    const id = (yield* random.uuidV7()) as RunId
    const task = {
      id,
      tenant: by.tenant,
      address: { agent: agent.name, key: conversation },
      conversation,
      message: text,
      by: by.id,
      roles: rolesOf(by),
      trace_id: id.replaceAll("-", ""),
      channel_origin: "event",
      initiated_by: "system" as const,
      title: firstWords(text),
      trigger_event_id: event.id,
      waiting_max: agent.mailbox_max,
      reject_when_busy: agent.mailbox === "reject",
      message_id: (yield* random.uuidV7()) as MessageId
    }
    return yield* inbox.accept(keyOf(event, by), task, bindings)
  })
})

/** The event is the memory's key, so a process that dies before the event is remembered writes no second one. */
const makeRemember = Effect.gen(function* () {
  const { agent } = yield* EventIntakeConfig
  const inbox = yield* EventInbox
  const memories = yield* AgentMemories

  return Effect.fnUntraced(function* (
    event: IncomingEvent,
    { conversation, subject, text }: Remember,
    by: Principal
  ) {
    const known = yield* inbox.known(keyOf(event, by))
    if (known !== undefined) return known
    const address = { agent: agent.name, key: conversation }
    const context = yield* memories.get(by.tenant, address, agent.memory?.anchor)
    const note = {
      text,
      tier: "persistent" as const,
      typology: "episodic" as const,
      key: `event-${hexOf(canonical([event.source, event.id]))}`,
      ...(subject === undefined ? undefined : { subject })
    }
    const origin = { source: "event_handler", author: "event" } as const
    yield* Effect.catchTag(
      Context.get(context, AgentMemory).remember(note, origin),
      "MemoryRefused",
      ({ message, reason }) =>
        // No other delivery of the event would be remembered either.
        Effect.annotateLogs(Effect.logWarning(`an event was not remembered: ${message}`), {
          event: event.id,
          reason
        })
    )
    return { isNew: yield* inbox.remember(keyOf(event, by)) }
  }, Effect.scoped)
})

/** Deletes old remembered events at the start, and then every hour. */
const forgetOld = Effect.fnUntraced(function* (retention_ms: number) {
  const inbox = yield* EventInbox
  const sweep = Effect.gen(function* () {
    const before = (yield* Clock.currentTimeMillis) - retention_ms - ahead_ms
    while ((yield* inbox.forget(before, sweep_max)) >= sweep_max) yield* Effect.yieldNow
  })
  yield* Effect.catch(sweep, ({ message }) =>
    Effect.logWarning(`old events were not forgotten: ${message}`)
  ).pipe(Effect.repeat(Schedule.spaced("1 hour")))
})

const make = Effect.gen(function* () {
  const { handlers, retention_ms = retention_ms_default } = yield* EventIntakeConfig
  const tell = yield* makeTell
  const remember = yield* makeRemember
  yield* Effect.forkScoped(forgetOld(retention_ms))
  return EventIntake.of({
    publish: Effect.fn("EventIntake.publish")(function* (given, by) {
      const who = yield* Entries.entitled(by, "publish")
      const event = yield* readEvent(given)
      yield* failOutOfTime(event, retention_ms)
      const effect = yield* effectOf(handlers, event)
      return effect._tag === "Tell"
        ? yield* tell(event, effect, who)
        : yield* remember(event, effect, who)
    })
  })
})

export const layer: Layer.Layer<
  EventIntake,
  never,
  EventIntakeConfig | EventInbox | AgentMemories | SecureRandom.SecureRandom
> = Layer.effect(EventIntake, make)

/** An event intake for a service that handles no events. */
export const none: Layer.Layer<EventIntake> = Layer.succeed(
  EventIntake,
  EventIntake.of({
    publish: Effect.fn("EventIntake.publish")(function* (given, by) {
      yield* Entries.entitled(by, "publish")
      const { type } = yield* readEvent(given)
      return yield* new EventTypeUnknown({ type, available: [] })
    })
  })
)

const own_source = "troupe/platform"

const eventOf = ({ created_at, id, payload, topic }: OutboxMessage): IncomingEvent => ({
  specversion: "1.0",
  id,
  source: own_source,
  type: topic,
  time: new Date(created_at).toISOString(),
  data: payload
})

const failureOf = (error: EventRefusal): DeliveryFailed | DeliveryRefused => {
  const { message } = error
  switch (error._tag) {
    case "MailboxFull":
    case "AgentBusy":
    case "StoreError":
      return new DeliveryFailed({ message })
    default:
      return new DeliveryRefused({ message })
  }
}

/** Delivers events of these topics from the outbox. */
export const handlersOf = (
  topics: ReadonlyArray<string>
): Effect.Effect<RoomHandlers, never, EventIntake> =>
  Effect.map(EventIntake, (intake): RoomHandlers =>
    topics.map((topic) => [
      topic,
      (message) => {
        const by = new Principal({
          id: own_source,
          tenant: message.tenant,
          roles: ["publisher"]
        })
        return Effect.mapError(Effect.asVoid(intake.publish(eventOf(message), by)), failureOf)
      }
    ])
  )
