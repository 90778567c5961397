/**
 * How a contract is run: against the layer that answers the port, built once for all its tests, with the real clock.
 */
import type { Vitest } from "@effect/vitest"
import { layer } from "@effect/vitest"
import type { Layer } from "effect"
import { Effect } from "effect"

/** The tests of a contract, which need `R`. */
export type Tests<R> = (it: Vitest.MethodsNonLive<R>) => void

export const contract =
  <R>(port: string, tests: Tests<R>) =>
  <E>(name: string, answer: Layer.Layer<R, E>): void =>
    layer(answer, { excludeTestServices: true, timeout: "2 minutes" })(`${port} (${name})`, tests)

/** Asks again until the answer fits; a contract that waits for time to pass waits like this. At most 10 s. */
export const eventually = <A, E, R>(
  ask: Effect.Effect<A, E, R>,
  fits: (answer: A) => boolean
): Effect.Effect<A, E, R> =>
  Effect.repeat(Effect.delay(ask, "10 millis"), { until: fits }).pipe(
    Effect.timeoutOrElse({
      duration: "10 seconds",
      orElse: () => Effect.die(new Error("it did not come about within 10 s"))
    })
  )
