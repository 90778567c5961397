/**
 * Checks of agents that need more than the directory, before anything begins: whether every model that may answer an agent's
 * turns can be given the tools of its provider that the agent declares, and whether the price table can keep a bound on cost. A
 * turn whose cost is not known ends its run as `cost_unknown`.
 */
import { Effect, Layer } from "effect"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import { providerToolsOf } from "../../../src/agent/ProviderTools.ts"
import type { Budget } from "../../../src/cost/Budget.ts"
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

/** What bounds the cost of the agent; undefined = nothing does. The directory has refused a `cost_max` without prices. */
const boundOf = (
  { limits: { cost_max } }: AgentSpec,
  budgets: ReadonlyArray<Budget> = []
): readonly [member: string, value: string] | undefined => {
  if (cost_max !== undefined) return ["limits.cost_max", cost_max]
  const budget = budgets.find(({ cost }) => cost !== undefined)
  return budget && ["budgets", budget.name]
}

const checkPrices = Effect.gen(function* () {
  const prices = yield* PriceBook
  const { all } = yield* AgentDirectory
  const { modelsFor } = yield* ModelGateway
  for (const { budgets, spec } of all) {
    const { model, name } = spec
    const bound = boundOf(spec, budgets)
    if (bound === undefined || model === graph_model) continue
    const [member, value] = bound
    if (prices === undefined) {
      const message = "a budget in cost needs prices: give the runtime a price table"
      return yield* misdeclaredAgent(name, member, value, message)
    }
    const models = modelsFor?.(model) ?? (model === undefined ? [] : [model])
    const problem = unpriced(prices, spec, models)
    if (problem === undefined) continue
    const then = member === "budgets" ? "breaks the budget" : "ends its run as cost_unknown"
    const message = `${problem}: a turn without one ${then}. Add an entry for it, or for "*"`
    return yield* misdeclaredAgent(name, member, value, message)
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

/** OpenAI's wire and most others refuse a request with more; all of them choose worse among so many. */
const tools_max = 128

const warnOfManyTools = Effect.gen(function* () {
  const { all } = yield* AgentDirectory
  for (const { modelTools, spec } of all) {
    const count = modelTools.length + (spec.provider_tools ?? []).length
    if (count <= tools_max || spec.model === graph_model) continue
    yield* Effect.annotateLogs(
      Effect.logWarning(
        `more than ${tools_max} tools are sent with each turn, and many providers refuse such a request: give some of them to specialists`
      ),
      { agent: spec.name, tools: count }
    )
  }
})

/**
 * Fails with the first agent whose model cannot be given what it declares, or whose bound on cost cannot be kept. Warns of agents
 * with more tools than most providers take.
 */
export const layer: Layer.Layer<never, MisdeclaredAgent, AgentDirectory | ModelGateway> =
  Layer.effectDiscard(Effect.all([checkProviderTools, checkPrices, warnOfManyTools]))
