/**
 * Gets one turn from a plan of models in spite of failures: transient failures are retried with jitter, a model that keeps
 * failing is skipped for a while, another model takes its place, and no provider gets more requests than it allows. The loop
 * sees one turn or one error.
 */
import { Clock, Duration, Effect, Exit, Layer, Random } from "effect"
import type { Scope, Tracer } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { media_unsupported, ModelError, ModelGateway } from "../../../services/ModelGateway.ts"
import type { ModelDelta, ModelRequest } from "../../../services/ModelGateway.ts"
import { Tokenizer } from "../../../services/Tokenizer.ts"
import { withDefaults } from "../../../src/value/PlainObject.ts"
import type { Turn } from "../../../src/run/RunDecider.ts"
import { circuit_default, flawOf, retry_default } from "./ModelPlan.ts"
import type { ModelPlan, PlannedModel, ModelRetry } from "./ModelPlan.ts"
import type { Permit } from "./ProviderLimiter.ts"
import {
  banned,
  limits_default,
  PromptEstimate,
  ProviderBans,
  ProviderLimiter
} from "./ProviderLimiter.ts"
import { AnswerHeard, statedRateLimit } from "../wire/RateLimitHeaders.ts"

interface Services {
  readonly plan: ModelPlan
  readonly retry: ModelRetry
  readonly breaker: CircuitBreaker.CircuitBreaker
  readonly clock: Clock.Clock
  readonly bans: ProviderBans
  readonly limiters: ReadonlyMap<string, ProviderLimiter>
  /** Absent = no provider of the plan has a bound on tokens. */
  readonly estimate: PromptEstimate | undefined
}

interface Progress {
  readonly request: ModelRequest
  readonly sink: (delta: ModelDelta) => void
  readonly span: Tracer.Span | undefined
  /** The kinds of text that this attempt has sent to the sink. After a failure they are retracted before the next attempt. */
  readonly streamed: Set<ModelDelta["kind"]>
  attempts: number
  models: number
  /** What the last attempt that wrote anything wrote. */
  text: string | undefined
}

const circuitOpen = (name: string, retry_after_ms: number | undefined) =>
  new ModelError({
    kind: "transient",
    reason: "circuit_open",
    message: `${name} failed too often and is left alone for a while`,
    ...(retry_after_ms === undefined ? undefined : { retry_after_ms })
  })

/** An answer, even a refusal, closes the circuit; a wrong key and an interruption do not change it. */
const outcomeOf = (exit: Exit.Exit<Turn, ModelError>): CircuitBreaker.Outcome => {
  if (Exit.isSuccess(exit)) return CircuitBreaker.success
  const error = exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
  if (error?.kind === "transient") return CircuitBreaker.failure()
  return error?.kind === "refused" ? CircuitBreaker.success : CircuitBreaker.ignored
}

const rejected = (
  name: string,
  error: ModelError | CircuitBreaker.CircuitBreakerError
): ModelError =>
  error._tag === "ModelError"
    ? error
    : circuitOpen(
        name,
        error.reason._tag === "CircuitOpen"
          ? Math.ceil(Duration.toMillis(error.reason.retryAfter))
          : undefined
      )

const countedTokens = (turn: Turn): number | undefined =>
  turn.usage === undefined ? undefined : turn.usage.input_tokens + turn.usage.output_tokens

