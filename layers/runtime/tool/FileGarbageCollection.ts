/**
 * Removes the files that nobody names any more: uploads that no message has named for a while, and what was stored for messages that
 * were never accepted.
 */
import { Clock, Effect, Layer } from "effect"
import { BlobBounds, BlobStore } from "../../../services/BlobStore.ts"
import { startPeriodic } from "../fiber/Periodic.ts"

const sweep_max = 500

/** Sweeps again for as long as a sweep had its bound to do. */
const collectAll = Effect.fn("BlobStore.collectAll")(function* () {
  const blobs = yield* BlobStore
  const { unsent_ms } = yield* BlobBounds
  const before = (yield* Clock.currentTimeMillis) - unsent_ms
  while ((yield* blobs.collect(before, sweep_max)) >= sweep_max) continue
})

/** Sweeps a minute after the start and every ten minutes. */
export const layer: Layer.Layer<never, never, BlobStore> = Layer.effectDiscard(
  Effect.gen(function* () {
    const context = yield* Effect.context<BlobStore>()
    const collected = Effect.provide(collectAll(), context)
    yield* startPeriodic(600_000, collected, 60_000, (cause) =>
      Effect.logWarning("files were not collected", cause)
    )
  })
)
