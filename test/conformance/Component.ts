/**
 * A SemStreams tool component with a queue of its own. Drivers send call messages to it, and its worker runs them behind
 * the gate.
 */
import { Effect, Layer, Schema } from "effect"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import { SemStreamsTools } from "../../layers/semstreams/SemStreamsTools.ts"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { Governance } from "../../src/tool/Governance.ts"
import * as Registry from "../../src/tool/Registry.ts"

type Fields = Readonly<Record<string, unknown>>

export const tenant = Tenant.make("acme")

/** SemStreams' default configuration with these fields replaced. */
export const configOf = (given: Fields = {}) => SemStreams.decodeComponentConfig(given)

/** A read tool that takes any arguments. */
export const reading = (
  name: string,
  body: () => Effect.Effect<unknown, unknown> = () => Effect.succeed("done"),
  more: Partial<Governance> = {}
) =>
  tool(
    {
      namespace: "vec",
      name,
      side_effects: "read",
      input: Schema.Record(Schema.String, Schema.Json),
      output: Schema.Json as Schema.Codec<unknown, unknown>,
      ...more
    },
    () => body() as Effect.Effect<unknown, never>
  )

export const registryOf = (tools: ReadonlyArray<ReturnType<typeof reading>>) =>
  Effect.flatMap(Effect.all(tools), (families) => Registry.make(families.flat()))

/** Runs `proof` on a component over this registry. */
export const over = <A, E, R>(
  registry: Registry.Registry<AgentMemory>,
  given: Fields,
  proof: Effect.Effect<A, E, R>
) =>
  Effect.flatMap(configOf(given), (config) =>
    Effect.provide(
      proof,
      SemStreams.component({ org: "acme", platform: "test", config }).pipe(
        Layer.provideMerge(Layer.fresh(EphemeralToolQueue.layer)),
        Layer.provide(Layer.succeed(ToolRegistry, registry))
      )
    )
  )

/** Sends a call under the subject of the tool that it names. */
export const execute = (message: SemStreams.CallMessage) =>
  SemStreamsTools.use((tools) => tools.execute(message.name, message, tenant))

/** The result that the worker published, as the queue keeps it. */
export const published = (id: string) =>
  Effect.map(
    ToolQueue.use((queue) => queue.status(id)),
    (found) => found?.result
  )
