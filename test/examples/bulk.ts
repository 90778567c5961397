import { Schema } from "effect"
import { AgentSpec, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted } from "troupe/testing"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `${order} is paid back`
)
const shop = AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["refund"] })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
const model = scripted(() => call("refund", { order: "1003" }))
const troupe = await start({ agents: [shop], tools: [refund], model })
for (let n = 0; n < 5; n++) await troupe.ask({ agent: "shop", text: "Refund order 1003." })
await new Promise((resolve) => setTimeout(resolve, 5))

// First the count. What matches only since then stays as it is.
const stale = { agent: "shop", waiting: "approval" } as const
const { count, until } = await troupe.countRuns(stale, olga)
let done = 0
for (let after: string | undefined; ;) {
  const step = await troupe.cancelRuns(
    { ...stale, until, reason: "The sale is over.", limit: 2, ...(after && { after }) },
    olga
  )
  // Each item is `done`, `skipped` where somebody was faster, or `failed`, with why.
  done += step.items.filter(({ outcome }) => outcome === "done").length
  console.log(`${done} of ${count}`)
  after = step.next_after
  if (after === undefined) break
}
await troupe.stop()

// Output:
// 2 of 5
// 4 of 5
// 5 of 5
