/**
 * Runs the body of a call that the gate let through: its tool's handler, by the strategy that follows from what the tool
 * declares. A read runs within its timeout, a write behind its journaled dispatch, one whose tool has a `reconcile` by
 * `ReconcilableWrite`, a transactional one in the journal's transaction. Each strategy is a `StartBody` made once for a tool;
 * whatever a body does becomes an outcome.
 */
import type { Context, Clock } from "effect"
import { Effect, Cause, Exit, Result } from "effect"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import { isDispatched, onLossOf } from "../../../src/tool/ToolSpec.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { CallId } from "../../../src/value/Ids.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { BodyRunner, BodyServices, DispatchedCall, BodyCall } from "./BodyRunner.ts"
import {
  killSwitchEnd,
  makeBodyRunner,
  withRedecodedArgs,
  waitForRetry,
  withoutHidden,
  withToolSpan,
  hostValuesFor
} from "./BodyRunner.ts"
import type { AgentTool, CallHost, StartBody, StartedWork, Fork, TimedWork } from "./CallHost.ts"
import { notDone, writeReconcilably } from "./ReconcilableWrite.ts"
import type { Reconciliation } from "./Reconciliation.ts"
import type { ToolGuards } from "./ToolGuards.ts"
import {
  bodyFinished,
  bodyOutcome,
  reportOutcomeFault,
  callFinished,
  callLost
} from "./CallOutcome.ts"
import {
  outcomeOfCause,
  timeoutError,
  failedOutcome,
  isOutcomeLost,
  withPossibleSideEffect
} from "./FailedOutcome.ts"
import { dispatchRouteOf } from "./CallDigests.ts"
import type { BodyContext, BodyContexts } from "./BodyContext.ts"
import { HandlerContext } from "./BodyContext.ts"
import { handlerEffect } from "./HandlerEffect.ts"

/** A read that runs once: one object for each call, which the loop gets as it is (bench row `step`). */
class ReadWork implements TimedWork {
  readonly effect: TimedWork["effect"]
  readonly #body: BodyContext
  readonly #host: CallHost
  readonly #clock: Clock.Clock
  readonly #call: CallId
  readonly #tool: AgentTool
  readonly #started_at: number

  constructor(
    effect: TimedWork["effect"],
    body: BodyContext,
    host: CallHost,
    clock: Clock.Clock,
    call: CallId,
    tool: AgentTool
  ) {
    this.effect = effect
    this.#body = body
    this.#host = host
    this.#clock = clock
    this.#call = call
    this.#tool = tool
    this.#started_at = clock.currentTimeMillisUnsafe()
  }

  get timeout_ms(): number {
    return this.#tool.spec.timeout_ms
  }

  get fork(): Fork {
    return this.#body.fork
  }

  inputOfTimeout(): RunInput {
    return this.#finished(failedOutcome(timeoutError(this.timeout_ms)))
  }

  inputOfExit(exit: Exit.Exit<unknown, unknown>): RunInput {
    return this.#finished(bodyOutcome(this.#host, this.#tool, exit))
  }

  #finished(outcome: Outcome): RunInput {
    const ended_at = this.#clock.currentTimeMillisUnsafe()
    return bodyFinished(this.#host, this.#tool, this.#call, outcome, this.#started_at, ended_at)
  }
}

/** A function of its own: what its closure needs would be allocated for each read, with a span and without (bench row `step`). */
const handledLater = (tool: AgentTool, args: unknown, context: HandlerContext) =>
  Effect.suspend(() => handlerEffect(tool.handler, args, context))

const startRead = (
  clock: Clock.Clock,
  contextOf: BodyContexts,
  tool: AgentTool,
  host: CallHost,
  call: CallId,
  args: unknown
): StartedWork => {
  const body = contextOf(host.context)
  const context = new HandlerContext(host, body, undefined)
  // Without a span the handler is called here and not in the body's fiber, which a handler that gives a value does not need.
  const effect = body.traced
    ? withToolSpan(handledLater(tool, args, context), host, tool, undefined)
    : handlerEffect(tool.handler, args, context)
  return new ReadWork(withoutHidden(effect, host), body, host, clock, call, tool)
}

/** A read that its tool's policy may try again. The timeout is that of each attempt; all attempts together have none. */
const readWithRetries = Effect.fnUntraced(function* (runner: BodyRunner, body: BodyCall) {
  const { call, host, tool } = body
  const { timeout_ms } = tool.spec
  const began_at = runner.clock.currentTimeMillisUnsafe()
  let started_at = began_at
  for (let attempt = 1; ; attempt++) {
    const sent = attempt === 1 ? body : withRedecodedArgs(body)
    const handled = runner.handled(sent, undefined)
    const exit = yield* runner.exitWithin(handled.effect, timeout_ms, handled.body.fork)
    const isDone = exit !== undefined && Exit.isSuccess(exit)
    if (!isDone && (yield* waitForRetry(runner, body, { attempt, exit, started_at }))) {
      started_at = runner.clock.currentTimeMillisUnsafe()
      continue
    }
    const outcome =
      exit === undefined ? failedOutcome(timeoutError(timeout_ms)) : bodyOutcome(host, tool, exit)
    const ended_at = runner.clock.currentTimeMillisUnsafe()
    return bodyFinished(host, tool, call, outcome, began_at, ended_at)
  }
})

