/**
 * Whether requests should be sent to this process: yes from the time that the server listens until it begins to stop.
 */
import { Context, Deferred, Effect, Layer } from "effect"

export class Readiness extends Context.Service<
  Readiness,
  {
    state: "starting" | "ready" | "stopping"
    /** Completed when the service begins to stop; event streams end then. */
    readonly stopping: Deferred.Deferred<void>
  }
>()("troupe/http/Readiness") {}

export const layer: Layer.Layer<Readiness> = Layer.effect(
  Readiness,
  Effect.map(Deferred.make<void>(), (stopping) => ({ state: "starting" as const, stopping }))
)
