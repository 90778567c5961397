/**
 * The model that the environment asks for, if it asks for one.
 */
import { Effect, Option } from "effect"
import type { Layer } from "effect"
import type { ModelError, ModelGateway } from "../../services/ModelGateway.ts"
import * as AiSdkModelGateway from "./AiSdkModelGateway.ts"
import type { TurnPolicy } from "./AiSdkModelGateway.ts"
import * as ModelConfig from "./ModelConfig.ts"
import * as Providers from "./Providers.ts"

export interface ChosenModel {
  /** The model's name, to be shown. */
  readonly model: string
  readonly layer: Layer.Layer<ModelGateway, ModelError>
}

/**
 * None where neither TROUPE_MODEL_PROVIDER nor TROUPE_MODEL_BASE_URL is set. Fails with kind `configuration` where what is
 * set cannot be used, or the provider's package is not installed.
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
      layer: AiSdkModelGateway.layer(provider, { timeout_ms: config.timeout_ms, ...policy })
    })
  })
