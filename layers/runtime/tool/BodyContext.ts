/**
 * A tool's body runs over the services it was built with and those of its actor: merged once for each pair, and not at
 * each call.
 */
import { Context, Effect, Tracer } from "effect"
import type { Prices } from "../../../src/cost/PriceTable.ts"
import { spendingMeterOf } from "./CallSpending.ts"
import type { CallHost, Fork, AgentTool, ActorContext } from "./CallHost.ts"
import type { Around } from "./HandlerContext.ts"

/** Where a tool's bodies run for one actor. */
export interface BodyContext extends Around {
  readonly context: ActorContext
  readonly fork: Fork
  /** A span is made only when a tracer listens. */
  readonly traced: boolean
}

/** What of its runtime a place knows. */
export interface BodyContextOptions {
  /** Absent = what bodies spend on models is counted and not costed. */
  readonly prices?: Prices | undefined
  /** Would the gate let this tool run for this call's sender with these arguments, without a question? Absent = it would not. */
  readonly permits?: (tool: AgentTool, host: CallHost, args: unknown) => boolean
}

const makePlace = (
  of: ActorContext,
  tool: AgentTool,
  { permits, prices }: BodyContextOptions
): BodyContext => {
  const context = Context.merge(of, tool.services)
  return {
    context,
    fork: Effect.runForkWith(context),
    traced: context.mapUnsafe.has(Tracer.TracerKey),
    meter: spendingMeterOf(tool.spec.name, prices),
    permits: (host, args) => permits?.(tool, host, args) === true
  }
}

/** The places of one runtime; each goes with its tool and its actor. */
export const makeBodyContexts = (runtime: BodyContextOptions) => {
  const places = new WeakMap<AgentTool, WeakMap<ActorContext, BodyContext>>()
  return (tool: AgentTool, of: ActorContext): BodyContext => {
    let known = places.get(tool)
    if (known === undefined) places.set(tool, (known = new WeakMap()))
    let place = known.get(of)
    if (place === undefined) known.set(of, (place = makePlace(of, tool, runtime)))
    return place
  }
}
