/** What `start` is given from JavaScript: whatever is no option is named, and nothing was opened for it. */
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { afterAll, assert, describe, it } from "vitest"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { gatewayOf } from "../../layers/model/plan/ModelPlan.ts"
import * as ResilientModelGateway from "../../layers/model/plan/ResilientModelGateway.ts"
import { layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"

const home = mkdtempSync(join(tmpdir(), "troupe-options-"))
afterAll(() => rmSync(home, { recursive: true }))

const directory = join(home, "store")
const shop = AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help." })
const whole: Options = { agents: [shop], model: layer(() => text("hello")), store: { directory } }

const server = { namespace: "files", transport: "stdio", program: "/bin/false" }
const price = { model: "*", input: "1", output: "1" }

interface Rejected {
  readonly _tag?: string
  readonly field?: string
  readonly message?: string
  readonly reason?: string
}

const refused = (options: unknown): Promise<Rejected> =>
  start(options as Options).then(
    async (troupe) => {
      await troupe.stop()
      return { _tag: "started" }
    },
    (error: Rejected) => error
  )

const wrong: ReadonlyArray<readonly [field: string, given: Record<string, unknown>]> = [
  ["agents", { agents: undefined }],
  ["agents", { agents: "shop" }],
  ["agents.0", { agents: ["shop"] }],
  ["model", { model: undefined }],
  ["model", { model: "gpt" }],
  ["model", { model: "" }],
  ["model", { model: [] }],
  ["model", { model: ["openai/gpt-5", "gpt"] }],
  ["model", { model: Array.from({ length: 65 }, () => "openai/gpt-5") }],
  ["model", { model: [whole.model] }],
  ["model", { model: { specificationVersion: "v3", doStream: () => {}, doGenerate: () => {} } }],
  ["model", { model: { specificationVersion: "v4" } }],
  ["tokenizer", { tokenizer: {} }],
  ["ports", { ports: {} }],
  ["ingress", { ingress: {} }],
  ["tools", { tools: {} }],
  ["tools.0", { tools: [() => "x"] }],
  ["shared.0", { shared: ["x"] }],
  ["shared.0.tools", { shared: [{ manifest: {}, tools: [] }] }],
  ["shared.0.also", { shared: [{ manifest: {}, tools: whole.model, also: 1 }] }],
  ["deliveries.0", { deliveries: [{}] }],
  ["graphs.0", { graphs: [7] }],
  ["store", { store: "memory" }],
  ["store", { store: "" }],
  ["store", { store: { directory: "" } }],
  ["store", { store: { directory, also: true } }],
  ["store", { store: { postgres: "localhost:5432" } }],
  ["store", { store: { postgres: Redacted.make("postgres://x") } }],
  ["store", { store: { postgres: undefined } }],
  ["store", { store: { postgres: "mysql://h/d" } }],
  ["store", { store: { postgres: "postgres://h/d", connections_max: 4 } }],
  ["store", { store: { postgres: "postgres://h/d", statement_timeout_ms: "1000" } }],
  ["store", { store: { postgres: "postgres://h/d", answer_timeout_ms: 1.5e9 } }],
  ["store", { store: { postgres: "postgres://h/d", answer_timeout_ms: "2 hours" } }],
  ["files.unsent_ms", { files: { unsent_ms: "1 second" } }],
  ["files.unsent_ms", { files: { unsent_ms: { minutes: 5 } } }],
  ["drain_ms", { drain_ms: -1 }],
  ["drain_ms", { drain_ms: "2 hours" }],
  ["retention.runs_ms", { retention: { runs_ms: "Infinity" } }],
  ["events.retention_ms", { events: { agent: "shop", retention_ms: "a month" } }],
  ["http.stall_ms", { http: { port: 0, tokens: [], stall_ms: "soon" } }],
  ["http.settings.heartbeat_ms", { http: { tokens: [], settings: { heartbeat_ms: [5, 0] } } }],
  ["store", { store: { postgres: "postgres://h/d", toString: 1_000 } }],
  ["retention", { retention: true }],
  ["retention", { retention: {}, store: "ephemeral" }],
  ["retention", { retention: {}, store: undefined }],
  ["retention.runs_ms", { retention: { runs_ms: 86_399_999 } }],
  ["retention.records_ms", { retention: { records_ms: "soon" } }],
  ["retention.archive", { retention: { archive: "" } }],
  ["retention.costs_ms", { retention: { costs_ms: 86_400_000 } }],
  ["observe.record", { observe: { record: "yes" } }],
  ["policy", { policy: "ask" }],
  ["prices", { prices: 7 }],
  ["customer_agents", { customer_agents: "shop" }],
  ["customer_agents.0", { customer_agents: ["a b"] }],
  ["customer_agents.1", { customer_agents: ["shop", "shpo"] }],
  ["telemetry", { telemetry: "on" }],
  ["telemetry", { telemetry: { endpoint: 1 } }],
  ["telemetry.endpoint", { telemetry: { endpoint: "nope" } }],
  ["telemetry.endpoint", { telemetry: { endpoint: "collector:4318" } }],
  ["telemetry", { telemetry: { url: "http://127.0.0.1:4318" } }],
  ["mcp", { mcp: [] }],
  ["mcp.allow", { mcp: { servers: [] } }],
  ["mcp.also", { mcp: { servers: [], allow: {}, also: 1 } }],
  ["mcp.servers.0", { mcp: { servers: ["files"], allow: {} } }],
  ["mcp.servers.0", { mcp: { servers: [{ ...server, shell: true }], allow: {} } }],
  ["mcp.allow.commands", { mcp: { servers: [server], allow: { commands: "any" } } }],
  ["mcp.allow.everything", { mcp: { servers: [server], allow: { everything: true } } }],
  ["agent", { agent: shop }],
  ["Store", { Store: "ephemeral" }]
]

describe("a definition that is made", () => {
  const wrong: ReadonlyArray<readonly [field: string, make: () => unknown]> = [
    ["name", () => AgentSpec.make({ name: "Shop", instructions: "Help." })],
    ["name", () => agent({ name: "Shop", instructions: "Help." })],
    ["instructions", () => AgentSpec.make({ name: "shop" } as never)],
    ["tools.1", () => AgentSpec.make({ name: "shop", instructions: "", tools: ["a", 7] } as never)],
    ["steps_max", () => RunLimits.make({ steps_max: 0 })],
    ["options", () => AgentSpec.make(undefined as never)]
  ]
  it.each(wrong)("names %s where that is wrong", (field, make) => {
    let thrown: unknown
    try {
      make()
    } catch (error) {
      thrown = error
    }
    assert.instanceOf(thrown, InvalidInput)
    assert.strictEqual(thrown.field, field)
    assert.isNotEmpty(thrown.message)
  })
})

describe("a bound on cost that cannot be kept", () => {
  const gateway = gatewayOf(layer(() => text("hello")))
  const asked = (names: ReadonlyArray<string>) =>
    ResilientModelGateway.layer(
      Effect.map(gateway, (each) => ({
        models: names.map((name) => ({ name, provider: "p", gateway: each, model: name }))
      }))
    )
  const started = (
    models: ReadonlyArray<string>,
    prices: object | undefined,
    more: Partial<AgentSpec> = {}
  ) => {
    const limits = RunLimits.make({ cost_max: "0.50" })
    const agents = [AgentSpec.make({ ...shop, limits, ...more })]
    const { store: _, ...rest } = whole
    return refused({ ...rest, agents, model: asked(models), ...(prices && { prices }) })
  }
  const table = (model: string, uses: ReadonlyArray<object> = []) => ({
    version: "1",
    currency: "USD",
    prices: [{ ...price, model }],
    uses
  })

  it("ends the start where a model that may take a turn has no price, and names it", async () => {
    assert.strictEqual((await started(["m"], undefined)).field, "limits.cost_max")
    for (const models of [["other"], ["m", "other"]]) {
      const error = await started(models, table("m"))
      assert.strictEqual(error._tag, "MisdeclaredAgent")
      assert.strictEqual(error.field, "limits.cost_max")
      assert.include(error.message, '"other"')
      assert.include(error.message, "cost_unknown")
    }
    const named = await started(["m"], table("m"), { model: "other" })
    assert.include(named.message, '"other"')
  })

  it("ends the start where a tool that the provider runs has no price", async () => {
    const provider_tools = ["web_search"] as const
    const error = await started(["m"], table("*"), { provider_tools })
    assert.include(error.message, "web_search")
    const uses = [{ tool: "web_search", price: "0.01" }]
    assert.strictEqual((await started(["m"], table("*", uses), { provider_tools }))._tag, "started")
  })

  it("starts where all of them have one", async () => {
    assert.strictEqual((await started(["m", "n"], table("*")))._tag, "started")
    assert.strictEqual(
      (await started(["other"], table("m"), { limits: shop.limits }))._tag,
      "started"
    )
  })
})

describe("the members of a definition that are undefined", () => {
  // Of JavaScript, and of TypeScript without exactOptionalPropertyTypes.
  const absent = { model: undefined, limits: undefined, memory: undefined } as object

  it("are treated as absent where it is made", () => {
    const plain = { name: "shop", instructions: "Help." }
    assert.deepStrictEqual(AgentSpec.make({ ...plain, ...absent }), AgentSpec.make(plain))
    const settings = AgentSpec.make({
      ...plain,
      model_settings: { temperature: undefined } as never
    })
    assert.deepStrictEqual(settings.model_settings, {})
    assert.notProperty(RunLimits.make({ cost_max: undefined } as never), "cost_max")
    const made = agent({ ...plain, ...absent })
    assert.notProperty(made, "model")
    assert.throws(() => AgentSpec.make({ ...plain, tools: [undefined] } as never), InvalidInput)
  })

  it("are treated as absent by a start", async () => {
    const { store: _, ...rest } = whole
    const agents = [{ name: "shop", instructions: "Help.", ...absent }]
    assert.strictEqual((await refused({ ...rest, agents }))._tag, "started")
  })
})

describe("the options of a start", () => {
  for (const [field, given] of wrong) {
    it(`are refused for ${field} where it is ${JSON.stringify(given).slice(0, 80)}, and nothing is opened`, async () => {
      const error = await refused({ ...whole, ...given })
      assert.strictEqual(error._tag, "InvalidInput", String((error as Error).stack))
      assert.isTrue(
        error.field === field || error.field!.startsWith(`${field}.`),
        `${error.field}: ${error.message}`
      )
      assert.isNotEmpty(error.message)
      assert.isFalse(existsSync(directory))
    })
  }

  it("that are needed are named where they are missing, with what they may be", async () => {
    const { message: agents } = await refused({ model: whole.model })
    assert.include(agents, "start: agents is missing: a list of what `AgentSpec.make`")
    const { message: model } = await refused({ agents: whole.agents })
    assert.include(model, "start: model is missing: a text provider/model, ")
  })

  it("must be an object", async () => {
    for (const given of [undefined, null, "x", 7, [], [whole]]) {
      const error = await refused(given)
      assert.deepInclude(error, { _tag: "InvalidInput" })
    }
  })

  it("are refused with the possible stores where a store's URL is absent, or is of another kind", async () => {
    for (const postgres of [undefined, "mysql://h/d"]) {
      const { field, message } = await refused({ ...whole, store: { postgres } })
      assert.strictEqual(field, "store")
      assert.include(message, "postgres://")
    }
  })

  it("are refused with the existing agents, graphs included, where customer_agents names another", async () => {
    const graph = { name: "refunds", nodes: [{ id: "a", kind: "tool", tool: "a", out: "b" }] }
    const graphs = [JSON.stringify(graph)]
    const error = await refused({ ...whole, graphs, customer_agents: ["refunds", "shpo"] })
    assert.deepInclude(error, {
      _tag: "InvalidInput",
      field: "customer_agents.1",
      reason: 'there is no agent "shpo". There is: shop, refunds.'
    })
  })

  it("are refused without the secrets of a connection", async () => {
    const error = await refused({ ...whole, store: { postgres: "mysql://u:hunter2@h/d" } })
    assert.notInclude(JSON.stringify(error), "hunter2")
  })

  it("are refused with errors of their own for agents, a policy and prices, and nothing is opened", async () => {
    const errors = [
      await refused({ ...whole, agents: [{ ...shop, steps_max: 3 }] }),
      await refused({ ...whole, policy: { mode: "perhaps" } }),
      await refused({ ...whole, prices: { version: "1", currency: "usd", prices: [price] } })
    ]
    assert.deepStrictEqual(
      errors.map(({ _tag }) => _tag),
      ["MisdeclaredAgent", "MisdeclaredPolicy", "MisdeclaredPrice"]
    )
    assert.isFalse(existsSync(directory))
  })

  it("that nobody knows are refused with the one that was probably meant", async () => {
    for (const [given, reason] of [
      [{ tool: [] }, 'there is no such member. Did you mean "tools"?'],
      [{ custmer_agents: [] }, 'there is no such member. Did you mean "customer_agents"?'],
      [{ http: { tokens: [], hosst: "x" } }, 'there is no such member. Did you mean "host"?'],
      [{ zebra: 1 }, "there is no such member. There is: agents, graphs, tools, "]
    ] as const) {
      const error = await refused({ ...whole, ...given })
      assert.strictEqual(error._tag, "InvalidInput")
      assert.include(error.reason, reason)
    }
  })

  it("that are undefined are treated as absent", async () => {
    const { store: _, ...rest } = whole
    const nothing = { store: undefined, mcp: undefined, observe: undefined, tools: undefined }
    assert.strictEqual((await refused({ ...rest, ...nothing }))._tag, "started")
  })
})
