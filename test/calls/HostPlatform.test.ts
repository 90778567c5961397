/** The reference platform over real sockets: by itself, and as agents' configured tools reach it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Gateway from "../../layers/calls/GatewayCall.ts"
import * as PlatformClient from "../../layers/calls/PlatformClient.ts"
import * as ConfiguredTools from "../../layers/calls/ConfiguredTools.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { layer } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"
import * as HostPlatform from "./host/HostPlatform.ts"
import { keeper, toolConfigs } from "./host/Keeper.ts"
import { keeperScript } from "./host/KeeperScript.ts"
import { keeper_variant, seeds } from "./host/Seeds.ts"
import { platform_ops } from "../../src/call/PlatformOps.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { call, runBody } from "./Platform.ts"

const boss = new Principal({ id: "boss", tenant: Tenant.make("default"), roles: ["approver"] })
const authorization = "ApiKey of the platform"

const host = HostPlatform.start({ authorization, workflows: seeds })

interface Ask {
  readonly method?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

const ask = (url: string, path: string, { body, headers = {}, method = "POST" }: Ask = {}) =>
  Effect.promise(async (): Promise<Answer> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization, ...headers },
      ...(body === undefined ? undefined : { body })
    })
    const read = (await response.json()) as Answer["body"]
    return { status: response.status, headers: response.headers, body: read }
  })

const commit_path = "/api/workflows/revisions/commit"
const commitOf = (more: object = {}, message = "by hand") =>
  JSON.stringify({ workflow_revision: { workflow_variant_id: keeper_variant, message, ...more } })

describe("the reference platform", () => {
  it.live("AG-57 has no workflows and no operations of its own behind its gateway", () =>
    Effect.gen(function* () {
      const { endpoint } = yield* host
      const client = PlatformClient.make({
        callback: { endpoint, authorization },
        timeout_ms: 5_000
      })
      for (const ref of ["workflow.variant.summarize", "tools.agenta.commit_revision"]) {
        const handler = Gateway.handlerOf(client, endpoint, ref)
        const error = yield* Effect.flip(handlerEffect(handler, {}, call()))
        assert.deepInclude(error, { _tag: "ToolUserError", kind: "not_found", reason: "HTTP_404" })
      }
    })
  )

  it.live("answers nobody without its authorization, and counts who asked", () =>
    Effect.gen(function* () {
      const platform = yield* host
      for (const headers of [{ authorization: "" }, { authorization: `${authorization}x` }]) {
        for (const path of ["/api/workflows/query", "/api/nothing", "/api/requests"]) {
          const { body, headers: sent, status } = yield* ask(platform.url, path, { headers })
          assert.strictEqual(status, 401, path)
          assert.strictEqual(sent.get("content-type"), "application/problem+json")
          assert.strictEqual(sent.get("www-authenticate"), "ApiKey")
          assert.notInclude(JSON.stringify(body), authorization)
        }
      }
      // The log's own requests are left out.
      assert.strictEqual(platform.total(), 4)
      assert.deepStrictEqual(
        platform.requests().map(({ body, status }) => [status, body]),
        Array.from({ length: 4 }, () => [401, ""])
      )
    })
  )

  it.live("has its port of before, or another where that is taken", () =>
    Effect.gen(function* () {
      const again = (port: number) => HostPlatform.start({ authorization, workflows: seeds, port })
      const { port } = yield* Effect.scoped(host)
      const one = yield* again(port)
      assert.strictEqual(one.port, port)
      const two = yield* again(port)
      assert.notStrictEqual(two.port, port)
      assert.strictEqual((yield* ask(two.url, "/api/requests", { method: "GET" })).status, 200)
    })
  )

  it.live("refuses another path, method, body or shape with a problem document of its status", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* host
      const big = JSON.stringify({ workflow: { name: "x".repeat(1_000_000) } })
      for (const [path, asked, status] of [
        ["/api/nothing", {}, 404],
        ["/api/workflows/query/x", {}, 404],
        ["/api/triggers/schedules/none", { method: "DELETE" }, 404],
        ["/api/workflows/query", { method: "GET" }, 405],
        ["/api/triggers/schedules/s", { method: "PUT" }, 405],
        ["/api/workflows/query", { body: "{" }, 400],
        ["/api/workflows/query", { body: '{"stray":1}' }, 422],
        ["/api/sessions/streams/header", { body: '{"name":"n"}' }, 422],
        [commit_path, { body: '{"workflow_revision":{"workflow_variant_id":"no"}}' }, 404],
        ["/api/workflows/query", { body: big }, 413]
      ] as const) {
        const answer = yield* ask(url, path, asked)
        assert.strictEqual(answer.status, status, path)
        assert.strictEqual(answer.headers.get("content-type"), "application/problem+json")
        assert.strictEqual(answer.body["status"], status)
        assert.isString(answer.body["detail"])
        assert.strictEqual(requests().at(-1)?.status, status)
      }
      const { headers } = yield* ask(url, "/api/triggers/schedules/s", { method: "PUT" })
      assert.strictEqual(headers.get("allow"), "DELETE")
    })
  )

  it.live("commits one revision for each key, and none on another than the latest", () =>
    Effect.gen(function* () {
      const { latest, requests, url } = yield* host
      const first = latest(keeper_variant)
      const body = commitOf({ expected_revision_id: first })
      const headers = { "idempotency-key": "key-1" }
      const made = yield* ask(url, commit_path, { body, headers })
      assert.strictEqual(made.status, 200)
      const second = latest(keeper_variant)
      assert.notStrictEqual(second, first)
      // Sent again with its key it is the same commit; with another key it is too late.
      assert.deepStrictEqual((yield* ask(url, commit_path, { body, headers })).body, made.body)
      assert.strictEqual(requests().at(-1)?.repeated, true)
      const stale = yield* ask(url, commit_path, { body, headers: { "idempotency-key": "key-2" } })
      assert.strictEqual(stale.status, 409)
      assert.include(String(stale.body["detail"]), "by hand")
      const other = yield* ask(url, commit_path, { body: commitOf({}, "another"), headers })
      assert.strictEqual(other.status, 422)
      assert.strictEqual(latest(keeper_variant), second)
    })
  )

  it.live("pages its workflows, and finds those that have the members that are asked for", () =>
    Effect.gen(function* () {
      const { url } = yield* host
      const query = (body: object) =>
        Effect.map(ask(url, "/api/workflows/query", { body: JSON.stringify(body) }), (answer) => {
          const { windowing, workflows } = answer.body as {
            readonly workflows: ReadonlyArray<{ readonly slug: string }>
            readonly windowing?: { readonly next: string }
          }
          return { slugs: workflows.map(({ slug }) => slug), next: windowing?.next }
        })
      const first = yield* query({ windowing: { limit: 1 } })
      assert.deepStrictEqual(first, { slugs: ["summarize"], next: "workflow-summarize" })
      const rest = yield* query({ windowing: { limit: 1, next: first.next } })
      assert.deepStrictEqual(rest, { slugs: ["keeper"], next: undefined })
      const archived = yield* query({ workflow: { flags: { is_archived: true } } })
      assert.deepStrictEqual(archived.slugs, [])
      const named = yield* query({ workflow_refs: [{ slug: "keeper" }] })
      assert.deepStrictEqual(named.slugs, ["keeper"])
    })
  )

  it.live("keeps the newest 200 requests of its log, and counts them all", () =>
    Effect.gen(function* () {
      const { requests, total, url } = yield* host
      for (let i = 0; i < 203; i++) yield* ask(url, `/api/nothing/${i}`)
      assert.strictEqual(total(), 203)
      assert.lengthOf(requests(), 200)
      assert.strictEqual(requests()[0]?.path, "/api/nothing/3")
      const { body } = yield* ask(url, "/api/requests", { method: "GET" })
      assert.strictEqual(body["total"], 203)
      assert.lengthOf(body["items"] as ReadonlyArray<unknown>, 200)
      assert.notInclude(JSON.stringify(body), authorization)
    })
  )
})

/** Calls of every operation of the catalogue, in this order, and a part of each answer. */
const given: ReadonlyArray<readonly [op: string, args: object, answer: string]> = [
  ["discover_tools", { use_cases: ["open an issue"] }, '"action":"create_issue"'],
  ["query_workflows", {}, '"slug":"keeper"'],
  ["read_config", { target: { path: ["temperature"] } }, '"value":0.7'],
  ["commit_revision", { workflow_revision: { message: "m", data: { words: 3 } } }, '"version":2'],
  ["read_config", { target: {} }, '"value":{"words":3}'],
  [
    "test_run",
    {
      inputs: { messages: [{ role: "user", content: "one two three four" }] },
      delta: { set: { words: 2 } }
    },
    '"summary":"one two"'
  ],
  [
    "test_run",
    {
      inputs: { messages: [{ role: "user", content: "one two" }] },
      delta: { remove: ["words"] },
      expectations: { terminal_tool: "t" }
    },
    '"verdict":"incomplete"'
  ],
  ["read_config", { target: { path: ["words"] } }, '"value":3'],
  [
    "annotate_trace",
    { references: { evaluator: { slug: "tone" } }, data: { outputs: { ok: true } } },
    "annotation-1"
  ],
  ["rename_session", { name: "a session" }, '"session_id"'],
  ["rename_agent", { name: "The cold one", description: "d" }, '"name":"The cold one"'],
  ["discover_triggers", { use_cases: ["an issue was opened"] }, "github.issue_opened"],
  ["list_connections", {}, "connection-github"],
  ["create_schedule", { data: { event_key: "day", schedule: "0 6 * * *" } }, "schedule-1"],
  ["pause_schedule", { id: "schedule-1" }, '"is_active":false'],
  ["resume_schedule", { id: "schedule-1" }, '"is_active":true'],
  ["list_schedules", {}, "variant-keeper"],
  ["remove_schedule", { id: "schedule-1" }, '"count":1'],
  [
    "test_subscription",
    { connection_id: "connection-github", data: { event_key: "github.issue_opened" } },
    '"is_test":true'
  ],
  ["list_deliveries", {}, "delivery-1"],
  [
    "create_subscription",
    { connection_id: "connection-github", data: { event_key: "github.issue_opened" } },
    "subscription-1"
  ],
  ["pause_subscription", { id: "subscription-1" }, '"is_active":false'],
  ["resume_subscription", { id: "subscription-1" }, '"is_active":true'],
  ["list_subscriptions", {}, "subscription-1"],
  ["remove_subscription", { id: "subscription-1" }, '"count":1'],
  [
    "query_spans",
    {
      filtering: { conditions: [{ field: "trace_id", value: call().call.trace_id }] },
      windowing: { limit: 1, order: "ascending" }
    },
    '"span_name":"POST /api/tools/discover"'
  ]
]

