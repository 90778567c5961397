import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Scripted from "../../layers/model/tape/ScriptedModelGateway.ts"
import { RunMemory } from "../../layers/runtime/loop/RunMemory.ts"
import { AgentSpec, Principal, tool } from "../../src/index.ts"
import { Tenant } from "../../src/value/Ids.ts"

const acme = Tenant.make("acme")
const other = Tenant.make("other")

describe("RunMemory", () => {
  it("gives work what a tenant may take, and the rest to those who wait, in their order", () => {
    const memory = new RunMemory(8_000_000)
    const woken: Array<string> = []
    const runs = ["a", "b", "c"].map((name) => ({ name, share: memory.join(acme) }))
    const [a, b, c] = runs
    assert.isTrue(a!.share.take(3_900_000))
    for (const { name, share } of [b!, c!]) {
      assert.isFalse(share.take(100_000))
      share.await(100_000, { wake: () => void woken.push(name) })
    }
    // Nobody overtakes who waits, but another tenant has its own line.
    assert.isFalse(memory.join(acme).take(1_000))
    assert.isTrue(memory.join(other).take(100_000))
    a!.share.give(3_900_000)
    assert.deepStrictEqual(woken, ["b", "c"])
    assert.isTrue(c!.share.take(100_000))
  })

  it("counts nothing of runs that have left, whatever they had", () => {
    const memory = new RunMemory(8_000_000)
    const [first, second] = [memory.join(acme), memory.join(acme)]
    first.keep(1_000_000)
    assert.isFalse(memory.hasRoom(acme))
    assert.isTrue(memory.hasRoom(other))
    assert.isTrue(first.take(1_000_000))
    assert.isFalse(second.take(2_000_000))
    second.await(1_000, { wake: () => {} })
    for (const share of [first, second]) share.leave()
    assert.strictEqual(memory.bytes, 0)
    assert.strictEqual(memory.runs, 0)
    assert.isTrue(memory.hasRoom(acme))
  })

  it("takes back what was granted to who does not want it any more", () => {
    const memory = new RunMemory(8_000_000)
    const [first, second] = [memory.join(acme), memory.join(acme)]
    const idle = memory.bytes
    assert.isTrue(first.take(3_900_000))
    assert.isFalse(second.take(1_000_000))
    second.await(1_000_000, { wake: () => {} })
    first.give(3_900_000)
    assert.strictEqual(memory.bytes, idle + 1_000_000)
    second.withdraw()
    assert.strictEqual(memory.bytes, idle)
  })

  it("has all but the oldest run leave where states alone take more than their half", () => {
    const memory = new RunMemory(8_000_000)
    const [first, second] = [memory.join(acme), memory.join(acme)]
    first.keep(800_000)
    assert.isFalse(second.mustLeave)
    second.keep(800_000)
    assert.isFalse(first.mustLeave)
    assert.isTrue(second.mustLeave)
    second.leave()
    assert.isFalse(first.isBeyond(1_000_000))
    assert.isTrue(first.isBeyond(3_000_000))
  })

  it("says once that there is room for runs that were left, well below the bound", () => {
    const memory = new RunMemory(8_000_000)
    let said = 0
    memory.onRoom = () => void said++
    const share = memory.join(acme)
    share.use(3_000_000)
    assert.isFalse(memory.hasRoom(acme))
    memory.leftOne(acme)
    share.give(1_500_000)
    assert.strictEqual(said, 0)
    share.give(1_000_000)
    share.leave()
    assert.strictEqual(said, 1)
  })

  it("expects of a tool what it has returned of late, and much of one that has returned nothing", () => {
    const { expected } = new RunMemory(8_000_000)
    assert.strictEqual(expected.of("a"), 500_000)
    expected.saw("a", 300_000)
    assert.strictEqual(expected.of("a"), 300_000)
    for (let n = 0; n < 200; n++) expected.saw("a", 10)
    assert.isBelow(expected.of("a"), 10_000)
    expected.saw("a", 2_000_000)
    assert.strictEqual(expected.of("a"), 2_000_000)
  })
})

