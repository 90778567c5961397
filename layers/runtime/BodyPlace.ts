/**
 * A tool's body runs over the services it was built with and those of its actor: merged once for each pair, and not at
 * each call.
 */
import { Context, Effect, Tracer } from "effect"
import type { Prices } from "../../src/cost/PriceTable.ts"
import type { Meter } from "./BodySpending.ts"
import { meterOf } from "./BodySpending.ts"
import type { Fork, Governed, Surroundings } from "./CallHost.ts"

/** Where a tool's bodies run for one actor. */
export interface Place {
  readonly context: Surroundings
  readonly fork: Fork
  /** A span is made only when a tracer listens. */
  readonly traced: boolean
  readonly meter: Meter
}

const makePlace = (of: Surroundings, tool: Governed, prices: Prices | undefined): Place => {
  const context = Context.merge(of, tool.services)
  return {
    context,
    fork: Effect.runForkWith(context),
    traced: context.mapUnsafe.has(Tracer.TracerKey),
    meter: meterOf(tool.spec.name, prices)
  }
}

/** The places of one runtime; each goes with its tool and its actor. */
export const makePlaces = (prices: Prices | undefined) => {
  const places = new WeakMap<Governed, WeakMap<Surroundings, Place>>()
  return (tool: Governed, of: Surroundings): Place => {
    let known = places.get(tool)
    if (known === undefined) places.set(tool, (known = new WeakMap()))
    let place = known.get(of)
    if (place === undefined) known.set(of, (place = makePlace(of, tool, prices)))
    return place
  }
}
