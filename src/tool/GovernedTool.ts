/**
 * A tool that the gate can run: its spec, its codecs compiled once, and its handler with the services that it was built with.
 * `tool` (DeclaredTool.ts) declares one in one expression; `govern` takes a family of tools as an `effect/ai` `Toolkit`:
 *
 * ```ts
 * const Kit = Toolkit.make(ListDeadLetters)
 * const tools = govern(Kit, { list_dlq_events: { namespace: "operations", side_effects: "read" } }, Effect.gen(function*() {
 *   const reader = yield* OutboxReader
 *   return { list_dlq_events: ({ limit }) => ... }
 * }))
 * ```
 */
import { Cause, Effect, Exit } from "effect"
import type { Context, Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import type { Toolkit } from "effect/ai"
import { truncateUnits } from "../CutText.ts"
import type { Spend } from "../cost/Spending.ts"
import type { ToolError } from "../error/ToolError.ts"
import type { FilePart, GivenFile } from "../conversation/Part.ts"
import type { Json } from "../Canonical.ts"
import type { CallId, ConversationId, RunId, Tenant } from "../Ids.ts"
import type { CallPermission } from "../permission/CallPermission.ts"
import type { Role } from "../Principal.ts"
import type { NestedRuns } from "../run/NestedRuns.ts"
import type { CallGovernance } from "./Governance.ts"
import { declaredSpec } from "./DeclaredSpec.ts"
import type { MisdeclaredTool } from "./MisdeclaredTool.ts"
import { misdeclared } from "./MisdeclaredTool.ts"
import type { ContextReader } from "../run/RunContext.ts"
import type { InputCodec, OutputCodec } from "./ToolCodec.ts"
import { refusalText } from "./ValueRefused.ts"
import { toolKeyOf } from "./ToolSpec.ts"
import type { ToolSpec } from "./ToolSpec.ts"

// An author of a family needs these with `govern`.
export type { CallGovernance, Governance } from "./Governance.ts"
export { MisdeclaredTool } from "./MisdeclaredTool.ts"

/**
 * What a handler is given of its call beside its arguments. The runtime makes one for each attempt; it is valid until the
 * attempt ends. None of it comes from the model.
 */
export interface CallContext {
  readonly run: RunId
  readonly call: CallId
  readonly conversation: ConversationId
  readonly tenant: Tenant
  readonly trace_id: string
  /** The principal whose message began the run. */
  readonly principal: string
  /** The roles that this principal had when it sent the message. None where they are not known, as in a tool worker. */
  readonly roles: ReadonlyArray<Role>
  /** What the message of the run told its tools, as the tool's `context` decodes it. Undefined = nothing. */
  readonly context?: unknown
  /** The person who approved this call, if it needed approval. */
  readonly approved_by: string | undefined
  /** The idempotency key of a dispatched call: the same at every attempt, also after a crash. */
  readonly key: string | undefined
  /**
   * Of a tool with `reconcile`, in ms since 1970: what this attempt sends has to arrive by then or never; where the tool is
   * asked about a lost call, the call was over then.
   */
  readonly over_at?: number
  /** What the host filled in for this call (`fillIn` of the tool), by the place in its request. Absent = nothing. */
  readonly filled?: Readonly<Record<string, Json>> | undefined
  /** Do the kill switch and the policy let the tool run with these arguments without a person's approval? For a body that is redirected. */
  readonly permits?: (args: unknown) => boolean
  /** The runs that this call may start in another system, such as a workflow's. Absent = nobody knows its run. */
  readonly nested?: NestedRuns
  /** Shows watchers of the run a preliminary result, any JSON, in the place of the one before; it is not stored. */
  readonly show: (result: unknown) => void
  /**
   * Attaches a file to the result: the model is shown it, and people who may read the conversation can fetch it. Gives what the
   * journal has of it. Rejects with an error of the tool where it is too large or cannot be stored, in a transactional tool and in a
   * worker of another process.
   */
  readonly attach: (file: GivenFile) => Promise<FilePart>
  /** Reports what a model that the body called has cost. `metered` (layers/model) reports it for models that it wraps. */
  readonly spent: Spend
  /** Aborted when the attempt is interrupted: the call was cancelled, or its time is over. */
  readonly signal: AbortSignal
}

/** The run of a call, before the call has a body. */
export type BoundRun = Pick<
  CallContext,
  "run" | "conversation" | "tenant" | "principal" | "trace_id"
>

/** A call before it has a body. */
export interface CallOfRun extends BoundRun {
  readonly call: CallId
}

/** The second argument of a toolkit's handler, as `effect/ai` types it, with the call's context inside. */
export interface GovernedContext {
  readonly toolCallId: string
  /** `call.show` as an Effect. */
  readonly preliminary: (result: unknown) => Effect.Effect<void>
  readonly call: CallContext
}

/** The call's context from a handler's second argument. Dies if the handler was not called by the gate. */
export const callOf = (context: Toolkit.HandlerContext<never>): CallContext =>
  (context as unknown as GovernedContext).call

/** A handler that gives an Effect: that of a toolkit or of a layer. */
export type EffectHandler<out R = never> = (
  args: unknown,
  context: GovernedContext
) => Effect.Effect<unknown, unknown, R>

/** A function of an author who may know no Effect: it gives an Effect, a promise or a value, or throws. */
export interface FunctionHandler {
  readonly _tag: "Function"
  readonly run: (args: never, call: CallContext) => unknown
}

/** A handler behind an interceptor; `spec` is that of its tool. */
export interface InterceptedHandler<out R = never> {
  readonly _tag: "Intercepted"
  readonly spec: ToolSpec
  readonly interceptor: Interceptor
  readonly handler: ToolHandler<R>
}

/** A handler as it was declared. The runtime makes an Effect of it (`HandlerEffect` in layers/runtime/tool). */
export type ToolHandler<R = never> = EffectHandler<R> | FunctionHandler | InterceptedHandler<R>

/** One call on its way to its tool, with its decoded arguments. */
export interface Intercepted {
  readonly tool: ToolSpec
  readonly args: unknown
  readonly call: CallContext
}

/** `next` runs the handler beneath, with these arguments or with others of its kind. */
export type Interceptor = <R>(
  intercepted: Intercepted,
  next: (args: unknown) => Effect.Effect<unknown, ToolError, R>
) => Effect.Effect<unknown, ToolError, R>

/** What became of a call that was lost, as far as the tool can tell. */
export type Reconciled<Result = unknown> =
  | { readonly _tag: "Happened"; readonly result: Result }
  /** It did not happen and will not: the call may be sent again at once. */
  | { readonly _tag: "NotHappened" }
  /** It ended with this failure, whatever its class. */
  | { readonly _tag: "Failed"; readonly error: ToolError }
  | { readonly _tag: "Unknown" }

/**
 * May this call run now? It is called before a person is asked or a use of what was authorised in advance is spent, and again,
 * once it is decided, before the body starts. It may read a store. A failure refuses the call with that error; a defect,
 * `false`, or no answer within the tool's `timeout_ms`, fails it too: nobody is asked, and the body does not run. Any other
 * value is ignored. It is not called for a call that was dispatched before, which may have happened, nor in a replay. Between it and the body a
 * call may still wait for a limit of its tool, so what has to hold at the moment of a write, the write checks itself.
 */
export type Precondition<Args = never, R = never> = (
  args: Args,
  call: CallContext
) => Effect.Effect<unknown, ToolError, R> | PromiseLike<unknown> | boolean | void

/** `R` is what the handler needs of its actor at each call, beside the services that it was built with. */
export interface GovernedTool<out R = never> {
  readonly spec: ToolSpec
  readonly key: string
  readonly decode: (args: unknown) => Exit.Exit<unknown, unknown>
  readonly encode: (result: unknown) => Exit.Exit<unknown, unknown>
  /** Decodes the context of a run, which is checked when a message is sent. Absent = the tool reads none. */
  readonly context?: ContextReader
  /** The permission of each call. Absent = what its spec and the policy say holds for all. */
  readonly permission?: CallPermission
  /** Is this JSON a valid result? For examples and recordings. */
  readonly check: (json: unknown) => Exit.Exit<unknown, unknown>
  readonly handler: ToolHandler<R>
  /** Queries what became of a lost call, under its key; gives a `Reconciled`. There when `spec.reconcile` is. */
  readonly reconcile?: ToolHandler<R>
  /** May a call run now, by its decoded arguments (`Precondition`)? Absent = its permission alone decides. */
  readonly precondition?: ToolHandler<R>
  /** The services that the handler was built with. */
  readonly services: Context.Context<never>
  /**
   * The client of the conversation, such as a browser, gives its results: its handler never runs, and no interceptor sees its
   * calls. `expires_ms`: how long a call waits. Absent = its handler does.
   */
  readonly client?: { readonly expires_ms: number }
  /** What its calls are bound to beside their arguments, such as an endpoint; journaled with each dispatch. Absent = nothing. */
  readonly target?: Json
  /**
   * What the host fills in for a call, by the place in its request. Asked for once: before a person is asked about the call, or
   * else before its dispatch. It is journaled and shown to the approver, a decision holds for it only, and the handler is given
   * it (`call.filled`), also after a restart. Where it fails, the call does. A read has no dispatch, so that its handler asks
   * itself; a tool that reconciles or is transactional is not asked about.
   */
  readonly fillIn?: (call: CallOfRun) => Effect.Effect<Readonly<Record<string, Json>>, ToolError>
  /** The host is asked by the first call of a run only, and each later one has the same values. Absent = each call asks. */
  readonly filledOncePerRun?: true
  /** The plugin or server that it comes from. Absent = `internal`. */
  readonly provider?: string
  /** Can it be called now? Absent = yes. */
  readonly available?: () => boolean
  /** Why it may not be called now; the gate reads it before it requests approval. Absent = it may. */
  readonly refusal?: () => ToolError | undefined
}

/** The parts of a tool beside its spec. */
export interface ToolParts<R> extends Pick<
  GovernedTool<R>,
  "context" | "handler" | "permission" | "precondition" | "reconcile" | "services"
> {
  readonly input: InputCodec
  readonly output: OutputCodec
}

const refusalOf = (exit: Exit.Exit<unknown, unknown>): string | undefined =>
  Exit.isSuccess(exit) ? undefined : truncateUnits(refusalText(Cause.squash(exit.cause)), 300)

/** The first part that should be a function and is none, as JavaScript may have it. */
const noFunctionIn = <R>({
  handler,
  precondition,
  reconcile
}: Pick<ToolParts<R>, "handler" | "precondition" | "reconcile">): string | undefined =>
  Object.entries({ body: handler, precondition, reconcile }).find(
    ([, part]) =>
      typeof part === "object" && part._tag === "Function" && typeof part.run !== "function"
  )?.[0]

/** Joins a spec and its parts. Fails where an example does not fit the tool's schemas, and where a part is no function. */
export const bindTool = <R>(
  spec: ToolSpec,
  { context, handler, input, output, permission, precondition, reconcile, services }: ToolParts<R>
): Effect.Effect<GovernedTool<R>, MisdeclaredTool> => {
  const wrong = noFunctionIn({
    handler,
    ...(precondition === undefined ? undefined : { precondition }),
    ...(reconcile === undefined ? undefined : { reconcile })
  })
  if (wrong !== undefined) {
    const fix = "Write a function of the arguments and the call"
    return Effect.fail(misdeclared(spec.name, wrong, "it is no function", fix))
  }
  for (const [index, example] of spec.examples.entries()) {
    const field = `examples.${index}`
    const given = refusalOf(input.decode(example.input))
    if (given !== undefined) {
      const fix = "Write arguments that the tool's input takes"
      return Effect.fail(misdeclared(spec.name, `${field}.input`, given, fix))
    }
    const gives = example.output === undefined ? undefined : refusalOf(output.check(example.output))
    if (gives !== undefined) {
      const fix = "Write a result that the tool's output allows, or leave it out"
      return Effect.fail(misdeclared(spec.name, `${field}.output`, gives, fix))
    }
  }
  return Effect.succeed({
    spec,
    key: toolKeyOf(spec),
    decode: input.decode,
    encode: output.encode,
    check: output.check,
    handler,
    services,
    ...(context === undefined ? undefined : { context }),
    ...(permission === undefined ? undefined : { permission }),
    ...(precondition === undefined ? undefined : { precondition }),
    ...(reconcile === undefined ? undefined : { reconcile })
  })
}

/** A precondition as its author wrote it, as a handler. */
export const preconditionHandler = (precondition: unknown): FunctionHandler => ({
  _tag: "Function",
  run: precondition as FunctionHandler["run"]
})

/** What governs a tool of a family. */
export interface FamilyGovernance<Args = never> extends CallGovernance<Args> {
  /** May a call run now? Absent = its permission alone decides. */
  readonly precondition?: Precondition<Args>
}

type Fails<Tools extends Record<string, Tool.Any>> = {
  readonly [Name in keyof Tools]: Tool.Failure<Tools[Name]> extends ToolError ? Tools[Name] : never
}

const governed = Effect.fnUntraced(function* (
  tool: Tool.Any,
  governed_by: FamilyGovernance | undefined,
  entry: Tool.Handler<string> | undefined
) {
  const { name } = tool
  if (governed_by === undefined) {
    const fix = "Say at least its namespace and side_effects"
    return yield* misdeclared(name, "governance", "nothing governs it", fix)
  }
  if (entry === undefined) {
    const fix = "Add it to the handlers of its toolkit"
    return yield* misdeclared(name, "handler", "the toolkit has no handler for it", fix)
  }
  const { precondition, ...governance } = governed_by
  const given = Tool.isDynamic(tool) ? tool.jsonSchema : undefined
  const { input, output, permission, spec } = yield* declaredSpec(
    {
      name,
      description: tool.description,
      input: given === undefined ? (tool.parametersSchema as Schema.Codec<unknown>) : undefined,
      output: tool.successSchema as Schema.Codec<unknown>,
      reconcile: false
    },
    given === undefined ? governance : { ...governance, input_schema: given }
  )
  return yield* bindTool(spec, {
    input,
    output,
    handler: entry.handler,
    services: entry.context,
    ...(precondition === undefined
      ? undefined
      : { precondition: preconditionHandler(precondition) }),
    ...(permission === undefined ? undefined : { permission })
  })
})

/**
 * Every tool of a toolkit with its governance and its handler. The services of the handlers are requirements of the result, so
 * that a handler whose service is not provided does not compile; neither does a failure that is not a `ToolError`.
 */
export const govern = <
  Tools extends Record<string, Tool.Any>,
  Handlers extends
    | Toolkit.HandlersFrom<Tools>
    | Effect.Effect<Toolkit.HandlersFrom<Tools>, unknown, unknown>
>(
  toolkit: Toolkit.Toolkit<Tools> & { readonly tools: Fails<Tools> },
  governance: { readonly [Name in keyof Tools]: FamilyGovernance<Tool.Parameters<Tools[Name]>> },
  handlers: Handlers
): Effect.Effect<
  ReadonlyArray<GovernedTool<Tool.HandlerServices<Tools[keyof Tools]>>>,
  Effect.Error<Handlers> | MisdeclaredTool,
  Effect.Services<Handlers>
> =>
  Effect.gen(function* () {
    // Read from this toolkit's own context: `effect/ai` knows a tool by its name alone, so contexts are never merged.
    const making: Effect.Effect<
      unknown,
      Effect.Error<Handlers>,
      Effect.Services<Handlers>
    > = toolkit.toHandlers(handlers as never)
    const built = (yield* making) as Context.Context<never>
    return yield* Effect.forEach(Object.values<Tool.Any>(toolkit.tools), (tool) =>
      governed(
        tool,
        Object.hasOwn(governance, tool.name) ? governance[tool.name] : undefined,
        built.mapUnsafe.get(tool.id) as Tool.Handler<string> | undefined
      )
    )
  })
