/**
 * Asks the model gateway, before anything begins, whether every model that may answer an agent's turns can be given the tools
 * of its provider that the agent declares.
 */
import { Effect, Layer } from "effect"
import { providerToolsOf } from "../../../src/agent/ProviderTools.ts"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { ModelGateway } from "../../../services/ModelGateway.ts"
import type { MisdeclaredAgent } from "./ResolvedAgent.ts"
import { misdeclaredAgent } from "./ResolvedAgent.ts"

const check = Effect.gen(function* () {
  const { all } = yield* AgentDirectory
  const { checkProviderTools } = yield* ModelGateway
  if (checkProviderTools === undefined) return
  for (const { modelTools, spec } of all) {
    const provider_tools = providerToolsOf(spec.provider_tools ?? [])
    const { model, model_settings: settings, name: agent } = spec
    if (provider_tools.length === 0 && settings?.provider_options === undefined) continue
    yield* Effect.mapError(
      checkProviderTools({ agent, model, settings, tools: modelTools, provider_tools }),
      ({ message }) => misdeclaredAgent(agent, "provider_tools", agent, message)
    )
  }
})

/** Fails with the first agent whose model cannot be given what it declares. */
export const layer: Layer.Layer<never, MisdeclaredAgent, AgentDirectory | ModelGateway> =
  Layer.effectDiscard(check)