/** Starts the reads of one tool. They may run again after a crash, so that nothing is journaled before them. */
const startReads = (runner: BodyRunner, tool: AgentTool): StartBody => {
  const { retry } = tool.spec
  const contextOf = runner.contextsOf(tool)
  return retry === undefined || retry.max_attempts === 1
    ? (host, call, args) => startRead(runner.clock, contextOf, tool, host, call, args)
    : (host, call, args) => ({ effect: readWithRetries(runner, { host, call, tool, args }) })
}

/** How often an idempotent call is sent with its key before its outcome counts as unknown. */
const sends_max = 3

/**
 * A write or an external call: its dispatch is journaled before it runs. What became of a dispatch that is lost is never
 * guessed: an idempotent call is sent again under its key, any other is unknown.
 */
const write = Effect.fnUntraced(function* (
  runner: BodyRunner,
  body: DispatchedCall,
  on_loss: "again" | "unknown"
): Effect.fn.Return<RunInput | undefined, never, AgentMemory> {
  const { call, host, key, tool } = body
  const { retry, timeout_ms } = tool.spec
  const filling = yield* Effect.result(hostValuesFor(host, tool))
  if (Result.isFailure(filling)) return callFinished(call, failedOutcome(filling.failure))
  const filled = filling.success
  const stopped = killSwitchEnd(runner, host, call)
  if (stopped !== undefined) return stopped
  const isAgain = host.call().phase._tag === "Dispatched"
  const isDispatched = yield* host.dispatch({
    _tag: "Dispatches",
    call,
    key,
    on_loss,
    ...dispatchRouteOf(tool),
    ...(filled === undefined ? undefined : { filled }),
    ...(on_loss === "again" ? { tool: tool.key } : undefined)
  })
  if (!isDispatched) return undefined
  if (host.reservation?.isOver() === true) {
    return isAgain ? callLost(host, call) : callFinished(call, failedOutcome(notDone(tool)))
  }
  const began_at = runner.clock.currentTimeMillisUnsafe()
  let started_at = began_at
  for (let attempt = 1; ; attempt++) {
    const sent = attempt === 1 ? body : withRedecodedArgs(body)
    const handled = runner.handled(sent, key)
    const exit = yield* runner.exitWithin(handled.effect, timeout_ms, handled.body.fork)
    if (retry !== undefined && (exit === undefined || Exit.isFailure(exit))) {
      if (yield* waitForRetry(runner, body, { attempt, exit, started_at })) {
        started_at = runner.clock.currentTimeMillisUnsafe()
        continue
      }
    }
    if (exit !== undefined && !(Exit.isFailure(exit) && isOutcomeLost(exit.cause))) {
      const outcome = withPossibleSideEffect(bodyOutcome(host, tool, exit))
      const ended_at = runner.clock.currentTimeMillisUnsafe()
      return bodyFinished(host, tool, call, outcome, began_at, ended_at)
    }
    const isLast = attempt === sends_max || runner.isStopped(host)
    if (on_loss === "unknown" || retry !== undefined || isLast) return callLost(host, call)
  }
})

/** Starts what runs under an idempotency key: with the key that its dispatch is journaled with. */
const startWithKey =
  (
    runner: BodyRunner,
    tool: AgentTool,
    run: (
      runner: BodyRunner,
      call: DispatchedCall
    ) => Effect.Effect<RunInput | undefined, never, AgentMemory>
  ): StartBody =>
  (host, call, args) => ({
    effect: Effect.flatMap(runner.keyOf(host, call, tool), (key) =>
      run(runner, { host, call, tool, args, key })
    )
  })

/** A result that the output schema or the size limit refuses, as the failure that rolls the transaction back. */
class RefusedResult {
  readonly outcome: Outcome
  constructor(outcome: Outcome) {
    this.outcome = outcome
  }
}

const transactionOutcome = (
  host: CallHost,
  tool: AgentTool,
  exit: Exit.Exit<Outcome, unknown>
): Outcome => {
  if (Exit.isSuccess(exit)) return exit.value
  const error = Cause.findErrorOption(exit.cause)
  return error._tag === "Some" && error.value instanceof RefusedResult
    ? error.value.outcome
    : reportOutcomeFault(host, tool, outcomeOfCause(exit.cause))
}

