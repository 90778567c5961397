/**
 * A provider's queue of requests: its order, its bounds, its tokens, and the places that ended requests free.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { limits_default, ProviderLimiter } from "../../layers/model/plan/ProviderLimiter.ts"
import { statedRateLimit } from "../../layers/model/wire/RateLimitHeaders.ts"
import { rng } from "../simulation/Kernel.ts"

const limiter = (limits: Partial<typeof limits_default>) =>
  new ProviderLimiter("acme", { ...limits_default, ...limits })

describe("ProviderLimiter", () => {
  it.effect(
    "refuses a request beyond the bound of the queue, at once and with a reason of its own",
    () =>
      Effect.gen(function* () {
        const line = limiter({ concurrent_max: 1, queue_max: 2 })
        const open = yield* Deferred.make<void>()
        const fibers = [0, 1, 2].map(() => line.withPermit(0, () => Deferred.await(open)))
        const running = yield* Effect.forEach(fibers, (each) =>
          Effect.forkChild(each, { startImmediately: true })
        )
        assert.deepStrictEqual([line.held, line.waiting], [1, 2])
        const refused = yield* Effect.flip(line.withPermit(0, () => Effect.void))
        assert.strictEqual(refused.reason, "queue_full")
        assert.strictEqual(refused.kind, "transient")
        assert.include(refused.message, "acme")
        yield* Deferred.succeed(open, undefined)
        yield* Effect.forEach(running, (fiber) => Fiber.join(fiber))
        assert.deepStrictEqual([line.held, line.waiting], [0, 0])
      })
  )

  it.effect("ends a wait in the queue after its bound, and frees the place", () =>
    Effect.gen(function* () {
      const line = limiter({ concurrent_max: 1, wait_ms_max: 1_000 })
      const holder = yield* Effect.forkChild(
        line.withPermit(0, () => Effect.never),
        {
          startImmediately: true
        }
      )
      const waiter = yield* Effect.forkChild(Effect.flip(line.withPermit(0, () => Effect.void)), {
        startImmediately: true
      })
      yield* TestClock.adjust(999)
      assert.isUndefined(waiter.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(waiter)).reason, "queue_timeout")
      assert.strictEqual(line.waiting, 0)
      yield* Fiber.interrupt(holder)
      assert.strictEqual(line.held, 0)
      yield* line.withPermit(0, () => Effect.void)
    })
  )

  it.effect("admits no more tokens than a minute's, and corrects estimates by what was used", () =>
    Effect.gen(function* () {
      const line = limiter({ tokens_per_minute: 6_000 })
      const times: Array<number> = []
      const ask = (tokens: number, counted?: number) =>
        line.withPermit(tokens, (permit) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            times.push(now)
            if (counted !== undefined) permit.counted(counted)
          })
        )
      yield* ask(6_000, 3_000)
      yield* ask(3_000, 4_000)
      // 1,000 tokens were used too many and 1,000 are requested: 20 s at 100 tokens a second.
      const waiter = yield* Effect.forkChild(ask(1_000), { startImmediately: true })
      yield* TestClock.adjust(19_999)
      assert.lengthOf(times, 2)
      yield* TestClock.adjust(2)
      yield* Fiber.join(waiter)
      assert.lengthOf(times, 3)
      assert.isAtLeast(times[2]! - times[1]!, 20_000)
    })
  )

  it.effect("is not closed for longer than the longest wait by a count that cannot be right", () =>
    Effect.gen(function* () {
      const line = limiter({ tokens_per_minute: 6_000, wait_ms_max: 300_000 })
      yield* line.withPermit(6_000, (permit) => Effect.sync(() => permit.counted(1e12)))
      const waiter = yield* Effect.forkChild(line.withPermit(6_000, () => Effect.succeed("in")))
      yield* TestClock.adjust(300_000)
      assert.strictEqual(yield* Fiber.join(waiter), "in")
    })
  )

  it.effect("admits a request that is larger than the bucket once the bucket is full", () =>
    Effect.gen(function* () {
      const line = limiter({ tokens_per_minute: 600 })
      yield* line.withPermit(600, () => Effect.void)
      const waiter = yield* Effect.forkChild(line.withPermit(1_000_000, () => Effect.succeed("in")))
      yield* TestClock.adjust(60_000)
      assert.strictEqual(yield* Fiber.join(waiter), "in")
    })
  )

  it.effect("sends nothing before the time that the provider's headers name", () =>
    Effect.gen(function* () {
      const line = limiter({ wait_ms_max: 60_000 })
      const now = yield* Clock.currentTimeMillis
      const stated = statedRateLimit(
        { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m2s" },
        now
      )
      assert.deepInclude(stated, { requests_left: 0, requests_reset_ms: 62_000 })
      yield* line.withPermit(0, (permit) => Effect.sync(() => permit.setLimits(stated!, now)))
      const waiter = yield* Effect.forkChild(
        line.withPermit(0, () => Effect.succeed("in")),
        {
          startImmediately: true
        }
      )
      yield* TestClock.adjust(59_998)
      assert.isUndefined(waiter.pollUnsafe())
      // The bound of a wait applies to a reset too.
      yield* TestClock.adjust(2)
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(waiter)))
    })
  )

  it("reads the rate headers of both forms, and applies the strictest", () => {
    const now = Date.parse("2026-01-01T00:00:00Z")
    assert.isUndefined(statedRateLimit({ "content-type": "text/event-stream" }, now))
    assert.deepStrictEqual(
      statedRateLimit(
        {
          "anthropic-ratelimit-requests-remaining": "49",
          "anthropic-ratelimit-tokens-remaining": "9000",
          "anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:30Z",
          "anthropic-ratelimit-output-tokens-remaining": "100",
          "anthropic-ratelimit-output-tokens-reset": "2026-01-01T00:00:10Z"
        },
        now
      ),
      {
        tokens_left: 100,
        tokens_reset_ms: 10_000,
        requests_left: 49,
        requests_reset_ms: undefined
      }
    )
    assert.deepInclude(
      statedRateLimit(
        { "x-ratelimit-remaining-tokens": "7", "x-ratelimit-reset-tokens": "20ms" },
        now
      ),
      { tokens_left: 7, tokens_reset_ms: 20 }
    )
    assert.isUndefined(statedRateLimit({ "x-ratelimit-remaining-tokens": "many" }, now))
  })

  it.effect(
    "keeps no permit and no place after failures and interruptions, in 60 random crowds",
    () =>
      Effect.gen(function* () {
        for (let seed = 1; seed <= 60; seed++) {
          const next = rng(seed)
          const upTo = (n: number) => Math.floor(next() * n)
          const concurrent_max = 1 + upTo(4)
          const line = limiter({
            concurrent_max,
            queue_max: upTo(20),
            wait_ms_max: 1 + upTo(2_000),
            tokens_per_minute: next() < 0.5 ? 0 : 1_000 + upTo(100_000)
          })
          let most = 0
          const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
          for (let n = 0; n < 40; n++) {
            const ms = upTo(300)
            const ends = next()
            fibers.push(
              yield* Effect.forkChild(
                line.withPermit(upTo(3_000), (permit) =>
                  Effect.suspend(() => {
                    most = Math.max(most, line.held)
                    permit.counted(upTo(3_000))
                    const end =
                      ends < 0.3 ? Effect.fail("no") : ends < 0.4 ? Effect.die("bug") : Effect.void
                    return Effect.andThen(Effect.sleep(ms), end)
                  })
                )
              )
            )
            if (next() < 0.3) yield* TestClock.adjust(upTo(50))
            if (next() < 0.3) {
              yield* Effect.forkChild(Fiber.interrupt(fibers[upTo(fibers.length)]!))
            }
          }
          yield* TestClock.adjust(600_000)
          for (const fiber of fibers) yield* Fiber.await(fiber)
          assert.deepStrictEqual([line.held, line.waiting], [0, 0], `seed ${seed}`)
          assert.isAtMost(most, concurrent_max, `seed ${seed}`)
        }
      })
  )
})
