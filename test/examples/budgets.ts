import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
// Each turn costs 0.10.
const turn = { model: "large", usage: { input_tokens: 10_000, output_tokens: 5_000 } }
const zoe = new Principal({ id: "zoe", tenant: "default", roles: ["customer"] })

const troupe = await start({
  agents: [shop],
  customer_agents: ["shop"],
  model: scripted(() => text("It is on its way.", turn)),
  // Per million tokens.
  prices: {
    version: "2026-11",
    currency: "USD",
    prices: [{ model: "*", input: "5", output: "10" }]
  },
  budgets: [
    { name: "daily", scope: "customer", period: "day", time_zone: "Europe/Berlin", calls: 3 },
    { name: "monthly", scope: "tenant", period: "month", cost: "500" }
  ]
})
for (let message = 1; message <= 4; message++) {
  const answer = await troupe.ask({ agent: "shop", text: "Where is my order?" }, zoe)
  if (answer.status === "failed") console.log(answer.status, answer.reason)
  else console.log(answer.status)
}
for (const { amount, budget, left, spent } of await troupe.budgets({}, zoe)) {
  console.log(`zoe, ${budget}: ${spent} of ${amount}, ${left} left`)
}
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
for (const { budget, left, spent } of await troupe.budgets({ budget: "monthly" }, olga)) {
  console.log(`${budget}: ${spent} spent, ${left} left`)
}
await troupe.stop()

// Output:
// complete
// complete
// complete
// failed budget
// zoe, daily: 3 of 3, 0 left
// monthly: 0.3 spent, 499.7 left
