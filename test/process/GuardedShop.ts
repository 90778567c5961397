/** An agent with a write, and guards of its answers: one that asks a person, and one that says when it judges and never answers. */
import { Guard } from "../../src/index.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { Schema } from "effect"

export const clerk = AgentSpec.make({ name: "clerk", instructions: "Pay.", tools: ["pay"] })

/** Counts in `paid` how often it pays. */
export const payOf = (paid: { times: number }) =>
  tool(
    {
      namespace: "shop",
      name: "pay",
      description: "Pays.",
      input: Schema.Struct({}),
      side_effects: "write",
      permission: "allow"
    },
    () => {
      paid.times++
      return "paid"
    }
  )

export const doubts = Guard.make({
  name: "doubts",
  on: ["answer"],
  judge: ({ text }) =>
    text.includes("doubtful") ? { verdict: "ask", reason: "doubtful" } : { verdict: "pass" }
})

export const silent = Guard.make({
  name: "doubts",
  on: ["message"],
  timeout_ms: 600_000,
  judge: ({ run }) => {
    process.stdout.write(`judging ${JSON.stringify({ run })}\n`)
    return new Promise(() => {})
  }
})
