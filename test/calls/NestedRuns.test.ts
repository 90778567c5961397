/** Runs that start one another through a workflow of the reference host platform: how deep, and at whose expense. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Answer } from "../../layers/compose/promises/Answer.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, calls, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as HostPlatform from "./host/HostPlatform.ts"
import type { Ran } from "./host/Workflows.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Json } from "../../src/value/Canonical.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { CallSettled, RunAccepted, RunEvent } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import * as Homes from "../process/Homes.ts"

const boss = new Principal({ id: "boss", tenant: Tenant.make("default"), roles: ["operator"] })
const authorization = "ApiKey of nested runs"

/** A platform whose one workflow sends its text to an agent, as the request's `baggage` says. */
const nesting = (run: (text: string, baggage: string | undefined) => Promise<Ran>) =>
  HostPlatform.start({
    authorization,
    workflows: [
      {
        id: "workflow-think",
        slug: "think",
        name: "Thinks",
        variant: "variant-think",
        revision: "variant-think-r1",
        data: {},
        input_schema: {
          type: "object",
          properties: { text: { type: "string" } },
          required: ["text"]
        },
        run: ({ text }, { baggage }) => run(String(text), baggage)
      }
    ]
  })

const agentOf = (name: string, limits: Partial<RunLimits>) =>
  AgentSpec.make({
    name: AgentName.make(name),
    instructions: "Think.",
    tools: ["think"],
    limits: RunLimits.make(limits)
  })

interface Scene {
  readonly agents: Options["agents"]
  readonly permission?: "allow" | "ask"
  readonly store?: Options["store"]
  readonly model?: Options["model"]
}

/** Calls the workflow in its first turn, and then answers with what became of that. Each turn has 100 tokens. */
const thinking = (times = 1) =>
  layer(({ transcript }) => {
    const usage = { input_tokens: 60, output_tokens: 40 }
    const last = transcript.at(-1)
    if (last?.role === "tool") return text(JSON.stringify(last), { usage })
    const turn = call("think", { text: "again" })
    return times === 1
      ? { ...turn, usage }
      : calls(
          Array.from({ length: times }, (_, n) => call("think", { text: `again ${n}` })),
          { usage }
        )
  })

const open = (platform: HostPlatform.HostPlatform, scene: Scene) =>
  start({
    agents: scene.agents,
    model: scene.model ?? thinking(),
    ...(scene.store === undefined ? undefined : { store: scene.store }),
    toolConfigs: {
      tools: [{ type: "reference", slug: "think", permission: scene.permission ?? "allow" }],
      callback: { endpoint: platform.endpoint, authorization },
      references: platform.reference
    }
  })

const ranOf = (answer: Answer): Ran => ({
  outputs: answer.text ?? "",
  ...("usage" in answer && answer.usage !== undefined
    ? { usage: answer.usage as unknown as Json }
    : undefined)
})

const eventsOf = async (troupe: NodeService, run: string): Promise<ReadonlyArray<RunEvent>> => {
  const events: Array<RunEvent> = []
  for await (const item of troupe.watch(run)) {
    if (item._tag === "Event") events.push(item.entry.event)
    if (item._tag === "CaughtUp") break
  }
  return events
}

const acceptedOf = (events: ReadonlyArray<RunEvent>) =>
  events.find((event): event is RunAccepted => event._tag === "RunAccepted")
const settledOf = (events: ReadonlyArray<RunEvent>) =>
  events.filter((event): event is CallSettled => event._tag === "CallSettled")
const failureOf = (settled: CallSettled | undefined) =>
  settled?.outcome._tag === "Failed" ? settled.outcome.error : undefined

/** All runs, the first one first, with their events. */
const allRuns = async (troupe: NodeService) =>
  Promise.all(
    (await troupe.runs({}, boss)).toReversed().map(async ({ id }) => eventsOf(troupe, id))
  )

const stores = [
  ["in memory", Effect.succeed("ephemeral" as const)],
  ["in a database", Homes.durable]
] as const

