/**
 * What every strategy of a body needs: its handler as an Effect over its services, a bound of its time, its idempotency
 * key, the reconciliation of a lost call, and whether one that failed is tried again: inside one call, for tools that declare a
 * retry policy, so that the model and the loop see one call.
 */
import type { Clock } from "effect"
import { Cause, Context, Effect, Exit, Tracer, Random } from "effect"
import type { Digest } from "effect/crypto"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { ToolHandler, BoundRun } from "../../../src/tool/GovernedTool.ts"
import type { CallId } from "../../../src/value/Ids.ts"
import { sideEffectIdentity } from "../../../src/tool/Idempotency.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { failureOf, isToolError } from "../../../src/error/ToolError.ts"
import { isRetried, retryWaitMs } from "../../../src/tool/RetryPolicy.ts"
import type { HostValues } from "../../../src/run/RunEvent.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { ToolAttemptObserver } from "../../../services/RunObserver.ts"
import type { BodyContext, BodyContextOptions } from "./BodyContext.ts"
import { HandlerContext, makeBodyContexts } from "./BodyContext.ts"
import { callIdempotencyKey, sideEffectIdempotencyKey } from "./CallDigests.ts"
import type { AgentTool, CallHost, Fork } from "./CallHost.ts"
import type { Deadlines } from "./Deadlines.ts"
import { handlerEffect } from "./HandlerEffect.ts"
import { reconciliation_unknown, reconciliationOf } from "./Reconciliation.ts"
import { callFinished } from "./CallOutcome.ts"
import { toolsStopped } from "./GateRefusal.ts"
import { failedOutcome, outcomeOfCause, timeoutError } from "./FailedOutcome.ts"
import { strippedBody } from "./StrippedBody.ts"

/** The run of a call, as its tool is told of it before the call has a body. */
const boundRunOf = ({ accepted, run }: CallHost): BoundRun => {
  const { by, conversation, tenant, trace_id } = accepted
  return { run, conversation, tenant, principal: by, trace_id }
}

/** What an earlier call of the run was given, where that holds for all of them. */
const hostValuesOfRun = ({ state }: CallHost, { filledOncePerRun, key }: AgentTool) => {
  if (filledOncePerRun === undefined) return undefined
  for (const { filled } of state.calls.values()) if (filled?.tool === key) return filled
  return undefined
}

/**
 * What the host of the service fills in for a call. It is asked once for each call: what the journal says of it counts from then
 * on, however long a person thinks, and also after a restart. Undefined where the tool is filled in by nobody. Another version of
 * the tool may need other values: it asks anew.
 */
export const hostValuesFor = (
  host: CallHost,
  tool: AgentTool
): Effect.Effect<HostValues | undefined, ToolError> => {
  const { fillIn, key } = tool
  if (fillIn === undefined) return Effect.undefined
  const { filled, id } = host.call()
  const known = host.filled ?? filled
  if (known?.tool === key) return Effect.succeed(known)
  const before = hostValuesOfRun(host, tool)
  if (before !== undefined) return Effect.succeed((host.filled = before))
  return Effect.map(
    fillIn({ ...boundRunOf(host), call: id }),
    (values) => (host.filled = { tool: key, values })
  )
}

interface RetryServices {
  readonly clock: Clock.Clock
  /** Called with each attempt that failed in a way that the policy covers. Absent = none. */
  readonly attempted?: ReadonlyArray<ToolAttemptObserver>
  /** Has the kill switch been turned on meanwhile? Nothing more is sent then. Absent = there is no switch. */
  readonly isStopped?: (host: CallHost) => boolean
}

/** One attempt that did not succeed. */
interface FailedAttempt {
  /** From 1. */
  readonly attempt: number
  /** Undefined = the attempt ran out of time. */
  readonly exit: Exit.Exit<unknown, unknown> | undefined
  /** In ms since 1970. */
  readonly started_at: number
}

/** The attempt's failure; undefined for a defect or a failure of no class, which no policy covers. */
const toolErrorOf = (
  tool: AgentTool,
  exit: Exit.Exit<unknown, unknown> | undefined
): ToolError | undefined => {
  if (exit === undefined) return timeoutError(tool.spec.timeout_ms)
  if (Exit.isSuccess(exit)) return undefined
  const error = Cause.findErrorOption(exit.cause)
  return error._tag === "Some" && isToolError(error.value) ? error.value : undefined
}

