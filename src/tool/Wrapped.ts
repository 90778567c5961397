/**
 * Tools behind an interceptor: it sees each call, and decides whether, when and with what the tool beneath runs. Their
 * specs, keys and gates stay what they are; a result that is put in another's place has to fit the tool's output.
 */
import { Effect } from "effect"
import type { ToolError } from "../error/ToolError.ts"
import type { CallContext, GovernedTool } from "./GovernedTool.ts"
import type { ToolSpec } from "./ToolSpec.ts"

/** One call on its way to its tool, with its decoded arguments. */
export interface Intercepted {
  readonly tool: ToolSpec
  readonly args: unknown
  readonly call: CallContext
}

/** `next` runs the tool beneath, with these arguments or with others of its kind. */
export type Interceptor = <R>(
  intercepted: Intercepted,
  next: (args: unknown) => Effect.Effect<unknown, ToolError, R>
) => Effect.Effect<unknown, ToolError, R>

const wrapped =
  (interceptor: Interceptor) =>
  <R>(tool: GovernedTool<R>): GovernedTool<R> => ({
    ...tool,
    handler: (args, context) =>
      interceptor<R>(
        { tool: tool.spec, args, call: context.call },
        // A declaration compiles with no other failure.
        (given) => tool.handler(given, context) as Effect.Effect<unknown, ToolError, R>
      )
  })

/** The same family, each of its tools behind the interceptor. An interceptor may be built from services. */
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
  return Effect.zipWith(family, made, (tools, interceptor) => tools.map(wrapped(interceptor)))
}
