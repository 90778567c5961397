/**
 * Runs a contract against a layer of its port, which is built once for all of its tests, with the real clock.
 */
import type { Vitest } from "@effect/vitest"
import { layer } from "@effect/vitest"
import type { Layer } from "effect"
import { Effect } from "effect"

/** The tests of a contract whose ports are `R`. */
export type Tests<R> = (it: Vitest.MethodsNonLive<R>) => void

export const contract =
  <R>(port: string, tests: Tests<R>) =>
  <E>(name: string, answer: Layer.Layer<R, E>): void =>
    layer(answer, { excludeTestServices: true, timeout: "2 minutes" })(`${port} (${name})`, tests)

/** Repeats `ask` until its answer fits, for up to 25 s. The way in which a contract waits for time to pass. */
export const eventually = <A, E, R>(
  ask: Effect.Effect<A, E, R>,
  fits: (answer: A) => boolean
): Effect.Effect<A, E, R> =>
  Effect.repeat(Effect.delay(ask, "10 millis"), { until: fits }).pipe(
    Effect.timeoutOrElse({
      duration: "25 seconds",
      orElse: () => Effect.die(new Error("it did not come about within 25 s"))
    })
  )
