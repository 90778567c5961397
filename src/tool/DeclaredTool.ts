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
import type { Context } from "effect"
import { Effect, Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import type { ToolError } from "../error/ToolError.ts"
import type { Governance } from "./Governance.ts"
import { descriptionOf, specOf } from "./Governance.ts"
import type { CallContext, GovernedTool, Reconciled } from "./GovernedTool.ts"
import { bindTool } from "./GovernedTool.ts"
import type { MisdeclaredTool } from "./MisdeclaredTool.ts"
import type { AnySchema, Decoded, Given } from "./ToolCodec.ts"
import { inputCodec, jsonSchemaInput, outputCodec } from "./ToolCodec.ts"
import type { ToolSpec } from "./ToolSpec.ts"

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
    call: CallContext
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

/** Declares one tool; see the head of this file. A declaration that cannot be right ends the start. */
export const tool = <
  Returned extends Ended<Given<Output>>,
  Input extends AnySchema = Schema.Codec<Readonly<Record<string, Schema.Json>>>,
  Output extends AnySchema = Schema.Codec<Schema.Json>,
  const Dependencies extends Keys = readonly []
>(
  options: ToolOptions<Input, Output, Dependencies>,
  body: (args: Decoded<Input>, call: CallContext) => Returned
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
      handler: { _tag: "Function", run: body },
      ...(reconcile === undefined ? undefined : { reconcile: { _tag: "Function", run: reconcile } })
    })
    return [governed] as const
  })
  return Object.assign(family, { spec: Effect.map(made, ({ spec }) => spec), body }) as never
}
