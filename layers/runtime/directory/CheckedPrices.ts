/**
 * Refuses a bound on cost that the price table cannot keep: a turn whose cost is not known ends its run as `cost_unknown`, so
 * that is said before anything begins, where it can be known then.
 */
import { Effect, Layer } from "effect"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import { providerToolsOf } from "../../../src/agent/ProviderTools.ts"
import type { Prices } from "../../../src/cost/PriceTable.ts"
import { hasPrice, hasUsePrice } from "../../../src/cost/PriceTable.ts"
import { graph_model } from "../../../src/graph/GraphAgent.ts"
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

const check = Effect.gen(function* () {
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

/** Fails with the first agent whose bound on cost cannot be kept. */
export const layer: Layer.Layer<never, MisdeclaredAgent, AgentDirectory | ModelGateway> =
  Layer.effectDiscard(check)
