/**
 * The calls of a service that are not over. Once the service stops it accepts no more calls. What the calls use is released after
 * the last one is over, or after 10 s.
 */
import { Context, Effect, Layer } from "effect"
import { ShuttingDown } from "../../../services/AgentRuntime.ts"

/** How long a stop waits for calls, in ms. Waits for runs and watches have ended before that. */
const settle_ms = 10_000

export class OpenCalls extends Context.Service<
  OpenCalls,
  {
    /** Refuses all calls that begin from now on. */
    readonly end: () => void
    readonly isEnding: () => boolean
    readonly begin: () => void
    readonly finish: () => void
  }
>()("troupe/compose/OpenCalls") {}

const make = Effect.gen(function* () {
  let isEnding = false
  let open = 0
  let settled: (() => void) | undefined
  const calls = OpenCalls.of({
    end: () => {
      isEnding = true
    },
    isEnding: () => isEnding,
    begin: () => {
      open++
    },
    finish: () => {
      open--
      if (open === 0) settled?.()
    }
  })
  yield* Effect.addFinalizer(() => {
    isEnding = true
    const none = Effect.callback<void>((resume) => {
      settled = () => resume(Effect.void)
      if (open === 0) settled()
    })
    return Effect.timeoutOption(none, settle_ms)
  })
  return calls
})

/** Layers above this one are closed before the calls are awaited, and those below it afterwards. */
export const layer: Layer.Layer<OpenCalls> = Layer.effect(OpenCalls, make)

/** Fails with ShuttingDown, in place of the Effect, once the service stops. */
export const unlessEnding = <A, E, R>(
  calls: OpenCalls["Service"],
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | ShuttingDown, R> =>
  Effect.suspend((): Effect.Effect<A, E | ShuttingDown, R> =>
    calls.isEnding() ? Effect.fail(new ShuttingDown()) : effect
  )
