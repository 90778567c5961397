/**
 * Wraps tools with an interceptor, which sees each call and decides whether, when and with which arguments the wrapped handler
 * runs. The tools keep their specs, keys and gates. A result that replaces another has to fit the tool's output schema.
 */
import { Effect } from "effect"
import type { GovernedTool, Interceptor } from "./GovernedTool.ts"

const intercepted = <R>(tool: GovernedTool<R>, interceptor: Interceptor): GovernedTool<R> => ({
  ...tool,
  handler: { _tag: "Intercepted", spec: tool.spec, interceptor, handler: tool.handler }
})

/** The same family with every tool wrapped by the interceptor. The interceptor may be built from services. */
export const wrap = <
  R,
  E,
  RX,
  Made extends Interceptor | Effect.Effect<Interceptor, unknown, unknown>
>(
  family: Effect.Effect<ReadonlyArray<GovernedTool<R>>, E, RX>,
  interceptor: Made
): Effect.Effect<
  ReadonlyArray<GovernedTool<R>>,
  E | Effect.Error<Made>,
  RX | Effect.Services<Made>
> => {
  const made = (
    Effect.isEffect(interceptor) ? interceptor : Effect.succeed(interceptor as Interceptor)
  ) as Effect.Effect<Interceptor, Effect.Error<Made>, Effect.Services<Made>>
  return Effect.zipWith(family, made, (tools, interceptor) =>
    tools.map((tool) => intercepted(tool, interceptor))
  )
}
