/**
 * Chooses the model that the environment configures, if it configures one.
 */
import { Effect, Option } from "effect"
import type { Layer } from "effect"
import type { ModelError, ModelGateway } from "../../../services/ModelGateway.ts"
import * as AiSdkModelGateway from "./AiSdkModelGateway.ts"
import type { TurnPolicy } from "./AiSdkModelGateway.ts"
import * as ModelConfig from "./ModelConfig.ts"
import type { ModelPlan } from "../plan/ModelPlan.ts"
import * as Providers from "./Providers.ts"
import * as ResilientModelGateway from "../plan/ResilientModelGateway.ts"

export interface ChosenModel {
  /** The model's name for display. */
  readonly model: string
  readonly layer: Layer.Layer<ModelGateway, ModelError>
}

/** The names that OpenTelemetry's conventions have for providers, where they are not ours. */
const semanticNames: Readonly<Partial<Record<ModelConfig.ProviderName, string>>> = {
  "openai-responses": "openai",
  google: "gcp.gemini"
}

export const semanticName = (provider: ModelConfig.ProviderName): string =>
  semanticNames[provider] ?? provider

/** Models of one endpoint: they share its limits, and each has a circuit of its own. */
const planOf = (
  config: ModelConfig.ModelConfig,
  provider: AiSdkModelGateway.ModelProvider,
  policy: Partial<TurnPolicy>
): ModelPlan => {
  const { attempts_max, backoff_initial_ms, retry_after_ms_max, ...attempt } = {
    ...AiSdkModelGateway.policy_default,
    timeout_ms: config.timeout_ms,
    ...policy
  }
  const gateway = AiSdkModelGateway.gateway(provider, attempt)
  const name = semanticName(config.provider)
  const { concurrent_max, tokens_per_minute } = config
  return {
    models: [config.model, ...config.fallbacks].map((model) => ({
      name: model,
      provider: name,
      gateway,
      model
    })),
    retry: { attempts_max, backoff_initial_ms, retry_after_ms_max },
    limits: {
      [name]: {
        tokens_per_minute,
        ...(concurrent_max === undefined ? undefined : { concurrent_max })
      }
    }
  }
}

/**
 * The chosen model; none if neither TROUPE_MODEL_PROVIDER nor TROUPE_MODEL_BASE_URL is set. Fails with kind `configuration` if a
 * setting cannot be used, or the provider's package is not installed.
 */
export const choose = (
  policy: Partial<TurnPolicy> = {}
): Effect.Effect<Option.Option<ChosenModel>, ModelError> =>
  Effect.gen(function* () {
    const config = yield* ModelConfig.fromEnv
    if (config === undefined) return Option.none()
    const provider = yield* Providers.load(config)
    return Option.some({
      model: config.model,
      layer: ResilientModelGateway.layer(Effect.succeed(planOf(config, provider, policy)))
    })
  })
