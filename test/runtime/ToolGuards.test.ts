/** Rate, circuit and concurrency of a tool to the millisecond: what they refuse, what they say, and what they let through. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"
import { TestClock } from "effect/testing"
import type { RunId } from "../../src/value/Ids.ts"
import {
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError,
  ToolUserError
} from "../../src/error/ToolError.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

/** Nothing of the runtime's own is due while a test lets hours pass. */
const long_ms = 1e12
const config = { sweep_ms: long_ms, lease_ms: long_ms, watch_ms: long_ms, drain_ms: 0 }

const settle = Effect.gen(function* () {
  for (let i = 0; i < 80; i++) yield* Effect.yieldNow
})

const after = (ms: number) => Effect.andThen(TestClock.adjust(ms), settle)

/** Each settled call: its value, or what its refusal is and says. */
const outcomes = (run: RunId) =>
  Effect.map(H.events(run), (all) =>
    H.settled(all).map(({ outcome }) => {
      if (outcome._tag !== "Failed") return outcome._tag
      const { message, reason, retry_after_ms } = outcome.error
      return reason === "RATE_LIMITED" || reason === "CIRCUIT_OPEN"
        ? { reason, message, retry_after_ms }
        : outcome.error.class
    })
  )

let conversations = 0
/** A run in a conversation of its own, as far as it goes alone. */
const begin = Effect.gen(function* () {
  const run = yield* H.send("go", `guard-${++conversations}`)
  yield* settle
  return run
})

const approve = Effect.fnUntraced(function* (run: RunId) {
  const asked = (yield* H.events(run)).filter((event) => event._tag === "ApprovalRequested")
  yield* H.decide(asked.at(-1)!.approval, H.approve)
  yield* settle
})

const limited = (retry_after_ms: number) => ({
  reason: "RATE_LIMITED",
  message: '"t" is called too often.',
  retry_after_ms
})

const open = (retry_after_ms: number) => ({
  reason: "CIRCUIT_OPEN",
  message: '"t" failed too often and is left alone for a while.',
  retry_after_ms
})

const busy = (retry_after_ms?: number) =>
  new ToolTransientError({
    kind: "external",
    message: "busy",
    ...(retry_after_ms === undefined ? undefined : { retry_after_ms })
  })

type Script = H.Options["script"]
const once: Script = ({ transcript }) =>
  transcript.length === 1 ? call("t", { n: 1 }) : text("done")

const layer = (t: H.TestTool, script: Script = once) =>
  H.layer({
    tools: { t },
    config,
    agent: { limits: RunLimits.make({ repeats_max: 0, mistakes_max: 0 }) },
    script
  })