const attempt = (services: Services, model: PlannedModel, progress: Progress) => {
  const { breaker, clock, estimate, retry } = services
  const { request, streamed } = progress
  const sink = (delta: ModelDelta) => {
    streamed.add(delta.kind)
    progress.sink(delta)
  }
  const adapted = model.model === undefined ? request : { ...request, model: model.model }
  const call = (permit: Permit) =>
    Effect.suspend(() => model.gateway.turn(adapted, sink)).pipe(
      Effect.timeoutOrElse({
        duration: retry.attempt_timeout_ms,
        orElse: () =>
          new ModelError({
            kind: "transient",
            message: `${model.name} did not answer within ${retry.attempt_timeout_ms} ms`
          })
      }),
      breaker.execute({ key: model.name, classify: outcomeOf }),
      Effect.provideService(AnswerHeard, (headers) => {
        const now = clock.currentTimeMillisUnsafe()
        const limits = statedRateLimit(headers, now)
        if (limits !== undefined) permit.setLimits(limits, now)
      }),
      Effect.map((turn) => {
        const tokens = countedTokens(turn)
        if (tokens !== undefined) permit.counted(tokens)
        return turn
      })
    )
  const limiter = services.limiters.get(model.provider)
  if (limiter === undefined) return Effect.die(new Error(`${model.provider} has no limiter`))
  return Effect.flatMap(breaker.state(model.name), (state) =>
    // A request does not queue for a model whose circuit is open.
    state._tag === "Open" && Duration.toMillis(state.retryAfter) > 0
      ? Effect.fail(circuitOpen(model.name, Math.ceil(Duration.toMillis(state.retryAfter))))
      : limiter.withPermit(estimate === undefined ? 0 : estimate.tokens(request), call)
  ).pipe(Effect.mapError((error) => rejected(model.name, error)))
}

const waitMs = (retry: ModelRetry, n: number, wait: number) =>
  Effect.map(Random.next, (chance) => {
    const doubled = Math.min(retry.backoff_initial_ms * 2 ** (n - 1), retry.backoff_ms_max)
    // Jitter, so that callers with the same delay do not retry at the same time.
    return Math.max(doubled * (0.5 + chance / 2), wait + (wait > 0 ? doubled * chance * 0.1 : 0))
  })

/** Whether to try the same model again. `more` = another model may be asked instead. */
const again = (retry: ModelRetry, n: number, error: ModelError, more: boolean): boolean => {
  if (error.kind !== "transient" || n >= retry.attempts_max) return false
  // The request waited in the queue already, or the queue is full.
  if (error.reason === "queue_full" || error.reason === "queue_timeout") return false
  if (error.reason === "circuit_open") return !more
  return (error.retry_after_ms ?? 0) <= retry.retry_after_ms_max
}

/** Whether the time in an error is the provider's, and not that of our own circuit or queue. */
const isOfProvider = ({ kind, reason }: ModelError): boolean =>
  kind === "transient" &&
  reason !== "circuit_open" &&
  reason !== "queue_full" &&
  reason !== "queue_timeout"

const takeBack = ({ streamed, sink }: Progress) => {
  for (const kind of streamed) sink({ kind, text: "", offset: 0 })
  streamed.clear()
}

const note = (services: Services, { attempts, span }: Progress, model: string, error: ModelError) =>
  span?.event("troupe.model.attempt_failed", services.clock.currentTimeNanosUnsafe(), {
    "troupe.model.name": model,
    "troupe.model.attempt": attempts,
    "error.type": error.reason ?? error.kind,
    "troupe.model.error": error.message
  })

/** Waits until the provider may be asked, as it told this run or another. Fails where that takes longer than the bound. */
const waitOut = Effect.fnUntraced(function* (
  { bans, clock, retry }: Services,
  { name }: PlannedModel
) {
  const left = bans.leftMs(name, clock.currentTimeMillisUnsafe())
  if (left > retry.retry_after_ms_max) return yield* banned(name, left)
  if (left > 0) yield* Effect.sleep(yield* waitMs(retry, 1, left))
})

const persist = Effect.fnUntraced(function* (
  services: Services,
  model: PlannedModel,
  progress: Progress,
  more: boolean
) {
  const { bans, clock, retry } = services
  yield* waitOut(services, model)
  for (let n = 1; ; n++) {
    progress.attempts++
    const exit = yield* Effect.result(attempt(services, model, progress))
    if (exit._tag === "Success") return exit.success
    const error = exit.failure
    note(services, progress, model.name, error)
    progress.text = error.text ?? progress.text
    const wait = error.retry_after_ms ?? 0
    if (wait > 0 && isOfProvider(error)) bans.set(model.name, wait, clock.currentTimeMillisUnsafe())
    if (!again(retry, n, error, more)) return yield* error
    yield* Effect.sleep(yield* waitMs(retry, n, wait))
    takeBack(progress)
  }
})

