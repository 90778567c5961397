/**
 * Runs the body of a call that the gate let through: a read within its deadline, a write behind its journaled dispatch, a
 * transactional one inside the journal's transaction. Whatever a body does becomes one of the outcomes.
 */
import { Cause, Context, Effect, Exit, Tracer } from "effect"
import type { Digest } from "effect/crypto"
import type { CallId } from "../../../src/Ids.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import { isDispatched, onLossOf } from "../../../src/tool/ToolSpec.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { BodyContextOptions, BodyContext } from "./BodyContext.ts"
import { makeBodyContexts } from "./BodyContext.ts"
import * as ReconcilableWrite from "./ReconcilableWrite.ts"
import { callCatching } from "./Catching.ts"
import type { RetryServices } from "./RetryDecision.ts"
import { waitForRetry } from "./RetryDecision.ts"
import type { CallHost, Fork, AgentTool, StartBody, StartedWork } from "./CallHost.ts"
import { bodyFinished, bodyOutcome, ReadCall, reportOutcomeFault } from "./CallOutcome.ts"
import { callIdempotencyKey, sideEffectIdempotencyKey, dispatchRouteOf } from "./CallDigests.ts"
import { withSpending } from "./CallSpending.ts"
import type { Deadlines } from "./Deadlines.ts"
import {
  withPossibleSideEffect,
  failedOutcome,
  outcomeOfCause,
  isOutcomeLost,
  timeoutError
} from "./Failures.ts"
import { HandlerContext } from "./HandlerContext.ts"
import type { Reconciliation } from "./Reconciliation.ts"
import { reconciliationOf, reconciliation_unknown } from "./Reconciliation.ts"
import { callIdentityOf } from "./IdempotencyIndex.ts"
import type { ToolGuards } from "./ToolGuards.ts"

export interface Services extends RetryServices, BodyContextOptions {
  readonly digest: Digest.Digest["Service"]
  readonly deadlines: Deadlines
  /** Absent = no tool has limits of its own. */
  readonly guards?: ToolGuards
}

export interface ToolBody {
  /** How the calls of a tool run: put together once, of what it declares. */
  readonly starterOf: (tool: AgentTool) => StartBody
  /** The same inside a call's own fiber. */
  readonly run: (started: StartedWork) => Effect.Effect<RunInput | undefined, never, AgentMemory>
  /** Asks the tool what became of this call, which was lost and over at a time (ms): under its key, within its timeout. */
  readonly reconcile: (
    host: CallHost,
    tool: AgentTool,
    args: unknown,
    over_at: number
  ) => Effect.Effect<Reconciliation, never, AgentMemory>
}

type Lost = Extract<RunInput, { readonly _tag: "Lost" }>

/** How often an idempotent call is sent with its key before its outcome counts as unknown. */
const sends_max = 3

/** The span of the run's own time, in which the call is made; a tool's services may have been built in another. */
const parentOf = ({ context }: CallHost): { readonly parent?: Tracer.AnySpan } => {
  const parent = Context.getOrUndefined(context, Tracer.ParentSpan as never) as
    | Tracer.AnySpan
    | undefined
  return parent === undefined ? {} : { parent }
}

