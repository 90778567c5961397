/** An embedder that misbehaves: a memory is stored and recalled without its vectors, and operators are told. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as EphemeralMemoryStore from "../../layers/ephemeral/EphemeralMemoryStore.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { EmbeddingFailed, MemoryEmbedder } from "../../services/MemoryEmbedder.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"

type Embed = MemoryEmbedder["embed"]

/** What is remembered and then recalled with it, within 20 s, and what the log says. */
const recalledWith = (embed: Embed) => {
  const log: Array<string> = []
  return Effect.gen(function* () {
    const memory = yield* AgentMemory
    const work = Effect.gen(function* () {
      const text = "a pot of tea was made"
      yield* memory.remember(
        { text, tier: "session" },
        { source: "event_handler", author: "event" }
      )
      const { lines } = yield* memory.recall({ text: "tea", tokens_max: 500 })
      return lines.map((line) => line.text)
    })
    const fiber = yield* Effect.forkChild(work)
    yield* TestClock.adjust("10 seconds")
    yield* TestClock.adjust("10 seconds")
    return { told: yield* Fiber.join(fiber), log }
  }).pipe(
    Effect.provide(
      GatewayAgentMemory.layer(
        Tenant.make("acme"),
        { agent: AgentName.make("shop"), key: ConversationId.make("c-1") },
        "workspace"
      ).pipe(
        Layer.provide([
          EphemeralMemoryStore.layer,
          Layer.succeed(MemoryEmbedder, { name: "odd", embed })
        ]),
        Layer.merge(Logger.layer([Logger.make(({ message }) => void log.push(String(message)))]))
      )
    )
  )
}

describe("an embedder", () => {
  const cases: Readonly<Record<string, Embed>> = {
    "that never answers": () => Effect.never,
    "that fails": () =>
      Effect.fail(new EmbeddingFailed({ message: "401 for Bearer sk-canary12345678" })),
    "that breaks": () => Effect.die(new Error("no route to http://10.0.0.1")),
    "that throws": () => {
      throw new Error("it is away")
    },
    "that gives no list": () => Effect.succeed(null as never)
  }
  for (const [name, embed] of Object.entries(cases)) {
    it.effect(`${name} costs no memory and is in the log`, () =>
      Effect.gen(function* () {
        const { log, told } = yield* recalledWith(embed)
        assert.deepStrictEqual(told, ["a pot of tea was made"])
        assert.lengthOf(log, 2)
        for (const line of log) {
          assert.match(line, /^an embedder made no vector: ./)
          assert.notMatch(line, /canary|10\.0\.0\.1/)
        }
      })
    )
  }

  for (const vector of [[], [0, 0], [NaN, 1], [Infinity], Array.from({ length: 5_000 }, () => 1)]) {
    it.effect(
      `with a vector of ${vector.length} numbers such as ${vector[0]} costs no memory`,
      () =>
        Effect.gen(function* () {
          const { told } = yield* recalledWith(() => Effect.succeed(vector))
          assert.deepStrictEqual(told, ["a pot of tea was made"])
        })
    )
  }
})
