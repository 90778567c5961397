/** Tools that a model's provider runs by itself: what a run's turns are offered, and what becomes of those they were not. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Layer, Result } from "effect"
import type { ProviderTools } from "../../src/agent/ProviderTools.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { compilePriceTable } from "../../src/cost/PriceTable.ts"
import { Policy } from "../../src/permission/Policy.ts"
import type { ProviderRan } from "../../src/run/ProviderWork.ts"
import type { ModelSettings } from "../../src/agent/ModelSettings.ts"
import { KillSwitch } from "../../services/KillSwitch.ts"
import { PriceBook } from "../../services/PriceBook.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { createOpenAI } from "@ai-sdk/openai"
import * as H from "./Harness.ts"

const ran = (name: string, more: Partial<ProviderRan> = {}): ProviderRan => ({
  id: name,
  name,
  arguments: "{}",
  arguments_units: 2,
  ...more
})
const url = "https://mcp.example.com/sse"
const github = { tool: "mcp", server: "github", url } as const
const all: ProviderTools = ["web_search", "code_execution", github]
const opened = Policy.make({ servers: { "mcp:github": "allow" } })

/** The names that each turn was offered. */
const offered = Effect.map(H.requests, (requests) =>
  requests.map(({ provider_tools = [] }) => provider_tools.map(({ tool }) => tool))
)

const whole = (
  provider_tools: ProviderTools,
  script: H.Options["script"],
  more: Partial<H.Options> = {}
): H.Options => ({ agent: { provider_tools, ...more.agent }, script, ...more })

describe("a provider's tool", () => {
  it.live("is offered to every turn of its agent, and what came of it is in the journal", () =>
    Effect.gen(function* () {
      const used = { ...ran("web_search"), result: '{"found":1}', result_units: 11 }
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(yield* offered, [["web_search"], ["web_search"]])
      const turns = all.filter((event) => event._tag === "ModelTurned")
      assert.deepStrictEqual(turns[0]?.ran, [used])
      assert.deepInclude(H.end(all), {
        status: "complete",
        sources: [{ url: "https://example.org/a" }]
      })
    }).pipe(
      Effect.provide(
        H.layer(
          whole(
            ["web_search"],
            [
              {
                ...call("look", { n: 1 }),
                ran: [{ ...ran("web_search"), result: '{"found":1}', result_units: 11 }]
              },
              { ...text("done"), sources: [{ url: "https://example.org/a" }] }
            ],
            { tools: { look: H.reads((n) => Effect.succeed(n)) } }
          )
        )
      )
    )
  )

  it.live("that ran without being declared ends the run, and no call of its turn runs", () => {
    const done: Array<number> = []
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { status: "failed", reason: "undeclared_provider_tool" })
      const outcome = H.outcome(all)
      assert.strictEqual(
        outcome?._tag === "Failed" ? outcome.error.reason : undefined,
        "UNDECLARED_PROVIDER_TOOL"
      )
      const turned = all.find((event) => event._tag === "ModelTurned")
      assert.deepInclude(turned, { undeclared: "python" })
      assert.deepStrictEqual(done, [])
    }).pipe(
      Effect.provide(
        H.layer(
          whole(
            ["web_search"],
            [{ ...call("look", { n: 1 }), ran: [ran("web_search"), ran("python")] }],
            { tools: { look: H.reads((n) => Effect.sync(() => done.push(n))) } }
          )
        )
      )
    )
  })

  it.live(
    "is for those whom policy, roles and groups allow it, and for nobody while tools are stopped",
    () => {
      const policy = Policy.make({
        servers: { "mcp:github": "allow" },
        rules: [
          { pattern: "web_search", permission: "deny", roles: ["viewer"] },
          { pattern: "code_execution", permission: "ask", roles: ["viewer"] },
          // What is searched is not seen before, so that the rule holds for every search.
          { pattern: "web_search(secret:*)", permission: "deny", roles: ["operator"] }
        ]
      })
      const options = whole(all, () => text("done"), { policy })
      const asked = (id: string, by: typeof H.alice) =>
        Effect.asVoid(Effect.flatMap(H.send("hello", id, by), (run) => H.ended(run, id, by)))
      return Effect.gen(function* () {
        yield* asked("c-1", H.person("vic", ["operator", "viewer"]))
        yield* asked("c-2", H.person("olga", ["operator"]))
        const stops = H.person("otto", ["operator"])
        yield* KillSwitch.use(({ turn }) => turn(true, stops))
        yield* asked("c-3", H.alice)
        yield* KillSwitch.use(({ turn }) => turn(false, stops))
        const by = H.person("ann", ["admin"])
        yield* asked("c-4", by)
        assert.deepStrictEqual(yield* offered, [
          ["mcp"],
          ["code_execution", "mcp"],
          [],
          // An admin has every role, and what each of them is denied.
          ["mcp"]
        ])
      }).pipe(Effect.provide(H.layer(options)))
    }
  )

  it.live("belongs to a group, and is for the roles that have the group", () => {
    const groups_by_role = { operator: ["network" as const] }
    const agent = { provider_tools: all, groups: ["network" as const, "inspect" as const] }
    const options = whole(all, () => text("done"), {
      policy: opened,
      agent: { ...agent, groups_by_role }
    })
    return Effect.gen(function* () {
      const by = H.person("olga", ["operator"])
      yield* H.ended(yield* H.send("hello", "c-1", by), "c-1", by)
      assert.deepStrictEqual(yield* offered, [["web_search", "mcp"]])
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("counts as a call and costs what a use of it costs", () => {
    const usage = { input_tokens: 1_000_000, output_tokens: 0 }
    const prices = Result.getOrThrow(
      compilePriceTable({
        version: "v1",
        currency: "USD",
        prices: [{ model: "*", input: "1", output: "1" }],
        uses: [
          { tool: "web_search", price: "0.01" },
          { tool: "web_search", price: "0.02", model: "dear*" }
        ]
      })
    )
    const costs = (model: string, uses: ReadonlyArray<ProviderRan>) =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        const turned = all.find((event) => event._tag === "ModelTurned")
        assert.deepInclude(H.end(all), { status: "failed", reason: "calls_max" })
        return turned?.cost
      }).pipe(
        Effect.provide(
          H.layer(
            whole(
              ["web_search", "code_execution"],
              [{ ...call("look", { n: 1 }), ran: uses, usage, model }, text("done")],
              {
                tools: { look: H.reads((n) => Effect.succeed(n)) },
                agent: {
                  provider_tools: ["web_search", "code_execution"],
                  limits: { calls_max: 2 }
                }
              }
            )
          ).pipe(Layer.provide(Layer.succeed(PriceBook, prices)))
        )
      )
    return Effect.gen(function* () {
      const two = [ran("web_search"), ran("google_search"), ran("web_search", { failed: true })]
      assert.deepInclude(yield* costs("cheap", two), { _tag: "Priced", amount: "1.02" })
      assert.deepInclude(yield* costs("dearest", two), { _tag: "Priced", amount: "1.04" })
      const unpriced = [ran("web_search"), ran("python")]
      assert.deepInclude(yield* costs("cheap", unpriced), { _tag: "Unpriced", reason: "no_price" })
    })
  })
})

