/**
 * A governed tool in one expression: its name, its schemas, its governance and its handler.
 *
 * ```ts
 * const refund = tool(
 *   { namespace: "shop", name: "refund", side_effects: "external", input: Schema.Struct({ order: Schema.String }) },
 *   Effect.fnUntraced(function* ({ order }) {
 *     return yield* (yield* Payments).refund(order)
 *   })
 * )
 * ```
 *
 * The handler returns an Effect, a promise or a value; schemas are Effect Schemas or any Standard Schema. The declaration is a
 * family of one tool, to be listed in `tools: [refund]`. If a service of the handler is not provided, it does not compile.
 */
import type { Context, Schema } from "effect"
import { Effect } from "effect"
import type { ToolError } from "../error/ToolError.ts"
import type { CallGovernance } from "./Governance.ts"
import { declaredSpec } from "./DeclaredSpec.ts"
import type {
  CallContext,
  GovernedTool,
  Precondition,
  Reconciled,
  Interceptor
} from "./GovernedTool.ts"
import { bindTool, functionHandler } from "./GovernedTool.ts"
import { misplaced_secret, place_secret, secretMembers } from "../run/RunContext.ts"
import type { MisdeclaredTool } from "./MisdeclaredTool.ts"
import { misdeclared } from "./MisdeclaredTool.ts"
import type { AnySchema, Decoded, HandlerOutput } from "./ToolCodec.ts"
import { plainDecoder } from "./ToolCodec.ts"
import type { ToolSpec } from "./ToolSpec.ts"
import { defined } from "../value/PlainObject.ts"

/**
 * The JSON that a handler may return where no output schema is declared. Members that are undefined are left out of the result.
 */
export type JsonOutput =
  | string
  | number
  | boolean
  | null
  | ReadonlyArray<JsonOutput>
  | { readonly [name: string]: JsonOutput | undefined }

type Ended<A> = Effect.Effect<A, ToolError, unknown> | PromiseLike<A> | A

type ServicesOf<Returned> = Returned extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

type Keys = ReadonlyArray<Context.Key<unknown, unknown>>
type Identifiers<Dependencies extends Keys> = Effect.Services<Dependencies[number]>

/** The declaration of a tool: its name, arguments, result and rules. */
export interface ToolOptions<
  Input extends AnySchema,
  Output extends AnySchema,
  Dependencies extends Keys,
  ContextSchema extends AnySchema
> extends CallGovernance<Decoded<Input>> {
  /** The name that models use: 1 to 64 letters, digits, `_` or `-`. With `namespace` and `version` it is the tool's key. */
  readonly name: string
  /** What the model reads, at most 4,000 characters. Absent = the first line of `documentation`. */
  readonly description?: string
  /** A longer text for people. Absent = none. */
  readonly documentation?: string
  /**
   * The schema of the arguments, of an object: an Effect Schema or any Standard Schema. Arguments that do not fit are a result
   * for the model (`INPUT_SCHEMA`). Absent = no arguments, or those that `input_schema` describes.
   */
  readonly input?: Input
  /** The schema of the result. One that does not fit fails the call. Absent = any JSON, or nothing, which is null. */
  readonly output?: Output
  /**
   * The schema of the context that a message has to pass for this tool (`send({ context })`); the handler reads it as
   * `call.context`. A message without it is refused. Absent = the tool reads no context.
   */
  readonly context?: ContextSchema
  /** Services that the actor provides for each call, such as its memory. All others are taken once, at the start. */
  readonly dependencies?: Dependencies
  /**
   * Decides whether a call may run now. It is asked before a person is, and again before the body (`Precondition`). Absent = the
   * permission alone decides.
   */
  readonly precondition?: (
    args: Decoded<Input>,
    call: CallWithContext<ContextSchema>
  ) => ReturnType<Precondition<never, Identifiers<Dependencies>>>
  /**
   * Finds out the outcome of a lost call by its arguments and its key: the call happened, with this result; it did not happen
   * and may be run; or nobody knows. It runs within the tool's timeout, and only after the lost attempt is over. A
   * `ToolTransientError` means that the query itself failed, and it is repeated a few times; any other failure becomes the
   * failure of the call. "Not happened" is final: if a request could arrive late and still act, send it with `call.over_at` as
   * its deadline.
   */
  readonly reconcile?: (
    args: Decoded<Input>,
    call: CallWithContext<ContextSchema>
  ) =>
    | Effect.Effect<Reconciled<HandlerOutput<Output>>, ToolError, Identifiers<Dependencies>>
    | PromiseLike<Reconciled<HandlerOutput<Output>>>
    | Reconciled<HandlerOutput<Output>>
}

