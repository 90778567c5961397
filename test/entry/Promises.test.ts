/** Functions from JavaScript that answer with a promise where a value at once is asked for: its rejection ends no process. */
import { Effect, Layer, Schema } from "effect"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import * as z from "zod"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const unhandled: Array<unknown> = []
const listener = (reason: unknown) => void unhandled.push(reason)

beforeAll(() => void process.on("unhandledRejection", listener))
afterAll(() => void process.off("unhandledRejection", listener))
beforeEach(() => void (unhandled.length = 0))

const rejects = async () => Promise.reject(new Error("nobody waits for it"))

const look = {
  namespace: "shop",
  name: "look",
  description: "Looks.",
  side_effects: "read"
} as const
const shop = AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["look"] })
const looks = scripted(({ transcript }) =>
  transcript.some(({ role }) => role === "tool") ? text("done") : call("look", { at: "no address" })
)

/** The end of a run, and the result of its call. */
const outcomeOf = async (options: Partial<Options>) => {
  const troupe = await start({ agents: [shop], model: looks, telemetry: false, ...options })
  const { reason, run, status } = await troupe
    .ask({ agent: "shop", text: "Look" })
    .then((answer) => (answer.status === "awaiting_approval" ? { ...answer, reason: "" } : answer))
  const errors: Array<unknown> = []
  for await (const item of troupe.watch(run)) {
    const event = item._tag === "Event" ? item.entry.event : undefined
    if (event?._tag !== "CallSettled" || event.outcome._tag !== "Failed") continue
    errors.push(event.outcome.error.reason)
  }
  // A rejection that nobody handles is told after the microtasks of its turn.
  await new Promise((resolve) => setImmediate(resolve))
  await troupe.stop()
  return { errors, reason, status }
}

describe("a promise that is rejected, and that nobody asked for", () => {
  it("of a schema of zod, one of whose functions throws, is a refusal", async () => {
    const input = z.object({ at: z.string().transform((text) => new URL(text)) })
    const tools = [tool({ ...look, input }, () => "seen")]
    const ended = await outcomeOf({ tools })
    assert.deepInclude(ended, { status: "complete", errors: ["INPUT_SCHEMA"] })
    assert.deepStrictEqual(unhandled, [])
  })

  it("of a permission fails the call", async () => {
    const input = Schema.Struct({ at: Schema.String })
    const tools = [tool({ ...look, input, permission: rejects as never }, () => "seen")]
    assert.deepInclude(await outcomeOf({ tools }), { status: "complete", errors: ["DEFECT"] })
    assert.deepStrictEqual(unhandled, [])
  })

  const named = { name: "shop", instructions: "Help." }
  const functions = {
    instructions: agent({ ...named, instructions: rejects as never }),
    tools: agent({ ...named, tools: { look: rejects as never } })
  }
  for (const [name, declared] of Object.entries(functions)) {
    it(`of a function of an agent fails the run: ${name}`, async () => {
      const tools = [tool(look, () => "seen")]
      const ended = await outcomeOf({ agents: [declared], tools })
      assert.deepInclude(ended, { status: "failed", reason: "agent_function" })
      assert.deepStrictEqual(unhandled, [])
    })
  }

  it("of a model gateway fails the run", async () => {
    const model = Layer.succeed(ModelGateway, { turn: rejects as never })
    const tools = [tool(look, () => "seen")]
    const ended = await outcomeOf({ model, tools })
    assert.deepInclude(ended, { status: "failed", reason: "model_defect" })
    assert.deepStrictEqual(unhandled, [])
  })
})

describe("a turn that is none", () => {
  const hostile = new Proxy({}, { get: () => assert.fail("it is read") })
  for (const [name, turn] of Object.entries({ undefined, null: null, text: "yes", hostile })) {
    for (const wait_ms of [0, 5]) {
      it(`fails the run, and neither its actor nor the process: ${name}, after ${wait_ms} ms`, async () => {
        const given = Effect.succeed(turn as never)
        const model = Layer.succeed(ModelGateway, {
          turn: () => (wait_ms === 0 ? given : Effect.delay(given, wait_ms))
        })
        const tools = [tool(look, () => "seen")]
        const ended = await outcomeOf({ model, tools })
        assert.deepInclude(ended, { status: "failed", reason: "model_defect" })
      })
    }
  }
})
