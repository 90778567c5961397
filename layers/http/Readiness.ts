/**
 * Whether requests should be sent here: while the server listens and until it begins to stop.
 */
import { Context, Deferred, Effect, Layer } from "effect"

export class Readiness extends Context.Service<
  Readiness,
  {
    state: "starting" | "ready" | "stopping"
    /** Done when it begins to stop: what never ends by itself ends then. */
    readonly stopping: Deferred.Deferred<void>
  }
>()("troupe/http/Readiness") {}

export const layer: Layer.Layer<Readiness> = Layer.effect(
  Readiness,
  Effect.map(Deferred.make<void>(), (stopping) => ({ state: "starting" as const, stopping }))
)