describe("a start", () => {
  const failure = (
    provider_tools: ProviderTools,
    more: Partial<H.Options> & { readonly model_settings?: ModelSettings } = {}
  ) => {
    const { model_settings, ...rest } = more
    const agent = { provider_tools, ...(model_settings === undefined ? {} : { model_settings }) }
    return Effect.map(
      Effect.exit(
        Effect.scoped(Layer.build(H.layer(whole(provider_tools, [], { ...rest, agent }))))
      ),
      (exit) => (exit._tag === "Success" ? "" : String(Cause.squash(exit.cause)))
    )
  }

  it.live("refuses a tool that would ask, a name twice or taken", () =>
    Effect.gen(function* () {
      const asks = yield* failure([github])
      assert.include(asks, 'Allow it (servers: { "mcp:github": "allow" })')
      assert.include(
        yield* failure(["web_search"], {
          policy: Policy.make({ approval_required: ["web_search"] })
        }),
        "Nobody can be asked"
      )
      assert.include(
        yield* failure([{ tool: "code_execution", settings: { openai: { container: "cntr_1" } } }]),
        "Nobody can be asked"
      )
      assert.include(yield* failure(["web_search", { tool: "web_search" }]), "declared twice")
      const own = { web_search: H.reads((n) => Effect.succeed(n)) }
      assert.include(yield* failure(["web_search"], { tools: own }), "has the name web_search")
      assert.strictEqual(yield* failure([github], { policy: opened }), "")
      assert.strictEqual(
        yield* failure(["web_search"], {
          policy: Policy.make({ rules: [{ pattern: "web_search", permission: "deny" }] })
        }),
        ""
      )
    })
  )

  it.live("refuses what cannot be read, and a model whose provider has no such tool", () =>
    Effect.gen(function* () {
      const agents = (provider_tools: ProviderTools) => [
        AgentSpec.make({ name: "shop", instructions: "Help.", provider_tools })
      ]
      const model = createOpenAI({ apiKey: "k" }).chat("gpt")
      const started = yield* Effect.promise(() =>
        start({ agents: agents(["web_search"]), model }).then(() => "", String)
      )
      assert.include(started, "openai.chat has no tool web_search")
      const mcpServers = [{ type: "url", name: "x", url }]
      const around = AgentSpec.make({
        name: "shop",
        instructions: "Help.",
        model_settings: { provider_options: { anthropic: { mcpServers } } }
      })
      const refused = yield* Effect.promise(() =>
        start({ agents: [around], model }).then(() => "", String)
      )
      assert.include(
        refused,
        "anthropic.mcpServers of agent shop: tools that the provider runs are"
      )
      const odd = [
        "web",
        { tool: "mcp", server: "a b", url },
        { tool: "mcp", server: "a", url: "http://mcp.example.com" },
        { tool: "mcp", server: "a", url: "https://me:pass@mcp.example.com" },
        { tool: "web_search", allowed_domains: [] },
        { tool: "web_search", more: 1 },
        { tool: "code_execution", settings: { openai: { text: "x".repeat(20_000) } } }
      ]
      for (const each of odd) {
        const spec = { name: "shop", instructions: "Help.", provider_tools: [each] } as never
        const said = yield* Effect.promise(() =>
          start({ agents: [spec], model }).then(() => "", String)
        )
        assert.include(said, "provider_tools", JSON.stringify(each).slice(0, 80))
      }
    })
  )
})
