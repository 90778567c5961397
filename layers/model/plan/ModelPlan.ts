/**
 * The models that may answer a turn, in order, with retries, circuit and limits of each.
 */
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { ModelGateway } from "../../../services/ModelGateway.ts"
import type { ModelErrorKind } from "../../../services/ModelGateway.ts"
import type { ProviderLimits } from "./ProviderLimiter.ts"

/** One model of the plan. */
export interface PlannedModel {
  /** The name that agents, spans and errors use; unique in the plan. */
  readonly name: string
  /** Models of one provider share its limits. */
  readonly provider: string
  readonly gateway: ModelGateway["Service"]
  /** The provider's own name for the model; absent = the gateway's default. */
  readonly model?: string | undefined
}

/** Tries at one model. Waits double from `backoff_initial_ms`, half of each by chance; all times in ms. */
export interface ModelRetry {
  /** Attempts at one model in one turn, at least 1. */
  readonly attempts_max: number
  readonly backoff_initial_ms: number
  readonly backoff_ms_max: number
  /**
   * The longest wait that a provider may ask for. Of a longer one the turn fails with `retry_after_ms`, or the next model is asked;
   * no turn asks the model before the time is over.
   */
  readonly retry_after_ms_max: number
  /** The timeout of one attempt, whatever its gateway does. */
  readonly attempt_timeout_ms: number
}

export const retry_default: ModelRetry = {
  attempts_max: 3,
  backoff_initial_ms: 500,
  backoff_ms_max: 30_000,
  retry_after_ms_max: 30_000,
  attempt_timeout_ms: 600_000
}

/** When a model is skipped for a while. */
export interface CircuitPolicy {
  /** Transient failures in a row, over all runs, that open it. */
  readonly failures_max: number
  /** How long it stays open before one request may try, in ms. */
  readonly open_ms: number
}

export const circuit_default: CircuitPolicy = { failures_max: 5, open_ms: 15_000 }

export interface ModelPlan {
  /**
   * The models in the order of fallback, 1 to 64. An agent that names a model of the plan begins with that one and falls back to
   * those after it; a request with any other name goes to the first model's gateway.
   */
  readonly models: ReadonlyArray<PlannedModel>
  /** Errors after which the next model is asked. Absent = `transient` alone. */
  readonly fall_back_on?: ReadonlyArray<typeof ModelErrorKind.Type> | undefined
  readonly retry?: Partial<ModelRetry> | undefined
  readonly circuit?: Partial<CircuitPolicy> | undefined
  /** The limits of each provider; absent = the defaults. */
  readonly limits?: Readonly<Record<string, Partial<ProviderLimits>>> | undefined
}

/** The gateway of a layer, for a plan; its scope is that of the plan's gateway. */
export const gatewayOf = <E, R>(
  layer: Layer.Layer<ModelGateway, E, R>
): Effect.Effect<ModelGateway["Service"], E, R | Scope.Scope> =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, ModelGateway))

const models_max = 64

/** Why a plan is invalid; undefined = it is valid. */
export const flawOf = (plan: ModelPlan): string | undefined => {
  if (plan.models.length === 0) return "the plan names no model"
  if (plan.models.length > models_max) return `the plan names more than ${models_max} models`
  const names = new Set<string>()
  for (const { name } of plan.models) {
    if (name === "") return "a model of the plan has no name"
    if (names.has(name)) return `the plan names ${name} twice`
    names.add(name)
  }
  const bounds: ReadonlyArray<readonly [name: string, value: number | undefined, least: number]> = [
    ["retry.attempts_max", plan.retry?.attempts_max, 1],
    ["retry.backoff_initial_ms", plan.retry?.backoff_initial_ms, 0],
    ["retry.backoff_ms_max", plan.retry?.backoff_ms_max, 0],
    ["retry.retry_after_ms_max", plan.retry?.retry_after_ms_max, 0],
    ["retry.attempt_timeout_ms", plan.retry?.attempt_timeout_ms, 1],
    ["circuit.failures_max", plan.circuit?.failures_max, 1],
    ["circuit.open_ms", plan.circuit?.open_ms, 1],
    ...Object.entries(plan.limits ?? {}).flatMap(([provider, limits]) => [
      [`limits.${provider}.concurrent_max`, limits.concurrent_max, 1] as const,
      [`limits.${provider}.tokens_per_minute`, limits.tokens_per_minute, 0] as const,
      [`limits.${provider}.queue_max`, limits.queue_max, 0] as const,
      [`limits.${provider}.wait_ms_max`, limits.wait_ms_max, 0] as const
    ])
  ]
  for (const [name, value, least] of bounds) {
    if (value !== undefined && (!Number.isInteger(value) || value < least)) {
      return `${name} is not a whole number of at least ${least}`
    }
  }
  const providers = new Set(plan.models.map((model) => model.provider))
  const stray = Object.keys(plan.limits ?? {}).find((provider) => !providers.has(provider))
  return stray === undefined ? undefined : `limits are given for ${stray}, which no model is of`
}