/** The context of a call. `context` is what the message passed, if the tool declares a schema for it. */
export type CallWithContext<ContextSchema extends AnySchema> = [ContextSchema] extends [never]
  ? CallContext
  : CallContext & { readonly context: Decoded<ContextSchema> }

/** A family of one tool, for `tools: [...]`, with its spec and with its handler as it was declared. */
export interface DeclaredTool<Body, out R, out PerCall> extends Effect.Effect<
  readonly [GovernedTool<PerCall>],
  MisdeclaredTool,
  R
> {
  /** What the declaration means, with all defaults. Fails with `MisdeclaredTool`. */
  readonly spec: Effect.Effect<ToolSpec, MisdeclaredTool>
  /** The handler as it was given, for tests. */
  readonly body: Body
}

const contextReader = (tool: string, schema: AnySchema) => {
  const secrets = secretMembers(schema)
  return secrets === undefined
    ? Effect.fail(misdeclared(tool, "context", misplaced_secret, place_secret))
    : Effect.succeed({ decode: plainDecoder(schema), secrets })
}

const in_order = "Write tool({ namespace, name, side_effects, input }, (args, call) => ...)"

/** Declares one tool, as the head of this file shows. An invalid declaration fails the start with `MisdeclaredTool`. */
export const tool = <
  Returned extends Ended<HandlerOutput<Output>>,
  Input extends AnySchema = Schema.Codec<Readonly<Record<string, Schema.Json>>>,
  Output extends AnySchema = Schema.Codec<JsonOutput | void, Schema.Json>,
  const Dependencies extends Keys = readonly [],
  ContextSchema extends AnySchema = never
>(
  options: ToolOptions<Input, Output, Dependencies, ContextSchema>,
  body: (args: Decoded<Input>, call: CallWithContext<ContextSchema>) => Returned
): DeclaredTool<
  typeof body,
  Exclude<ServicesOf<Returned>, Identifiers<Dependencies>>,
  Identifiers<Dependencies>
> => {
  const {
    context,
    dependencies: _,
    description,
    documentation,
    input,
    name,
    output,
    precondition,
    reconcile,
    ...governance
  } = options
  const made = declaredSpec(
    { name, description, documentation, input, output, reconcile: reconcile !== undefined },
    governance
  )
  const family = Effect.gen(function* () {
    if (typeof options === "function") {
      const { name } = body as unknown as { readonly name: string }
      return yield* misdeclared(name, "options", "they stand behind the function", in_order)
    }
    const { input, output, permission, spec } = yield* made
    if (typeof body !== "function")
      return yield* misdeclared(name, "body", "it is missing", in_order)
    const governed = yield* bindTool<Identifiers<Dependencies>>(spec, {
      input,
      output,
      ...defined({
        permission,
        precondition: precondition && functionHandler(precondition),
        reconcile: reconcile && functionHandler(reconcile),
        context: context && (yield* contextReader(name, context))
      }),
      services: yield* Effect.context<Exclude<ServicesOf<Returned>, Identifiers<Dependencies>>>(),
      // The gate has checked what the call was told.
      handler: functionHandler(body)
    })
    return [governed] as const
  })
  return Object.assign(family, { spec: Effect.map(made, ({ spec }) => spec), body })
}

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
