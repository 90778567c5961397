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
import { Cause, Effect, Exit, Schema } from "effect"
import type { Context } from "effect"
import * as Tool from "effect/ai/Tool"
import type { Toolkit } from "effect/ai"
import { truncateUnits } from "../value/CutText.ts"
import type { Spend } from "../cost/Spending.ts"
import type { ToolError } from "../error/ToolError.ts"
import type { FilePart, AttachedFile } from "../conversation/Part.ts"
import type { Json } from "../value/Canonical.ts"
import type { CallId, ConversationId, RunId, Tenant } from "../value/Ids.ts"
import type { CallPermission } from "../permission/Policy.ts"
import type { Role } from "../principal/Principal.ts"
import type { NestedRuns } from "../run/NestedRuns.ts"
import type { CallGovernance } from "./Governance.ts"
import { declaredSpec } from "./DeclaredSpec.ts"
import type { MisdeclaredTool } from "./MisdeclaredTool.ts"
import { misdeclared } from "./MisdeclaredTool.ts"
import type { ContextReader } from "../run/RunContext.ts"
import type { InputCodec, OutputCodec } from "./ToolCodec.ts"
import { outputCodec } from "./ToolCodec.ts"
import { approvalOfTool } from "./ToolkitHints.ts"
import { withModelOutput } from "./ToolkitOutput.ts"
import { refusalText } from "../schema/SchemaIssues.ts"
import { toolKeyOf } from "./ToolSpec.ts"
import type { ToolSpec } from "./ToolSpec.ts"
import { defined } from "../value/PlainObject.ts"

// An author of a family needs these with `govern`.
export type { CallGovernance, Governance } from "./Governance.ts"
export { MisdeclaredTool } from "./MisdeclaredTool.ts"

/**
 * What a handler learns about its call besides the arguments. The runtime makes one context for each attempt, and it is valid
 * until the attempt ends. None of it comes from the model.
 */
export interface CallContext {
  /** The id of the run that calls. */
  readonly run: RunId
  /** The call's id, unique in its run. */
  readonly call: CallId
  /** The conversation of the run. */
  readonly conversation: ConversationId
  /** Whose run it is: look up nothing of another tenant. */
  readonly tenant: Tenant
  /** The trace that the run is in. */
  readonly trace_id: string
  /** The principal whose message began the run. */
  readonly principal: string
  /** The roles that this principal had when it sent the message. Empty where they are not known, as in a tool worker. */
  readonly roles: ReadonlyArray<Role>
  /** The context that the run's message passed, decoded by the tool's `context` schema. Undefined = the message passed none. */
  readonly context?: unknown
  /** The person who approved this call, if it needed approval. */
  readonly approved_by: string | undefined
  /**
   * The idempotency key of a dispatched call, 64 hex digits. It is the same at every attempt, even after a crash, and for all
   * calls that are one side effect by the tool's `idempotency`.
   */
  readonly key: string | undefined
  /**
   * The text of the tool's `idempotency` with the values of its arguments, such as `refund-1004`, for people and for records
   * elsewhere: two side effects may have the same text, and never the same `key`. Undefined = the tool declares none.
   */
  readonly business_key?: string | undefined
  /**
   * Only for a tool with `reconcile`, in ms since 1970. For the body: whatever this attempt sends has to arrive by this time, or
   * never. For `reconcile`: the lost call was over at this time.
   */
  readonly over_at?: number
  /** The values that the host filled in for this call (`fillIn` of the tool), by their place in its request. Absent = none. */
  readonly filled?: Readonly<Record<string, Json>> | undefined
  /**
   * Whether the kill switch and the policy let the tool run with these arguments without a person's approval. It is for a body
   * whose request is redirected.
   */
  readonly permits?: (args: unknown) => boolean
  /**
   * The nesting, depth limit and budget for runs that this call starts in another system, such as a workflow's. Absent = the
   * call's run is not known.
   */
  readonly nested?: NestedRuns
  /** Shows a preliminary result (any JSON) to watchers of the run. It replaces the previous one and is not stored. */
  readonly show: (result: unknown) => void
  /**
   * Attaches a file to the result, such as `{ type: "file", media_type: "application/pdf", data: bytes, name: "bill.pdf" }`: the
   * model is shown it, and staff who may read the conversation can fetch it. With `for: "customer"` it is also one of the answer's
   * `files`, if the run completes: in the answer, in messages and in the event stream, where its customer can fetch it. A result has
   * at most 32 files, and so has an answer of those for its customer. Returns the journal's description of the file. Rejects with a tool error if there are more, if the file is too large or cannot be
   * stored, in a transactional tool, and in a worker of another process.
   */
  readonly attach: (file: AttachedFile) => Promise<FilePart>
  /**
   * Reports the tokens that a model used when the body called it. `metered` (layers/model) does so for the models that it wraps.
   */
  readonly spent: Spend
  /** Aborts when the attempt is interrupted: because the call was cancelled, or because its time is over. */
  readonly signal: AbortSignal
}

