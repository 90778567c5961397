/**
 * A started service whose clock stands still until a test moves it, so that a wait of a day takes no time. Programs in Effect
 * build `Troupe.layer` under `TestClock` of `effect/testing` instead.
 */
import type { Duration } from "effect"
import { Layer } from "effect"
import { TestClock } from "effect/testing"
import type { NodeService, Options } from "./NodeService.ts"
import { serviceOf } from "./StartedService.ts"
import * as StartedLayer from "./StartedLayer.ts"

export interface VirtualService extends NodeService {
  /** Moves the clock forward. Everything that is due by then happens, in order, before this resolves. */
  readonly advance: (by: Duration.Input) => Promise<void>
}

/**
 * `start` with a virtual clock, which begins at 0, that is in 1970. It has no option `store`, because databases have clocks of
 * their own.
 */
export const startVirtual = async (options: Omit<Options, "store">): Promise<VirtualService> => {
  const layer = StartedLayer.layer(options).pipe(Layer.provideMerge(TestClock.layer()))
  const { run, service } = await serviceOf(layer)
  return { ...service, advance: (by) => run(TestClock.adjust(by)) }
}
