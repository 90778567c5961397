/**
 * The model that the environment asks for, if it asks for one.
 */
import { Effect, Layer, Option } from "effect"
import type { ModelError, ModelGateway } from "../../services/ModelGateway.ts"
import * as AiSdkModelGateway from "./AiSdkModelGateway.ts"
import type { TurnPolicy } from "./AiSdkModelGateway.ts"
import * as ModelConfig from "./ModelConfig.ts"

export interface ChosenModel {
  /** The model's name, to be shown. */
  readonly model: string
  readonly layer: Layer.Layer<ModelGateway, ModelError>
}

/** None where TROUPE_MODEL_BASE_URL is not set. Fails with kind `configuration` where what is set cannot be used. */
export const choose = (
  policy: Partial<TurnPolicy> = {}
): Effect.Effect<Option.Option<ChosenModel>, ModelError> =>
  Effect.map(ModelConfig.fromEnv, (config) =>
    config === undefined
      ? Option.none()
      : Option.some({
          model: config.model,
          // Loaded when it is built: a process without a live model does not pay for the provider's client.
          layer: Layer.unwrap(
            Effect.map(
              Effect.promise(() => import("./OpenAiCompatible.ts")),
              ({ fromConfig }) =>
                AiSdkModelGateway.layer(fromConfig(config), {
                  timeout_ms: config.timeout_ms,
                  ...policy
                })
            )
          )
        })
  )
