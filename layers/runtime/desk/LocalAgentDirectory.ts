/**
 * The agents that this process can run. Every tool and every specialist is resolved here, at the start, so that a name that
 * resolves to nothing ends the start and not a run.
 */
import { Effect, Layer, Result, Schema } from "effect"
import { Digest } from "effect/crypto"
import { truncateUnits } from "../../../src/CutText.ts"
import { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { PriceBook } from "../../../services/PriceBook.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"
import { MisdeclaredAgent, resolveAgent } from "./ResolvedAgent.ts"

const decode = Schema.decodeUnknownResult(AgentSpec, { onExcessProperty: "error" })

/** Decodes a definition, because from JavaScript it may be anything: a limit that is a string would limit nothing. */
export const decodeAgentSpec = (
  spec: unknown,
  index: number
): Effect.Effect<AgentSpec, MisdeclaredAgent> => {
  const read = decode(spec)
  if (Result.isSuccess(read)) return Effect.succeed(read.success)
  const named = typeof spec === "object" && spec !== null && "name" in spec ? spec.name : ""
  const agent = truncateUnits(String(named), 64)
  return Effect.fail(
    new MisdeclaredAgent({
      agent,
      field: `agents.${index}`,
      name: agent,
      message: truncateUnits(read.failure.message, 500)
    })
  )
}

const uniquelyNamed = Effect.fnUntraced(function* (given: ReadonlyArray<AgentSpec>) {
  const specs = new Map<string, AgentSpec>()
  for (const [index, each] of given.entries()) {
    const spec = yield* decodeAgentSpec(each, index)
    const { name } = spec
    if (specs.has(name)) {
      const message = "two agents have this name"
      return yield* new MisdeclaredAgent({ agent: name, field: "name", name, message })
    }
    specs.set(name, spec)
  }
  return specs
})

const make = Effect.fnUntraced(function* (given: ReadonlyArray<AgentSpec>) {
  const services = {
    registry: yield* ToolRegistry,
    digest: yield* Digest.Digest,
    isPriced: (yield* PriceBook) !== undefined,
    specs: yield* uniquelyNamed(given)
  }
  const sorted = [...services.specs.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  const all = yield* Effect.forEach(sorted, (spec) => resolveAgent(services, spec))
  const agents = new Map<string, ResolvedAgent>(all.map((agent) => [agent.spec.name, agent]))
  return AgentDirectory.of({ all, get: (name) => agents.get(name) })
})

export const layer = (
  specs: ReadonlyArray<AgentSpec>
): Layer.Layer<AgentDirectory, MisdeclaredAgent, ToolRegistry | Digest.Digest> =>
  Layer.effect(AgentDirectory, make(specs))
