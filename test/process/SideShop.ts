/** An agent that answers beside its waiting runs, in a process that is killed and in the one after it. */
import { Effect, Schema } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"

export const olga = new Principal({
  id: "olga",
  tenant: Tenant.make("default"),
  roles: ["admin"]
})

const amount = Schema.Struct({ n: Schema.Int })
const pay = tool(
  { namespace: "shop", name: "pay", description: "Pays.", side_effects: "external", input: amount },
  ({ n }) => `paid ${n}`
)
const note = tool(
  {
    namespace: "shop",
    name: "note",
    description: "Writes.",
    side_effects: "write",
    permission: "allow",
    input: amount
  },
  ({ n }) => `noted ${n}`
)

const clerk = AgentSpec.make({
  name: "clerk",
  instructions: "Help.",
  tools: ["pay", "note"],
  mailbox: "answer"
})

const isSide = ({ system }: ModelRequest): boolean => system.includes("Note of the system")

const answer = (request: ModelRequest) => {
  const [first] = request.transcript
  const said = first?.role === "user" ? first.text : ""
  const begins = request.transcript.length === 1
  if (isSide(request)) return begins ? call("note", { n: 1 }) : text(`beside: ${said}`)
  return begins && said === "pay" ? call("pay", { n: 1 }) : text(`done: ${said}`)
}

/** `hangs`: side runs, and what follows a decision, get no answer of the model. */
export const options = (hangs: boolean) => ({
  agents: [clerk],
  tools: [pay, note],
  model: layer((request) =>
    hangs && (isSide(request) || request.transcript.length > 1) ? Effect.never : answer(request)
  )
})
