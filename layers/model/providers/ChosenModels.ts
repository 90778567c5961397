/**
 * Chooses models in one line of code: `"anthropic/claude-sonnet-4-5"`, whose key comes from the environment, or any model object
 * of an AI SDK package. Several models are tried in their order.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { Effect } from "effect"
import type { Layer } from "effect"
import { ModelError } from "../../../services/ModelGateway.ts"
import type { ModelGateway } from "../../../services/ModelGateway.ts"
import { isSecretName } from "../../../src/error/SecretNames.ts"
import * as AiSdkModelGateway from "./AiSdkModelGateway.ts"
import * as ModelConfig from "./ModelConfig.ts"
import { semanticName } from "./ModelFromEnv.ts"
import type { PackagedModel } from "./PackagedProviders.ts"
import type { ModelPlan, PlannedModel } from "../plan/ModelPlan.ts"
import * as Providers from "./Providers.ts"
import * as ResilientModelGateway from "../plan/ResilientModelGateway.ts"

/** `provider/model`, or a model object of an AI SDK package (`LanguageModelV4`). */
export type ModelChoice = string | LanguageModelV4

/** Of environment variables with secret names. The key inside a model object cannot be read, so it is not hidden by itself. */
const secretsOf = (env: NodeJS.ProcessEnv): ReadonlyArray<string> =>
  Object.entries(env).flatMap(([name, value = ""]) =>
    value.length >= secret_units_min && isSecretName(name) ? [value] : []
  )
const secret_units_min = 8

/** A gateway for one model object. It refuses requests for any other model. */
const only = (
  { modelId }: LanguageModelV4,
  inner: ModelGateway["Service"]
): ModelGateway["Service"] => ({
  ...inner,
  turn: (request, sink) =>
    request.model === undefined || request.model === modelId
      ? inner.turn(request, sink)
      : new ModelError({
          kind: "configuration",
          message: `there is no model ${request.model}: add it to the \`model\` of the start`
        })
})

type Policy = Partial<AiSdkModelGateway.AttemptPolicy>

const ofObject = (model: LanguageModelV4, policy: Policy): Omit<PlannedModel, "name"> => ({
  provider: model.provider,
  model: model.modelId,
  gateway: only(
    model,
    AiSdkModelGateway.gateway(
      {
        model: () => model,
        model_default: model.modelId,
        made_up_ids: Providers.made_up_ids,
        secrets: secretsOf(process.env),
        keyed: true,
        ...Providers.habitsOf(model)
      },
      policy
    )
  )
})

const ofPackaged = (
  { client, model, secrets, semantic }: PackagedModel,
  policy: Policy
): Omit<PlannedModel, "name"> => ({
  provider: semantic,
  model,
  gateway: AiSdkModelGateway.gateway(
    {
      model: client,
      model_default: model,
      made_up_ids: Providers.made_up_ids,
      secrets,
      keyed: true,
      ...Providers.habitsOf(client(model), true)
    },
    policy
  )
})

const ofText = Effect.fnUntraced(function* (choice: string, policy: Policy) {
  const packaged = yield* ModelConfig.packagedOf(choice)
  if (packaged !== undefined) return ofPackaged(packaged, policy)
  const config = yield* ModelConfig.fromName(choice)
  const gateway = AiSdkModelGateway.gateway(yield* Providers.load(config), policy)
  const provider = semanticName(config.provider)
  return { provider, model: config.model, gateway } satisfies Omit<PlannedModel, "name">
})

/** Gives each model its own name, with the provider's name added if that name is already taken. */
const named = (models: ReadonlyArray<Omit<PlannedModel, "name">>): ReadonlyArray<PlannedModel> => {
  const taken = new Set<string>()
  return models.map((each) => {
    const { model = "", provider } = each
    const name = taken.has(model) ? `${provider}/${model}` : model
    taken.add(name)
    return { ...each, name }
  })
}

type Choices = readonly [ModelChoice, ...ReadonlyArray<ModelChoice>]

/**
 * The plan for the choices. Fails with kind `configuration` if a choice cannot be used: its provider is unknown, its key is not
 * set or its package is not installed.
 */
export const planOf = (choices: Choices): Effect.Effect<ModelPlan, ModelError> =>
  Effect.gen(function* () {
    const policy = { timeout_ms: yield* ModelConfig.timeoutFromEnv }
    const models = yield* Effect.forEach(choices, (choice) =>
      typeof choice === "string"
        ? ofText(choice, policy)
        : Effect.sync(() => ofObject(choice, policy))
    )
    return { models: named(models) }
  })

/** A gateway that asks the first model, and the next one if that cannot answer. Fails as `planOf` does. */
export const layer = (...choices: Choices): Layer.Layer<ModelGateway, ModelError> =>
  ResilientModelGateway.layer(planOf(choices))
