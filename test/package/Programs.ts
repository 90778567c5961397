/** Programs that use the package. */

/** A tool whose service nobody provides, in each of the two ways to start. */
export const missing = `
import { Context, Effect, Schema } from "effect"
import { AgentSpec, tool } from "troupe"
import { start } from "troupe/embed"
import { Troupe } from "troupe/layers"

class Payments extends Context.Service<
  Payments,
  { readonly refund: (order: string) => Effect.Effect<string> }
>()("shop/Payments") {}

const refund = tool(
  { namespace: "shop", name: "refund", side_effects: "external", input: Schema.Struct({ order: Schema.String }) },
  ({ order }) => Payments.use((payments) => payments.refund(order))
)
const agents = [AgentSpec.make({ name: "shop", instructions: "Help." })]
const options = { agents, tools: [refund], model: "anthropic/claude-sonnet-4-5" } as const
export const promised = start(options)
const ask = Troupe.use((troupe) => troupe.ask({ agent: "shop", text: "Hello" }))
export const run = Effect.runPromise(Effect.provide(ask, Troupe.layer(options)))
`

/** What a library may export whose declarations are written: each type has a name in an entry that it imports. */
export const declared = `
import { Schema } from "effect"
import { agent, AgentSpec, policyOf, Principal, RunLimits, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted } from "troupe/testing"
import { startWorker } from "troupe/worker"

export const refund = tool(
  { namespace: "shop", name: "refund", side_effects: "external", input: Schema.Struct({ order: Schema.String }) },
  async ({ order }) => order
)
export const shop = AgentSpec.make({ name: "shop", instructions: "Help." })
export const other = agent({ name: "other", instructions: "Help." })
export const model = scripted([call("refund", { order: "1003" })])
export const limits = RunLimits.make({})
export const policy = policyOf({})
export const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })
export const troupe = await start({ agents: [shop], tools: [refund], model })
export const answer = await troupe.ask({ agent: "shop", text: "Hello", answer: Schema.Struct({ n: Schema.Int }) })
export const pending = await troupe.pending(boss)
export const watched = troupe.watch(answer.run)
export const worker = await startWorker({ tools: [refund], store: { postgres: "postgres://127.0.0.1/none" } })
`

/** What a bundle asks a person, whose numbers are found with packages that no bundle finds outside. */
export const asking = `
import { Schema } from "effect"
import { AgentSpec, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted } from "troupe/testing"

const config = { namespace: "shop", name: "pay", side_effects: "external", input: Schema.Struct({ to: Schema.String }) } as const
const troupe = await start({
  agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["pay"] })],
  tools: [tool(config, async () => "done")],
  model: scripted([call("pay", { to: "DE89 3704 0044 0532 0130 00, +49 30 901820" })])
})
const { approvals } = await troupe.ask({ agent: "shop", text: "Pay" })
console.log(approvals![0]!.payload.args_summary)
await troupe.stop()
`
export const asked = 'to: "[iban], [phone]"'
