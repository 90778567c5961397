/** What an embedder's module exports for `npm run troupe -- replay RUN --app`: it knows the package by its name. */
import { Schema } from "effect"
import { AgentName, AgentSpec, tool } from "troupe"

export const tools = [
  tool(
    {
      namespace: "shop",
      name: "look",
      side_effects: "read",
      input: Schema.Struct({ order: Schema.String }),
      output: Schema.String
    },
    ({ order }) => `order ${order} is paid`
  )
]

export const agents = [
  AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help.", tools: ["look"] })
]
