import { Schema } from "effect"
import { AgentSpec, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

// A bank that takes the order and does not answer in time.
const pay = tool(
  {
    namespace: "bank",
    name: "pay",
    description: "Pays an invoice.",
    side_effects: "external",
    permission: "allow",
    timeout_ms: "50 millis",
    input: Schema.Struct({ invoice: Schema.String })
  },
  () => new Promise<string>(() => {})
)
const clerk = AgentSpec.make({ name: "clerk", instructions: "Pay invoices.", tools: ["pay"] })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
const model = scripted([call("pay", { invoice: "7" }), text("Invoice 7 is paid.")])

const troupe = await start({ agents: [clerk], tools: [pay], model })
const asked = await troupe.ask({ agent: "clerk", text: "Pay invoice 7" })
console.log(asked.status)
// Nobody knows whether it was paid, so nothing pays again. An operator looks, and says.
for (const { call: id, run_id, tool } of await troupe.unknown(olga)) {
  console.log(tool, "is unknown")
  await troupe.settle(run_id, id, { _tag: "Succeeded", json: '"paid"' }, olga)
}
console.log((await troupe.result(asked.run)).text)
await troupe.stop()

// Output:
// awaiting_approval
// pay is unknown
// Invoice 7 is paid.
