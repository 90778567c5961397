/**
 * Rate limit, circuit breaker and concurrency limit of tools that declare them. They stand before the dispatch, so that a
 * refused call starts nothing. A call that a person approved waits where another is refused, because a refusal would use up its
 * approval.
 */
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { Context, Duration, Effect, Exit, Layer, Option, Semaphore } from "effect"
import type { Scope } from "effect"
import { ToolTransientError } from "../../../src/error/ToolError.ts"
import type { CallId } from "../../../src/value/Ids.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { RateLimit } from "../../../src/tool/ToolSpec.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { CallHost, AgentTool } from "./CallHost.ts"
import { callFinished } from "./CallOutcome.ts"
import { failedOutcome } from "./FailedOutcome.ts"

type GuardedBody = Effect.Effect<RunInput | undefined, never, AgentMemory>

/** Runs the body of a call when the limits of its tool let it; gives the refusal otherwise. */
type ToolGuard = (host: CallHost, call: CallId, body: GuardedBody) => GuardedBody

/** Undefined = the tool declares no limit. */
export type ToolGuards = (tool: AgentTool) => ToolGuard | undefined

const noGuards: ToolGuards = () => undefined

/** The longest that an approved call waits for its turn; then it is refused like any other. */
const approved_wait_ms_max = 600_000

/** The wait while another call probes a tool whose circuit is open. */
const probe_wait_ms = 1_000

const refusedForNow = (
  reason: "CIRCUIT_OPEN" | "RATE_LIMITED",
  message: string,
  retry_after_ms: number
): ToolTransientError =>
  new ToolTransientError({
    kind: "external",
    reason,
    message,
    retry_after_ms: Math.max(1, Math.ceil(retry_after_ms))
  })

/** What the end of a call says of its tool: a tool that answers, even with a refusal, works. */
const outcomeOf = (exit: Exit.Exit<RunInput | undefined>): CircuitBreaker.Outcome => {
  if (Exit.isFailure(exit)) return CircuitBreaker.failure()
  switch (exit.value?._tag) {
    case "Lost":
      return CircuitBreaker.failure()
    case "Finished": {
      const { outcome } = exit.value.settled
      if (outcome._tag !== "Failed") return CircuitBreaker.success
      const { class: as, kind, retry_after_ms } = outcome.error
      if (as === "ToolTransientError") {
        return CircuitBreaker.failure(
          retry_after_ms === undefined ? {} : { retryAfter: retry_after_ms }
        )
      }
      return as === "ToolTerminalError" && kind === "internal"
        ? CircuitBreaker.failure()
        : CircuitBreaker.success
    }
    default:
      return CircuitBreaker.ignored
  }
}

/** Runs the body, or fails with the refusal. */
type Admit = (
  host: CallHost,
  body: GuardedBody
) => Effect.Effect<RunInput | undefined, ToolTransientError, AgentMemory>

const withRateLimit =
  (limiter: RateLimiter.RateLimiter, tool: AgentTool, { calls_max, window_ms }: RateLimit): Admit =>
  (host, body) => {
    const taken = limiter.consume({
      algorithm: "token-bucket",
      key: `${host.accepted.tenant}/${tool.key}`,
      limit: calls_max,
      window: window_ms
    })
    return Effect.matchEffect(taken, {
      onSuccess: () => body,
      onFailure: ({ reason }) =>
        // A limiter that fails limits nothing.
        reason._tag === "RateLimitExceeded"
          ? Effect.fail(
              refusedForNow(
                "RATE_LIMITED",
                `"${tool.spec.name}" is called too often.`,
                Duration.toMillis(reason.retryAfter)
              )
            )
          : body
    })
  }

const withCircuitBreaker =
  (breaker: CircuitBreaker.CircuitBreaker, tool: AgentTool): Admit =>
  (_, body) =>
    Effect.mapError(breaker.execute(body, { key: tool.key, classify: outcomeOf }), ({ reason }) =>
      refusedForNow(
        "CIRCUIT_OPEN",
        `"${tool.spec.name}" failed too often and is left alone for a while.`,
        reason._tag === "CircuitOpen" ? Duration.toMillis(reason.retryAfter) : probe_wait_ms
      )
    )

