/**
 * Removes the files that nobody names any more: uploads that no message has named for a while, and what was stored for messages that
 * were never accepted.
 */
import { Clock, Effect, Layer, Schedule } from "effect"
import { BlobBounds, BlobStore } from "../../../services/BlobStore.ts"

const sweep_max = 500

/** Sweeps again for as long as a sweep had its bound to do. */
const collectAll = Effect.fn("BlobStore.collectAll")(function* () {
  const blobs = yield* BlobStore
  const { unsent_ms } = yield* BlobBounds
  const before = (yield* Clock.currentTimeMillis) - unsent_ms
  while ((yield* blobs.collect(before, sweep_max)) >= sweep_max) continue
})

/** Sweeps a minute after the start and every ten minutes. A sweep that fails is logged, and the next one goes on. */
export const layer: Layer.Layer<never, never, BlobStore> = Layer.effectDiscard(
  Effect.gen(function* () {
    const bounds = yield* BlobBounds
    const swept = Effect.catch(collectAll(), ({ message }) =>
      Effect.logWarning("files were not collected", { reason: message })
    ).pipe(Effect.provideService(BlobBounds, bounds))
    yield* Effect.forkScoped(
      Effect.delay(Effect.repeat(swept, Schedule.spaced("10 minutes")), "1 minute")
    )
  })
)
