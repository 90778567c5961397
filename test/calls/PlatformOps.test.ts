/** The operations of the catalogue against a table of the platform's own: what each becomes, request by request. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Result } from "effect"
import type { Json } from "../../src/value/Canonical.ts"
import { defaultPermissionOf, loadCatalogue } from "../../src/call/PlatformOp.ts"
import { platform_ops } from "../../src/call/PlatformOps.ts"
import { configured, platform, runBody } from "./Platform.ts"
import { web } from "./Web.ts"

interface Row {
  /** A read is allowed, a write asks. */
  readonly kind: "read" | "write"
  readonly args: Json
  /** The method and the path with its query, or the handler that the gateway is asked for. */
  readonly line: string
  /** The body that is sent, or the handler's arguments. */
  readonly body: Json
  /** Arguments that the operation does not take. */
  readonly wrong?: ReadonlyArray<Json>
}

const own = { workflow_variant: { id: "v-1" } }
const day = { event_key: "day", schedule: "0 6 * * *" }
const push = { event_key: "github.push" }
const messages = [{ role: "user", content: "Hi" }]
const spans = {
  filtering: {
    operator: "or",
    conditions: [
      { field: "trace_id", value: "t" },
      { operator: "not", conditions: [{ field: "attributes", key: "a", operator: "exists" }] }
    ]
  },
  windowing: { limit: 5, order: "descending", oldest: "2026-11-01T00:00:00Z" }
}

/** An operation on one thing that its path names. */
const onOne = (line: string): Row => ({
  kind: "write",
  args: { id: "s/1" },
  line,
  body: line.startsWith("DELETE") ? "" : {},
  wrong: [{}]
})
const discovery = (line: string): Row => ({
  kind: "read",
  args: { use_cases: ["a"], provider: "composio", limit_alternatives: 0 },
  line,
  body: { use_cases: ["a"], provider: "composio", limit_alternatives: 0 },
  wrong: [{}, { use_cases: ["a"], limit_alternatives: -1 }]
})
const listed = (line: string): Row => ({ kind: "read", args: {}, line, body: "" })
const name_wrong: ReadonlyArray<Json> = [
  {},
  { name: "" },
  { name: "   " },
  { name: "x".repeat(121) },
  { name: "a", description: "x".repeat(301) },
  { name: "a", other: 1 }
]