/** A transactional write: what it writes, its dispatch and its result commit together or not at all. */
const transact = ({ clock, handled }: BodyRunner, body: DispatchedCall) => {
  const { call, host, key, tool } = body
  const { timeout_ms } = tool.spec
  const started_at = clock.currentTimeMillisUnsafe()
  const { body: within, effect } = handled(body, key)
  // Its statements go through the transaction, which is part of the fiber's context.
  const settled = Effect.flatMap(Effect.provideContext(effect, within.context), (result) => {
    const outcome = bodyOutcome(host, tool, Exit.succeed(result))
    return outcome._tag === "Value"
      ? Effect.succeed<Outcome>(outcome)
      : Effect.fail(new RefusedResult(outcome))
  })
  // A timeout waits for the interruption: no statement of the body may reach the transaction after its end.
  const bounded = Effect.timeoutOrElse(settled, {
    duration: timeout_ms,
    orElse: () => Effect.fail(timeoutError(timeout_ms))
  })
  return Effect.as(
    host.transact(key, bounded, (exit) => {
      const outcome = transactionOutcome(host, tool, exit)
      const ended_at = clock.currentTimeMillisUnsafe()
      return bodyFinished(host, tool, call, outcome, started_at, ended_at)
    }),
    undefined
  )
}

export interface Services extends BodyServices {
  /** Absent = no tool has limits of its own. */
  readonly guards?: ToolGuards
}

export interface ToolBody {
  /** How the calls of a tool start: decided once, from what the tool declares. */
  readonly starterOf: (tool: AgentTool) => StartBody
  /** Runs started work inside the call's own fiber. */
  readonly run: (started: StartedWork) => Effect.Effect<RunInput | undefined, never, AgentMemory>
  /** The end of a call that its tool's precondition refuses; undefined = it may run now. */
  readonly refusal: BodyRunner["refusal"]
  /** Has the tool say within its timeout what became of this lost call, which was over at `over_at` (ms since 1970). */
  readonly reconcile: (
    host: CallHost,
    tool: AgentTool,
    args: unknown,
    over_at: number
  ) => Effect.Effect<Reconciliation, never, AgentMemory>
}

const strategyOf = (runner: BodyRunner, tool: AgentTool): StartBody => {
  const { spec } = tool
  if (spec.transactional) return startWithKey(runner, tool, transact)
  if (!isDispatched(spec)) return startReads(runner, tool)
  const on_loss = onLossOf(spec)
  return startWithKey(
    runner,
    tool,
    on_loss === "ask" ? writeReconcilably : (_, call) => write(runner, call, on_loss)
  )
}

/**
 * Reserves the declared cost of a call before its body begins, and refuses what no budget has room for. What was dispatched has
 * reserved it before.
 */
const affordably = (run: ToolBody["run"], { spec }: AgentTool, start: StartBody): StartBody => {
  const { cost_estimate } = spec
  if (cost_estimate === null) return start
  return (host, call, args) => {
    const reserving =
      host.call().phase._tag === "Dispatched" ? undefined : host.afford?.(cost_estimate)
    if (reserving === undefined) return start(host, call, args)
    return {
      effect: Effect.flatMap(reserving, (refused) =>
        refused === undefined
          ? run(start(host, call, args))
          : Effect.succeed(callFinished(call, failedOutcome(refused)))
      )
    }
  }
}

export const make = (services: Services): ToolBody => {
  const runner = makeBodyRunner(services)

  const run: ToolBody["run"] = (started) =>
    started.inputOfExit === undefined
      ? started.effect
      : Effect.contextWith((context: Context.Context<AgentMemory>) => {
          const fork = started.fork ?? Effect.runForkWith(context)
          return Effect.map(runner.exitWithin(started.effect, started.timeout_ms, fork), (exit) =>
            exit === undefined ? started.inputOfTimeout() : started.inputOfExit(exit)
          )
        })

  return {
    run,
    refusal: runner.refusal,
    starterOf: (tool) => {
      const start = affordably(run, tool, strategyOf(runner, tool))
      const guard = services.guards?.(tool)
      if (guard === undefined) return start
      return (host, call, args) => ({
        effect: guard(
          host,
          call,
          Effect.suspend(() => {
            // The call may have waited for its turn.
            const stopped = killSwitchEnd(services, host, call)
            return stopped === undefined ? run(start(host, call, args)) : Effect.succeed(stopped)
          })
        )
      })
    },
    reconcile: (host, tool, args, over_at) => {
      const call = host.call().id
      return Effect.flatMap(runner.keyOf(host, call, tool), (key) =>
        runner.reconcile({ host, call, tool, args, key }, over_at)
      )
    }
  }
}
