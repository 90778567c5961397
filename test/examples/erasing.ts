import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const tenant = "default"
const carl = new Principal({ id: "carl", tenant, roles: ["customer"] })
const admin = new Principal({ id: "ada", tenant, roles: ["admin"] })

const troupe = await start({
  agents: [shop],
  customer_agents: ["shop"],
  model: scripted([text("Good morning, Carl.")])
})
const { conversation, run } = await troupe.ask({ agent: "shop", text: "I am Carl." }, carl)
const { erased } = await troupe.erase({ subject: "carl" }, admin)
console.log(erased)
// The journal keeps its events and their order; in place of each text is its digest.
const events = await troupe.runEvents(run, {}, admin)
console.log(events.map(({ event }) => event._tag).join(" "))
const messages = await troupe.messages(conversation, {}, admin)
console.log(messages.every(({ content }) => content.startsWith('{"erased":')))
console.log((await troupe.run(run, admin)).status)
console.log((await troupe.erasures({}, admin)).length)
await troupe.stop()

// Output:
// {
//   run_events: 3,
//   agent_tasks: 1,
//   conversation_messages: 2,
//   conversations: 1
// }
// RunAccepted RunClaimed ModelTurned RunEnded
// true
// complete
// 1