/** The facts about a call's run that are known before the call's body starts. */
export type BoundRun = Pick<
  CallContext,
  "run" | "conversation" | "tenant" | "principal" | "trace_id"
>

/** A call whose body has not started. */
export interface CallOfRun extends BoundRun {
  /** The call's id, unique in its run. */
  readonly call: CallId
}

/** The second argument of a toolkit's handler, as `effect/ai` types it, with the call's context inside. */
export interface GovernedContext {
  /** The call's id, as `call.call`. */
  readonly toolCallId: string
  /** `call.show` as an Effect. */
  readonly preliminary: (result: unknown) => Effect.Effect<void>
  /**
   * Ends when the run of the call is being stopped, which does not interrupt a dispatched call: its body may take back what
   * nobody has begun. Absent = the call's run is in another process.
   */
  readonly stopped?: Effect.Effect<void> | undefined
  /** What the handler may know of its call; `callOf` reads it. */
  readonly call: CallContext
}

/** Returns the call's context from a handler's second argument. The gate puts it there; no other caller has one. */
export const callOf = (context: Toolkit.HandlerContext<never>): CallContext =>
  (context as unknown as GovernedContext).call

/** A handler that returns an Effect, as those of a toolkit or of a layer do. */
export type EffectHandler<out R = never> = (
  args: unknown,
  context: GovernedContext
) => Effect.Effect<unknown, unknown, R>

/** A handler for authors who need not know Effect: a function that returns an Effect, a promise or a value, or throws. */
export interface FunctionHandler {
  /** A function of the author. */
  readonly _tag: "Function"
  /** The function: arguments and call to a result. */
  readonly run: (args: never, call: CallContext) => unknown
}

/** A handler that is wrapped by an interceptor; `spec` is the spec of its tool. */
export interface InterceptedHandler<out R = never> {
  readonly _tag: "Intercepted"
  /** The spec of the wrapped tool. */
  readonly spec: ToolSpec
  /** What wraps it. */
  readonly interceptor: Interceptor
  /** The wrapped handler. */
  readonly handler: ToolHandler<R>
}

/** A handler as it was declared. The runtime converts it into an Effect (`HandlerEffect` in layers/runtime/tool). */
export type ToolHandler<R = never> = EffectHandler<R> | FunctionHandler | InterceptedHandler<R>

/** One call that an interceptor sees, with its decoded arguments. */
export interface Intercepted {
  /** The spec of the tool that is called. */
  readonly tool: ToolSpec
  /** The decoded arguments. */
  readonly args: unknown
  /** What a handler may know of the call. */
  readonly call: CallContext
}

/** Wraps a handler. `next` runs the wrapped handler with the same arguments, or with others that fit its input schema. */
export type Interceptor = <R>(
  intercepted: Intercepted,
  next: (args: unknown) => Effect.Effect<unknown, ToolError, R>
) => Effect.Effect<unknown, ToolError, R>

/** The outcome of a lost call, as far as the tool can tell. */
export type Reconciled<Result = unknown> =
  | {
      readonly _tag: "Happened"
      /** What the call gave, decoded. */
      readonly result: Result
    }
  /** The call did not happen and will not happen later, so it may be sent again at once. */
  | { readonly _tag: "NotHappened" }
  /** The call ended with this failure, whatever the failure's class. */
  | {
      readonly _tag: "Failed"
      /** Why it failed. */
      readonly error: ToolError
    }
  | { readonly _tag: "Unknown" }

