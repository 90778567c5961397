/**
 * What the handler of a call is given. Three objects stand behind one another, each with a maker and a lifetime of its own:
 *
 * - `CallHost` is what the run (`LoopCall`) or the queue (`QueuedCall`) does for a call: it dispatches, commits, shows and
 *   reports. There is one for each call, for as long as the call has no outcome.
 * - `BodyContext` is what all bodies of one tool share for one actor: its services over the tool's own, the fork over
 *   them, and the meter of its spending. It is made at the first call and kept with the tool and the actor.
 * - `HandlerContext` is the second argument of the handler, made for each attempt and valid until the attempt ends. It
 *   joins the other two; none of it comes from the model. Members that few handlers read are made when they are read,
 *   so that a call costs one object (bench row `step`).
 */
import { Context, Effect, Exit, Option, Tracer } from "effect"
import type { Prices } from "../../../src/cost/PriceTable.ts"
import { senderOf } from "../../../src/run/Forked.ts"
import type { NestedRuns } from "../../../src/run/NestedRuns.ts"
import { nestedRunsOf } from "../../../src/run/NestedRuns.ts"
import { ToolTerminalError } from "../../../src/error/ToolError.ts"
import { contextFor } from "../../../src/run/RunContext.ts"
import type { CallContext, GovernedContext } from "../../../src/tool/GovernedTool.ts"
import { businessKey } from "../../../src/tool/Idempotency.ts"
import { memoised } from "../../../src/value/Memoised.ts"
import { AgentMemory } from "../../../services/AgentMemory.ts"
import type { ActorContext, AgentTool, CallHost, Fork } from "./CallHost.ts"
import { ActorBase } from "./CallHost.ts"
import type { SpendingMeter } from "./CallOutcome.ts"
import { spendingMeterOf } from "./CallOutcome.ts"

/** What all bodies of one tool share for one actor. */
export interface BodyContext {
  readonly context: ActorContext
  readonly fork: Fork
  /** A tracer listens: only then a body has a span. */
  readonly traced: boolean
  readonly meter: SpendingMeter
  /** May its bodies attach files? Not in a transaction, which the store of files is no part of. */
  readonly attaches: boolean
  /** Do the kill switch and the policy let the tool run with these arguments without a person's approval? */
  readonly permits: (host: CallHost, args: unknown) => boolean
  /** The text of the tool's key with the values of the call's arguments. Undefined = the tool has none. */
  readonly businessKey: (host: CallHost) => string | undefined
  /** What the message of the run told its tools, as the tool decodes it. The gate has checked that it can be. */
  readonly runContext: (host: CallHost) => unknown
}

export interface BodyContextOptions {
  /** Absent = what bodies spend on models is counted and not costed. */
  readonly prices?: Prices | undefined
  /**
   * Do the kill switch and the policy let this tool run for this call's sender with these arguments without approval? Nothing
   * else of the gate is checked. Absent = no.
   */
  readonly permits?: (tool: AgentTool, host: CallHost, args: unknown) => boolean
}

/** The same for all actors of a runtime. */
type ToolContext = Omit<BodyContext, "fork" | "context"> & {
  readonly context: Context.Context<never>
}

const toolContext = (
  base: Context.Context<never>,
  tool: AgentTool,
  { permits, prices }: BodyContextOptions
): ToolContext => {
  const context = Context.merge(base, tool.services)
  return {
    context,
    traced: context.mapUnsafe.has(Tracer.TracerKey),
    meter: spendingMeterOf(tool.spec.name, prices),
    attaches: !tool.spec.transactional,
    permits: (host, args) => permits?.(tool, host, args) === true,
    businessKey: (host) =>
      tool.spec.idempotency === null
        ? undefined
        : businessKey(tool.spec.idempotency, host.call().arguments),
    runContext: ({ accepted, secrets }) => {
      const decoded = contextFor(tool.context, { context: accepted.context, secrets })
      return Exit.isSuccess(decoded) ? decoded.value : undefined
    }
  }
}

/**
 * A merge of contexts copies both, and what fibers look up at their start is looked up anew: it is made once for a tool and a
 * runtime, and the memory of an actor is added to it. An actor within a span has a context of its own (bench row `send`).
 */
