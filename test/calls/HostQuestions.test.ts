/** What a file of tools has in the place of functions: endpoints of the platform that are asked, and revisions by reference. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as HostPlatform from "./host/HostPlatform.ts"
import { keeper_variant, seeds } from "./host/Seeds.ts"
import * as ToolFile from "../../scripts/start/ToolFile.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import * as Homes from "../process/Homes.ts"
import { endpointOf, platform, runBody } from "./Platform.ts"

const authorization = "ApiKey of the platform"
const context = { path: "/api/runs/context" }
const references = { path: "/api/workflows/revisions/resolve" }
const tools = [
  { type: "platform", op: "commit_revision" },
  { type: "reference", ref_by: "environment", slug: "summarize", environment: "production" }
]
const input_schema = { type: "object", properties: { text: { type: "string" } } }

const fileTools = Effect.fnUntraced(function* (document: object) {
  const path = join(yield* Homes.temporary, "tools.json")
  writeFileSync(path, JSON.stringify(document))
  return yield* Effect.provideService(
    ToolFile.read(path),
    ConfigProvider.ConfigProvider,
    ConfigProvider.fromUnknown({ TROUPE_TOOLS_AUTHORIZATION: authorization })
  )
})

const commit = (message: string) => ({ workflow_revision: { message, data: {} } })

describe("a file of tools", () => {
  it.live(
    "AG-32 AG-33 AG-42 has its context and its references asked of endpoints of the platform",
    () =>
      Effect.gen(function* () {
        const host = yield* HostPlatform.start({ authorization, workflows: seeds })
        const identity = { workflow: { variant: { id: keeper_variant } } }
        const file = { endpoint: host.endpoint, tools, identity, context, references }
        const [committing, summarize] = (yield* fileTools(file)).tools
        assert.deepStrictEqual(committing?.spec.input_schema["required"], ["workflow_revision"])
        assert.include(
          JSON.stringify(yield* runBody(summarize, { text: "one two" })),
          '"summary":"one two"'
        )
        // Asked by each call: the revision that the first one commits is the one that the second one names.
        yield* runBody(committing, commit("first"))
        yield* runBody(committing, commit("second"))
        const asked = host.requests()
        assert.deepStrictEqual(
          asked.map(({ path, status }) => `${status} ${path}`),
          [
            `200 ${references.path}`,
            `200 ${references.path}`,
            "200 /api/workflows/invoke",
            ...["first", "second"].flatMap(() => [
              `200 ${context.path}`,
              "200 /api/workflows/revisions/commit"
            ])
          ]
        )
        const bodies = asked.map(
          ({ body }) => JSON.parse(body) as Readonly<Record<string, unknown>>
        )
        const reference = "workflow.environment.production.summarize"
        assert.strictEqual(bodies[0]?.["reference"], reference)
        assert.notProperty(bodies[0], "run")
        assert.include(bodies[1], { reference, principal: "alice", tenant: "acme" })
        assert.include(bodies[3], { call: "0/1.0", principal: "alice", tenant: "acme" })
        assert.deepStrictEqual(
          asked
            .filter(({ path }) => path.endsWith("/commit"))
            .map(({ body }) => /-r\d/.exec(body)?.[0]),
          ["-r1", "-r2"]
        )
      })
  )

  it.live("AG-18 sends nothing where its endpoint says nothing that can be used", () =>
    Effect.gen(function* () {
      let said: { status?: number; body?: string; headers?: Readonly<Record<string, string>> } = {}
      const web = yield* platform(({ url }) => (url === context.path ? said : undefined))
      const { tools } = yield* fileTools({
        endpoint: endpointOf(web),
        tools: [{ type: "platform", op: "commit_revision" }],
        identity: { workflow: { variant_id: "v" } },
        context
      })
      for (said of [
        { body: "{}" },
        { body: '{"workflow":{"latest_revision_id":5}}' },
        { body: '{"workflow":{"latest_revision_id":"r1"},"also":1}' },
        { body: "no JSON" },
        { status: 500 },
        { status: 302, headers: { location: "/api/other" } }
      ]) {
        const error = yield* Effect.flip(runBody(tools[0], commit("x")))
        assert.propertyVal(error, "reason", "MISSING_RUN_CONTEXT", JSON.stringify(said))
      }
      assert.deepStrictEqual(
        web.seen.map(({ url }) => url),
        Array(6).fill(context.path)
      )
    })
  )

  it.live(
    "AG-64 asks nobody about a call that is denied, and sends none that nobody has approved",
    () =>
      Effect.gen(function* () {
        const web = yield* platform(() => ({ body: '{"workflow":{"latest_revision_id":"r1"}}' }))
        const run = (permission: "ask" | "deny") =>
          Effect.promise(async () => {
            const troupe = await start({
              agents: [
                AgentSpec.make({
                  name: AgentName.make("a"),
                  instructions: "Commit.",
                  tools: ["commit_revision"]
                })
              ],
              toolConfigs: {
                tools: [{ type: "platform", op: "commit_revision", permission }],
                identity: { workflow: { variant_id: "v" } },
                callback: { endpoint: endpointOf(web) },
                context
              },
              model: layer(({ transcript }) =>
                transcript.some(({ role }) => role === "tool")
                  ? text("done")
                  : call("commit_revision", commit("x"))
              )
            })
            const { status } = await troupe.ask({ agent: "a", text: "commit" })
            await troupe.stop()
            return status
          })
        assert.strictEqual(yield* run("deny"), "complete")
        assert.lengthOf(web.seen, 0)
        assert.strictEqual(yield* run("ask"), "awaiting_approval")
        assert.deepStrictEqual(
          web.seen.map(({ url }) => url),
          [context.path]
        )
      })
  )

  it.live("may name the revisions of its references itself", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const { tools } = yield* fileTools({
        endpoint: endpointOf(web),
        tools: [{ type: "reference", slug: "summarize", version: "3" }],
        references: { "workflow.variant.summarize.3": { revision: "rev_3", input_schema } }
      })
      yield* runBody(tools[0], { text: "x" })
      assert.deepStrictEqual(JSON.parse(web.seen[0]?.body ?? ""), {
        data: { inputs: { text: "x" } },
        references: { workflow_revision: { id: "rev_3" } }
      })
    })
  )

  it.live("is refused where what it says of them cannot be right", () =>
    Effect.gen(function* () {
      const web = yield* platform(() => ({ status: 404, body: '{"detail":"no such workflow"}' }))
      const endpoint = endpointOf(web)
      const revision = { revision: "r", input_schema }
      const cases: ReadonlyArray<readonly [document: object, named: RegExp]> = [
        [{ context: "x" }, /context/],
        [{ context: {} }, /context: .*path/s],
        [{ context: { path: 5 } }, /context/],
        [{ context: { path: "//other.example/x" } }, /context/],
        [{ context: { path: "https://other.example/x" } }, /context/],
        [{ context: { path: "/api/../x" } }, /context/],
        [{ context: { path: "/outside" } }, /context: .*outside-mount/],
        [{ context: { path: "/api/{run}" } }, /context: .*path-param-missing/],
        [{ context: { ...context, method: "GET" } }, /context: .*method/s],
        [{ context: { workflow: { latest_revision_id: "r1" } } }, /context/],
        [{ context, endpoint: undefined }, /context: .*endpoint/],
        [{ references: [] }, /references/],
        [{ references: { path: "/api/x", also: 1 } }, /references: .*also/s],
        [{ references: { summarize: revision } }, /references: "summarize"/],
        [{ references: { "tools.agenta.x": revision } }, /references: "tools.agenta.x"/],
        [{ references: { "workflow.variant.a": { revision: "r" } } }, /workflow.variant.a/],
        [{ tools: tools.slice(1), references: {} }, /summarize/],
        [{ tools: tools.slice(1), references }, /summarize: .*HTTP 404: no such workflow/]
      ]
      for (const [document, named] of cases) {
        const refused = yield* Effect.flip(fileTools({ endpoint, tools: [], ...document }))
        assert.match(refused.message, named, JSON.stringify(document))
      }
      assert.deepStrictEqual(
        web.seen.map(({ url }) => url),
        [references.path]
      )
    })
  )
})
