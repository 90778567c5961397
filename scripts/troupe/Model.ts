/**
 * The model that a run is tried with: one by name, where the environment says that it is, or the script of `npm start`.
 */
import { ConfigProvider, Context, Effect, Layer, Option } from "effect"
import type { Scope } from "effect"
import * as ModelFromEnv from "../../layers/model/providers/ModelFromEnv.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { ModelError } from "../../services/ModelGateway.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { script } from "../incident/IncidentScript.ts"
import { Refused } from "../command/Refused.ts"

export const modelOf = (
  name: string
): Effect.Effect<ModelGateway["Service"], ModelError | Refused, Scope.Scope> =>
  Effect.gen(function* () {
    if (name === "script") {
      return yield* built(ScriptedModelGateway.layer(script))
    }
    const chosen = yield* Effect.provide(
      ModelFromEnv.choose(),
      ConfigProvider.layer(
        ConfigProvider.fromEnv({ env: { ...environment(), TROUPE_MODEL: name } })
      )
    )
    if (Option.isNone(chosen)) {
      return yield* new Refused({
        message: `--model ${name} is nowhere: set TROUPE_MODEL_PROVIDER or TROUPE_MODEL_BASE_URL, and TROUPE_MODEL_API_KEY`
      })
    }
    return yield* built(chosen.value.layer)
  })

/** It lives as long as the command. */
const built = <A, E>(layer: Layer.Layer<ModelGateway | A, E>) =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, ModelGateway))

const environment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  )
