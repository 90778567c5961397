/**
 * A started service whose clock stands still until a test moves it. It sleeps until the next thing is due: a month without any
 * takes seconds. Programs in Effect build `Troupe.layer` under `TestClock` of
 * `effect/testing` instead.
 */
import { Duration, Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { NodeService } from "../promises/NodeService.ts"
import type { Options } from "../options/ServiceOptions.ts"
import { serviceOf } from "../promises/StartedService.ts"
import * as StartedLayer from "../promises/StartedLayer.ts"
import * as VirtualClock from "./VirtualClock.ts"

export interface VirtualService extends NodeService {
  /** Moves the clock forward. Everything that is due by then happens, in order, before this resolves. */
  readonly advance: (by: Duration.Input) => Promise<void>
}

/** Moves the clock. A time without an end would never be reached, and one that is negative would move it back. */
const advance = (by: unknown): Effect.Effect<void, InvalidInput> => {
  const read = Number.isNaN(by) ? Option.none() : Duration.fromInput(by as Duration.Input)
  const ms = Option.isSome(read) ? Duration.toMillis(read.value) : -1
  return ms >= 0 && Number.isFinite(ms)
    ? TestClock.adjust(ms)
    : Effect.fail(
        new InvalidInput({
          field: "by",
          reason:
            'Expected a time that ends and is not negative: milliseconds, a Duration, or a text such as "5 minutes"'
        })
      )
}

/** Options of `start` that hold a store reach here through a spread, which TypeScript allows. */
const failIfStored = (options: object): void => {
  const { store } = { store: undefined, ...options } as { readonly store?: unknown }
  if (store === undefined || store === "ephemeral") return
  throw new InvalidInput({
    field: "store",
    reason: "a virtual clock has none: it would write times of 1970 into the store"
  })
}

/**
 * `start` with a virtual clock, which begins at 0, that is in 1970. It has no option `store`, because databases have clocks of
 * their own.
 */
export const startVirtual = async (options: Omit<Options, "store">): Promise<VirtualService> => {
  failIfStored(options)
  const layer = StartedLayer.layer(options).pipe(Layer.provideMerge(VirtualClock.layer))
  const { run, service } = await serviceOf(layer)
  return { ...service, advance: (by) => run(advance(by)) }
}
