/**
 * Metrics of model usage: tokens by kind, and cost where a price table was given. Usage of a tool's handler has the
 * tool as a label. The ledger is exact; metrics are binary floats.
 */
import { Effect, Layer, Metric } from "effect"
import { totalMetric } from "../../src/value/Telemetry.ts"
import type { ModelTurnObserver, ModelUsed } from "../../services/RunObserver.ts"
import { ModelTurnObservers } from "../../services/RunObserver.ts"

const tokens_total = totalMetric(
  "troupe_model_tokens_total",
  "Tokens by model and kind; cached, cache_write and reasoning are parts of the others"
)
const cost_total = totalMetric("troupe_model_cost_total", "What turns cost, by model and currency")
const unpriced_total = totalMetric(
  "troupe_model_unpriced_turns_total",
  "Turns whose cost nobody knows, by model"
)

/** Names of models come from providers; beyond this many they share one series. */
const models_max = 200

const token_kinds = ["input", "output", "cached", "cache_write", "reasoning"] as const

type Labels = Readonly<Record<string, string>>

const make = Effect.map(Effect.context<never>(), (context): ModelTurnObserver => {
  const models = new Set<string>()
  const labelOf = (model: string): string => {
    if (models.has(model)) return model
    if (models.size >= models_max) return "(other)"
    models.add(model)
    return model
  }
  const count = (labels: Labels, kind: string, tokens: number | undefined) => {
    if (tokens === undefined || tokens === 0) return
    Metric.withAttributes(tokens_total, { ...labels, kind }).updateUnsafe(tokens, context)
  }
  const observe = ({ cost, model, tool, turns = 1, usage: given }: ModelUsed): void => {
    const usage = given?.estimated === true ? undefined : given
    const named = labelOf(model === undefined || model === "" ? "(unknown)" : model)
    // Tools are those of the registry, so their number is bounded.
    const labels: Labels = tool === undefined ? { model: named } : { model: named, tool }
    for (const kind of token_kinds) count(labels, kind, usage?.[`${kind}_tokens`])
    if (cost?._tag === "Priced") {
      const { currency } = cost
      Metric.withAttributes(cost_total, { ...labels, currency }).updateUnsafe(
        Number(cost.amount),
        context
      )
    } else if (cost?._tag === "Unpriced") {
      Metric.withAttributes(unpriced_total, labels).updateUnsafe(turns, context)
    }
  }
  return observe
})

/** Provide it beneath the runtime: observers are taken once, when the runtime is built. Those of outer layers are kept. */
export const layer: Layer.Layer<never> = Layer.effect(
  ModelTurnObservers,
  Effect.zipWith(ModelTurnObservers, make, (others, own) => [...others, own])
)
