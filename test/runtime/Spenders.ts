/** A runtime with prices, an `effect/ai` model that says what it used, and tools that spend. */
import { Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type { CallContext } from "../../src/tool/GovernedTool.ts"
import { CostLedger } from "../../services/CostLedger.ts"
import type { ToolQueue } from "../../services/ToolQueue.ts"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type * as LocalToolRegistry from "../../layers/runtime/directory/LocalToolRegistry.ts"
import { migratedLayer } from "../sql/Engines.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import type { Stores } from "../../services/Stores.ts"
import { by, finish, say, usage } from "../model/ScriptedLanguageModel.ts"
import * as H from "./Harness.ts"

export const prices = {
  version: "v1",
  currency: "USD",
  prices: [{ model: "small", input: "1", output: "2" }]
}
/** 0.10 USD. */
export const tenth = { model: "small", usage: { input_tokens: 100_000, output_tokens: 0 } }

export const stores: Readonly<
  Record<"ephemeral" | "database", Layer.Layer<Stores | ToolQueue, unknown>>
> = {
  ephemeral: EphemeralStores.layer,
  database: Layer.provide(SqlStores.layer, migratedLayer)
}

export type Tools = ReadonlyArray<LocalToolRegistry.Family<unknown, ToolQueue>>

export interface Options {
  readonly tools: Tools
  readonly script: Script
  readonly limits?: Partial<RunLimits>
  readonly prices?: false
  readonly on?: keyof typeof stores
}

export const agentsOf = ({ limits }: Options, names: ReadonlyArray<string>) => [
  AgentSpec.make({
    name: H.agentName,
    instructions: "Test.",
    tools: [...names],
    ...(limits === undefined ? undefined : { limits: RunLimits.make(limits) })
  })
]

export const all = ["t.one@1", "t.two@1", "t.three@1"]

export const runtime = (options: Options) =>
  Runtime.layer({
    agents: agentsOf(options, all.slice(0, options.tools.length)),
    tools: options.tools,
    ...(options.prices === false ? undefined : { prices })
  }).pipe(
    Layer.provide(
      Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer), EphemeralStore.layer)
    ),
    Layer.provideMerge(ScriptedModelGateway.layer(options.script)),
    Layer.provideMerge(stores[options.on ?? "ephemeral"])
  )

/** An `effect/ai` model that says what it used: 100,000 tokens in, as `small`. */
export const fake = Layer.effect(
  LanguageModel.LanguageModel,
  LanguageModel.make({
    generateText: ({ responseFormat }) =>
      Effect.succeed([
        ...by("small"),
        { type: "text", text: responseFormat.type === "json" ? `{"n":1}` : "short" } as const,
        finish("stop", usage(100_000, 0, { cached: 1 }))
      ] as never),
    streamText: () =>
      Stream.fromIterable([...say("t", ["sh", "ort"]), finish("stop", usage(100_000, undefined))])
  })
)

export const input = Schema.Struct({ n: Schema.Int })
export const read = { namespace: "t", name: "one", side_effects: "read", input } as const
export const write = {
  namespace: "t",
  name: "one",
  side_effects: "write",
  permission: "allow",
  input
} as const

export const retried = {
  max_attempts: 2,
  backoff_initial_ms: 1,
  backoff_max_ms: 2,
  retry_on_kinds: ["external", "timeout"]
} as const

/** The ledger's total of one tool, in USD, of this run. */
export const ledgerOf = Effect.fnUntraced(function* (run: RunId, name = "one") {
  const totals = yield* CostLedger.use((ledger) =>
    ledger.totals({ tenant: H.tenant, by: "tool", run_id: run, tool: name, limit: 10 })
  )
  return totals[0]?.amounts[0]?.amount
})

export const once = [call("one", { n: 1 }), text("done")]

export const spends =
  (body: (call: CallContext) => unknown) => (_: unknown, handed: CallContext) => {
    handed.spent(tenth)
    return body(handed) as never
  }
