import { AgentSpec } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
// A live one: "anthropic/claude-sonnet-4-5". This one says how many messages it was shown.
const model = scripted(({ history, transcript }) =>
  text(`I was shown ${history.length + transcript.length}.`)
)
const troupe = await start({ agents: [shop], model })

const first = await troupe.ask({ agent: "shop", text: "Where is order 1003?" })
console.log(first.status, first.text)
// The same conversation goes on under its id.
const { conversation } = first
console.log((await troupe.ask({ conversation, text: "And 1004?" })).text)
for (const { content, role } of await troupe.messages(conversation)) console.log(role, content)
await troupe.stop()

// Output:
// complete I was shown 1.
// I was shown 3.
// user Where is order 1003?
// assistant I was shown 1.
// user And 1004?
// assistant I was shown 3.
