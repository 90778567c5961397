/** What an actor remembers, separate from every other actor. */
import { assert, describe, it } from "@effect/vitest"
import type { Layer } from "effect"
import { Effect } from "effect"
import { AgentMemory } from "../../services/AgentMemory.ts"
import type { Address, Tenant } from "../../src/Ids.ts"
import * as Samples from "./Samples.ts"

const remember = (...texts: ReadonlyArray<string>) =>
  Effect.flatMap(AgentMemory, (memory) => Effect.forEach(texts, memory.remember))
const recall = (limit: number) => Effect.flatMap(AgentMemory, (memory) => memory.recall(limit))

/** `answer` builds the memory of an address of a tenant; all memories are over one store. */
export const agentMemoryContract = <E>(
  name: string,
  answer: (tenant: Tenant, address: Address) => Layer.Layer<AgentMemory, E>
): void => {
  describe(`AgentMemory (${name})`, () => {
    it.live("recalls the newest first, at most as many as asked for", () =>
      Effect.gen(function* () {
        yield* remember("a", "b", "c")
        const two = yield* recall(2)
        assert.deepStrictEqual(
          two.map((memory) => memory.text),
          ["c", "b"]
        )
        assert.isAbove(two[0]!.at, 0)
        assert.strictEqual((yield* recall(10)).length, 3)
        assert.deepStrictEqual(yield* recall(0), [])
      }).pipe(Effect.provide(answer(Samples.acme, Samples.newTask().address)))
    )

    it.live("keeps 1,000 and drops the oldest first", () =>
      Effect.gen(function* () {
        yield* remember(...Array.from({ length: 1_003 }, (_, i) => `m${i}`))
        const all = yield* recall(5_000)
        assert.strictEqual(all.length, 1_000)
        assert.strictEqual(all[0]!.text, "m1002")
        assert.strictEqual(all.at(-1)!.text, "m3")
      }).pipe(Effect.provide(answer(Samples.acme, Samples.newTask().address)))
    )

    it.live("SA-02 two addresses share nothing", () =>
      Effect.gen(function* () {
        const [a, b] = [Samples.newTask().address, Samples.newTask().address]
        yield* Effect.provide(remember("only a"), answer(Samples.acme, a))
        assert.deepStrictEqual(yield* Effect.provide(recall(10), answer(Samples.acme, b)), [])
      })
    )

    it.live("one address of two tenants is two memories", () =>
      Effect.gen(function* () {
        const { address } = Samples.newTask()
        const [a, b] = [Samples.tenant(), Samples.tenant()]
        yield* Effect.provide(remember("only a"), answer(a, address))
        assert.deepStrictEqual(yield* Effect.provide(recall(10), answer(b, address)), [])
        assert.strictEqual((yield* Effect.provide(recall(10), answer(a, address))).length, 1)
      })
    )
  })
}
