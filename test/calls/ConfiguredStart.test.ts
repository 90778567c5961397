/** Agents whose tools are configured: from the model's call through the gate to the platform, over real HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Json } from "../../src/value/Canonical.ts"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { policyOf } from "../../src/permission/Policy.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { endpointOf, hostPlatform, platform } from "./Platform.ts"
import type { Web } from "./Web.ts"

const boss = new Principal({ id: "boss", tenant: Tenant.make("default"), roles: ["approver"] })
const secret = "ApiKey hidden-authorization"
const commit = {
  workflow_revision: { message: "colder", data: { temperature: 0.2 } }
}

interface Scene {
  readonly troupe: NodeService
  readonly requests: ReadonlyArray<ModelRequest>
  readonly said: () => Promise<string>
  readonly events: (run: string) => Promise<ReadonlyArray<RunEvent>>
}

interface Play {
  readonly tools: ReadonlyArray<ToolConfig>
  readonly agentTools: ReadonlyArray<string>
  readonly calls: ReadonlyArray<readonly [tool: string, args: Json]>
  readonly more?: Partial<NonNullable<Options["toolConfigs"]>>
  readonly policy?: Options["policy"]
}

const eventsOf = async (troupe: NodeService, run: string): Promise<ReadonlyArray<RunEvent>> => {
  const events: Array<RunEvent> = []
  for await (const item of troupe.watch(run)) {
    if (item._tag === "Event") events.push(item.entry.event)
    if (item._tag === "CaughtUp") break
  }
  return events
}

/** Starts an agent with these tools, whose model makes these calls one after the other. */
const play = (web: Pick<Web, "port">, scene: Play, use: (scene: Scene) => Promise<void>) =>
  Effect.promise(async () => {
    const requests: Array<ModelRequest> = []
    const troupe = await start({
      agents: [
        AgentSpec.make({
          name: AgentName.make("keeper"),
          instructions: "Keep the workflow.",
          tools: [...scene.agentTools]
        })
      ],
      toolConfigs: {
        tools: scene.tools,
        callback: { endpoint: endpointOf(web), authorization: Redacted.make(secret) },
        identity: { workflow: { variant: { id: "own-variant" } } },
        context: () => ({ workflow: { latest_revision_id: "revision-own" } }),
        ...scene.more
      },
      ...(scene.policy === undefined ? undefined : { policy: scene.policy }),
      model: layer((request) => {
        requests.push(request)
        const done = request.transcript.filter(({ role }) => role === "tool").length
        const next = scene.calls[done]
        return next === undefined ? text("done") : call(next[0], next[1])
      })
    })
    try {
      await use({
        troupe,
        requests,
        said: async () =>
          JSON.stringify(
            requests.map(({ system, tools, transcript }) => [system, tools, transcript])
          ),
        events: (run) => eventsOf(troupe, run)
      })
    } finally {
      await troupe.stop()
    }
  })

const keeper: Play = {
  tools: [{ type: "platform", op: "commit_revision" }],
  agentTools: ["commit_revision"],
  calls: [["commit_revision", commit]]
}