describe("a workflow that an agent invokes", () => {
  for (const [where, storeOf] of stores) {
    it.live(`AG-46 and that calls itself stops at the limit with ToolPolicyError, ${where}`, () =>
      Effect.gen(function* () {
        let troupe: NodeService | undefined
        const heads: Array<string | undefined> = []
        const platform = yield* nesting(async (said, baggage) => {
          heads.push(baggage)
          return ranOf(
            await troupe!.ask({
              agent: "thinker",
              text: said,
              ...(baggage === undefined ? {} : { baggage })
            })
          )
        })
        const store = yield* storeOf
        yield* Effect.promise(async () => {
          troupe = await open(platform, {
            agents: [agentOf("thinker", { nested_depth_max: 2 })],
            store
          })
          try {
            const ended = await troupe.ask({ agent: "thinker", text: "go" })
            assert.strictEqual(ended.status, "complete")
            const runs = await allRuns(troupe)
            assert.deepStrictEqual(
              runs.map((events) => acceptedOf(events)?.nested?.depth),
              [undefined, 1, 2]
            )
            const failure = failureOf(settledOf(runs[2]!)[0])
            assert.strictEqual(failure?.class, "ToolPolicyError")
            assert.strictEqual(failure?.reason, "NESTED_DEPTH_MAX")
            // Nothing was sent for the third: the platform has seen two requests.
            assert.deepStrictEqual(heads, ["troupe.depth=1", "troupe.depth=2"])
            assert.strictEqual(platform.total(), 2)
          } finally {
            await troupe.stop()
          }
        })
      })
    )
  }

  it.live("AG-46 refuses a message that is deeper than its agent takes, as a policy", () =>
    Effect.gen(function* () {
      let troupe: NodeService | undefined
      const refused: Array<unknown> = []
      const platform = yield* nesting(async (said, baggage) => {
        try {
          return ranOf(await troupe!.ask({ agent: "closed", text: said, baggage: baggage! }))
        } catch (error) {
          refused.push(error)
          throw error
        }
      })
      yield* Effect.promise(async () => {
        troupe = await open(platform, {
          agents: [agentOf("thinker", {}), agentOf("closed", { nested_depth_max: 0 })]
        })
        try {
          await troupe.ask({ agent: "thinker", text: "go" })
          assert.deepInclude(refused[0] as object, {
            _tag: "NestedTooDeep",
            depth: 1,
            depth_max: 0
          })
          assert.lengthOf(await troupe.runs({}, boss), 1)
          const baggage = "troupe.depth=9"
          const tooDeep = await troupe
            .send({ agent: "thinker", text: "x", baggage })
            .catch((e) => e)
          assert.strictEqual(tooDeep._tag, "NestedTooDeep")
          for (const wrong of ["troupe.depth=x", 7, { depth: 1 }, "a".repeat(8_193)]) {
            const error = await troupe
              .send({ agent: "thinker", text: "x", baggage: wrong as string })
              .catch((e) => e)
            assert.strictEqual(error._tag, "InvalidInput", String(wrong))
            assert.include(error.field, "baggage")
          }
        } finally {
          await troupe.stop()
        }
      })
    })
  )

  it.live("AG-46 runs within what is left of the outer run, which pays for it", () =>
    Effect.gen(function* () {
      let troupe: NodeService | undefined
      const platform = yield* nesting(async (said, baggage) =>
        ranOf(await troupe!.ask({ agent: "inner", text: said, baggage: baggage! }))
      )
      yield* Effect.promise(async () => {
        // The outer run has 900 tokens left after its first turn, the inner's tool fails at its depth.
        troupe = await open(platform, {
          agents: [
            agentOf("thinker", { tokens_max: 1_000 }),
            agentOf("inner", { nested_depth_max: 1 })
          ]
        })
        try {
          const ended = await troupe.ask({ agent: "thinker", text: "go" })
          assert.strictEqual(ended.status, "complete")
          const [outer, inner] = await allRuns(troupe)
          assert.strictEqual(acceptedOf(inner!)?.limits.tokens_max, 900)
          // Two turns of 100 tokens each.
          const { spent } = settledOf(outer!)[0]!
          assert.deepStrictEqual(
            spent?.uses.map(({ usage }) => usage?.input_tokens),
            [60, 60]
          )
          assert.deepStrictEqual(
            ("usage" in ended ? ended.usage : [])?.map(({ usage }) => usage?.output_tokens),
            [40, 40, 40, 40]
          )
        } finally {
          await troupe.stop()
        }
      })
    })
  )

  it.live("AG-46 stops the outer run by its own budget once it has spent that", () =>
    Effect.gen(function* () {
      const usage = [{ model: "m", turns: 3, usage: { input_tokens: 500, output_tokens: 500 } }]
      const platform = yield* nesting(async () => ({ outputs: "thought", usage }))
      yield* Effect.promise(async () => {
        const troupe = await open(platform, { agents: [agentOf("thinker", { tokens_max: 1_000 })] })
        try {
          const ended = await troupe.ask({ agent: "thinker", text: "go" })
          assert.strictEqual(ended.status, "failed")
          assert.strictEqual("reason" in ended ? ended.reason : "", "tokens_max")
        } finally {
          await troupe.stop()
        }
      })
    })
  )

  it.live("AG-46 counts an answer whose usage cannot be read as a turn without a price", () =>
    Effect.gen(function* () {
      let usage: Json = { input_tokens: 1 }
      const platform = yield* nesting(async () => ({ outputs: "thought", usage }))
      yield* Effect.promise(async () => {
        const troupe = await open(platform, { agents: [agentOf("thinker", {})] })
        try {
          for (const unread of [
            { input_tokens: 1 },
            "many",
            [{ usage: { input_tokens: "1", output_tokens: 1 } }],
            Array.from({ length: 65 }, () => ({}))
          ] as ReadonlyArray<Json>) {
            usage = unread
            const { run } = await troupe.ask({ agent: "thinker", text: "go" })
            const { spent } = settledOf(await eventsOf(troupe, run))[0]!
            assert.deepStrictEqual(spent?.uses, [{ model: "" }], JSON.stringify(unread))
          }
        } finally {
          await troupe.stop()
        }
      })
    })
  )

  it.live("AG-46 divides what is left among the calls of one turn", () =>
    Effect.gen(function* () {
      const heads: Array<string | undefined> = []
      const platform = yield* nesting(async (_, baggage) => {
        heads.push(baggage)
        return { outputs: "thought" }
      })
      yield* Effect.promise(async () => {
        const troupe = await open(platform, {
          agents: [agentOf("thinker", { tokens_max: 1_000 })],
          model: thinking(3)
        })
        try {
          await troupe.ask({ agent: "thinker", text: "go" })
          const tokens = heads.map((head) => Number(/troupe\.tokens=(\d+)/.exec(head ?? "")?.[1]))
          assert.lengthOf(tokens, 3)
          assert.isAtMost(tokens[0]!, 300)
        } finally {
          await troupe.stop()
        }
      })
    })
  )

  it.live("AG-46 has its depth after a restart", () =>
    Effect.gen(function* () {
      const heads: Array<string | undefined> = []
      const platform = yield* nesting(async (_, baggage) => {
        heads.push(baggage)
        return { outputs: "thought" }
      })
      const store = yield* Homes.durable
      const scene: Scene = {
        agents: [agentOf("thinker", { tokens_max: 10_000 })],
        permission: "ask",
        store
      }
      yield* Effect.promise(async () => {
        const first = await open(platform, scene)
        const baggage = "user=1,troupe.depth=2,troupe.tokens=700"
        const asked = await first.ask({ agent: "thinker", text: "go", baggage })
        assert.strictEqual(asked.status, "awaiting_approval")
        await first.stop()
        const second = await open(platform, scene)
        try {
          const [question] = await second.pending(boss)
          await second.decide(question!.id, { _tag: "Approve" }, boss)
          assert.strictEqual((await second.result(asked.run)).status, "complete")
          assert.deepStrictEqual(heads, ["troupe.depth=3,troupe.tokens=600"])
        } finally {
          await second.stop()
        }
      })
    })
  )
})
