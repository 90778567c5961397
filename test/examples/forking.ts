import { Schema } from "effect"
import { agent, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const paid: Array<string> = []
const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    permission: "allow",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => {
    paid.push(order)
    return `${order} is paid back`
  }
)
const shop = agent({ name: "shop", instructions: "Help customers.", tools: ["refund"] })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })

// The model of the fork pays another order back, and says so in other words.
const model = scripted(({ model: name, step }) => {
  if (step === 1) return call("refund", { order: "1003" })
  if (name === "other") return step === 2 ? call("refund", { order: "1004" }) : text("All paid!")
  return text("It is paid back.")
})

const troupe = await start({ agents: [shop], tools: [refund], model })
const { run } = await troupe.ask({ agent: "shop", text: "Pay 1003 back." }, olga)
const fork = await troupe.fork(run, { step: "0/2", model: "other" }, olga)
await troupe.result(fork.id)
for (const { deed, how } of (await troupe.comparison(fork.id)).items) console.log(deed, "is", how)
console.log("paid:", paid.join())
await troupe.stop()

// Output:
// turn 0/1 is same
// result 0/1.0 is same
// turn 0/2 is differs
// result 0/2.0 is only_after
// turn 0/3 is only_after
// end is differs
// paid: 1003
