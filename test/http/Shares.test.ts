/** What takes much memory is done for so many at the same time, and for so many of one owner. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Shares } from "../../layers/http/boundary/Shares.ts"
import { interruptedAnywhere } from "../runtime/Interruptions.ts"

const of = (principal: string, tenant = "acme") => ({
  principal: `principal ${tenant} ${principal}`,
  tenant: `tenant ${tenant}`
})

/** Shares, and what has begun with one: it goes on until it is told to end. */
const make = () => {
  const shares = new Shares({ principal: 2, tenant: 3, all: 4, wait_ms: 30_000 })
  const begun: Array<string> = []
  const ends = new Map<string, Deferred.Deferred<void>>()
  const begin = Effect.fnUntraced(function* (name: string, tenant?: string) {
    const end = yield* Deferred.make<void>()
    ends.set(name, end)
    const fiber = yield* Effect.forkChild(
      shares.hold(
        of(name[0]!, tenant),
        Effect.suspend(() => {
          begun.push(name)
          return Deferred.await(end)
        })
      )
    )
    yield* settled
    return fiber
  })
  const end = (name: string) =>
    Effect.andThen(Deferred.succeed(ends.get(name)!, undefined), settled)
  return { begin, begun, end, shares }
}

/** Until who can go on has gone on. */
const settled = Effect.repeat(Effect.yieldNow, { times: 20 })

describe("a share", () => {
  it.effect("is had by so many of a principal, of a tenant and in all, and others wait", () =>
    Effect.gen(function* () {
      const { begin, begun, end, shares } = make()
      for (const name of ["a1", "a2", "a3", "b1", "b2"]) yield* begin(name)
      for (const name of ["c1", "c2"]) yield* begin(name, "other")
      // Others pass who waits for its own.
      assert.deepStrictEqual(begun, ["a1", "a2", "b1", "c1"])
      yield* end("b1")
      assert.deepStrictEqual(begun.slice(4), ["b2"])
      yield* end("a1")
      assert.deepStrictEqual(begun.slice(5), ["a3"])
      yield* end("a2")
      assert.deepStrictEqual(begun.slice(6), ["c2"])
      for (const name of ["a3", "b2", "c1", "c2"]) yield* end(name)
      assert.strictEqual(shares.size, 0)
    })
  )

  it.effect("is given back by who fails or is interrupted, and by who is while it waits", () =>
    Effect.gen(function* () {
      const { begin, begun, shares } = make()
      const fibers = []
      for (const name of ["a1", "a2", "a3", "a4"]) fibers.push(yield* begin(name))
      yield* Fiber.interrupt(fibers[2]!)
      yield* Fiber.interrupt(fibers[0]!)
      yield* settled
      assert.deepStrictEqual(begun, ["a1", "a2", "a4"])
      yield* Fiber.interrupt(fibers[1]!)
      yield* Fiber.interrupt(fibers[3]!)
      yield* Effect.exit(shares.hold(of("a"), Effect.fail("no")))
      assert.strictEqual(shares.size, 0)
    })
  )

  it.effect("is given back by who is interrupted at any operation", () =>
    Effect.gen(function* () {
      const { shares } = make()
      yield* interruptedAnywhere(shares.hold(of("a"), Effect.never), 20)
      assert.strictEqual(shares.size, 0)
    })
  )

  it.effect("is not waited for longer than its bounds say", () =>
    Effect.gen(function* () {
      const { begin, begun, end, shares } = make()
      for (const name of ["a1", "a2"]) yield* begin(name)
      const late = yield* begin("a3")
      yield* TestClock.adjust(29_999)
      assert.isUndefined(late.pollUnsafe())
      yield* TestClock.adjust(1)
      const refused = yield* Effect.flip(
        Fiber.join(late) as Effect.Effect<void, { status: number }>
      )
      assert.strictEqual(refused.status, 503)
      yield* end("a1")
      yield* end("a2")
      assert.deepStrictEqual(begun, ["a1", "a2"])
      assert.strictEqual(shares.size, 0)
    })
  )
})