describe("a configured tool of an agent", () => {
  it.live("AG-54 AG-58 makes exactly one request once a person has approved it", () =>
    Effect.gen(function* () {
      const web = yield* hostPlatform(secret)
      yield* play(web, keeper, async ({ events, troupe }) => {
        const asked = await troupe.ask({ agent: "keeper", text: "colder" })
        assert.strictEqual(asked.status, "awaiting_approval")
        assert.strictEqual(web.total(), 0)
        const [question] = await troupe.pending(boss)
        // The person reads where the call goes and with what; the key names the target.
        const shown = question?.payload.effect_description ?? ""
        assert.include(
          shown,
          `Sends POST /api/workflows/revisions/commit to http://127.0.0.1:${web.port}, always with `
        )
        assert.include(shown, '"workflow_variant_id":"own-variant"')
        assert.include(shown, "expected_revision_id from $ctx.workflow.latest_revision_id")
        assert.include(shown, ", whatever the arguments have in these places. ")
        assert.match(question?.tool_key ?? "", /^platform\.commit_revision@1-[0-9a-f]{16}$/)
        await troupe.decide(question!.id, { _tag: "Approve" }, boss)
        const ended = await troupe.result(asked.run)
        assert.strictEqual(ended.status, "complete")
        assert.strictEqual(web.total(), 1)
        assert.strictEqual(web.requests()[0]?.status, 200)
        assert.strictEqual(web.latest("own-variant"), "own-variant-r2")
        assert.match(web.requests()[0]?.idempotency_key ?? "", /^[0-9a-f]{64}$/)
        const journal = await events(asked.run)
        const dispatched = journal.find(({ _tag }) => _tag === "CallDispatched")
        assert.deepInclude(JSON.parse(String((dispatched as { target?: string }).target)), {
          origin: `http://127.0.0.1:${web.port}`,
          method: "POST",
          path: "/api/workflows/revisions/commit",
          body: { workflow_revision: { workflow_variant_id: "own-variant" } }
        })
        assert.notInclude(JSON.stringify(journal), "hidden-authorization")
      })
    })
  )

  it.live("AG-64 makes no request when it is denied, and none while the question is open", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      yield* play(web, keeper, async ({ troupe }) => {
        const asked = await troupe.ask({ agent: "keeper", text: "colder" })
        const [question] = await troupe.pending(boss)
        assert.lengthOf(web.seen, 0)
        await troupe.decide(question!.id, { _tag: "Deny", reason: "not now" }, boss)
        await troupe.result(asked.run)
        assert.lengthOf(web.seen, 0)
        assert.strictEqual(web.connections.made, 0)
      })
    })
  )

  it.live("AG-16 AG-34 keeps its fixed and bound fields when a person changes the arguments", () =>
    Effect.gen(function* () {
      const web = yield* hostPlatform(secret)
      yield* play(web, keeper, async ({ troupe }) => {
        const asked = await troupe.ask({ agent: "keeper", text: "colder" })
        const [question] = await troupe.pending(boss)
        const changed = {
          workflow_revision: {
            message: "warmer",
            workflow_variant_id: "someone-elses",
            expected_revision_id: "any"
          }
        }
        await troupe.decide(question!.id, { _tag: "Modify", arguments: changed }, boss)
        assert.strictEqual((await troupe.result(asked.run)).status, "complete")
      })
      assert.deepStrictEqual(
        web.requests().map(({ body }) => JSON.parse(body)),
        [
          {
            workflow_revision: {
              message: "warmer",
              workflow_variant_id: "own-variant",
              expected_revision_id: "revision-own"
            }
          }
        ]
      )
    })
  )

  it.live("AG-56 AG-58 may be a script, which asks and then runs in a process of its own", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const scene: Play = {
        tools: [
          { type: "platform", op: "query_workflows" },
          {
            type: "code",
            name: "twice",
            script: "export default ({ n }) => ({ n: n * 2, names: Object.keys(process.env) })",
            secrets: ["TOKEN"],
            input_schema: {
              type: "object",
              properties: { n: { type: "integer" } },
              required: ["n"]
            }
          }
        ],
        agentTools: ["twice", "query_workflows"],
        calls: [["twice", { n: 21 }]],
        more: { secrets: { TOKEN: Redacted.make("hidden-token") } }
      }
      yield* play(web, scene, async ({ events, said, troupe }) => {
        const asked = await troupe.ask({ agent: "keeper", text: "twice" })
        assert.strictEqual(asked.status, "awaiting_approval")
        const [question] = await troupe.pending(boss)
        await troupe.decide(question!.id, { _tag: "Approve" }, boss)
        await troupe.result(asked.run)
        const settled = (await events(asked.run)).find(({ _tag }) => _tag === "CallSettled")
        assert.include(JSON.stringify(settled), String.raw`{\"n\":42,\"names\":[\"TOKEN\"]}`)
        assert.notInclude(await said(), "hidden-token")
      })
    })
  )

  it.live("has a key that names its target: for another variant it is another tool", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const keys: Array<string | undefined> = []
      for (const id of ["own-variant", "another", "own-variant"]) {
        const more = { identity: { workflow: { variant: { id } } } }
        yield* play(web, { ...keeper, more }, async ({ troupe }) => {
          await troupe.ask({ agent: "keeper", text: "colder" })
          keys.push((await troupe.pending(boss))[0]?.tool_key)
        })
      }
      assert.strictEqual(keys[0], keys[2])
      assert.notStrictEqual(keys[0], keys[1])
    })
  )

  it.live(
    "AG-31 AG-35 AG-41 AG-45 shows a model nothing of the run's context, the fixed body or secrets",
    () =>
      Effect.gen(function* () {
        // Its answers say nothing, so whatever is found came from the runtime.
        const web = yield* platform()
        const scene: Play = {
          tools: [
            { type: "platform", op: "commit_revision", permission: "allow" },
            { type: "platform", op: "annotate_trace", permission: "allow" }
          ],
          agentTools: ["commit_revision", "annotate_trace"],
          calls: [
            ["commit_revision", commit],
            [
              "annotate_trace",
              { references: { evaluator: { slug: "tone" } }, data: { outputs: { ok: true } } }
            ]
          ],
          more: {
            context: () => ({
              workflow: { latest_revision_id: "revision-own" },
              trace: { trace_id: "trace-own", span_id: "span-own" }
            })
          }
        }
        yield* play(web, scene, async ({ requests, said, troupe }) => {
          const ended = await troupe.ask({ agent: "keeper", text: "colder" })
          assert.strictEqual(ended.status, "complete")
          assert.lengthOf(web.seen, 2)
          assert.include(web.seen[1]?.body, "trace-own")
          const whole = await said()
          for (const hidden of [
            "own-variant",
            "revision-own",
            "trace-own",
            "span-own",
            "$ctx",
            "workflow_variant_id",
            "hidden-authorization",
            "output_schema",
            "get_context",
            "127.0.0.1"
          ]) {
            assert.notInclude(whole, hidden)
          }
          assert.deepStrictEqual(
            requests[0]?.tools.map((tool) => Object.keys(tool).sort()),
            [0, 1].map(() => ["description", "input_schema", "name"])
          )
        })
      })
  )

  it.live("AG-58 is allowed, asked for or denied alike, wherever its call goes", () =>
    Effect.gen(function* () {
      const gateway: ToolConfig = {
        type: "gateway",
        integration: "github",
        action: "create_issue",
        connection: "gh",
        name: "create_issue"
      }
      const callback: ToolConfig = {
        kind: "callback",
        name: "note",
        call: { method: "POST", path: "/api/notes" }
      }
      const tools = [
        [{ type: "platform", op: "pause_schedule" }, "pause_schedule", { id: "s" }],
        [gateway, "create_issue", {}],
        [callback, "note", {}]
      ] as ReadonlyArray<readonly [ToolConfig, string, Json]>
      const answer = '{"call":{"data":{"content":"ok"},"status":{"code":"STATUS_CODE_OK"}}}'
      for (const [config, name, args] of tools) {
        for (const permission of ["allow", "ask", "deny"] as const) {
          const web = yield* platform(() => ({ body: answer }))
          const scene: Play = {
            tools: [{ ...config, permission }],
            agentTools: [name],
            calls: [[name, args]]
          }
          yield* play(web, scene, async ({ troupe }) => {
            const { status } = await troupe.ask({ agent: "keeper", text: "go" })
            assert.strictEqual(status, permission === "ask" ? "awaiting_approval" : "complete")
            assert.lengthOf(web.seen, permission === "allow" ? 1 : 0, `${name} ${permission}`)
          })
        }
      }
    })
  )

  it.live(
    "AG-59 AG-63 has the permission of its configuration, then its server's, then its kind's",
    () =>
      Effect.gen(function* () {
        const web = yield* hostPlatform(secret)
        const read = (config: object): Play => ({
          tools: [{ type: "platform", op: "query_workflows", ...config }],
          agentTools: ["query_workflows"],
          calls: [["query_workflows", {}]]
        })
        const statusOf = (scene: Play) => {
          let status = ""
          return Effect.map(
            play(web, scene, async ({ troupe }) => {
              status = (await troupe.ask({ agent: "keeper", text: "go" })).status
            }),
            () => [status, web.total()]
          )
        }
        const denied = policyOf({ servers: { platform: "deny" } })
        assert.deepStrictEqual(yield* statusOf(read({})), ["complete", 1])
        assert.deepStrictEqual(yield* statusOf({ ...read({}), policy: denied }), ["complete", 1])
        const own = { ...read({ permission: "allow" }), policy: denied }
        assert.deepStrictEqual(yield* statusOf(own), ["complete", 2])
        const asks = yield* statusOf(read({ needs_approval: true }))
        assert.deepStrictEqual(asks, ["awaiting_approval", 2])
      })
  )
})

