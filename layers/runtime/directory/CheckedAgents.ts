/**
 * Checks of agents that need more than the directory, before anything begins: whether every model that may answer an agent's
 * turns can be given the tools of its provider that the agent declares, and whether the price table can keep a bound on cost. A
 * turn whose cost is not known ends its run as `cost_unknown`.
 */
import { Effect, Layer } from "effect"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import { providerToolsOf } from "../../../src/agent/ProviderTools.ts"
import type { Prices } from "../../../src/cost/PriceTable.ts"
import { hasPrice, hasUsePrice } from "../../../src/cost/PriceTable.ts"
import { graph_model } from "../../../src/graph/ToolGraph.ts"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { ModelGateway } from "../../../services/ModelGateway.ts"
import { PriceBook } from "../../../services/PriceBook.ts"
import type { MisdeclaredAgent } from "./ResolvedAgent.ts"
import { misdeclaredAgent } from "./ResolvedAgent.ts"

/** What a model of the agent may do that has no price; undefined = nothing that is known now. */
const unpriced = (
  prices: Prices,
  { provider_tools = [] }: AgentSpec,
  models: ReadonlyArray<string>
): string | undefined => {
  const model = models.find((each) => !hasPrice(prices, each))
  if (model !== undefined) return `the price table has no price for the model "${model}"`
  for (const each of models) {
    const free = providerToolsOf(provider_tools).find(
      ({ tool }) => !hasUsePrice(prices, tool, each)
    )
    if (free !== undefined) return `the price table has no \`uses\` for ${free.tool} of "${each}"`
  }
  return undefined
}

const checkPrices = Effect.gen(function* () {
  const prices = yield* PriceBook
  const { all } = yield* AgentDirectory
  const { modelsFor } = yield* ModelGateway
  if (prices === undefined) return
  for (const { spec } of all) {
    const { limits, model, name } = spec
    if (limits.cost_max === undefined || model === graph_model) continue
    const models = modelsFor?.(model) ?? (model === undefined ? [] : [model])
    const problem = unpriced(prices, spec, models)
    if (problem === undefined) continue
    const message = `${problem}: a turn without one ends its run as cost_unknown. Add an entry for it, or for "*"`
    return yield* misdeclaredAgent(name, "limits.cost_max", limits.cost_max, message)
  }
})

const checkProviderTools = Effect.gen(function* () {
  const { all } = yield* AgentDirectory
  const { checkProviderTools: check } = yield* ModelGateway
  if (check === undefined) return
  for (const { modelTools, spec } of all) {
    const provider_tools = providerToolsOf(spec.provider_tools ?? [])
    const { model, model_settings: settings, name: agent } = spec
    if (provider_tools.length === 0 && settings?.provider_options === undefined) continue
    yield* Effect.mapError(
      check({ agent, model, settings, tools: modelTools, provider_tools }),
      ({ message }) => misdeclaredAgent(agent, "provider_tools", agent, message)
    )
  }
})

/** Fails with the first agent whose model cannot be given what it declares, or whose bound on cost cannot be kept. */
export const layer: Layer.Layer<never, MisdeclaredAgent, AgentDirectory | ModelGateway> =
  Layer.effectDiscard(Effect.andThen(checkProviderTools, checkPrices))