/**
 * Decides whether a call may run now. It is called before a person is asked or a use of an authorisation in advance is counted,
 * and again after the decision, before the body starts. It may read a store. A failure refuses the call with that error; a
 * defect, `false`, or no answer within the tool's `timeout_ms` fails it too: nobody is asked, and the body does not run. Any
 * other value is ignored. It is not called for a call that was dispatched before, which may have happened, nor in a replay. A
 * call may still wait for a limit of its tool between this check and the body, so a condition that must hold at the moment of a
 * write has to be checked by the write itself.
 */
export type Precondition<Args = never, R = never> = (
  args: Args,
  call: CallContext
) => Effect.Effect<unknown, ToolError, R> | PromiseLike<unknown> | boolean | void

/**
 * A tool that the gate can run. `R` is the type of the services that the actor provides for each call, in addition to those that
 * the handler was built with.
 */
export interface GovernedTool<out R = never> {
  /** What the tool is, as the registry and models know it. */
  readonly spec: ToolSpec
  /** Its registry key, `namespace.name@version`. */
  readonly key: string
  /** Reads the model's arguments; fails where they do not fit. */
  readonly decode: (args: unknown) => Exit.Exit<unknown, unknown>
  /** Turns a handler's result into JSON; fails where it does not fit the output schema. */
  readonly encode: (result: unknown) => Exit.Exit<unknown, unknown>
  /** Decodes the context of a run. It is also checked when a message is sent. Absent = the tool reads no context. */
  readonly context?: ContextReader
  /** Decides the permission of each call. Absent = the spec and the policy decide for all calls. */
  readonly permission?: CallPermission
  /** Checks that JSON is a valid result; used for examples and recordings. */
  readonly check: (json: unknown) => Exit.Exit<unknown, unknown>
  /** What a call runs. */
  readonly handler: ToolHandler<R>
  /** Finds out the outcome of a lost call by its key; its result is a `Reconciled`. Present if `spec.reconcile` is true. */
  readonly reconcile?: ToolHandler<R>
  /** Decides by the decoded arguments whether a call may run now (`Precondition`). Absent = its permission alone decides. */
  readonly precondition?: ToolHandler<R>
  /** The services that the handler was built with. */
  readonly services: Context.Context<never>
  /**
   * Present = the client of the conversation, such as a browser, sends the results: the handler never runs, and no interceptor
   * sees the calls. `expires_ms` is how long a call waits. Absent = the handler gives the results.
   */
  readonly client?: {
    /** How long a call waits for its result, in ms. */
    readonly expires_ms: number
  }
  /**
   * What the tool's calls depend on besides their arguments, such as an endpoint. It is journaled with each dispatch. Absent =
   * nothing.
   */
  readonly target?: Json
  /**
   * Asks the host for the values that it fills in for a call, by their place in the request. It is asked once: before a person
   * is asked about the call, or else before the dispatch. The values are journaled and shown to the approver, the decision holds
   * only for them, and the handler receives them (`call.filled`), even after a restart. If this fails, the call fails. A read
   * has no dispatch, so its handler asks the host itself; it is never called for a tool that reconciles or is transactional.
   */
  readonly fillIn?: (call: CallOfRun) => Effect.Effect<Readonly<Record<string, Json>>, ToolError>
  /** True = only the first call of a run asks the host, and later calls use the same values. Absent = each call asks. */
  readonly filledOncePerRun?: true
  /** The plugin or server that the tool comes from. Absent = `internal`. */
  readonly provider?: string
  /** Whether the tool can be called now. Absent = yes. */
  readonly available?: () => boolean
  /** Why the tool may not be called now; undefined = it may. The gate asks this before it requests approval. Absent = it may. */
  readonly refusal?: () => ToolError | undefined
}

