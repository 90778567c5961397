import { Schema } from "effect"
import { AgentSpec, policyOf, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import { CommandTool, FileTools, HttpRequestTool } from "troupe/tools"

const policy = policyOf({
  mode: "allow_reads",
  rules: [
    { pattern: "run_command(git log:*)", permission: "allow" },
    { pattern: "http_request(https://api.example.com/v1:*)", permission: "allow" },
    { pattern: "shop.refund@1", permission: "deny", unless_roles: ["operator"] }
  ],
  approval_required: ["write_file"]
})
const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `order ${order} is paid back`
)
const shop = AgentSpec.make({
  name: "shop",
  instructions: "Help customers.",
  tools: ["refund", "list_dir"],
  capabilities: ["fs.read"]
})
const root = import.meta.dirname
const tenant = "default"
const carl = new Principal({ id: "carl", tenant, roles: ["customer"] })
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })

const troupe = await start({
  agents: [shop],
  tools: [
    refund,
    FileTools.reading({ root }),
    FileTools.writing({ root }),
    CommandTool.tools({ root, programs: ["git"] }),
    HttpRequestTool.tools({ hosts: ["api.example.com"] })
  ],
  policy,
  customer_agents: ["shop"],
  model: scripted([
    call("list_dir"),
    call("refund", { order: "1003" }),
    text("Only an operator may do that."),
    call("refund", { order: "1003" })
  ])
})
// A read is allowed; the rule denies the refund to whoever is no operator.
const { conversation } = await troupe.ask({ agent: "shop", text: "Pay 1003 back" }, carl)
for await (const item of troupe.watch(conversation)) {
  if (item._tag === "CaughtUp") break
  const event = item._tag === "Event" ? item.entry.event : undefined
  if (event?._tag === "CallSettled") {
    const { outcome } = event
    console.log(outcome._tag === "Failed" ? outcome.error.reason : outcome._tag)
  }
}
// For an operator no rule speaks, and the mode asks before anything is changed.
console.log((await troupe.ask({ agent: "shop", text: "Pay 1003 back" }, olga)).status)
await troupe.stop()

// Output:
// Value
// PERMISSION_DENIED
// awaiting_approval
