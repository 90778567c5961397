/**
 * A tool ready to be run by the gate: its spec, its codecs compiled once, and its handler over the services that it was
 * built with. Authors write an `effect/ai` `Tool`, say what governs it, and give handlers:
 *
 * ```ts
 * const Kit = Toolkit.make(ListDeadLetters)
 * const tools = govern(Kit, { list_dlq_events: { namespace: "operations", side_effects: "read" } }, Effect.gen(function*() {
 *   const reader = yield* OutboxReader
 *   return { list_dlq_events: ({ limit }) => ... }
 * }))
 * ```
 */
import { Effect, Schema } from "effect"
import type { Context, Exit } from "effect"
import { Tool } from "effect/ai"
import type { Toolkit } from "effect/ai"
import type { ToolError } from "../error/ToolError.ts"
import type { CallId, RunId, Tenant } from "../Ids.ts"
import type { Role } from "../Principal.ts"
import { flatNames, hasOnly } from "./FlatObject.ts"
import type { Permission, SideEffects } from "./ToolSpec.ts"
import {
  categoryOf,
  keyOf,
  replayPolicyOf,
  result_bytes_default,
  timeout_ms_default,
  ToolSpec,
  transaction_ms_max
} from "./ToolSpec.ts"

/** What the runtime tells a body about its call; none of it comes from the model. */
export interface CallContext {
  readonly run: RunId
  readonly call: CallId
  readonly tenant: Tenant
  readonly trace_id: string
  /** The principal whose message began the run. */
  readonly principal: string
  /** The person who approved this call, if one was asked. */
  readonly approved_by: string | undefined
  /** The idempotency key of a dispatched call: the same at every attempt, also after a crash. */
  readonly key: string | undefined
}

/** The second argument of a handler, as `effect/ai` types it, with the call's context inside. */
export interface GovernedContext {
  readonly toolCallId: string
  readonly preliminary: (result: unknown) => Effect.Effect<void>
  readonly call: CallContext
}

/** The call's context from a handler's second argument. Dies if the handler was not called by the gate. */
export const callOf = (context: Toolkit.HandlerContext<never>): CallContext =>
  (context as unknown as GovernedContext).call

/** `R` is what the body needs of its actor at each call, beside the services that it was built with. */
export interface GovernedTool<out R = never> {
  readonly spec: ToolSpec
  readonly key: string
  readonly decode: (args: unknown) => Exit.Exit<unknown, unknown>
  readonly encode: (result: unknown) => Exit.Exit<unknown, unknown>
  readonly handler: (args: unknown, context: GovernedContext) => Effect.Effect<unknown, unknown, R>
  /** The services that the handler was built with. */
  readonly services: Context.Context<never>
}

/** What an author says of a tool; the rest is derived. */
export interface Governance {
  readonly namespace: string
  /** Absent = `1`. */
  readonly version?: string
  readonly side_effects: SideEffects
  /** `proposal` makes a write a suggestion, which asks nobody. */
  readonly produces?: "proposal"
  readonly permission?: Permission
  readonly approvers?: ReadonlyArray<Role>
  readonly approval_expires_ms?: number
  /** Says to a person what will happen. Absent = the tool's description. */
  readonly effect_description?: string
  readonly idempotent?: boolean
  readonly transactional?: boolean
  /** A result of it is the answer, and the model is not asked again. */
  readonly stop_loop?: boolean
  /** Of one attempt. Absent = 60,000, for transactional tools 5,000. */
  readonly timeout_ms?: number
  readonly result_bytes_max?: number
}

/** A declaration that cannot be right; it ends the start, and names the tool, the field and the mend. */
export class MisdeclaredTool extends Schema.TaggedError<MisdeclaredTool>()("MisdeclaredTool", {
  tool: Schema.String,
  field: Schema.String,
  message: Schema.String
}) {}

const decodeSpec = Schema.decodeUnknownEffect(ToolSpec)

