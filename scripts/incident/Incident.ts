/**
 * A real incident for the first walk: three paid orders whose webhook is down. Their events are tried and refused until
 * they are dead letters; then the receiver is repaired, and nothing happens by itself any more.
 */
import { Effect, Schedule, Schema } from "effect"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import type { StoreError } from "../../services/StoreError.ts"
import type { NewOutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import type { WebhookEvent } from "../../src/delivery/IncomingEvent.ts"
import { webhook_topic } from "../../src/delivery/IncomingEvent.ts"
import { MessageId } from "../../src/value/Ids.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import type { Receiver } from "./Receiver.ts"

/** What the relay needs so that the incident takes a second, not a minute. */
export const relay = { attempts_max: 3, backoff_initial_ms: 200 } as const

/** How long the events may take to become dead letters. */
const wait_ms = 60_000

const orders: ReadonlyArray<readonly [number: number, total: string]> = [
  [1001, "49.90"],
  [1002, "12.00"],
  [1003, "310.25"]
]

/** The ids are fixed: a store that has seen them leaves them alone, so that every start may seed. */
const eventOf = (tenant: Tenant, order: number, total: string): NewOutboxMessage => {
  const event: WebhookEvent = {
    type: "order.paid",
    subject: `order-${order}`,
    data: { order, total, currency: "EUR" }
  }
  return {
    id: MessageId.make(`5f2c7d1e-93ab-4c04-8e6d-${order.toString().padStart(12, "0")}`),
    tenant,
    // Orders do not wait for each other.
    key: `order-${order}`,
    topic: webhook_topic,
    payload: { ...event }
  }
}

export const events = (tenant: Tenant): ReadonlyArray<NewOutboxMessage> =>
  orders.map(([order, total]) => eventOf(tenant, order, total))

/** The events did not die in time: the relay does not run, or does not deliver `webhook.deliver`. */
class IncidentStalled extends Schema.TaggedError<IncidentStalled>()("IncidentStalled", {
  waiting: Schema.Int
}) {
  override get message(): string {
    return `${this.waiting} events of the incident were not refused within ${wait_ms} ms`
  }
}

/**
 * Writes the events if the store has never seen them, waits until each of them is or was a dead letter, and repairs the
 * receiver. At a later start it finds all of it done and returns at once. How many events there are.
 */
export const prepare = (
  tenant: Tenant,
  receiver: Receiver
): Effect.Effect<number, StoreError | IncidentStalled, Outbox | OutboxReader> =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const reader = yield* OutboxReader
    const all = events(tenant)
    yield* outbox.enqueue(all)

    const alive = Effect.gen(function* () {
      let n = 0
      for (const { id } of all) {
        yield* Effect.catchTag(reader.deadLetter(tenant, id), "DeadLetterNotFound", () =>
          Effect.sync(() => void n++)
        )
      }
      return n
    })
    const left = yield* alive.pipe(
      Effect.repeat({
        schedule: Schedule.spaced("100 millis").pipe(Schedule.upTo({ duration: wait_ms })),
        while: (n) => n > 0
      })
    )
    if (left > 0) return yield* new IncidentStalled({ waiting: left })
    receiver.repair()
    return all.length
  })
