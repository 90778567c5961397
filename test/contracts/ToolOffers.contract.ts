/** Offers of workers of a tool queue, and the preliminary results of its calls. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ToolQueue } from "../../services/ToolQueue.ts"
import type { ToolSpec } from "../../src/tool/ToolSpec.ts"
import { decodeToolSpec, toolKeyOf } from "../../src/tool/ToolSpec.ts"
import { eventually } from "./Contract.ts"
import * as Samples from "./Samples.ts"

const specOf = (name: string, more: object = {}) =>
  Effect.orDie(
    decodeToolSpec({
      namespace: "t",
      name,
      version: "1",
      description: 'ü "€" 😀',
      input_schema: { type: "object", properties: { order: { type: "string" } } },
      output_schema: {},
      side_effects: "external",
      timeout_ms: 5_000,
      permissions: ["net:shop"],
      ...more
    })
  )

const toolName = () => Samples.unique("t").slice(0, 30)

const announces = (worker: string, lease_ms: number, ...tools: ReadonlyArray<ToolSpec>) =>
  ToolQueue.use((queue) => queue.announce({ worker, provider: 'shop "1"', tools, lease_ms }))

const declarationTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  it.effect("offers are listed with the whole declaration of each tool", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const [a, b] = [toolName(), toolName()].sort()
      const [one, two] = [yield* specOf(a!), yield* specOf(b!, { deprecated: true })]
      const [first, second] = [Samples.unique("w"), Samples.unique("w")]
      yield* announces(first, 60_000, two, one)
      yield* announces(second, 50_000, one)
      const offer = (worker: string, spec: ToolSpec) => ({
        worker,
        provider: 'shop "1"',
        spec,
        available: true
      })
      const keys = [toolKeyOf(one), toolKeyOf(two)]
      const expected = [offer(first, one), offer(second, one), offer(first, two)]
      assert.deepStrictEqual(yield* queue.list(keys), expected)
      assert.deepStrictEqual(yield* queue.list([toolKeyOf(two)]), [offer(first, two)])
      assert.deepStrictEqual(yield* queue.list([Samples.unique("none")]), [])
      assert.deepStrictEqual(
        (yield* queue.list()).filter(({ spec }) => keys.includes(toolKeyOf(spec))),
        expected
      )
      // A second announcement replaces the first.
      yield* announces(first, 60_000, two)
      assert.deepStrictEqual(yield* queue.list([toolKeyOf(one)]), [offer(second, one)])
    })
  )
}

const availabilityTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  it.effect("a worker is available for its lease, and longer when it renews it", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const spec = yield* specOf(toolName())
      const worker = Samples.unique("w")
      const available = Effect.map(queue.list([toolKeyOf(spec)]), (all) =>
        all.map((offer) => offer.available)
      )
      yield* announces(worker, 1, spec)
      yield* eventually(available, ([is]) => is === false)
      assert.isTrue(yield* queue.renew(worker, 60_000))
      assert.deepStrictEqual(yield* available, [true])
      assert.isTrue(yield* queue.renew(worker, 0))
      assert.deepStrictEqual(yield* available, [false])
      assert.isFalse(yield* queue.renew(Samples.unique("w"), 60_000))
    })
  )

  it.effect("a worker that is gone is listed until another offers all of its tools", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const [one, two] = [yield* specOf(toolName()), yield* specOf(toolName())]
      const keys = [toolKeyOf(one), toolKeyOf(two)]
      const [gone, half, all] = [Samples.unique("w"), Samples.unique("w"), Samples.unique("w")]
      yield* announces(gone, 0, one, two)
      yield* announces(half, 60_000, one)
      assert.deepStrictEqual(
        (yield* queue.list([toolKeyOf(one)])).map(({ available, worker }) => [worker, available]),
        [
          [half, true],
          [gone, false]
        ]
      )
      yield* announces(all, 60_000, one, two)
      assert.sameMembers(
        (yield* queue.list(keys)).map(({ worker }) => worker),
        [half, all, all]
      )
      assert.isFalse(yield* queue.renew(gone, 60_000))
    })
  )
}

const preliminaryTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  it.effect("a preliminary result reaches those who wait for its call, and nobody else", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const [id, other] = [Samples.unique("call"), Samples.unique("call")]
      const seen: Array<string> = []
      const text = JSON.stringify({ rows: 1, text: 'ü "€"\n\u0000 😀' })
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* queue.onShown(id, (json) => void seen.push(json))
          yield* queue.onShown(other, (json) => void seen.push(`other ${json}`))
          yield* queue.show(id, text)
          yield* queue.show(id, JSON.stringify("ü".repeat(4_000)))
          yield* queue.show(id, JSON.stringify("x".repeat(6_990)))
          yield* eventually(
            Effect.sync(() => seen.length),
            (count) => count === 2
          )
        })
      )
      yield* queue.show(id, "3")
      assert.deepStrictEqual(seen, [text, JSON.stringify("x".repeat(6_990))])
    })
  )
}

export const toolOffersTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  declarationTests(it)
  availabilityTests(it)
  preliminaryTests(it)
}
