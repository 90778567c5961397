import { AgentSpec, policyOf } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

// A live one: "anthropic/claude-sonnet-4-5". This one says what its provider may run.
const model = scripted(({ provider_tools = [] }) =>
  text(provider_tools.map(({ tool }) => tool).join(", "))
)
const scout = AgentSpec.make({
  name: "scout",
  instructions: "Find out, and say where you read it.",
  provider_tools: [
    "web_search",
    { tool: "web_fetch", allowed_domains: ["example.org"], uses_max: 3 },
    { tool: "mcp", server: "github", url: "https://mcp.example.com/sse", tools: ["search_issues"] }
  ]
})
const troupe = await start({
  agents: [scout],
  model,
  // An MCP server may do anything, so that nothing allows it but a policy.
  policy: policyOf({ servers: { "mcp:github": "allow" } })
})
const { text: answer } = await troupe.ask({ agent: "scout", text: "What is new?" })
console.log(answer)
await troupe.stop()

// Output:
// web_search, web_fetch, mcp