describe("a start with configured tools", () => {
  const refusalOf = (toolConfigs: unknown) =>
    Effect.promise(() =>
      start({ agents: [], model: layer([]), toolConfigs: toolConfigs as never }).then(
        () => ({ _tag: "started" }),
        (error: { readonly _tag: string; readonly message: string; readonly reason?: string }) =>
          error
      )
    )
  const callback = { endpoint: "https://app.example.org/api/tools/call" }

  it.live(
    "AG-07 AG-21 AG-28 AG-50 AG-51 ends with the tool that cannot be right, and what is wrong",
    () =>
      Effect.gen(function* () {
        const body = { type: "object", properties: { id: { type: "string" } } }
        const post = { method: "POST", path: "/api/x" }
        const custom = (more: object) => ({ kind: "callback", name: "x", call: post, ...more })
        const cases: ReadonlyArray<readonly [tools: ReadonlyArray<object>, part: string]> = [
          [[{ type: "platform", op: "no_such" }], "Available: find_capabilities"],
          [
            [0, 1].map(() => ({ type: "platform", op: "query_workflows" })),
            "Duplicate platform tool"
          ],
          [[custom({}), custom({})], "two tools have this name"],
          [[{ type: "platform", op: "remove_schedule" }], "method-not-allowed"],
          [[custom({ call: { ...post, path: "/admin/x" } })], "outside-mount"],
          [[custom({ call: { ...post, host: "evil.example" } })], "call.host"],
          [
            [custom({ call: { ...post, body: { a: 1 }, context: { a: "$ctx.session.id" } } })],
            "overlap"
          ],
          [
            [
              custom({
                input_schema: body,
                call: { ...post, args_into: "w", context: { "w.id": "$ctx.session.id" } },
                allow_nested_bind: true
              })
            ],
            "the model is shown"
          ],
          [[custom({ call: { ...post, path: "/api/x/{id}" } })], "nobody supplies"],
          [
            [custom({ request_schema: { ...body, required: ["id"] } })],
            "nobody supplies what the endpoint requires: id"
          ],
          [[custom({ call: { ...post, context: { a: "$ctx.nope.nada" } } })], "$ctx.trace.span_id"],
          [[{ type: "platform", op: "commit_revision" }], "which nobody gives"],
          [
            [
              custom({
                input_schema: { properties: { a: { $ref: "https://example.org/a" } } },
                call: { ...post, context: { "a.id": "$ctx.session.id" } },
                allow_nested_bind: true
              })
            ],
            "nothing is known of what its reference"
          ],
          [[{ type: "code", name: "run", script: "1", secrets: ["TOKEN"] }], "has no value"],
          [[{ type: "client", name: "pick", script: "1" }], "script"],
          [[{ type: "magic", name: "run" }], "its type is none of builtin"],
          [[{ type: "platform" }], "tools.0: op: "],
          [[{ type: "platform", op: "query_workflows", nope: 1 }], "nope: there is no such member"],
          [
            [custom({ call: undefined, callRef: "tools.agenta.commit_revision" })],
            "called directly"
          ]
        ]
        for (const [tools, part] of cases) {
          const error = yield* refusalOf({ tools, callback })
          assert.strictEqual(error._tag, "ToolConfigRefused", JSON.stringify(tools))
          assert.include((error as { message: string }).message, part)
        }
        const none = yield* refusalOf({ tools: [{ type: "platform", op: "query_workflows" }] })
        assert.include((none as { message: string }).message, "API base URL")
        assert.strictEqual((yield* refusalOf({ tools: [], stray: 1 }))._tag, "InvalidInput")
      })
  )

  it.live("refuses hostile values and settings that cannot be right, with a typed error", () =>
    Effect.gen(function* () {
      const loop: Record<string, unknown> = { type: "platform", op: "query_workflows" }
      loop["permission"] = loop
      const thrower = {
        type: "platform",
        get op(): string {
          throw new Error("secret")
        }
      }
      const op = { op: "x", description: "d", method: "POST", path: "/api/x" }
      const one = [{ type: "platform", op: "query_workflows" }]
      for (const given of [
        { tools: [loop], callback },
        { tools: [thrower], callback },
        { tools: one, callback, operations: [op] },
        {
          tools: one,
          callback,
          operations: [{ ...op, input_schema: {}, handler: "tools.agenta.x" }]
        },
        { tools: one, callback, operations: [{ ...op, input_schema: loop }] },
        { tools: one, callback, identity: { workflow: { variant: { id: 7 } } } },
        { tools: one, callback, timeout_ms: 0 },
        { tools: one, callback: { endpoint: "https://user:pass@app.example.org/" } },
        {
          tools: [{ type: "gateway", integration: "a.b", action: "c", connection: "d" }],
          callback
        },
        {
          tools: [
            {
              kind: "callback",
              name: "x",
              call: { method: "POST", path: "/api/x" },
              input_schema: { $ref: "#/no" }
            }
          ],
          callback
        }
      ]) {
        const error = yield* refusalOf(given)
        assert.include(["ToolConfigRefused", "MisdeclaredTool"], error._tag)
        assert.notInclude((error as { message: string }).message, "secret")
      }
    })
  )
})
