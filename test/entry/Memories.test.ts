import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { MemoriesQuery } from "../../layers/compose/promises/MethodShapes.ts"
import { call, scripted, text } from "../../layers/compose/entries/Testing.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { originOfCall } from "../../src/memory/MemoryRow.ts"
import { MemorySpec } from "../../src/memory/MemoryAnchors.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const of = (tenant: string) =>
  new Principal({ id: "olga", tenant: Tenant.make(tenant), roles: ["operator"] })
const olga = of("acme")

const note = tool(
  {
    namespace: "shop",
    name: "note",
    side_effects: "write",
    permission: "allow",
    input: Schema.Struct({ text: Schema.String }),
    output: Schema.String,
    dependencies: [AgentMemory]
  },
  ({ text }, made) =>
    AgentMemory.use((memory) =>
      memory.remember({ text, tier: "persistent" }, originOfCall(made, "tool"))
    ).pipe(
      Effect.map(() => "noted"),
      Effect.catchTag("MemoryRefused", ({ reason }) => Effect.succeed(reason)),
      Effect.orDie
    )
)

const agent = (name: string, anchor: "workspace" | "operator") =>
  AgentSpec.make({
    name: AgentName.make(name),
    instructions: "Note what is said.",
    tools: ["note"],
    memory: MemorySpec.make({ anchor, recall_tokens_max: 0 })
  })

const model = scripted(({ transcript }) => {
  const [first, , last] = transcript
  if (last?.role === "tool") return text(JSON.stringify(last.outcome))
  return call("note", { text: first?.role === "user" ? first.text : "" })
})

const using = async (use: (troupe: NodeService) => Promise<void>) => {
  const agents = [agent("shop", "workspace"), agent("desk", "operator")]
  const troupe = await start({ agents, tools: [note], model })
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => "done",
    (error: { readonly _tag?: string; readonly field?: string }) =>
      [error._tag, error.field].filter((each) => each !== undefined).join(" ")
  )

const shop = { agent: "shop", conversation: "c-1" }
const texts = async (troupe: NodeService, query: MemoriesQuery, by = olga) =>
  (await troupe.memories(query, by)).map((row) => row.text)

describe("memories of the facade", () => {
  it("are listed page by page, undone by whoever did it, and erased by their subject", () =>
    using(async (troupe) => {
      for (const said of ["Paul likes coffee", "The store opens at nine", "Paula is away"]) {
        await troupe.ask({ ...shop, text: said }, olga)
      }
      // The place is the workspace: another conversation has the same ones.
      const other = { ...shop, conversation: "c-2" }
      const all = ["Paula is away", "The store opens at nine", "Paul likes coffee"]
      assert.deepStrictEqual(await texts(troupe, other), all)
      const [first] = await troupe.memories({ ...other, limit: 1 }, olga)
      assert.strictEqual(first?.text, all[0])
      assert.deepStrictEqual(await texts(troupe, { ...shop, after: first!.id }), all.slice(1))
      assert.deepStrictEqual(await texts(troupe, { ...shop, tier: "session" }), [])

      const undone = await troupe.undoMemory(other, first!.id, olga)
      assert.strictEqual(undone.undone_by, "olga")
      assert.deepStrictEqual(await texts(troupe, shop), all.slice(1))
      assert.deepStrictEqual(await texts(troupe, { ...shop, all: true }), all)

      const { erased } = await troupe.eraseMemories("Paul", olga)
      assert.strictEqual(erased.persistent, 1)
      assert.deepStrictEqual(await texts(troupe, shop), ["The store opens at nine"])
    }))

  it("SA-34 are those of the principal's tenant and of the address alone", () =>
    using(async (troupe) => {
      const mine = { agent: "desk", conversation: "olga:t1" }
      await troupe.ask({ ...mine, text: "The rotation is due" }, olga)
      const [row] = await troupe.memories(mine, olga)
      const id = row!.id
      const pauls = { agent: "desk", conversation: "paul:t1" }
      const stranger = of("other")
      assert.deepStrictEqual(await texts(troupe, pauls), [])
      assert.deepStrictEqual(await texts(troupe, mine, stranger), [])
      assert.strictEqual(await refusal(troupe.undoMemory(pauls, id, olga)), "MemoryRefused")
      assert.strictEqual(await refusal(troupe.undoMemory(mine, id, stranger)), "MemoryRefused")
      const { erased } = await troupe.eraseMemories("rotation", stranger)
      assert.strictEqual(erased.persistent, 0)
      assert.deepStrictEqual(await texts(troupe, mine), ["The rotation is due"])
    }))

  it("ST-51 no copy of a registered text becomes one", () =>
    using(async (troupe) => {
      const law = "A returned article is paid back within fourteen days"
      await troupe.registerText({ name: "returns", text: law }, olga)
      const { text } = await troupe.ask({ ...shop, text: law }, olga)
      assert.include(text, "canonical")
      assert.deepStrictEqual(await texts(troupe, shop), [])
    }))

  it("refuse what is no address, no row, no subject and no text, by its field", () =>
    using(async (troupe) => {
      const wrong = (value: unknown) => value as never
      const cases: ReadonlyArray<readonly [Promise<unknown>, string]> = [
        [troupe.memories(wrong({ agent: "shop" }), olga), "InvalidInput query.conversation"],
        [troupe.memories({ ...shop, limit: 501 }, olga), "InvalidInput query.limit"],
        [troupe.memories({ ...shop, after: "x" }, olga), "InvalidInput query.after"],
        [troupe.memories(wrong({ ...shop, tier: "eternal" }), olga), "InvalidInput query.tier"],
        [troupe.memories(wrong({ ...shop, more: 1 }), olga), "InvalidInput query.more"],
        [troupe.memories({ ...shop, agent: "nobody" }, olga), "AgentNotFound"],
        [troupe.memories(wrong(null), olga), "InvalidInput query"],
        [troupe.undoMemory(shop, "x", olga), "InvalidInput id"],
        [troupe.undoMemory(wrong(7), crypto.randomUUID(), olga), "InvalidInput payload"],
        [troupe.undoMemory(shop, crypto.randomUUID(), olga), "MemoryRefused"],
        [troupe.eraseMemories("", olga), "InvalidInput subject"],
        [troupe.eraseMemories("x".repeat(201), olga), "InvalidInput subject"],
        [troupe.registerText({ name: "n", text: "..." }, olga), "InvalidInput payload.text"],
        [troupe.registerText(wrong({ text: "a law" }), olga), "InvalidInput payload.name"],
        [
          troupe.registerText({ name: "n", text: "a law", threshold: 0 }, olga),
          "InvalidInput payload.threshold"
        ]
      ]
      const told = await Promise.all(cases.map(([promise]) => refusal(promise)))
      assert.deepStrictEqual(
        told,
        cases.map(([, expected]) => expected)
      )
    }))
})
