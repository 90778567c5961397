/**
 * A governed tool in one expression: what it is called, what it takes and gives, what governs it, and its body.
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
 * The body is an Effect, an async function or a plain one; schemas are Effect Schemas or any Standard Schema. What it
 * declares is a family of one: it stands in `tools: [refund]`, and a body whose service nobody provides does not compile.
 */
import { Context, Effect, Exit, Result, Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import type { Spend } from "../cost/Spending.ts"
import type { ToolError } from "../error/ToolError.ts"
import { isToolError } from "../error/ToolError.ts"
import type { Governance } from "./Governance.ts"
import { descriptionOf, specOf } from "./Governance.ts"
import type { CallContext, GovernedContext, GovernedTool, Reconciled } from "./GovernedTool.ts"
import { bindTool } from "./GovernedTool.ts"
import type { MisdeclaredTool } from "./MisdeclaredTool.ts"
import type { AnySchema, Decoded, Given } from "./ToolCodec.ts"
import { inputCodec, jsonSchemaInput, outputCodec } from "./ToolCodec.ts"
import type { ToolSpec } from "./ToolSpec.ts"

/** What a body knows of its call beside its arguments. `signal` is aborted when the call is over before the body is. */
export interface HandlerCall extends CallContext {
  /** Shows those who watch what there is so far, any JSON; it takes the place of what was shown before. */
  readonly show: (result: unknown) => void
  /** Tells what a model that the body called has cost. `metered` (layers/model) says it of models that it wraps. */
  readonly spent: Spend
  readonly signal: AbortSignal
}

type Ended<A> = Effect.Effect<A, ToolError, unknown> | PromiseLike<A> | A

type ServicesOf<Returned> = Returned extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

type Keys = ReadonlyArray<Context.Key<unknown, unknown>>
type Identifiers<Dependencies extends Keys> = Effect.Services<Dependencies[number]>

export interface ToolOptions<
  Input extends AnySchema,
  Output extends AnySchema,
  Dependencies extends Keys
> extends Governance {
  /** The model's name for it: 1 to 64 letters, digits, `_` or `-`. */
  readonly name: string
  /** For the model. Absent = the first line of `documentation`. */
  readonly description?: string
  /** For people. */
  readonly documentation?: string
  /** Absent = no arguments, or those that `input_schema` describes. */
  readonly input?: Input
  /** Absent = any JSON. */
  readonly output?: Output
  /** Services that the actor of each call gives, such as its memory; all others are taken at the start. */
  readonly dependencies?: Dependencies
  /**
   * Asks what became of a call that was lost, by its arguments and its key: it happened, and this is its result; it did
   * not, and may be run; or that is not known. Within the tool's own timeout, and not before the lost attempt's is over.
   * A `ToolTransientError` is a question that could not be put, and it is put again a few times; any other failure is the
   * one that the call ended with. Who says that a call did not happen says it for good: give what the body sends
   * `call.over_at` as its deadline, where a late arrival could still act.
   */
  readonly reconcile?: (
    args: Decoded<Input>,
    call: HandlerCall
  ) => Effect.Effect<Reconciled<Given<Output>>, ToolError, Identifiers<Dependencies>>
}

/** A family of one, for `tools: [...]`; its spec and its body as they were given, for whoever wants to look or to call. */
export interface DeclaredTool<Body, out R, out PerCall> extends Effect.Effect<
  readonly [GovernedTool<PerCall>],
  MisdeclaredTool,
  R
> {
  readonly spec: Effect.Effect<ToolSpec, MisdeclaredTool>
  readonly body: Body
}

const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"

/** One of the four classes is a failure, however it came; anything else that was thrown is a defect. */
const thrown = (error: unknown): Exit.Exit<never, ToolError> =>
  isToolError(error) ? Exit.fail(error) : Exit.die(error)

const awaited = (
  promise: PromiseLike<unknown>,
  abort: () => void
): Effect.Effect<unknown, unknown> =>
  Effect.callback((resume) => {
    promise.then(
      (value) => resume(Effect.succeed(value)),
      (error: unknown) => resume(thrown(error))
    )
    return Effect.sync(abort)
  })

const silent = () => {}

/** One object a call; what few bodies ask for is made when they do. */
class HandedCall implements HandlerCall {
  readonly #context: GovernedContext
  #controller: AbortController | undefined
  readonly run: HandlerCall["run"]
  readonly call: HandlerCall["call"]
  readonly tenant: HandlerCall["tenant"]
  readonly trace_id: HandlerCall["trace_id"]
  readonly principal: HandlerCall["principal"]
  readonly approved_by: HandlerCall["approved_by"]
  readonly key: HandlerCall["key"]
  readonly over_at?: number

  constructor(context: GovernedContext) {
    const { call } = context
    this.#context = context
    this.run = call.run
    this.call = call.call
    this.tenant = call.tenant
    this.trace_id = call.trace_id
    this.principal = call.principal
    this.approved_by = call.approved_by
    this.key = call.key
    if (call.over_at !== undefined) this.over_at = call.over_at
  }

  get show(): HandlerCall["show"] {
    return this.#context.show ?? silent
  }

  get spent(): Spend {
    return this.#context.spent ?? silent
  }

  get permits(): (args: unknown) => boolean {
    const { call } = this.#context
    return (args) => call.permits?.(args) === true
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }

  abort(): void {
    this.#controller?.abort()
  }
}

/** The body as the gate calls it: whatever it returns is an Effect, whatever it throws is inside. */
const handlerOf =
  (body: (args: never, call: HandlerCall) => unknown): GovernedTool<never>["handler"] =>
  (args, context: GovernedContext) => {
    const handed = new HandedCall(context)
    const returned = Result.try(() => body(args as never, handed))
    if (Result.isFailure(returned)) {
      const error: unknown = returned.failure
      return thrown(error)
    }
    const value = returned.success
    if (Effect.isEffect(value)) {
      const effect = value as Effect.Effect<unknown, unknown>
      return Effect.onInterrupt(effect, () => Effect.sync(() => handed.abort()))
    }
    return isPromiseLike(value) ? awaited(value, () => handed.abort()) : Effect.succeed(value)
  }

/** Declares one tool; see the head of this file. A declaration that cannot be right ends the start. */
export const tool = <
  Returned extends Ended<Given<Output>>,
  Input extends AnySchema = Schema.Codec<Readonly<Record<string, Schema.Json>>>,
  Output extends AnySchema = Schema.Codec<Schema.Json>,
  const Dependencies extends Keys = readonly []
>(
  options: ToolOptions<Input, Output, Dependencies>,
  body: (args: Decoded<Input>, call: HandlerCall) => Returned
): DeclaredTool<
  typeof body,
  Exclude<ServicesOf<Returned>, Identifiers<Dependencies>>,
  Identifiers<Dependencies>
> => {
  const {
    dependencies: _,
    description,
    documentation,
    input: takes,
    name,
    output: gives = Schema.Json,
    reconcile,
    ...governance
  } = options
  const made = Effect.gen(function* () {
    const { input_schema, output_schema } = governance
    const input =
      takes === undefined && input_schema !== undefined
        ? yield* jsonSchemaInput(name, input_schema)
        : yield* inputCodec(name, takes ?? Tool.EmptyParams, input_schema)
    const output = yield* outputCodec(name, gives, output_schema)
    const spec = yield* specOf(
      {
        name,
        description: descriptionOf(description, documentation),
        input_schema: input.json_schema,
        output_schema: output.json_schema,
        reconcile: reconcile !== undefined
      },
      governance
    )
    return { input, output, spec }
  })
  const family = Effect.gen(function* () {
    const { input, output, spec } = yield* made
    const services = (yield* Effect.context<never>()) as Context.Context<never>
    const governed = yield* bindTool<Identifiers<Dependencies>>(spec, {
      input,
      output,
      services,
      handler: handlerOf(body),
      ...(reconcile === undefined
        ? undefined
        : { reconcile: handlerOf(reconcile) as NonNullable<GovernedTool["reconcile"]> })
    })
    return [governed] as const
  })
  return Object.assign(family, { spec: Effect.map(made, ({ spec }) => spec), body }) as never
}
