/**
 * Replays or discards the dead letters of one process.
 */
import { Clock, Effect, Layer } from "effect"
import type { DeadLetterResolution } from "../../services/OutboxReplayer.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import type { DeadLetterStatus } from "../../src/delivery/OutboxMessage.ts"
import { DeadLetterNotFound, DeadLetterResolved } from "../../src/delivery/OutboxMessage.ts"
import type { Store } from "./EphemeralStore.ts"
import { EphemeralStore, enqueueMessage } from "./EphemeralStore.ts"

const resolve = Effect.fnUntraced(function* (
  store: Store,
  { by, event_id, reason, tenant }: DeadLetterResolution,
  status: Exclude<DeadLetterStatus, "dead">
) {
  const now = yield* Clock.currentTimeMillis
  const stored = store.dead.get(event_id)
  if (stored?.letter.tenant !== tenant) return yield* new DeadLetterNotFound({ event_id })
  if (stored.letter.status !== "dead") {
    return yield* new DeadLetterResolved({ event_id, status: stored.letter.status })
  }
  stored.letter = {
    ...stored.letter,
    status,
    resolved_by: by,
    resolved_at: now,
    resolved_reason: reason
  }
  if (status === "replayed")
    enqueueMessage(store, stored.message, now, true, stored.letter.failures)
  return undefined
})

const make = Effect.map(EphemeralStore, (store) =>
  OutboxReplayer.of({
    replay: Effect.fn("OutboxReplayer.replay")(function* (resolution) {
      yield* resolve(store, resolution, "replayed")
      for (const listener of store.written) listener()
    }),
    discard: Effect.fn("OutboxReplayer.discard")(function* (resolution) {
      yield* resolve(store, resolution, "discarded")
    })
  })
)

export const layer: Layer.Layer<OutboxReplayer, never, EphemeralStore> = Layer.effect(
  OutboxReplayer,
  make
)