describe("a rate limit", () => {
  it.effect("lets calls through again as its window passes, and says when", () =>
    Effect.gen(function* () {
      const become = Effect.flatMap(begin, outcomes)
      assert.deepStrictEqual(yield* become, ["Value"])
      yield* after(1_000)
      assert.deepStrictEqual(yield* become, ["Value"])
      assert.deepStrictEqual(yield* become, [limited(29_000)])
      yield* after(28_999)
      assert.deepStrictEqual(yield* become, [limited(1)])
      yield* after(1)
      assert.deepStrictEqual(yield* become, ["Value"])
      assert.deepStrictEqual(yield* become, [limited(30_000)])
    }).pipe(
      Effect.provide(
        layer(
          H.reads((n) => Effect.succeed(n), { rate_limit: { calls_max: 2, window_ms: 60_000 } })
        )
      )
    )
  )

  it.effect("runs an approved call when the limit lets it through, and not before", () => {
    const ran: Array<number> = []
    return Effect.gen(function* () {
      const [first, second] = [yield* begin, yield* begin]
      yield* approve(first)
      yield* approve(second)
      assert.lengthOf(ran, 1)
      yield* after(1_499)
      assert.lengthOf(ran, 1)
      yield* after(1)
      assert.lengthOf(ran, 2)
      assert.deepStrictEqual(yield* outcomes(second), ["Value"])
    }).pipe(
      Effect.provide(
        layer(
          H.asks((n) => Effect.sync(() => ran.push(n)), {
            rate_limit: { calls_max: 1, window_ms: 1_500 }
          })
        )
      )
    )
  })

  it.effect("refuses an approved call that would have to wait for more than ten minutes", () => {
    const ran: Array<number> = []
    return Effect.gen(function* () {
      const [first, second] = [yield* begin, yield* begin]
      yield* approve(first)
      yield* approve(second)
      assert.deepStrictEqual(yield* outcomes(second), [limited(600_001)])
      assert.lengthOf(ran, 1)
    }).pipe(
      Effect.provide(
        layer(
          H.asks((n) => Effect.sync(() => ran.push(n)), {
            rate_limit: { calls_max: 1, window_ms: 600_001 }
          })
        )
      )
    )
  })

  it.effect("whose store fails limits nothing", () => {
    const error = new RateLimiter.RateLimiterError({
      reason: new RateLimiter.RateLimitStoreError({ message: "away" })
    })
    const away = Layer.succeed(RateLimiter.RateLimiterStore, {
      fixedWindow: () => Effect.fail(error),
      tokenBucket: () => Effect.fail(error),
      adaptiveConsume: () => Effect.fail(error),
      adaptiveFeedback: () => Effect.fail(error)
    } as never)
    return Effect.gen(function* () {
      for (let i = 0; i < 3; i++) {
        assert.deepStrictEqual(yield* Effect.flatMap(begin, outcomes), ["Value"])
      }
    }).pipe(
      Effect.provide(
        layer(
          H.reads((n) => Effect.succeed(n), { rate_limit: { calls_max: 1, window_ms: 60_000 } })
        ).pipe(Layer.provide(away))
      )
    )
  })

  it.effect("lets a lost call be sent again", () => {
    const ran: Array<string | undefined> = []
    const options: H.Options = {
      tools: {
        t: H.writes(
          (n, { key }) =>
            Effect.suspend(() => (ran.push(key) === 1 ? Effect.never : Effect.succeed(n))),
          { idempotent: true, rate_limit: { calls_max: 1, window_ms: 86_400_000 } }
        )
      },
      config,
      script: once
    }
    return Effect.gen(function* () {
      const store = yield* Effect.provide(
        RateLimiter.RateLimiterStore,
        RateLimiter.layerStoreMemory
      )
      yield* Effect.gen(function* () {
        const first = yield* H.boot(options)
        const run = yield* first.run(begin)
        assert.lengthOf(ran, 1)
        yield* first.stop
        const second = yield* H.boot(options)
        yield* settle
        yield* after(1)
        assert.deepStrictEqual(yield* second.run(outcomes(run)), ["Value"])
        assert.lengthOf(new Set(ran), 1)
        assert.lengthOf(ran, 2)
        const refused = yield* Effect.flatMap(second.run(begin), (next) =>
          second.run(outcomes(next))
        )
        assert.deepInclude(refused[0], { reason: "RATE_LIMITED" })
      }).pipe(Effect.provideService(RateLimiter.RateLimiterStore, store))
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect("and a concurrency limit both hold, and a call that waits holds no permit", () => {
    let running = 0
    let most = 0
    return Effect.gen(function* () {
      const run = yield* begin
      for (let i = 0; i < 5; i++) yield* after(1_000)
      const all = yield* outcomes(run)
      assert.lengthOf(all, 6)
      assert.lengthOf(
        all.filter((each) => each === "Value"),
        5
      )
      assert.strictEqual(most, 1)
    }).pipe(
      Effect.provide(
        layer(
          H.reads(
            (n) =>
              Effect.gen(function* () {
                most = Math.max(most, ++running)
                yield* Effect.sleep(1_000)
                running--
                return n
              }),
            { concurrency_max: 1, rate_limit: { calls_max: 5, window_ms: 86_400_000 } }
          ),
          ({ transcript }) =>
            transcript.length === 1
              ? calls(Array.from({ length: 6 }, (_, n) => call("t", { n })))
              : text("done")
        )
      )
    )
  })
})

const errors: ReadonlyArray<readonly [what: string, error: ToolError, isDown: boolean]> = [
  ["a transient error", busy(), true],
  [
    "a transient error of its own",
    new ToolTransientError({ kind: "internal", message: "x" }),
    true
  ],
  ["an internal error", new ToolTerminalError({ kind: "internal", message: "x" }), true],
  ["another terminal error", new ToolTerminalError({ kind: "external", message: "x" }), false],
  ["a mistake of the model", new ToolUserError({ kind: "invalid_args", message: "x" }), false],
  ["a refusal", new ToolPolicyError({ kind: "permission", message: "x" }), false],
  ["a refusal that is internal", new ToolPolicyError({ kind: "internal", message: "x" }), false]
]

describe("a circuit", () => {
  const fails = (body: H.Body) => H.reads(body, { circuit: { failures_max: 1, open_ms: 5_000 } })

  for (const [what, error, isDown] of errors) {
    it.effect(`${isDown ? "opens after" : "stays closed after"} ${what}`, () =>
      Effect.gen(function* () {
        const become = Effect.flatMap(begin, outcomes)
        assert.deepStrictEqual(yield* become, [error._tag])
        assert.deepStrictEqual(yield* become, [isDown ? open(5_000) : error._tag])
        yield* after(4_999)
        assert.deepStrictEqual(yield* become, [isDown ? open(1) : error._tag])
        yield* after(1)
        assert.deepStrictEqual(yield* become, [error._tag])
      }).pipe(Effect.provide(layer(fails(() => Effect.fail(error)))))
    )
  }

  it.effect("opens after a defect, whose text is not quoted", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Effect.flatMap(begin, outcomes), ["ToolTerminalError"])
      assert.deepStrictEqual(yield* Effect.flatMap(begin, outcomes), [open(5_000)])
    }).pipe(Effect.provide(layer(fails(() => Effect.die("secret")))))
  )

  it.effect("stays open as long as the tool asked for", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Effect.flatMap(begin, outcomes), ["ToolTransientError"])
      assert.deepStrictEqual(yield* Effect.flatMap(begin, outcomes), [open(20_000)])
    }).pipe(Effect.provide(layer(fails(() => Effect.fail(busy(20_000))))))
  )

  it.effect("opens after a write whose outcome is not known", () =>
    Effect.gen(function* () {
      const lost = yield* begin
      yield* after(1_000)
      assert.strictEqual(H.count(yield* H.events(lost), "CallUnknown"), 1)
      assert.deepStrictEqual(yield* Effect.flatMap(begin, outcomes), [open(5_000)])
    }).pipe(
      Effect.provide(
        layer(
          H.writes(() => Effect.never, {
            timeout_ms: 1_000,
            circuit: { failures_max: 1, open_ms: 5_000 }
          })
        )
      )
    )
  )

  it.effect("is probed by one call, and others are told to wait a second", () => {
    let ran = 0
    return Effect.gen(function* () {
      yield* begin
      yield* after(5_000)
      const probe = yield* begin
      assert.deepStrictEqual(yield* Effect.flatMap(begin, outcomes), [open(1_000)])
      assert.strictEqual(ran, 2)
      yield* after(3_000)
      assert.deepStrictEqual(yield* outcomes(probe), ["Value"])
      assert.deepStrictEqual(yield* Effect.flatMap(begin, outcomes), ["Value"])
    }).pipe(
      Effect.provide(
        layer(
          fails((n) =>
            Effect.suspend(() => {
              if (++ran === 1) return Effect.fail(busy())
              return ran === 2 ? Effect.as(Effect.sleep(3_000), n) : Effect.succeed(n)
            })
          )
        )
      )
    )
  })

  it.effect("makes an approved call wait for ten minutes, and no longer", () => {
    let ran = 0
    return Effect.gen(function* () {
      const runs = [yield* begin, yield* begin, yield* begin]
      yield* approve(runs[0]!)
      yield* after(1_000)
      yield* approve(runs[1]!)
      yield* approve(runs[2]!)
      assert.strictEqual(ran, 2)
      yield* after(599_999)
      assert.deepStrictEqual(yield* outcomes(runs[2]!), [])
      yield* after(1)
      assert.deepStrictEqual(yield* outcomes(runs[2]!), [open(1_000)])
      assert.strictEqual(ran, 2)
    }).pipe(
      Effect.provide(
        layer(
          H.asks(
            () =>
              Effect.suspend(() => (++ran === 1 ? Effect.fail(busy()) : Effect.sleep(3_000_000))),
            {
              timeout_ms: Duration.toMillis("1 hour"),
              idempotent: true,
              circuit: { failures_max: 1, open_ms: 1_000 }
            }
          )
        )
      )
    )
  })

  it.effect(
    "and a rate limit both hold, and a refusal by the rate is no failure of the tool",
    () => {
      let ran = 0
      return Effect.gen(function* () {
        const become = Effect.flatMap(begin, outcomes)
        assert.deepStrictEqual(yield* become, ["ToolTransientError"])
        assert.deepStrictEqual(yield* become, ["ToolTransientError"])
        assert.deepStrictEqual(yield* become, [open(5_000)])
        assert.deepStrictEqual(yield* become, [limited(20_000)])
        yield* after(20_000)
        assert.deepStrictEqual(yield* become, ["Value"])
        assert.deepStrictEqual(yield* become, [limited(20_000)])
        assert.strictEqual(ran, 3)
      }).pipe(
        Effect.provide(
          layer(
            H.reads(
              (n) => Effect.suspend(() => (++ran < 3 ? Effect.fail(busy()) : Effect.succeed(n))),
              {
                circuit: { failures_max: 2, open_ms: 5_000 },
                rate_limit: { calls_max: 3, window_ms: 60_000 }
              }
            )
          )
        )
      )
    }
  )
})