const toolsOf = (platform: HostPlatform.HostPlatform) =>
  Effect.map(ConfiguredTools.tools(toolConfigs(platform, authorization)), (tools) => {
    const named = new Map(tools.map((tool) => [tool.spec.name as string, tool]))
    return (op: string, args: unknown) => runBody(named.get(op), args)
  })

describe("the reference platform for a keeper", () => {
  it.live("answers every operation of the catalogue", () =>
    Effect.gen(function* () {
      const platform = yield* host
      const run = yield* toolsOf(platform)
      const ops = platform_ops.map(({ op }) => op).filter((op) => op !== "find_capabilities")
      assert.sameMembers(ops, [...new Set(given.map(([op]) => op))])
      for (const [op, args, answer] of given) {
        const value = yield* run(op, args)
        assert.include(JSON.stringify(value), answer, op)
        assert.strictEqual(platform.requests().at(-1)?.status, 200, op)
      }
      assert.strictEqual(platform.total(), given.length)
      const [annotation] = platform.requests().filter(({ path }) => path === "/api/annotations/")
      assert.include(annotation?.body, call().call.trace_id)
    })
  )

  it.live("says why it does not do what is not there, or too large", () =>
    Effect.gen(function* () {
      const platform = yield* host
      const run = yield* toolsOf(platform)
      const gone = yield* Effect.flip(run("pause_schedule", { id: "schedule-1" }))
      assert.deepInclude(gone, { _tag: "ToolUserError", reason: "HTTP_404" })
      const none = yield* Effect.flip(run("read_config", { target: { path: ["no"] } }))
      assert.deepInclude(none, { _tag: "ToolUserError", reason: "GATEWAY_TOOL_ERROR" })
      const data = { skills: [{ name: "a", text: "x".repeat(2_000) }], note: "n" }
      yield* run("commit_revision", { workflow_revision: { data } })
      const large = yield* Effect.flip(run("read_config", { target: {}, max_bytes: 1_024 }))
      assert.include(String((large as { message?: string }).message), "skills, note")
      const part = { target: { path: [{ list: "skills", key: "a" }, "name"] } }
      assert.deepInclude(yield* run("read_config", part), { value: "a" })
      const condition = { field: "span_name", operator: "matches", value: "a" }
      const odd = yield* Effect.flip(run("query_spans", { filtering: { conditions: [condition] } }))
      assert.deepInclude(odd, { reason: "HTTP_422" })
    })
  )
})