const candidates = (plan: ModelPlan, wanted: string | undefined): ReadonlyArray<PlannedModel> => {
  if (wanted === undefined) return plan.models
  const at = plan.models.findIndex(({ model, name }) => name === wanted || model === wanted)
  if (at >= 0) return plan.models.slice(at)
  const [first, ...others] = plan.models
  // An unknown name has a circuit of its own, so that its failures do not count for the known model.
  return first === undefined ? [] : [{ ...first, name: wanted, model: wanted }, ...others]
}

const summed = (error: ModelError, { attempts, models, text }: Progress): ModelError =>
  models <= 1 && error.text === text
    ? error
    : new ModelError({
        ...error,
        ...(text === undefined ? undefined : { text }),
        message:
          models <= 1
            ? error.message
            : `${error.message} (the last of ${attempts} attempts at ${models} models)`
      })

const follow = Effect.fnUntraced(function* (
  services: Services,
  request: ModelRequest,
  sink: (delta: ModelDelta) => void
) {
  const span = yield* Effect.option(Effect.currentSpan)
  const progress: Progress = {
    request,
    sink,
    span: span._tag === "Some" ? span.value : undefined,
    streamed: new Set(),
    attempts: 0,
    models: 0,
    text: undefined
  }
  const fallBackOn = services.plan.fall_back_on ?? ["transient"]
  const models = candidates(services.plan, request.model)
  for (const [at, model] of models.entries()) {
    const more = at + 1 < models.length
    progress.models++
    const exit = yield* Effect.result(persist(services, model, progress, more))
    if (exit._tag === "Success") {
      progress.span?.attribute("gen_ai.provider.name", model.provider)
      progress.span?.attribute("troupe.model.name", model.name)
      progress.span?.attribute("troupe.model.attempts", progress.attempts)
      return exit.success
    }
    // Another model may take the files that this one does not.
    const isOther = exit.failure.reason === media_unsupported
    if (!more || !(isOther || fallBackOn.includes(exit.failure.kind))) {
      progress.span?.attribute("troupe.model.attempts", progress.attempts)
      return yield* summed(exit.failure, progress)
    }
    takeBack(progress)
  }
  return yield* new ModelError({ kind: "configuration", message: "the plan names no model" })
})

const limitersOf = (plan: ModelPlan): ReadonlyMap<string, ProviderLimiter> =>
  new Map(
    plan.models.map(({ provider }) => [
      provider,
      new ProviderLimiter(provider, withDefaults(limits_default, plan.limits?.[provider]))
    ])
  )

const make = Effect.fnUntraced(function* (plan: ModelPlan) {
  const flaw = flawOf(plan)
  if (flaw !== undefined) return yield* new ModelError({ kind: "configuration", message: flaw })
  const circuit = withDefaults(circuit_default, plan.circuit)
  const breaker = yield* CircuitBreaker.make({
    tripPolicy: CircuitBreaker.consecutive(circuit.failures_max),
    openDuration: circuit.open_ms
  })
  const counts = Object.values(plan.limits ?? {}).some((each) => (each.tokens_per_minute ?? 0) > 0)
  const services: Services = {
    plan,
    retry: withDefaults(retry_default, plan.retry),
    breaker,
    clock: yield* Clock.Clock,
    bans: new ProviderBans(),
    limiters: limitersOf(plan),
    estimate: counts ? new PromptEstimate(yield* Tokenizer) : undefined
  }
  return ModelGateway.of({
    turn: (request, sink) => follow(services, request, sink),
    modelsFor: (wanted) => candidates(plan, wanted).map(({ model, name }) => model ?? name),
    checkProviderTools: (use) =>
      Effect.forEach(
        candidates(plan, use.model),
        ({ gateway, model }) =>
          gateway.checkProviderTools?.(model === undefined ? use : { ...use, model }) ??
          Effect.void,
        { discard: true }
      )
  })
})

/** Answers from the plan. Fails with kind `configuration` where the plan cannot be followed. */
export const layer = <E, R>(
  plan: Effect.Effect<ModelPlan, E, R>
): Layer.Layer<ModelGateway, E | ModelError, Exclude<R, Scope.Scope>> =>
  Layer.effect(ModelGateway, Effect.flatMap(plan, make)).pipe(
    Layer.provide(CircuitBreaker.layerStoreMemory())
  )