/** Refuses at once, or, where the call was approved, after it has waited as often as its tool's limits say. */
const admitOrRefuse = Effect.fnUntraced(function* (
  admit: Admit,
  host: CallHost,
  call: CallId,
  body: GuardedBody
) {
  const isApproved = host.call().phase._tag === "Decided"
  for (let waited = 0; ;) {
    const admitted = yield* Effect.result(admit(host, body))
    if (admitted._tag === "Success") return admitted.success
    const wait = admitted.failure.retry_after_ms ?? probe_wait_ms
    waited += wait
    if (!isApproved || waited > approved_wait_ms_max) {
      return callFinished(call, failedOutcome(admitted.failure))
    }
    yield* Effect.sleep(wait)
  }
})

const guardOf = (
  tool: AgentTool,
  limiter: RateLimiter.RateLimiter,
  breaker: CircuitBreaker.CircuitBreaker | undefined
): ToolGuard => {
  const { concurrency_max, rate_limit } = tool.spec
  const rate = rate_limit === undefined ? undefined : withRateLimit(limiter, tool, rate_limit)
  const circuit = breaker === undefined ? undefined : withCircuitBreaker(breaker, tool)
  const admit: Admit | undefined =
    rate !== undefined && circuit !== undefined
      ? (host, body) =>
          // The rate limit is consumed first; the circuit then runs the body.
          Effect.flatMap(rate(host, Effect.succeed(undefined)), () => circuit(host, body))
      : (rate ?? circuit)
  const slots = concurrency_max === undefined ? undefined : Semaphore.makeUnsafe(concurrency_max)
  return (host, call, body) => {
    // A call that an earlier owner dispatched was admitted then: a refusal now would say that it did not happen.
    const isResent = host.call().phase._tag === "Dispatched"
    if (admit === undefined || isResent) return slots === undefined ? body : slots.withPermit(body)
    // A call that waits for its turn holds no permit meanwhile.
    const admitted: Admit =
      slots === undefined ? admit : (of, run) => slots.withPermit(admit(of, run))
    return admitOrRefuse(admitted, host, call, body)
  }
}

/** The store that the embedder provides, so that processes share their limits; otherwise one of this process. */
const storeOf = <I, S>(key: Context.Key<I, S>, ephemeral: Layer.Layer<I>) =>
  Effect.flatMap(Effect.serviceOption(key), (given) =>
    Option.isSome(given) ? Effect.succeed(Context.make(key, given.value)) : Layer.build(ephemeral)
  )

/** The guards of these tools; a tool that declares no limit has none. */
export const make = Effect.fnUntraced(function* (
  tools: Iterable<AgentTool>
): Effect.fn.Return<ToolGuards, never, Scope.Scope> {
  const declared = new Set(
    [...tools].filter(
      ({ spec }) =>
        spec.rate_limit !== undefined ||
        spec.circuit !== undefined ||
        spec.concurrency_max !== undefined
    )
  )
  if (declared.size === 0) return noGuards
  const limiter = yield* Effect.provide(
    RateLimiter.make,
    yield* storeOf(RateLimiter.RateLimiterStore, RateLimiter.layerStoreMemory)
  )
  const circuits = yield* storeOf(
    CircuitBreaker.CircuitBreakerStore,
    CircuitBreaker.layerStoreMemory()
  )
  const guards = new Map<AgentTool, ToolGuard>()
  for (const tool of declared) {
    const { circuit } = tool.spec
    const breaker =
      circuit === undefined
        ? undefined
        : yield* Effect.provide(
            CircuitBreaker.make({
              tripPolicy: CircuitBreaker.consecutive(circuit.failures_max),
              openDuration: circuit.open_ms
            }),
            circuits
          )
    guards.set(tool, guardOf(tool, limiter, breaker))
  }
  return (tool) => guards.get(tool)
})
