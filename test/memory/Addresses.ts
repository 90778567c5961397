/** Memories of addresses, and who writes there. */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentName, ConversationId, RunId } from "../../src/value/Ids.ts"
import type { AnchorKind } from "../../src/memory/MemoryAnchors.ts"
import type { MemoryOrigin } from "../../src/memory/MemoryRow.ts"
import * as Samples from "../contracts/Samples.ts"

export const newRun = () => RunId.make(randomUUID())

interface Options {
  readonly tenant?: ReturnType<typeof Samples.tenant>
  readonly key?: string
  readonly kind?: AnchorKind
  readonly agent?: string
}

/** The memory of a new address, unless it is given another. */
export const memoryOf = ({ agent = "shop", key, kind = "workspace", tenant }: Options = {}) =>
  Effect.provide(
    AgentMemory,
    GatewayAgentMemory.layer(
      tenant ?? Samples.tenant(),
      { agent: AgentName.make(agent), key: ConversationId.make(key ?? Samples.unique("c")) },
      kind
    )
  )

export const byModel = (run: RunId): MemoryOrigin => ({
  source: "tool_call",
  author: "model",
  run,
  step: 2
})
export const byTool = (run: RunId): MemoryOrigin => ({ source: "tool_call", author: "tool", run })
export const byEvent: MemoryOrigin = { source: "event_handler", author: "event" }
