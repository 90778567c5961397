/** What a specialist may use: no capability that a supervisor above it lacks, unless that one says so. */
import { assert, describe, it, vi } from "vitest"
import type { Turn } from "../../src/run/RunDecider.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Scripted from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const wiping = (done: { ran: number }) =>
  tool(
    {
      namespace: "w",
      name: "wipe",
      description: "Wipes.",
      side_effects: "none",
      capabilities: ["data.write:/orders/x"]
    },
    () => ++done.ran
  )

type Given = Partial<Parameters<typeof AgentSpec.make>[0]>

const agentOf = (name: string, more: Given) =>
  AgentSpec.make({ name, description: "d", instructions: "x", ...more })

const leaf = agentOf("leaf", { tools: ["wipe"], capabilities: ["data.write:/orders/*"] })

/** Each agent asks the one below it, and the leaf wipes; how often the tool ran, and the warnings of the start. */
const ran = async (...above: ReadonlyArray<AgentSpec>) => {
  const done = { ran: 0 }
  const warnings: Array<string> = []
  const log = vi
    .spyOn(console, "log")
    .mockImplementation((...args) => void warnings.push(args.join()))
  const script: Record<string, Array<Turn>> = { leaf: [call("wipe"), text("done")] }
  for (const { name, specialists } of above) {
    script[name] = [call(`ask_${specialists[0]}`, { task: "go" }), text("ok")]
  }
  const troupe = await start({
    agents: [...above, leaf],
    tools: [wiping(done)],
    model: Scripted.layer(script)
  })
  try {
    await troupe.ask({ agent: above[0]!.name, text: "go" })
  } finally {
    await troupe.stop()
    log.mockRestore()
  }
  return {
    ran: done.ran,
    warned: warnings.filter((each) => each.includes("for boss is refused")).length
  }
}

const boss = (more: Given) => agentOf("boss", { specialists: ["leaf"], ...more })
const overMid = (more: Given) => agentOf("boss", { specialists: ["mid"], ...more })
const mid = (more: Given) => agentOf("mid", { specialists: ["leaf"], ...more })
const write = ["data.write"]

describe("a specialist", () => {
  it("uses no capability that its supervisor lacks, and the start warns of it", async () => {
    for (const more of [
      {},
      { capabilities: ["data.read"] },
      { capabilities: ["data.write:/etc/*"] }
    ]) {
      assert.deepStrictEqual(await ran(boss(more)), { ran: 0, warned: 1 })
    }
  })

  it("uses one that its supervisor has, or lets it use", async () => {
    for (const more of [
      { capabilities: write },
      { specialist_capabilities: ["data.write:/orders/x"] },
      { capabilities: ["data.read"], specialist_capabilities: write }
    ]) {
      assert.deepStrictEqual(await ran(boss(more)), { ran: 1, warned: 0 })
    }
  })

  it("needs it of each supervisor above it", async () => {
    const lends = { specialist_capabilities: write }
    assert.deepStrictEqual(await ran(overMid({}), mid(lends)), { ran: 0, warned: 1 })
    assert.deepStrictEqual(await ran(overMid(lends), mid({})), { ran: 0, warned: 0 })
    assert.deepStrictEqual(await ran(overMid(lends), mid({ capabilities: write })), {
      ran: 1,
      warned: 0
    })
  })

  it("gives its supervisor no capability for tools of its own", async () => {
    const done = { ran: 0 }
    const troupe = await start({
      agents: [boss({ tools: ["wipe"], specialist_capabilities: write }), leaf],
      tools: [wiping(done)],
      model: Scripted.layer([call("wipe"), text("no")])
    })
    await troupe.ask({ agent: "boss", text: "go" })
    await troupe.stop()
    assert.strictEqual(done.ran, 0)
  })

  it("is what specialist_capabilities are for: an agent without one ends the start", async () => {
    const alone = agentOf("alone", { tools: ["wipe"], specialist_capabilities: write })
    const error = await start({
      agents: [alone],
      tools: [wiping({ ran: 0 })],
      model: Scripted.layer([])
    }).catch((each) => each)
    assert.include(String(error.message), "specialist_capabilities")
  })
})
