/**
 * The body of a read. It may run again after a crash, so that nothing is journaled before it. A read without a retry policy
 * gives its body to the loop as it is, one object for each call (bench row `step`).
 */
import type { Clock } from "effect"
import { Effect, Exit } from "effect"
import type { CallId } from "../../../src/value/Ids.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { BodyContext, BodyContexts } from "./BodyContext.ts"
import { HandlerContext } from "./BodyContext.ts"
import type { BodyCall, BodyRunner } from "./BodyRunner.ts"
import { withoutHidden, withRedecodedArgs, withToolSpan } from "./BodyRunner.ts"
import type { AgentTool, CallHost, Fork, StartBody, StartedWork, TimedWork } from "./CallHost.ts"
import { bodyFinished, bodyOutcome } from "./CallOutcome.ts"
import { failedOutcome, timeoutError } from "./FailedOutcome.ts"
import { handlerEffect } from "./HandlerEffect.ts"
import { waitForRetry } from "./RetryDecision.ts"

/** A read that runs once. */
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

/** Starts the reads of one tool. */
export const make = (runner: BodyRunner, tool: AgentTool): StartBody => {
  const { retry } = tool.spec
  const contextOf = runner.contextsOf(tool)
  return retry === undefined || retry.max_attempts === 1
    ? (host, call, args) => startRead(runner.clock, contextOf, tool, host, call, args)
    : (host, call, args) => ({ effect: readWithRetries(runner, { host, call, tool, args }) })
}
