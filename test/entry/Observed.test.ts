/** Functions of an application that are called with what is over (`observe`). */
import { assert, describe, it } from "vitest"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { ToolCompleted } from "../../src/tool/CallRecord.ts"
import type { ModelUsed } from "../../services/RunObserver.ts"
import type { ObserversInput } from "../../layers/compose/entries/Embed.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"

const look = tool(
  { namespace: "shop", name: "look", description: "Looks.", side_effects: "read" },
  () => "a chair"
)
const shop = AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["look"] })
const model = scripted(({ transcript }) =>
  transcript.some(({ role }) => role === "tool")
    ? text("done", { usage: { input_tokens: 7, output_tokens: 2 } })
    : call("look", {})
)

/** One run of one call, and how it ended. */
const runWith = async (observe: ObserversInput) => {
  const troupe = await start({ agents: [shop], tools: [look], model, observe, telemetry: false })
  const answer = await troupe.ask({ agent: "shop", text: "Look" })
  await troupe.stop()
  return answer
}

describe("observers of a service", () => {
  it("are called with each call that is over and each model turn, once they are durable", async () => {
    const calls: Array<ToolCompleted> = []
    const turns: Array<ModelUsed> = []
    const { run } = await runWith({
      call: (fact) => void calls.push(fact),
      turn: (used) => void turns.push(used)
    })
    assert.lengthOf(calls, 1)
    assert.deepStrictEqual(
      calls.map(({ metadata: { agent_name, ok, tool_name }, ...of }) => [
        of.run,
        of.tenant,
        agent_name,
        tool_name,
        ok
      ]),
      [[run, "default", "shop", "look", true]]
    )
    assert.deepStrictEqual<ReadonlyArray<unknown>>(turns, [
      { run, tenant: "default", agent: "shop", trace_id: calls[0]?.metadata.trace_id },
      {
        run,
        tenant: "default",
        agent: "shop",
        trace_id: calls[0]?.metadata.trace_id,
        usage: { input_tokens: 7, output_tokens: 2 }
      }
    ])
  })

  it("are told whose turn it was: a specialist's, and each agent's that held the conversation", async () => {
    const turns: Array<string> = []
    const names = { instructions: "Help." }
    const expert = AgentSpec.make({ ...names, name: "expert", tools: ["look"] })
    const office = AgentSpec.make({ ...names, name: "office" })
    const desk = AgentSpec.make({
      ...names,
      name: "desk",
      specialists: ["expert"],
      handoffs: ["office"]
    })
    const troupe = await start({
      agents: [desk, expert, office],
      tools: [look],
      model: scripted({
        desk: [call("ask_expert", { task: "Look" }), call("transfer_to_office", {})],
        expert: [text("a chair")],
        office: [text("done")]
      }),
      observe: { turn: ({ agent }) => void turns.push(agent) },
      telemetry: false
    })
    await troupe.ask({ agent: "desk", text: "Look" })
    await troupe.stop()
    assert.deepStrictEqual(turns, ["desk", "expert", "desk", "office"])
  })

  it("are there beside the metrics of a service with HTTP, with every series that alerts ask for", async () => {
    const boss = new Principal({ id: "vera", tenant: Tenant.make("default"), roles: ["viewer"] })
    const token = "a-token-of-veras"
    const troupe = await start({
      agents: [shop],
      tools: [look],
      model,
      http: { tokens: [{ token, principal: boss }] },
      telemetry: false
    })
    await troupe.ask({ agent: "shop", text: "Look" })
    const headers = { authorization: `Bearer ${token}` }
    const answer = await troupe.handler(new Request("http://localhost/metrics", { headers }))
    const metrics = await answer.text()
    await troupe.stop()
    // The counters are those of the process: other tests count with them too.
    const reasons = ["gap", "unreadable", "unknown_event", "unfoldable"]
    for (const [series, value] of [
      ['troupe_agentic_tools_executions_total{tool_name="look",status="success"}', "[1-9]"],
      ['troupe_model_tokens_total{model="(unknown)",kind="input"}', "[1-9]"],
      ['troupe_outbox_dead_total{topic="agent.task.dispatched"}', "[0-9]"],
      ...reasons.map((reason) => [`troupe_runs_quarantined_total{reason="${reason}"}`, "[0-9]"])
    ] as const) {
      const line = metrics.split("\n").find((each) => each.startsWith(`${series} `))
      assert.match(line ?? series, new RegExp(`} ${value}`))
    }
  })

  it("that throw, or whose promise is rejected, change nothing of the run and end no process", async () => {
    const unhandled: Array<unknown> = []
    const listener = (reason: unknown) => void unhandled.push(reason)
    process.on("unhandledRejection", listener)
    const { status } = await runWith({
      call: async () => Promise.reject(new Error("the collector is away")),
      turn: () => {
        throw new Error("the collector is away")
      }
    })
    await new Promise((resolve) => setImmediate(resolve))
    process.off("unhandledRejection", listener)
    assert.strictEqual(status, "complete")
    assert.deepStrictEqual(unhandled, [])
  })

  it("have to be functions, and there are no others", async () => {
    const refused = async (observe: unknown) =>
      runWith(observe as ObserversInput).then(
        () => assert.fail("it started"),
        (error: { readonly _tag: string; readonly field: string }) => [error._tag, error.field]
      )
    assert.deepStrictEqual(await refused({ call: 5 }), ["InvalidInput", "observe.call"])
    assert.deepStrictEqual(await refused({ run: () => {} }), ["InvalidInput", "observe.run"])
    assert.deepStrictEqual(await refused(() => {}), ["InvalidInput", "observe"])
  })
})