export const make = (services: Services): ToolBody => {
  const { clock, deadlines, digest } = services
  const placeOf = makeBodyContexts(services)

  /** The body in its place; a throw while it is made is a defect like any other. */
  const bodyIn = (
    place: BodyContext,
    host: CallHost,
    tool: AgentTool,
    args: unknown,
    key: string | undefined,
    over_at?: number
  ): Effect.Effect<unknown, unknown, AgentMemory> => {
    const body = Effect.suspend(() =>
      tool.handler(args, new HandlerContext(host, key, place, over_at))
    )
    return place.traced ? traced(host, tool, key, body) : body
  }

  /** The same within a fiber of the call. */
  const bodyOf = (
    host: CallHost,
    tool: AgentTool,
    args: unknown,
    key: string | undefined,
    over_at?: number
  ): Effect.Effect<unknown, unknown, AgentMemory> => {
    const place = placeOf(tool, host.context)
    return Effect.provideContext(bodyIn(place, host, tool, args, key, over_at), place.context)
  }

  /**
   * A span only when a tracer listens, of the run's own trace: its message, its calls and whatever happens after a park
   * of days are one trace.
   */
  const traced = (
    host: CallHost,
    tool: AgentTool,
    key: string | undefined,
    body: Effect.Effect<unknown, unknown, AgentMemory>
  ): Effect.Effect<unknown, unknown, AgentMemory> =>
    Effect.withSpan(body, `execute_tool ${tool.spec.name}`, {
      kind: "internal",
      ...parentOf(host),
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

  /** A read: its body may be redone after a crash, so nothing is written before it. */
  const read = (host: CallHost, call: CallId, tool: AgentTool, args: unknown): StartedWork => {
    const place = placeOf(tool, host.context)
    // Made here and not in its fiber, which a body that is a value already does not need.
    const body = place.traced
      ? bodyIn(place, host, tool, args, undefined)
      : callCatching(
          tool.handler,
          args,
          new HandlerContext(host, undefined, place),
          Exit.die as (defect: unknown) => ReturnType<AgentTool["handler"]>
        )
    return new ReadCall(body, place, host, clock, call, tool)
  }

  /** The exit of a body in a fiber of its own, or undefined when its time is over. */
  const within = <A, E>(
    body: Effect.Effect<A, E, AgentMemory>,
    timeout_ms: number,
    fork?: Fork
  ): Effect.Effect<Exit.Exit<A, E> | undefined, never, AgentMemory> =>
    Effect.contextWith((context: Context.Context<AgentMemory>) =>
      Effect.callback((resume) => {
        const fiber = (fork ?? Effect.runForkWith(context))(body)
        let late = false
        const cancel = deadlines.after(timeout_ms, () => {
          // A body may end at once when it is interrupted: that end is the deadline's doing, and not its answer.
          late = true
          fiber.interruptUnsafe()
          resume(Effect.succeed(undefined))
        })
        fiber.addObserver((exit) => {
          cancel()
          if (!late) resume(Effect.succeed(exit))
        })
        return Effect.sync(() => {
          cancel()
          fiber.interruptUnsafe()
        })
      })
    )

  /** A read that its tool's policy may try again. Its time is that of each attempt, so that it has none of its own. */
  const persistent = Effect.fnUntraced(function* (
    host: CallHost,
    call: CallId,
    tool: AgentTool,
    args: unknown
  ) {
    const began = clock.currentTimeMillisUnsafe()
    let started_at = began
    for (let attempt = 1; ; attempt++) {
      const exit = yield* within(bodyOf(host, tool, args, undefined), tool.spec.timeout_ms)
      const done = exit !== undefined && Exit.isSuccess(exit)
      if (!done && (yield* waitForRetry(services, host, tool, attempt, exit, started_at))) {
        started_at = clock.currentTimeMillisUnsafe()
        continue
      }
      const outcome =
        exit === undefined
          ? failedOutcome(timeoutError(tool.spec.timeout_ms))
          : bodyOutcome(host, tool, exit)
      return bodyFinished(host, tool, call, outcome, began, clock.currentTimeMillisUnsafe())
    }
  })

  /** What a dispatched call is known by: its own, or its effect's where the tool says that others may be the same. */
  const keyOf = (host: CallHost, call: CallId, tool: AgentTool): Effect.Effect<string> => {
    const effect = callIdentityOf(tool, host.call())
    return effect === undefined
      ? callIdempotencyKey(digest, host.run, call)
      : sideEffectIdempotencyKey(digest, host.run, effect)
  }

  /** A write or an external call: journaled first, and after that never guessed. */
  const write = Effect.fnUntraced(function* (
    host: CallHost,
    call: CallId,
    tool: AgentTool,
    args: unknown
  ) {
    const key = yield* keyOf(host, call, tool)
    const on_loss = onLossOf(tool.spec)
    if (on_loss === "ask") return yield* asked({ host, call, tool, args, key })
    const dispatches = { _tag: "Dispatches", call, key, on_loss, ...dispatchRouteOf(tool) } as const
    const again_by = on_loss === "again" ? { tool: tool.key } : undefined
    if (!(yield* host.dispatch({ ...dispatches, ...again_by }))) return undefined
    const began = clock.currentTimeMillisUnsafe()
    let started_at = began
    const lost = () => withSpending<Lost>(host, { _tag: "Lost", call })
    for (let sends = 1; ; sends++) {
      const exit = yield* within(bodyOf(host, tool, args, key), tool.spec.timeout_ms)
      if (tool.spec.retry !== undefined && (exit === undefined || Exit.isFailure(exit))) {
        if (yield* waitForRetry(services, host, tool, sends, exit, started_at)) {
          started_at = clock.currentTimeMillisUnsafe()
          continue
        }
      }
      const loss = exit === undefined || (Exit.isFailure(exit) && isOutcomeLost(exit.cause))
      if (!loss) {
        const outcome = withPossibleSideEffect(bodyOutcome(host, tool, exit))
        return bodyFinished(host, tool, call, outcome, began, clock.currentTimeMillisUnsafe())
      }
      if (on_loss === "unknown" || tool.spec.retry !== undefined || sends === sends_max)
        return lost()
    }
  })

  /** Asks the tool once. `over_at`: when what was lost was over, in ms since 1970. */
  const ask = Effect.fnUntraced(function* (
    { args, host, key, tool }: Omit<ReconcilableWrite.ReconcilableCall, "call">,
    over_at: number
  ) {
    const question = tool.reconcile
    if (question === undefined) return reconciliation_unknown
    const place = placeOf(tool, host.context)
    const put = Effect.suspend(() => question(args, new HandlerContext(host, key, place, over_at)))
    const exit = yield* within(Effect.provideContext(put, place.context), tool.spec.timeout_ms)
    return reconciliationOf(host, tool, exit)
  })

  const reconcile: ToolBody["reconcile"] = (host, tool, args, over_at) =>
    Effect.flatMap(keyOf(host, host.call().id, tool), (key) =>
      ask({ host, tool, args, key }, over_at)
    )

  const asked = ReconcilableWrite.make({
    clock,
    outcomeOf: bodyOutcome,
    ask,
    attempt: ({ args, host, key, tool }, over_at, ended) =>
      within(
        Effect.onExit(bodyOf(host, tool, args, key, over_at), () => Effect.sync(ended)),
        tool.spec.timeout_ms
      )
  })

  const transact = (host: CallHost, call: CallId, tool: AgentTool, args: unknown) =>
    Effect.flatMap(keyOf(host, call, tool), (key) => {
      const started_at = clock.currentTimeMillisUnsafe()
      // A result that the schema or the cap refuses must undo the body's writes, so it fails inside the transaction.
      const body = Effect.flatMap(bodyOf(host, tool, args, key), (result) => {
        const outcome = bodyOutcome(host, tool, Exit.succeed(result))
        return outcome._tag === "Value" ? Effect.succeed(outcome) : Effect.fail(outcome)
      })
      // Interruption is waited for: nothing of the body may touch the transaction after it is over.
      const bounded = Effect.timeoutOrElse(body, {
        duration: tool.spec.timeout_ms,
        orElse: () => Effect.fail(timeoutError(tool.spec.timeout_ms))
      })
      const record = (exit: Exit.Exit<unknown, unknown>): RunInput =>
        bodyFinished(
          host,
          tool,
          call,
          recorded(host, tool, exit),
          started_at,
          clock.currentTimeMillisUnsafe()
        )
      return Effect.as(host.transact(key, bounded, record), undefined)
    })

  const recorded = (
    host: CallHost,
    tool: AgentTool,
    exit: Exit.Exit<unknown, unknown>
  ): Outcome => {
    if (Exit.isSuccess(exit)) return exit.value as Outcome
    const error = Cause.findErrorOption(exit.cause)
    return error._tag === "Some" && isOutcome(error.value)
      ? error.value
      : reportOutcomeFault(host, tool, outcomeOfCause(exit.cause))
  }

  const isOutcome = (value: unknown): value is Outcome =>
    typeof value === "object" && value !== null && "_tag" in value && value._tag === "Failed"

  const bare = (tool: AgentTool): StartBody => {
    const { spec } = tool
    if (spec.transactional) {
      return (host, call, args) => ({ effect: transact(host, call, tool, args) })
    }
    if (isDispatched(spec)) {
      return (host, call, args) => ({ effect: write(host, call, tool, args) })
    }
    return spec.retry === undefined || spec.retry.max_attempts === 1
      ? (host, call, args) => read(host, call, tool, args)
      : (host, call, args) => ({ effect: persistent(host, call, tool, args) })
  }

  const of = (tool: AgentTool): StartBody => {
    const start = bare(tool)
    const guard = services.guards?.(tool)
    return guard === undefined
      ? start
      : (host, call, args) => ({
          effect: guard(
            host,
            call,
            Effect.suspend(() => run(start(host, call, args)))
          )
        })
  }

  /** Runs what the gate gave, inside a call's own fiber. */
  const run = (started: StartedWork): Effect.Effect<RunInput | undefined, never, AgentMemory> =>
    started.ended === undefined
      ? started.effect
      : Effect.map(within(started.effect, started.timeout_ms, started.fork), (exit) =>
          exit === undefined ? started.late() : started.ended(exit)
        )

  return { starterOf: of, run, reconcile }
}