/** The walk of `npm start -- --platform`, in this process. */
const walk = (
  use: (troupe: NodeService, platform: HostPlatform.HostPlatform) => Promise<void>,
  more: Partial<ReturnType<typeof toolConfigs>> = {}
) =>
  Effect.gen(function* () {
    const platform = yield* host
    yield* Effect.promise(async () => {
      const troupe = await start({
        agents: [keeper],
        toolConfigs: { ...toolConfigs(platform, authorization), ...more },
        model: layer(keeperScript)
      })
      try {
        await use(troupe, platform)
      } finally {
        await troupe.stop()
      }
    })
  })

const say = (troupe: NodeService, text: string) => troupe.ask({ agent: "keeper", text })

const approved = async (troupe: NodeService, run: string) => {
  const [question] = await troupe.pending(boss)
  await troupe.decide(question!.id, { _tag: "Approve" }, boss)
  return troupe.result(run)
}

describe("the keeper of the walk", () => {
  it.live("AG-34 AG-54 AG-64 commits a revision once it is approved, and nothing before", () =>
    walk(async (troupe, { latest, requests, total }) => {
      const first = latest(keeper_variant)
      const { run, status } = await say(troupe, "Make it colder")
      assert.strictEqual(status, "awaiting_approval")
      // It has read its workflow, and no more.
      assert.deepStrictEqual(
        requests().map(({ path }) => path),
        ["/api/workflows/query"]
      )
      const ended = await approved(troupe, run)
      assert.include(ended.text, "Revision 2 is committed: its temperature is 0.6")
      assert.strictEqual(total(), 2)
      assert.notStrictEqual(latest(keeper_variant), first)
      const sent = requests()[1]
      assert.match(sent?.idempotency_key ?? "", /^[0-9a-f]{64}$/)
      assert.deepStrictEqual(JSON.parse(sent?.body ?? ""), {
        workflow_revision: {
          message: "colder.",
          data: { temperature: 0.6 },
          workflow_variant_id: keeper_variant,
          expected_revision_id: first
        }
      })
    })
  )

  it.live("AG-64 makes no request for a commit that is denied", () =>
    walk(async (troupe, { latest, total }) => {
      const first = latest(keeper_variant)
      const { run } = await say(troupe, "Make it colder")
      const [question] = await troupe.pending(boss)
      await troupe.decide(question!.id, { _tag: "Deny", reason: "not now" }, boss)
      assert.include((await troupe.result(run)).text, "boss denied it (not now)")
      assert.strictEqual(total(), 1)
      assert.strictEqual(latest(keeper_variant), first)
    })
  )

  it.live("AG-64 makes no request for a run that has no authorization or no revision", () =>
    Effect.gen(function* () {
      const refuse = (more: Partial<ReturnType<typeof toolConfigs>>, requests: number) =>
        walk(async (troupe, { total }) => {
          const { run, status } = await say(troupe, "Make it colder")
          if (status === "awaiting_approval") await approved(troupe, run)
          assert.strictEqual((await troupe.result(run)).status, "complete")
          assert.strictEqual(total(), requests)
        }, more)
      yield* refuse({ context: () => ({}) }, 1)
      const platform = yield* host
      const { callback } = toolConfigs(platform, authorization)
      const endpoint = callback?.endpoint ?? ""
      yield* refuse({ callback: { endpoint, authorization: () => undefined } }, 0)
      assert.strictEqual(platform.total(), 0)
    })
  )

  it.live("is told of a revision that came in between, and commits on it the next time", () =>
    walk(async (troupe, platform) => {
      const { run } = await say(troupe, "Make it colder")
      const body = commitOf({ data: { temperature: 0.2 } }, "by somebody else")
      await Effect.runPromise(ask(platform.url, commit_path, { body }))
      const between = platform.latest(keeper_variant)
      const ended = await approved(troupe, run)
      assert.include(ended.text, "HTTP 409")
      assert.include(ended.text, "by somebody else")
      assert.strictEqual(platform.latest(keeper_variant), between)
      const events = await classesOf(troupe, run)
      assert.deepStrictEqual(events, [["ToolUserError", "HTTP_409"]])
      const again = await say(troupe, "Make it warmer")
      const done = await approved(troupe, again.run)
      assert.include(done.text, "Revision 3 is committed: its temperature is 0.3")
    })
  )

  it.live(
    "AG-38 AG-43 searches the gateway, opens an issue by it, and runs a stored workflow",
    () =>
      walk(async (troupe, { requests }) => {
        const found = await say(troupe, "What can be connected to github?")
        assert.include(found.text, '"action":"create_issue"')
        const opened = await say(troupe, "Open an issue: too warm")
        assert.include((await approved(troupe, opened.run)).text, "too warm")
        const told = await say(
          troupe,
          "Summarize this: one two three four five six seven eight nine"
        )
        const ended = await approved(troupe, told.run)
        assert.include(ended.text, '"summary":"one two three four five six seven eight"')
        assert.deepStrictEqual(
          requests().map(({ path, status }) => [path, status]),
          ["/api/tools/discover", "/api/tools/call", "/api/workflows/invoke"].map((path) => [
            path,
            200
          ])
        )
      })
  )
})

/** Class and reason of the calls of a run that failed. */
const classesOf = async (troupe: NodeService, run: string) => {
  const failed: Array<ReadonlyArray<string>> = []
  for await (const item of troupe.watch(run)) {
    if (item._tag === "CaughtUp") break
    if (item._tag !== "Event" || item.entry.event._tag !== "CallSettled") continue
    const { outcome } = item.entry.event
    if (outcome._tag === "Failed") failed.push([outcome.error.class, outcome.error.reason ?? ""])
  }
  return failed
}
