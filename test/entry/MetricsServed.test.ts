/** What a service says of itself at `/metrics`. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { start } from "../../layers/compose/NodeService.ts"
import { call, layer as scripted, text } from "../../layers/model/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/Ids.ts"
import { Principal } from "../../src/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { eventually } from "../contracts/Contract.ts"

/** Metrics belong to the process, and other files may have counted: no other has a tool of this name. */
const pay = tool(
  { namespace: "shop", name: "pay_once", side_effects: "external", input: Schema.Struct({}) },
  () => "paid"
)
const viewer = new Principal({ id: "prom", tenant: Tenant.make("default"), roles: ["viewer"] })
const token = "p".repeat(32)

const started = Effect.acquireRelease(
  Effect.promise(() =>
    start({
      agents: [
        AgentSpec.make({ name: AgentName.make("shop"), instructions: "x", tools: ["pay_once"] })
      ],
      tools: [pay],
      model: scripted([call("pay_once", {}), text("done")]),
      http: { port: 0, tokens: [{ token, principal: viewer }] }
    })
  ),
  (troupe) => Effect.promise(() => troupe.stop())
)

it.live("each metric has its help, and what nobody has seen yet is 0 and not absent", () =>
  Effect.gen(function* () {
    const troupe = yield* started
    const page = Effect.promise(async () => {
      const headers = { authorization: `Bearer ${token}` }
      return (await fetch(`${troupe.url}/metrics`, { headers })).text()
    })
    const valueOf = (lines: string, series: string) =>
      Number(
        lines
          .split("\n")
          .find((line) => line.startsWith(`${series} `))
          ?.split(" ")[1]
      )
    const first = yield* eventually(page, (lines) => lines.includes("troupe_questions_open 0"))
    for (const series of [
      'troupe_runs_open{state="running"}',
      'troupe_runs_open{state="parked"}',
      "troupe_question_oldest_seconds",
      "troupe_dead_letters",
      'troupe_agentic_tools_executions_total{tool_name="pay_once",status="error"}'
    ]) {
      assert.strictEqual(valueOf(first, series), 0, series)
    }
    for (const series of [
      "troupe_agentic_tools_timeout_total",
      'troupe_outbox_dead_total{topic="agent.task.dispatched"}',
      "nodejs_eventloop_lag_p99_seconds"
    ]) {
      assert.isAtLeast(valueOf(first, series), 0, series)
    }
    for (const series of [
      "process_resident_memory_bytes",
      "nodejs_heap_size_used_bytes",
      "troupe_store_read_seconds"
    ]) {
      assert.isAbove(valueOf(first, series), 0, series)
    }
    const typed = [...first.matchAll(/^# TYPE (\S+) (\S+)$/gm)]
    assert.isAbove(typed.length, 10)
    for (const [, name, type] of typed) {
      assert.match(first, new RegExp(`^# HELP ${name} \\S`, "m"))
      assert.strictEqual(type === "counter", name!.endsWith("_total"), name)
    }
  })
)