/** Bodies that run now and that ran at most at once. */
const counted = (units: number, ms: number) => {
  const seen = { now: 0, most: 0, all: 0 }
  const fetching = tool(
    {
      namespace: "shop",
      name: "fetch",
      description: "Fetches.",
      input: Schema.Struct({ n: Schema.Number }),
      output: Schema.String,
      side_effects: "read"
    },
    ({ n }) =>
      Effect.gen(function* () {
        seen.all++
        seen.most = Math.max(seen.most, ++seen.now)
        yield* Effect.sleep(ms)
        seen.now--
        return String(n).padEnd(units, "x")
      })
  )
  return { seen, fetching }
}

const fetches = (n: number) =>
  Scripted.calls(Array.from({ length: n }, (_, i) => Scripted.call("fetch", { n: i })))

const shop = AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["fetch"] })
const personOf = (tenant: string) =>
  new Principal({ id: "olga", tenant: Tenant.make(tenant), roles: ["operator"] })

describe("a service with little memory for runs", () => {
  it.live("starts calls of a crowd only as their results find room, and finishes every run", () =>
    Effect.promise(async () => {
      const { fetching, seen } = counted(300_000, 1)
      const troupe = await start({
        agents: [shop],
        tools: [fetching],
        model: Scripted.layer(({ step }) => (step === 1 ? fetches(4) : Scripted.text("done"))),
        in_flight_bytes_max: 8_000_000
      })
      const sent = await Promise.all(
        Array.from({ length: 20 }, () => troupe.send({ agent: "shop", text: "go" }))
      )
      for (const { run } of sent) {
        assert.strictEqual((await troupe.result(run)).status, "complete")
      }
      await troupe.stop()
      assert.strictEqual(seen.all, 80)
      assert.isAtMost(seen.most, 4)
    })
  )

  it.live("takes up what its states leave no room for later, and forgets nobody", () =>
    Effect.promise(async () => {
      let most = 0
      let now = 0
      const turn = Effect.gen(function* () {
        most = Math.max(most, ++now)
        yield* Effect.sleep(1)
        now--
        return Scripted.text("done")
      })
      const troupe = await start({
        agents: [AgentSpec.make({ name: "shop", instructions: "Help." })],
        model: Scripted.layer(() => turn),
        in_flight_bytes_max: 8_000_000
      })
      const text = "x".repeat(300_000)
      const sent = await Promise.all(
        Array.from({ length: 30 }, () => troupe.send({ agent: "shop", text }))
      )
      for (const { run } of sent) {
        assert.strictEqual((await troupe.result(run)).status, "complete")
      }
      await troupe.stop()
      assert.isAtMost(most, 6)
    })
  )

  it.live("fails a run that is larger than what any may take, and says so", () =>
    Effect.promise(async () => {
      const troupe = await start({
        agents: [AgentSpec.make({ name: "shop", instructions: "Help." })],
        model: Scripted.layer(() => Scripted.text("done")),
        in_flight_bytes_max: 8_000_000
      })
      const large = await troupe.ask({ agent: "shop", text: "x".repeat(999_000) })
      assert.deepInclude(large, { status: "failed", reason: "memory_exceeded" })
      const small = await troupe.ask({ agent: "shop", text: "x" })
      assert.strictEqual(small.status, "complete")
      await troupe.stop()
    })
  )

  it.live("serves a tenant beside another one that has taken its part", () =>
    Effect.promise(async () => {
      const { fetching, seen } = counted(300_000, 20)
      const troupe = await start({
        agents: [shop],
        tools: [fetching],
        model: Scripted.layer(({ step }) => (step === 1 ? fetches(4) : Scripted.text("done"))),
        in_flight_bytes_max: 8_000_000
      })
      const message = { agent: "shop", text: "go" }
      const crowd = await Promise.all(
        Array.from({ length: 20 }, () => troupe.send(message, personOf("acme")))
      )
      const alone = await troupe.ask(message, personOf("other"))
      assert.strictEqual(alone.status, "complete")
      assert.isBelow(seen.all, 50)
      for (const { run } of crowd) {
        const result = await troupe.result(run, personOf("acme"))
        assert.strictEqual(result.status, "complete")
      }
      await troupe.stop()
    })
  )
})
