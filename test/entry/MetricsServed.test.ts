/** What a service says of itself at `/metrics`. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Schema } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, calls, layer as scripted } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { eventually } from "../contracts/Contract.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as Promtool from "../telemetry/Promtool.ts"

/** Metrics belong to the process, and other files may have counted: no other has tools of these names. */
const of = (name: string, side_effects: "external" | "read") =>
  ({ namespace: "shop", name, side_effects, input: Schema.Struct({}) }) as const
const held = Deferred.makeUnsafe<void>()
const tools = [
  tool(of("pay_once", "external"), () => "paid"),
  tool(of("break_once", "read"), () => Promise.reject(new Error("it broke"))),
  tool(of("wait_once", "read"), () => Effect.runPromise(Deferred.await(held)))
]
const names = ["pay_once", "break_once", "wait_once"]
const viewer = new Principal({ id: "prom", tenant: Tenant.make("default"), roles: ["viewer"] })
const token = "p".repeat(32)

const started = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      start({
        agents: [AgentSpec.make({ name: AgentName.make("shop"), instructions: "x", tools: names })],
        tools,
        store: { postgres: url },
        model: scripted(({ transcript }) =>
          transcript.some(({ role }) => role === "tool")
            ? call("pay_once", {})
            : calls([call("break_once", {}), call("wait_once", {}), call("made_up", {})])
        ),
        http: { port: 0, tokens: [{ token, principal: viewer }] }
      })
    ),
    (troupe) => Effect.promise(() => troupe.stop())
  )

const zero = [
  'troupe_runs_open{state="running"}',
  'troupe_runs_open{state="parked"}',
  "troupe_question_oldest_seconds",
  "troupe_dead_letters",
  "troupe_in_flight_bytes",
  'troupe_calls_unknown{tool="pay_once"}',
  'troupe_calls_unknown_total{tool="pay_once"}',
  'troupe_agentic_tools_executions_total{tool_name="pay_once",status="error"}',
  'troupe_agentic_tools_errors_total{tool_name="break_once",error_type="internal"}',
  'troupe_agentic_tools_errors_total{tool_name="break_once",error_type="timeout"}',
  'troupe_agentic_tools_filtered_total{tool_name="pay_once",reason="not_allowed"}'
]
const counted = [
  "troupe_store_connections_waiting",
  "troupe_agentic_tools_timeout_total",
  "troupe_agentic_tools_retries_exhausted_total",
  'troupe_outbox_dead_total{topic="agent.task.dispatched"}',
  'troupe_http_requests_total{method="GET",status="500"}',
  "troupe_event_streams_open",
  "nodejs_eventloop_lag_p99_seconds"
]
const positive = [
  "process_resident_memory_bytes",
  "nodejs_heap_size_used_bytes",
  "nodejs_heap_size_limit_bytes",
  "troupe_in_flight_max_bytes",
  "troupe_store_read_seconds",
  "troupe_store_statement_duration_seconds_count"
]

/** Parts of names that Prometheus' checker refuses: units other than the base units, abbreviated ones, and types. */
const refused =
  /_((milli|micro|nano|kilo|mega|giga|tera)(seconds?|bytes?)|minutes?|hours?|days?|bits?|m?s|us|ns|sec|[kmgtp]?b|m|h|d|gauge|counter|histogram|summary)(?=_|$)/

const complaints = (page: string): ReadonlyArray<string> => {
  const families = new Map([...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, n, t]) => [n!, t!]))
  const about = [...families].flatMap(([name, type]) => [
    ...(new RegExp(`^# HELP ${name} \\S`, "m").test(page) ? [] : [`${name} has no help`]),
    ...(/^[a-z][a-z0-9_]*$/.test(name) ? [] : [`${name} is not in snake_case`]),
    ...(refused.test(name) ? [`${name} has a unit that is no base unit, or its type`] : []),
    ...((type === "counter") === name.endsWith("_total") ? [] : [`${name} is a ${type}`]),
    ...(/_(count|sum|bucket|info)$/.test(name) ? [`${name} ends like a histogram`] : [])
  ])
  const untyped = [...page.matchAll(/^[a-z][^ {]*/gim)]
    .map(([name]) => name)
    .filter((name) => !families.has(name) && !families.has(name.replace(/_[a-z]+$/, "")))
  return [...about, ...untyped.map((name) => `${name} has no type`)]
}

it.live(
  "each series is there before its first event, and each name and help is as Prometheus asks",
  ({ task }) =>
    Effect.gen(function* () {
      task.meta.notes = Promtool.notes
      const troupe = yield* started(yield* EmbeddedPostgres.migrated)
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
      for (const series of zero) assert.strictEqual(valueOf(first, series), 0, series)
      for (const series of counted) assert.isAtLeast(valueOf(first, series), 0, series)
      for (const series of positive) assert.isAbove(valueOf(first, series), 0, series)
      // Two listen, and one holds the locks of this process.
      assert.isAtLeast(valueOf(first, "troupe_store_connections_busy"), 2)
      assert.strictEqual(valueOf(first, "troupe_store_connections_max"), 16)

      yield* Effect.promise(() => troupe.send({ agent: "shop", text: "Pay" }))
      const broken = 'errors_total{tool_name="break_once",error_type="internal"} 1'
      const during = yield* eventually(page, (lines) => lines.includes(broken))
      assert.isAbove(valueOf(during, "troupe_in_flight_bytes"), 10_000)
      yield* Deferred.succeed(held, undefined)
      yield* eventually(
        Effect.promise(() => troupe.pending()),
        (questions) => questions.length === 1
      )
      const last = yield* eventually(page, (l) => valueOf(l, "troupe_in_flight_bytes") === 0)
      assert.isAbove([...last.matchAll(/^# TYPE /gm)].length, 25)
      assert.deepStrictEqual(complaints(last), [])
      assert.strictEqual(Promtool.complaintsOf(["metrics"], last), "")
    }),
  { timeout: 120_000 }
)