/** Waits until the next attempt is due, and gives true; false at once where there is none, and after the wait where it is stopped. */
export const waitForRetry = Effect.fnUntraced(function* (
  { attempted = [], clock, isStopped }: RetryServices,
  { host, tool }: { readonly host: CallHost; readonly tool: AgentTool },
  { attempt, exit, started_at }: FailedAttempt
) {
  const { retry } = tool.spec
  const error = toolErrorOf(tool, exit)
  if (retry === undefined || error === undefined || !isRetried(retry, error)) return false
  const wait_ms =
    attempt < retry.max_attempts
      ? retryWaitMs(retry, attempt, error, yield* Random.next)
      : undefined
  if (attempted.length > 0) {
    const { arguments: args, id } = host.call()
    const fact = {
      run: host.run,
      call: id,
      tenant: host.accepted.tenant,
      trace_id: host.accepted.trace_id,
      agent_name: host.agent.spec.name,
      tool_name: tool.spec.name,
      arguments: args,
      attempt,
      error: failureOf(error),
      willRetry: wait_ms !== undefined,
      started_at,
      ended_at: clock.currentTimeMillisUnsafe()
    }
    for (const observe of attempted) observe(fact)
  }
  if (wait_ms === undefined) return false
  yield* Effect.sleep(wait_ms)
  return isStopped?.(host) !== true
})

export interface BodyServices extends RetryServices, BodyContextOptions {
  readonly digest: Digest.Digest["Service"]
  readonly deadlines: Deadlines
}

/** A call whose body runs, with its decoded arguments. */
export interface BodyCall {
  readonly host: CallHost
  readonly call: CallId
  readonly tool: AgentTool
  readonly args: unknown
}

/** One with the idempotency key that its dispatch is journaled with. */
export interface DispatchedCall extends BodyCall {
  readonly key: string
}

/** The end of a call that the kill switch stopped behind the gate; undefined = it may run. What was dispatched goes on. */
export const killSwitchEnd = (
  { isStopped }: Pick<RetryServices, "isStopped">,
  host: CallHost,
  call: CallId
): RunInput | undefined =>
  isStopped?.(host) === true && host.call().phase._tag !== "Dispatched"
    ? callFinished(call, failedOutcome(toolsStopped()))
    : undefined

/** The same with its arguments decoded anew: what they were given to may have changed them. */
export const withRedecodedArgs = <Call extends BodyCall>(body: Call): Call => {
  const decoded = body.tool.decode(body.host.call().arguments)
  return Exit.isSuccess(decoded) ? { ...body, args: decoded.value } : body
}

/** A handler that is ready to run over the services of its body. */
export interface Handled {
  readonly effect: Effect.Effect<unknown, unknown, AgentMemory>
  /** Forking with `body.fork` is faster than providing `body.context`, which merges it with that of the fiber (bench row `answers`). */
  readonly body: BodyContext
}

export type BodyRunner = ReturnType<typeof makeBodyRunner>

/** The span of the run's own trace in which the call is made; the services of a tool may have been built in another. */
const parentSpanOf = ({ context }: CallHost): { readonly parent?: Tracer.AnySpan } => {
  const parent = Context.getOrUndefined(context, Tracer.ParentSpan)
  return parent === undefined ? {} : { parent }
}

/** The span of one attempt belongs to the trace of its run, so that a run that was parked for days is one trace. */
export const withToolSpan = <A, E>(
  body: Effect.Effect<A, E, AgentMemory>,
  host: CallHost,
  tool: AgentTool,
  key: string | undefined
): Effect.Effect<A, E, AgentMemory> =>
  Effect.withSpan(body, `execute_tool ${tool.spec.name}`, {
    kind: "internal",
    ...parentSpanOf(host),
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.agent.name": host.agent.spec.name,
      "gen_ai.tool.name": tool.spec.name,
      "gen_ai.tool.call.id": host.call().id,
      "troupe.run_id": host.run,
      "troupe.trace_id": host.accepted.trace_id,
      ...(key === undefined ? undefined : { "troupe.idempotency_key": key })
    }
  })

/** The body of a call whose run has secrets says none of them. */
export const withoutHidden = <A, E, R>(
  body: Effect.Effect<A, E, R>,
  { hidden }: CallHost
): Effect.Effect<A, E, R> => (hidden === undefined ? body : strippedBody(body, hidden))

