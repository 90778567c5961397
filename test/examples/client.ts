import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const clerk = AgentSpec.make({
  name: "clerk",
  instructions: "Arrange appointments.",
  tools: ["pick_date"]
})
const carl = new Principal({ id: "carl", tenant: "default", roles: ["customer"] })
const model = scripted([call("pick_date", { title: "Dentist" }), text("You come on 2027-01-08.")])

const troupe = await start({
  agents: [clerk],
  model,
  customer_agents: ["clerk"],
  toolConfigs: {
    tools: [
      {
        type: "client",
        name: "pick_date",
        description: "Lets the user pick a date.",
        permission: "allow",
        output_schema: {
          type: "object",
          properties: { date: { type: "string" } },
          required: ["date"]
        },
        expires_ms: 600_000
      }
    ]
  }
})
const { conversation, run, status } = await troupe.ask({ agent: "clerk", text: "When?" }, carl)
console.log(status)
// The browser of the customer asks what waits for it, and answers.
for (const { arguments: args, id, tool } of await troupe.clientCalls(conversation, carl)) {
  console.log(tool, args)
  await troupe.answerClientCall(id, { result: { date: "2027-01-08" } }, carl)
}
console.log((await troupe.result(run, carl)).text)
await troupe.stop()

// Output:
// awaiting_approval
// pick_date { title: 'Dentist' }
// You come on 2027-01-08.