const rows: Readonly<Record<string, Row>> = {
  find_capabilities: discovery("POST /api/tools/discover"),
  discover_tools: discovery("POST /api/tools/discover"),
  discover_triggers: discovery("POST /api/triggers/discover"),
  read_config: {
    kind: "read",
    args: { target: { path: ["parameters", { list: "skills", key: "a" }] }, max_bytes: 1_024 },
    line: "tools.agenta.read_config",
    body: {
      target: {
        path: ["parameters", { list: "skills", key: "a" }],
        workflow_variant_id: "v-1",
        run_is_draft: false
      },
      max_bytes: 1_024
    },
    wrong: [
      { target: {}, max_bytes: 1_023 },
      { target: {}, other: 1 },
      { target: { other: 1 } },
      { target: { path: [{ list: "a" }] } }
    ]
  },
  query_workflows: {
    kind: "read",
    args: { workflow_refs: [{ slug: "a" }], include_archived: true, windowing: { limit: 1 } },
    line: "POST /api/workflows/query",
    body: { workflow_refs: [{ slug: "a" }], include_archived: true, windowing: { limit: 1 } }
  },
  query_spans: {
    kind: "read",
    args: spans,
    line: "POST /api/spans/query",
    body: spans,
    wrong: [
      { other: 1 },
      { filtering: { operator: "xor" } },
      { filtering: { conditions: [{ value: 1 }] } },
      { filtering: { conditions: [{ field: "a", operator: "same" }] } },
      { windowing: { order: "up" } },
      { query_ref: { name: "a" } }
    ]
  },
  rename_session: {
    kind: "write",
    args: { name: "Cold", description: "It is." },
    line: "POST /api/sessions/streams/header?session_id=conversation-own",
    body: { name: "Cold", description: "It is." },
    wrong: name_wrong
  },
  rename_agent: {
    kind: "write",
    args: { name: "Keeper" },
    line: "PUT /api/workflows/w-1",
    body: { workflow: { name: "Keeper", id: "w-1" } },
    wrong: name_wrong
  },
  test_run: {
    kind: "write",
    args: {
      inputs: { messages },
      delta: { set: { a: 1 }, remove: ["b.c"] },
      expectations: { terminal_tool: "t" }
    },
    line: "tools.agenta.test_run",
    body: {
      inputs: { messages },
      delta: { set: { a: 1 }, remove: ["b.c"] },
      expectations: { terminal_tool: "t" },
      target: { workflow_variant_id: "v-1" }
    },
    wrong: [
      {},
      { inputs: {} },
      { inputs: { messages }, other: 1 },
      { inputs: { messages }, delta: { remove: [1] } },
      { inputs: { messages }, expectations: { other: 1 } }
    ]
  },
  commit_revision: {
    kind: "write",
    args: { workflow_revision: { message: "m", data: { a: 1 } } },
    line: "POST /api/workflows/revisions/commit",
    body: {
      workflow_revision: {
        message: "m",
        data: { a: 1 },
        workflow_variant_id: "v-1",
        expected_revision_id: "r-1"
      }
    },
    wrong: [{ other: 1 }]
  },
  annotate_trace: {
    kind: "write",
    args: { references: { evaluator: { slug: "tone" } }, data: { outputs: { ok: true } } },
    line: "POST /api/annotations/",
    body: {
      annotation: {
        references: { evaluator: { slug: "tone" } },
        data: { outputs: { ok: true } },
        links: { invocation: { trace_id: "t-1", span_id: "s-1" } }
      }
    },
    wrong: [{}, { references: { evaluator: {} }, data: { outputs: {} } }]
  },
  create_schedule: {
    kind: "write",
    args: { data: { ...day, start_time: "2026-11-01T00:00:00Z", inputs_fields: "$.event" } },
    line: "POST /api/triggers/schedules/",
    body: {
      schedule: {
        data: {
          ...day,
          start_time: "2026-11-01T00:00:00Z",
          inputs_fields: "$.event",
          references: own
        }
      }
    },
    wrong: [{}, { data: { event_key: "a" } }, { data: { ...day, other: 1 } }]
  },
  create_subscription: {
    kind: "write",
    args: { name: "n", connection_id: "c", data: { ...push, trigger_config: { a: 1 } } },
    line: "POST /api/triggers/subscriptions/",
    body: {
      subscription: {
        name: "n",
        connection_id: "c",
        data: { ...push, trigger_config: { a: 1 }, references: own }
      }
    },
    wrong: [{ data: push }, { connection_id: "c" }, { connection_id: "c", data: push, other: 1 }]
  },
  test_subscription: {
    kind: "write",
    args: { connection_id: "c", data: push },
    line: "POST /api/triggers/subscriptions/test",
    body: { subscription: { connection_id: "c", data: push } },
    wrong: [{ data: push }]
  },
  list_schedules: listed("GET /api/triggers/schedules/"),
  list_subscriptions: listed("GET /api/triggers/subscriptions/"),
  list_deliveries: listed("GET /api/triggers/deliveries"),
  list_connections: { ...listed("POST /api/triggers/connections/query"), body: {} },
  remove_schedule: onOne("DELETE /api/triggers/schedules/s%2F1"),
  remove_subscription: onOne("DELETE /api/triggers/subscriptions/s%2F1"),
  pause_schedule: onOne("POST /api/triggers/schedules/s%2F1/stop"),
  resume_schedule: onOne("POST /api/triggers/schedules/s%2F1/start"),
  pause_subscription: onOne("POST /api/triggers/subscriptions/s%2F1/stop"),
  resume_subscription: onOne("POST /api/triggers/subscriptions/s%2F1/start")
}

/** What a model gives in place of what is filled in. */
const foreign: Readonly<Record<string, Json>> = {
  rename_agent: { name: "Keeper", id: "w-2" },
  test_run: { inputs: { messages }, target: { workflow_variant_id: "v-2" } },
  read_config: { target: { workflow_variant_id: "v-2", run_is_draft: true } },
  create_subscription: {
    connection_id: "c",
    data: { ...push, references: { workflow_variant: { id: "v-2" } } }
  }
}

const gateway_answer = JSON.stringify({
  call: { id: "1", data: { content: '{"value":7}' }, status: { code: "STATUS_CODE_OK" } }
})

const all = Effect.fnUntraced(function* () {
  const web = yield* platform(({ url }) =>
    url === "/api/tools/call" ? { body: gateway_answer } : {}
  )
  const tools = yield* configured(
    web,
    Object.keys(rows).map((op) => ({ type: "platform", op })),
    {
      profile: "extended",
      identity: { workflow: { artifact: { id: "w-1" }, variant: { id: "v-1" }, is_draft: false } },
      context: () => ({
        workflow: { latest_revision_id: "r-1" },
        trace: { trace_id: "t-1", span_id: "s-1" }
      })
    }
  )
  return { web, tools }
})