/** The exit of an effect that runs in a fiber of its own; undefined = it was interrupted when its time was over. */
export const makeExitWithin =
  (deadlines: Deadlines) =>
  <A, E>(
    effect: Effect.Effect<A, E, AgentMemory>,
    timeout_ms: number,
    fork: Fork
  ): Effect.Effect<Exit.Exit<A, E> | undefined> =>
    Effect.callback((resume) => {
      const fiber = fork(effect)
      let isLate = false
      const cancel = deadlines.after(timeout_ms, () => {
        // A body may end at once when it is interrupted: that exit is the deadline's doing, and not its answer.
        isLate = true
        fiber.interruptUnsafe()
        resume(Effect.succeed(undefined))
      })
      fiber.addObserver((exit) => {
        cancel()
        if (!isLate) resume(Effect.succeed(exit))
      })
      return Effect.sync(() => {
        cancel()
        fiber.interruptUnsafe()
      })
    })

/** Written as a question, which lets no call run that its author meant to refuse. */
const falsePrecondition = (tool: string) =>
  new TypeError(
    `the precondition of "${tool}" gave false: to refuse a call it fails with one of the four errors`
  )

export const makeBodyRunner = (services: BodyServices) => {
  const { digest } = services
  const contextsOf = makeBodyContexts(services)
  const exitWithin = makeExitWithin(services.deadlines)
  /** The exit of a function of the tool beside its handler; undefined = its time was over. */
  const runToolFunction = (
    toolFunction: ToolHandler<AgentMemory>,
    call: BodyCall,
    key?: string,
    over_at?: number
  ) => {
    const { host, tool } = call
    const body = contextsOf(tool)(host.context)
    const answered = Effect.suspend(() =>
      handlerEffect(
        toolFunction,
        withRedecodedArgs(call).args,
        new HandlerContext(host, body, key, over_at)
      )
    )
    return exitWithin(withoutHidden(answered, host), tool.spec.timeout_ms, body.fork)
  }
  return {
    clock: services.clock,
    attempted: services.attempted ?? [],
    isStopped: services.isStopped ?? (() => false),
    contextsOf,
    /** The exit of an effect that runs in a fiber of its own; undefined = it was interrupted when its time was over. */
    exitWithin,
    /** The handler, within a span where a tracer listens. A throw is a defect. */
    handled: (
      { args, host, tool }: BodyCall,
      key: string | undefined,
      over_at?: number
    ): Handled => {
      const body = contextsOf(tool)(host.context)
      const effect = Effect.suspend(() =>
        handlerEffect(tool.handler, args, new HandlerContext(host, body, key, over_at))
      )
      const traced = body.traced ? withToolSpan(effect, host, tool, key) : effect
      return { effect: withoutHidden(traced, host), body }
    },
    /** The key of the call itself, or that of its side effect where the tool declares an `idempotency`. */
    keyOf: (host: CallHost, call: CallId, tool: AgentTool): Effect.Effect<string> => {
      const identity = sideEffectIdentity(tool.spec, host.call().arguments)
      return identity === undefined
        ? callIdempotencyKey(digest, host.run, call)
        : sideEffectIdempotencyKey(digest, host, tool.spec.idempotency?.scope ?? "run", identity)
    },
    /** Has the tool say within its timeout whether this call may run now: its end, if not. Anything but a success refuses it. */
    refusal: Effect.fnUntraced(function* (call: BodyCall) {
      const { precondition, spec } = call.tool
      if (precondition === undefined) return undefined
      const exit = yield* runToolFunction(precondition, call)
      if (exit === undefined) {
        return callFinished(call.call, failedOutcome(timeoutError(spec.timeout_ms)))
      }
      if (exit._tag === "Failure") return callFinished(call.call, outcomeOfCause(exit.cause))
      if (exit.value !== false) return undefined
      return callFinished(call.call, outcomeOfCause(Cause.die(falsePrecondition(spec.name))))
    }),
    /** Has the tool say once, within its timeout, what became of a lost call. `over_at`: when the call was over, in ms since 1970. */
    reconcile: Effect.fnUntraced(function* (call: DispatchedCall, over_at: number) {
      const { host, tool } = call
      if (tool.reconcile === undefined) return reconciliation_unknown
      const exit = yield* runToolFunction(tool.reconcile, call, call.key, over_at)
      return reconciliationOf(host, tool, exit)
    })
  }
}
