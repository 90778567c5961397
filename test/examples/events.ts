import { setTimeout } from "node:timers/promises"
import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const spectral = AgentSpec.make({ name: "spectral", instructions: "Explain." })
const tenant = "default"
const platform = new Principal({ id: "platform", tenant, roles: ["publisher"] })
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })

const troupe = await start({
  agents: [spectral],
  model: scripted([text("Answers are too long. Change set cs-1 waits for your review.")]),
  events: {
    agent: "spectral",
    bindings: [{ channel: "in_app", address: "olga", recipient: "olga" }]
  }
})
const event = {
  specversion: "1.0",
  id: "e-1",
  source: "/platform",
  type: "approval.required",
  time: new Date().toISOString(),
  data: {
    changeset_id: "cs-1",
    scan_id: "s-1",
    cycle_id: "c-1",
    system_id: "shop",
    title: "Shorter answers",
    rationale: "They are too long.",
    changes: 2,
    risk: "low",
    requested_at: Date.now()
  }
} as const
const { conversation, isNew } = await troupe.publish(event, platform)
const again = await troupe.publish(event, platform)
console.log(conversation, isNew, again.isNew)

// The answer is told after it is durable.
let notices = await troupe.notices({ unread: true }, olga)
while (notices.length === 0) {
  await setTimeout(20)
  notices = await troupe.notices({ unread: true }, olga)
}
console.log(notices.map(({ text }) => text))
const ids = notices.map(({ id }) => id)
console.log(await troupe.readNotices(ids, olga))
await troupe.stop()

// Output:
// event~changeset:cs-1 true false
// [ 'Answers are too long. Change set cs-1 waits for your review.' ]
// { marked: 1 }