const makeBodyContext = (
  actor: ActorContext,
  tool: AgentTool,
  contextOf: (base: Context.Context<never>) => ToolContext,
  options: BodyContextOptions
): BodyContext => {
  const base = Context.get(actor, ActorBase)
  const isShared = base !== undefined && Option.isNone(Context.getOption(actor, Tracer.ParentSpan))
  const { context, ...parts } = isShared ? contextOf(base) : toolContext(actor, tool, options)
  const own = Context.add(context, AgentMemory, Context.get(actor, AgentMemory))
  return { ...parts, context: own, fork: Effect.runForkWith(own) }
}

/** Gives the contexts of one tool, by actor: the same one each time. */
export type BodyContexts = (actor: ActorContext) => BodyContext

/** Gives the contexts of a tool, the same each time. */
export const makeBodyContexts = (options: BodyContextOptions) =>
  memoised((tool: AgentTool): BodyContexts => {
    const contextOf = memoised((base: Context.Context<never>) => toolContext(base, tool, options))
    return memoised((actor) => makeBodyContext(actor, tool, contextOf, options))
  })

const attachesNothing = () =>
  new ToolTerminalError({
    kind: "internal",
    reason: "FILE_REFUSED",
    message: "this call can attach no files: it is transactional, or runs outside its run's process"
  })

/** The call of one attempt, as its handler sees it. Members that hold a function or a signal are made when they are read. */
class AttemptCall implements CallContext {
  readonly #host: CallHost
  readonly #body: BodyContext
  #controller: AbortController | undefined
  readonly run: CallContext["run"]
  readonly call: CallContext["call"]
  readonly conversation: CallContext["conversation"]
  readonly tenant: CallContext["tenant"]
  readonly trace_id: string
  readonly principal: string
  readonly approved_by: string | undefined
  readonly key: string | undefined
  readonly over_at?: number

  constructor(
    host: CallHost,
    body: BodyContext,
    key: string | undefined,
    over_at: number | undefined
  ) {
    const { accepted } = host
    const { approved_by, id } = host.call()
    this.#host = host
    this.#body = body
    this.run = host.run
    this.call = id
    this.conversation = accepted.conversation
    this.tenant = accepted.tenant
    this.trace_id = accepted.trace_id
    this.principal = senderOf(accepted)
    this.approved_by = approved_by ?? host.authorized?.by
    this.key = key
    if (over_at !== undefined) this.over_at = over_at
  }

  get filled(): CallContext["filled"] {
    return this.#host.call().filled?.values
  }

  get business_key(): string | undefined {
    return this.#body.businessKey(this.#host)
  }

  get context(): unknown {
    return this.#body.runContext(this.#host)
  }

  get roles(): CallContext["roles"] {
    return this.#host.accepted.roles ?? []
  }

  get permits(): (args: unknown) => boolean {
    const host = this.#host
    const body = this.#body
    return (args) => body.permits(host, args)
  }

  get nested(): NestedRuns {
    return this.#host.nested ?? nestedRunsOf(this.#host.state)
  }

  get show(): CallContext["show"] {
    const host = this.#host
    return (result) => host.show(result)
  }

  get attach(): CallContext["attach"] {
    const { attach } = this.#host
    const { attaches, context } = this.#body
    return (file) =>
      Effect.runPromiseWith(context)(
        attach === undefined || !attaches ? Effect.fail(attachesNothing()) : attach(file)
      )
  }

  get spent(): CallContext["spent"] {
    const host = this.#host
    const { meter } = this.#body
    return (spent) => meter(host, spent)
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }

  abort(): void {
    this.#controller?.abort()
  }
}

/** Aborts the signal of an attempt that is interrupted, if its handler has read it. */
export const abortSignalOf = (call: CallContext): void => {
  if (call instanceof AttemptCall) call.abort()
}

/** The second argument of a handler, for one attempt. */
export class HandlerContext implements GovernedContext {
  readonly #host: CallHost
  readonly #body: BodyContext
  readonly #key: string | undefined
  readonly #over_at: number | undefined
  #call: CallContext | undefined

  constructor(host: CallHost, body: BodyContext, key: string | undefined, over_at?: number) {
    this.#host = host
    this.#body = body
    this.#key = key
    this.#over_at = over_at
  }

  get call(): CallContext {
    return (this.#call ??= new AttemptCall(this.#host, this.#body, this.#key, this.#over_at))
  }

  get toolCallId(): string {
    return this.call.call
  }

  get preliminary(): GovernedContext["preliminary"] {
    const host = this.#host
    return (result) => Effect.sync(() => host.show(result))
  }

  get stopped(): GovernedContext["stopped"] {
    return this.#host.stopped
  }
}