/** The parts of a tool besides its spec. */
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
const noFunctionIn = <R>(
  parts: Readonly<Record<string, ToolHandler<R> | undefined>>
): string | undefined =>
  Object.entries(parts).find(
    ([, part]) =>
      typeof part === "object" && part._tag === "Function" && typeof part.run !== "function"
  )?.[0]

/** Joins a spec and its parts. Fails where an example does not fit the tool's schemas, and where a part is no function. */
export const bindTool = <R>(
  spec: ToolSpec,
  { context, handler, input, output, permission, precondition, reconcile, services }: ToolParts<R>
): Effect.Effect<GovernedTool<R>, MisdeclaredTool> => {
  const wrong = noFunctionIn({ body: handler, precondition, reconcile })
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
    ...defined({ context, permission, precondition, reconcile })
  })
}

/** A function as its author wrote it, as a handler. */
export const functionHandler = (run: unknown): FunctionHandler => ({
  _tag: "Function",
  run: run as FunctionHandler["run"]
})

/** What governs a tool of a family. */
export interface FamilyGovernance<Args = never> extends CallGovernance<Args> {
  /** May a call run now? Absent = its permission alone decides. */
  readonly precondition?: Precondition<Args>
}

type Fails<Tools extends Record<string, Tool.Any>> = {
  readonly [Name in keyof Tools]: Tool.Failure<Tools[Name]> extends ToolError ? Tools[Name] : never
}

/** The handler of a tool, with the services that it was built with. */
export interface ToolkitBody {
  readonly handler: EffectHandler
  readonly context: Context.Context<never>
}

/** The handler that the context of a toolkit's layer has for a tool. */
export const handlerIn = (
  { mapUnsafe }: Context.Context<never>,
  { id }: Tool.Any
): ToolkitBody | undefined => mapUnsafe.get(id) as Tool.Handler<string> | undefined

/** Joins a tool and what governs it. What its `needsApproval` says holds unless the governance says something else. */
export const bindToolkitTool = Effect.fnUntraced(function* (
  tool: Tool.Any,
  { precondition, ...governance }: FamilyGovernance,
  body: ToolkitBody | undefined
): Effect.fn.Return<GovernedTool, MisdeclaredTool> {
  const { name, toModelOutput } = tool
  if (Tool.isProviderDefined(tool)) {
    const problem = "the model's provider runs it, past every gate of this service"
    const fix = "Leave it out of the toolkit, and name it in `provider_tools` of the agent"
    return yield* misdeclared(name, "tool", problem, fix)
  }
  if (body === undefined) {
    const fix = "Add it to the handlers of its toolkit"
    return yield* misdeclared(name, "handler", "the toolkit has no handler for it", fix)
  }
  const success = tool.successSchema as Schema.Codec<unknown>
  const isSaid = governance.permission !== undefined || governance.needs_approval !== undefined
  const given = Tool.isDynamic(tool) ? tool.jsonSchema : undefined
  const { input, output, permission, spec } = yield* declaredSpec(
    {
      name,
      description: Tool.getDescription(tool),
      input: given === undefined ? (tool.parametersSchema as Schema.Codec<unknown>) : undefined,
      output: toModelOutput === undefined ? success : Schema.String,
      reconcile: false
    },
    {
      ...(isSaid ? undefined : approvalOfTool(tool)),
      ...governance,
      ...(given && { input_schema: given })
    }
  )
  const { context: services, handler } = body
  const made =
    toModelOutput === undefined
      ? { handler, output }
      : withModelOutput(
          handler,
          { text: output, success: yield* outputCodec(name, success) },
          toModelOutput
        )
  return yield* bindTool(spec, {
    ...made,
    input,
    services,
    ...defined({
      precondition: precondition && functionHandler(precondition),
      permission
    })
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
    return yield* Effect.forEach(Object.values<Tool.Any>(toolkit.tools), (tool) => {
      const { name } = tool
      const governed_by = Object.hasOwn(governance, name) ? governance[name] : undefined
      const fix = "Say at least its namespace and side_effects"
      return governed_by === undefined
        ? Effect.fail(misdeclared(name, "governance", "nothing governs it", fix))
        : bindToolkitTool(tool, governed_by, handlerIn(built, tool))
    })
  })