/** The complete spec of a tool. Fails when a field is out of bounds, or when two contradict each other. */
export const specOf = Effect.fnUntraced(function* (tool: Tool.Any, governance: Governance) {
  const { produces, version = "1", ...given } = governance
  if (given.transactional === true && given.side_effects === "external") {
    return yield* new MisdeclaredTool({
      tool: tool.name,
      field: "transactional",
      message:
        "an external effect cannot commit with the journal: declare side_effects write, or drop transactional"
    })
  }
  const timeout_ms =
    given.timeout_ms ?? (given.transactional === true ? transaction_ms_max : timeout_ms_default)
  if (given.transactional === true && timeout_ms > transaction_ms_max) {
    return yield* new MisdeclaredTool({
      tool: tool.name,
      field: "timeout_ms",
      message: `a transactional body holds the run's row: at most ${transaction_ms_max}`
    })
  }
  const description = tool.description ?? ""
  return yield* decodeSpec(
    {
      ...given,
      name: tool.name,
      version,
      description,
      input_schema: Tool.getJsonSchema(tool),
      output_schema: Schema.toJsonSchemaDocument(tool.successSchema).schema,
      replay_policy: replayPolicyOf(given.side_effects),
      category: categoryOf(given.side_effects, produces),
      approvers: given.approvers ?? [],
      effect_description: given.effect_description ?? description,
      idempotent: given.idempotent ?? false,
      transactional: given.transactional ?? false,
      timeout_ms,
      result_bytes_max: given.result_bytes_max ?? result_bytes_default
    },
    { onExcessProperty: "error" }
  ).pipe(
    Effect.mapError(
      (error) => new MisdeclaredTool({ tool: tool.name, field: "spec", message: error.message })
    )
  )
})

/** Refuses what the schema does not name. */
const decoderOf = (schema: Schema.Decoder<unknown>, spec: ToolSpec): GovernedTool["decode"] => {
  const strict = Schema.decodeUnknownExit(schema, { onExcessProperty: "error" })
  const names = flatNames(spec.input_schema)
  if (names === undefined) return strict
  // Compiled schemas know no options: where the names are right, both say the same.
  const plain = Schema.decodeUnknownExit(schema)
  return (args) => (hasOnly(args, names) ? plain(args) : strict(args))
}

type Fails<Tools extends Record<string, Tool.Any>> = {
  readonly [Name in keyof Tools]: Tool.Failure<Tools[Name]> extends ToolError ? Tools[Name] : never
}

/**
 * Every tool of a toolkit with its governance and its handler. The handlers' services are requirements of the result, so
 * that a handler which needs a service that nobody provides does not compile; so is a failure that is not a `ToolError`.
 */
export const govern = <
  Tools extends Record<string, Tool.Any>,
  Handlers extends Toolkit.HandlersFrom<Tools>,
  EX = never,
  RX = never
>(
  toolkit: Toolkit.Toolkit<Tools> & { readonly tools: Fails<Tools> },
  governance: { readonly [Name in keyof Tools]: Governance },
  handlers: Handlers | Effect.Effect<Handlers, EX, RX>
): Effect.Effect<
  ReadonlyArray<GovernedTool<Tool.HandlerServices<Tools[keyof Tools]>>>,
  EX | MisdeclaredTool,
  RX
> =>
  Effect.gen(function* () {
    // Read from this toolkit's own context: `effect/ai` knows a tool by its name alone, so contexts are never merged.
    const built = (yield* toolkit.toHandlers(handlers)) as Context.Context<never>
    const tools: Array<GovernedTool<Tool.HandlerServices<Tools[keyof Tools]>>> = []
    for (const tool of Object.values<Tool.Any>(toolkit.tools)) {
      const spec = yield* specOf(tool, governance[tool.name]!)
      const entry = built.mapUnsafe.get(tool.id) as Tool.Handler<string> | undefined
      if (entry === undefined) {
        return yield* new MisdeclaredTool({
          tool: tool.name,
          field: "handler",
          message: "the toolkit has no handler for it"
        })
      }
      tools.push({
        spec,
        key: keyOf(spec),
        decode: decoderOf(tool.parametersSchema as Schema.Decoder<unknown>, spec),
        encode: Schema.encodeUnknownExit(
          Schema.toCodecJson(tool.successSchema) as unknown as Schema.Encoder<unknown>
        ),
        handler: entry.handler,
        services: entry.context
      })
    }
    return tools
  })
