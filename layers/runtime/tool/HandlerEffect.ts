/**
 * Makes an Effect of a tool's handler, as its author declared it: a function that gives an Effect, a promise or a value, or
 * throws, and one behind an interceptor. It is the only place that awaits the promise of a handler.
 */
import { Effect, Exit, Predicate } from "effect"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { isToolError } from "../../../src/error/ToolError.ts"
import type {
  CallContext,
  FunctionHandler,
  GovernedContext,
  InterceptedHandler,
  ToolHandler
} from "../../../src/tool/GovernedTool.ts"
import { abortSignalOf } from "./BodyContext.ts"
import { callCatching } from "../fiber/Catching.ts"

const dieOf: (defect: unknown) => Exit.Exit<never> = Exit.die

const exitOf = (error: unknown): Exit.Exit<never, ToolError> =>
  isToolError(error) ? Exit.fail(error) : Exit.die(error)

/** An error of one of the four classes is a failure, thrown or rejected; anything else is a defect, and so is what throws when read. */
const exitOfThrown = (error: unknown): Exit.Exit<never, ToolError> =>
  callCatching(exitOf, error, undefined, dieOf)

/** The promise's end. An interruption aborts the signal and does not wait: a promise cannot be interrupted. */
const awaitPromise = (
  promise: PromiseLike<unknown>,
  call: CallContext
): Effect.Effect<unknown, unknown> =>
  Effect.callback((resume) => {
    promise.then(
      (value) => resume(Effect.succeed(value)),
      (error: unknown) => resume(exitOfThrown(error))
    )
    return Effect.sync(() => abortSignalOf(call))
  })

const abortingOnInterrupt = <A, E, R>(effect: Effect.Effect<A, E, R>, call: CallContext) =>
  Effect.onInterrupt(effect, () => Effect.sync(() => abortSignalOf(call)))

const runFunction = <R>(
  { run }: FunctionHandler,
  args: unknown,
  { call }: GovernedContext
): Effect.Effect<unknown, unknown, R> => {
  // The arguments were decoded by the tool's own input.
  const returned = callCatching(run, args as never, call, exitOfThrown)
  if (Exit.isExit(returned)) return returned
  if (Effect.isEffect(returned)) {
    // A declaration compiles only with the services that its tool says.
    return abortingOnInterrupt(returned as Effect.Effect<unknown, unknown, R>, call)
  }
  return Predicate.isPromiseLike(returned) ? awaitPromise(returned, call) : Exit.succeed(returned)
}

const runIntercepted = <R>(
  { handler, interceptor, spec }: InterceptedHandler<R>,
  args: unknown,
  context: GovernedContext
): Effect.Effect<unknown, unknown, R> =>
  interceptor<R>(
    { tool: spec, args, call: context.call },
    // A declaration compiles with no other failure.
    (given) => handlerEffect(handler, given, context) as Effect.Effect<unknown, ToolError, R>
  )

/** Calls the handler. Never throws: what a handler throws is a defect, or a failure where its author gave a function. */
export const handlerEffect = <R>(
  handler: ToolHandler<R>,
  args: unknown,
  context: GovernedContext
): Effect.Effect<unknown, unknown, R> => {
  if (typeof handler === "function") return callCatching(handler, args, context, dieOf)
  return handler._tag === "Function"
    ? runFunction(handler, args, context)
    : Effect.suspend(() => runIntercepted(handler, args, context))
}