describe("the catalogue of the platform", () => {
  it("AG-47 AG-54 has the operations of the table, with their kinds, and no others", () => {
    const catalogue = Result.getOrThrow(loadCatalogue(platform_ops))
    assert.sameMembers([...catalogue.keys()], Object.keys(rows))
    assert.lengthOf(Object.keys(rows), 24)
    for (const [op, { kind }] of Object.entries(rows)) {
      const entry = catalogue.get(op)!
      assert.strictEqual(entry.read_only === true, kind === "read", op)
      assert.strictEqual(defaultPermissionOf(entry), kind === "read" ? "allow" : "ask", op)
    }
    const { timeout_ms } = catalogue.get("test_run")!
    assert.strictEqual(timeout_ms, 120_000)
  })

  it.live("AG-47 AG-55 makes one request of each call, with what the run's context fills in", () =>
    Effect.gen(function* () {
      const { tools, web } = yield* all()
      for (const [op, { args, body, line }] of Object.entries(rows)) {
        const value = yield* runBody(
          tools.find(({ spec }) => spec.name === op),
          args
        )
        assert.lengthOf(web.seen, 1, op)
        const [seen] = web.seen.splice(0)
        if (line.startsWith("tools.")) {
          assert.strictEqual(`${seen?.method} ${seen?.url}`, "POST /api/tools/call")
          const { data } = JSON.parse(seen?.body ?? "")
          assert.deepStrictEqual(data.function, { name: line, arguments: body }, op)
          assert.deepStrictEqual(value, { value: 7 })
        } else {
          assert.strictEqual(`${seen?.method} ${seen?.url}`, line)
          const sent: unknown = seen?.body === "" ? "" : JSON.parse(seen?.body ?? "")
          assert.deepStrictEqual(sent, body as unknown, op)
        }
      }
    })
  )

  it.live("AG-22 refuses other arguments, and sends nothing", () =>
    Effect.gen(function* () {
      const { tools, web } = yield* all()
      for (const [op, { wrong = [] }] of Object.entries(rows)) {
        for (const args of wrong) {
          const tool = tools.find(({ spec }) => spec.name === op)
          const exit = yield* Effect.exit(runBody(tool, args))
          assert.isTrue(Exit.isFailure(exit), `${op} ${JSON.stringify(args)}`)
        }
      }
      assert.lengthOf(web.seen, 0)
    })
  )

  it.live("AG-25 lets no model choose the workflow, the variant or whether it is a draft", () =>
    Effect.gen(function* () {
      const { tools, web } = yield* all()
      for (const [op, args] of Object.entries(foreign)) {
        const tool = tools.find(({ spec }) => spec.name === op)
        yield* Effect.exit(runBody(tool, args))
        for (const { body } of web.seen.splice(0)) {
          assert.notMatch(body, /[vw]-2|"run_is_draft":true/, op)
          assert.match(body, /[vw]-1/)
        }
      }
    })
  )

  it.live("AG-46 starts no test run that would be too deep, and charges what one spent", () =>
    Effect.gen(function* () {
      const usage = [{ model: "m", turns: 1, usage: { input_tokens: 3, output_tokens: 4 } }]
      const content = JSON.stringify({ outputs: {}, usage })
      const web = yield* platform(() => ({ body: JSON.stringify({ call: { data: { content } } }) }))
      const [tool] = yield* configured(web, [{ type: "platform", op: "test_run" }], {
        identity: { workflow: { variant: { id: "v-1" } } }
      })
      const args = { inputs: { messages } }
      const nested = { nesting: { depth: 3 }, depth_max: 2, spent: false }
      const deep = yield* Effect.flip(runBody(tool, args, { nested }))
      assert.deepInclude(deep, { _tag: "ToolPolicyError", reason: "NESTED_DEPTH_MAX" })
      assert.lengthOf(web.seen, 0)
      const spent: Array<unknown> = []
      yield* runBody(tool, args, {
        nested: { ...nested, depth_max: 3 },
        spent: (use) => spent.push(use)
      })
      assert.strictEqual(web.seen[0]?.headers["baggage"], "troupe.depth=3")
      assert.strictEqual(JSON.stringify(spent), JSON.stringify(usage))
    })
  )

  it.live("has its own time for a call, where it says so", () =>
    Effect.gen(function* () {
      const silent = yield* web(() => {})
      const entry = { op: "wait", description: "Waits.", input_schema: { type: "object" } }
      const at = { method: "POST", path: "/api/wait", timeout_ms: 20 } as const
      const [tool] = yield* configured(silent, [{ type: "platform", op: "wait" }], {
        operations: [{ ...entry, ...at }]
      })
      const late = yield* Effect.flip(runBody(tool, {}))
      assert.deepInclude(late, { _tag: "ToolTransientError", reason: "CALL_TIMEOUT" })
      assert.strictEqual(tool?.spec.timeout_ms, 1_020)
    })
  )
})
