/**
 * What the handler of a call is given. Three objects stand behind one another, each with a maker and a lifetime of its own:
 *
 * - `CallHost` is what the run (`LoopCall`) or the queue (`QueuedCall`) does for a call: it dispatches, commits, shows and
 *   reports. There is one for each call, for as long as the call has no outcome.
 * - `BodyContext` is what all bodies of one tool share for one actor: its services over the tool's own, the fork over
 *   them, and the meter of its spending. It is made at the first call and kept with the tool and the actor.
 * - `HandlerContext` is the second argument of the handler, made for each attempt and valid until the attempt ends. It
 *   joins the other two; none of it comes from the model. Members that few handlers read are made when they are read,
 *   so that a call costs one object: the row "step" of the bench pays for it.
 */
import { Context, Effect, Tracer } from "effect"
import type { Prices } from "../../../src/cost/PriceTable.ts"
import type { Spend } from "../../../src/cost/Spending.ts"
import type { CallContext, GovernedContext } from "../../../src/tool/GovernedTool.ts"
import type { ActorContext, AgentTool, CallHost, Fork } from "./CallHost.ts"
import type { SpendingMeter } from "./CallSpending.ts"
import { spendingMeterOf } from "./CallSpending.ts"

/** What all bodies of one tool share for one actor. */
export interface BodyContext {
  readonly context: ActorContext
  readonly fork: Fork
  /** A tracer listens: only then a body has a span. */
  readonly traced: boolean
  readonly meter: SpendingMeter
  /** Would the gate let the tool run with these arguments without asking a person? */
  readonly permits: (host: CallHost, args: unknown) => boolean
}

export interface BodyContextOptions {
  /** Absent = what bodies spend on models is counted and not costed. */
  readonly prices?: Prices | undefined
  /** Would the gate let this tool run for this call's sender with these arguments without asking? Absent = it would not. */
  readonly permits?: (tool: AgentTool, host: CallHost, args: unknown) => boolean
}

const makeBodyContext = (
  actor: ActorContext,
  tool: AgentTool,
  { permits, prices }: BodyContextOptions
): BodyContext => {
  const context = Context.merge(actor, tool.services)
  return {
    context,
    fork: Effect.runForkWith(context),
    traced: context.mapUnsafe.has(Tracer.TracerKey),
    meter: spendingMeterOf(tool.spec.name, prices),
    permits: (host, args) => permits?.(tool, host, args) === true
  }
}

/** Gives the context of a tool and an actor, the same one each time. */
export const makeBodyContexts = (options: BodyContextOptions) => {
  const contexts = new WeakMap<AgentTool, WeakMap<ActorContext, BodyContext>>()
  return (tool: AgentTool, actor: ActorContext): BodyContext => {
    let ofTool = contexts.get(tool)
    if (ofTool === undefined) contexts.set(tool, (ofTool = new WeakMap()))
    let context = ofTool.get(actor)
    if (context === undefined) ofTool.set(actor, (context = makeBodyContext(actor, tool, options)))
    return context
  }
}

const callContextOf = (
  host: CallHost,
  { permits }: BodyContext,
  key: string | undefined,
  over_at: number | undefined
): CallContext => {
  const { accepted, run } = host
  const { approved_by, id } = host.call()
  return {
    run,
    call: id,
    tenant: accepted.tenant,
    trace_id: accepted.trace_id,
    principal: accepted.by,
    approved_by,
    key,
    permits: (args) => permits(host, args),
    ...(over_at === undefined ? undefined : { over_at })
  }
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
    return (this.#call ??= callContextOf(this.#host, this.#body, this.#key, this.#over_at))
  }

  get toolCallId(): string {
    return this.call.call
  }

  get show(): (result: unknown) => void {
    const host = this.#host
    return (result) => host.show(result)
  }

  get preliminary(): (result: unknown) => Effect.Effect<void> {
    const host = this.#host
    return (result) => Effect.sync(() => host.show(result))
  }

  get spent(): Spend {
    const host = this.#host
    const { meter } = this.#body
    return (spent) => meter(host, spent)
  }
}
