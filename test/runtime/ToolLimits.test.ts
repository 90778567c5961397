import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { Tenant } from "../../src/value/Ids.ts"
import { ToolTransientError, ToolUserError } from "../../src/error/ToolError.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type { ToolAttempt } from "../../services/RunObserver.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const busy = new ToolTransientError({ kind: "external", message: "busy" })

const reasons = (all: Parameters<typeof H.settled>[0]) =>
  H.settled(all).map(({ outcome }) =>
    outcome._tag === "Failed" ? (outcome.error.reason ?? outcome.error.kind) : outcome._tag
  )

const once = ({ transcript }: { readonly transcript: ReadonlyArray<unknown> }) =>
  transcript.length === 1 ? call("t", { n: 1 }) : text("done")

describe("a rate limit", () => {
  it.live("refuses the next call of one tenant with a retry time, and dispatches nothing", () => {
    const ran: Array<number> = []
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(reasons(all), ["Value", "Value", "RATE_LIMITED"])
      assert.strictEqual(H.count(all, "CallDispatched"), 2)
      assert.lengthOf(ran, 2)
      const shown = H.resultsShown((yield* H.requests)[3])[2]
      assert.match(shown!, /^ToolTransientError .*This may work again in \d+ ms\.$/)
      const other = H.person("olga", ["operator"], Tenant.make("others"))
      const theirs = yield* H.ended(yield* H.send("hello", "c-2", other), "c-2", other)
      assert.deepStrictEqual(reasons(theirs), ["Value", "Value", "RATE_LIMITED"])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            t: H.writes((n) => Effect.sync(() => ran.push(n)), {
              rate_limit: { calls_max: 2, window_ms: 600_000 }
            })
          },
          script: ({ step }) => (step <= 3 ? call("t", { n: step }) : text("done"))
        })
      )
    )
  })

  it.live("makes an approved call wait, so that its approval is not used up", () => {
    const ran: Array<number> = []
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      for (const nth of [1, 2]) {
        yield* H.decide((yield* H.question(run, nth)).approval, H.approve)
      }
      const all = yield* H.ended(run)
      assert.deepStrictEqual(reasons(all), ["Value", "Value"])
      assert.sameMembers(ran, [1, 2])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            t: H.asks((n) => Effect.sync(() => ran.push(n)), {
              rate_limit: { calls_max: 1, window_ms: 100 }
            })
          },
          script: [calls([call("t", { n: 1 }), call("t", { n: 2 })]), text("done")]
        })
      )
    )
  })
})

describe("a circuit", () => {
  it.live("opens after its number of failures, and closes when a later call succeeds", () => {
    let bodies = 0
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      // A mistake of the model says that the tool answers.
      assert.deepStrictEqual(reasons(all), [
        "external",
        "invalid_args",
        "external",
        "external",
        "CIRCUIT_OPEN"
      ])
      assert.strictEqual(bodies, 4)
      yield* Effect.sleep(60)
      const later = yield* H.ended(yield* H.send("again", "c-2"), "c-2")
      assert.deepStrictEqual(reasons(later), ["Value", "Value", "Value", "Value", "Value"])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            t: H.reads(
              (n) =>
                Effect.suspend(() => {
                  bodies++
                  if (bodies > 4) return Effect.succeed(n)
                  return Effect.fail(
                    n === 2 ? new ToolUserError({ kind: "invalid_args", message: "no" }) : busy
                  )
                }),
              { circuit: { failures_max: 2, open_ms: 50 } }
            )
          },
          agent: { limits: RunLimits.make({ repeats_max: 0, mistakes_max: 0 }) },
          script: ({ step }) => (step <= 5 ? call("t", { n: step }) : text("done"))
        })
      )
    )
  })
})

describe("the concurrency of a tool", () => {
  it.live("is limited beside that of the run, and every call runs", () => {
    let running = 0
    let most = 0
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.lengthOf(reasons(all), 12)
      assert.isTrue(reasons(all).every((each) => each === "Value"))
      assert.strictEqual(most, 2)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            t: H.reads(
              (n) =>
                Effect.gen(function* () {
                  most = Math.max(most, ++running)
                  yield* Effect.sleep(2)
                  running--
                  return n
                }),
              { concurrency_max: 2 }
            )
          },
          script: [calls(Array.from({ length: 12 }, (_, n) => call("t", { n }))), text("done")]
        })
      )
    )
  })
})

describe("a retry", () => {
  it.live(
    "SM-44 SM-47 gives each attempt the whole timeout, and leaves one record of the call",
    () => {
      const attempts: Array<ToolAttempt> = []
      const { facts, observe } = H.recorder()
      let bodies = 0
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const all = yield* H.ended(run)
        assert.deepStrictEqual(reasons(all), ["Value"])
        assert.strictEqual(bodies, 2)
        assert.lengthOf(facts, 1)
        assert.lengthOf(attempts, 1)
        assert.deepInclude(attempts[0], { run, attempt: 1, willRetry: true, tool_name: "t" })
        assert.strictEqual(attempts[0]!.error.kind, "timeout")
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {
              t: H.reads((n) => (++bodies === 1 ? Effect.never : Effect.as(Effect.sleep(10), n)), {
                timeout_ms: 20,
                retry: { max_attempts: 2, backoff_initial_ms: 1 }
              })
            },
            observers: [observe],
            attempted: (attempt) => void attempts.push(attempt),
            script: once
          })
        )
      )
    }
  )

  it.live("of a write carries the same key at every attempt, under one dispatch", () => {
    const keys: Array<string | undefined> = []
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(reasons(all), ["Value"])
      assert.strictEqual(H.count(all, "CallDispatched"), 1)
      assert.lengthOf(keys, 3)
      assert.isDefined(keys[0])
      assert.lengthOf(new Set(keys), 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            t: H.writes(
              (n, { key }) =>
                Effect.suspend(() => (keys.push(key) < 3 ? Effect.fail(busy) : Effect.succeed(n))),
              { idempotent: true, retry: { max_attempts: 5, backoff_initial_ms: 1 } }
            )
          },
          script: once
        })
      )
    )
  })

  it.live("gives up when the error asks for a longer wait than the policy has", () => {
    let bodies = 0
    const later = new ToolTransientError({
      kind: "external",
      message: "come back later",
      retry_after_ms: 60_000
    })
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepNestedInclude(H.outcome(all), { "error.retry_after_ms": 60_000 })
      assert.strictEqual(bodies, 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            t: H.reads(() => Effect.suspend(() => (bodies++, Effect.fail(later))), {
              retry: { max_attempts: 5, backoff_initial_ms: 1, backoff_max_ms: 1_000 }
            })
          },
          script: once
        })
      )
    )
  })
})

describe("a side effect that happens once", () => {
  const keyed = {
    idempotency: { key: "order-{order_id}", scope: "run" },
    permission: "allow"
  } as const

  it.live(
    "SG-09 gives a second call with its key the result of the first, in the same step and later",
    () => {
      let bodies = 0
      const gate = Deferred.makeUnsafe<void>()
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        yield* H.happened(run, "CallDispatched")
        yield* Deferred.succeed(gate, undefined)
        const all = yield* H.ended(run)
        assert.strictEqual(bodies, 2)
        assert.strictEqual(H.count(all, "CallDispatched"), 2)
        const values = Object.fromEntries(
          H.settled(all).map((each) => [
            each.call,
            each.outcome._tag === "Value" ? each.outcome.json : each.outcome._tag
          ])
        )
        assert.deepStrictEqual(values, {
          "0/1.0": '{"order":"a","nth":1}',
          "0/1.1": '{"order":"a","nth":1}',
          "0/1.2": '{"order":"b","nth":2}',
          "0/2.0": '{"order":"a","nth":1}'
        })
        // What did not run has no time at which it began.
        assert.lengthOf(
          H.settled(all).filter(({ started_at }) => started_at !== undefined),
          2
        )
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {
              t: {
                ...H.writes(
                  (_, __, args) =>
                    Effect.gen(function* () {
                      const nth = ++bodies
                      yield* Deferred.await(gate)
                      return { order: args["order_id"], nth }
                    }),
                  keyed
                ),
                parameters: { n: H.anyFields.n, order_id: H.textField }
              }
            },
            script: [
              calls([
                call("t", { n: 1, order_id: "a" }),
                call("t", { n: 2, order_id: "a" }),
                call("t", { n: 3, order_id: "b" })
              ]),
              call("t", { n: 4, order_id: "a" }),
              text("done")
            ]
          })
        )
      )
    }
  )

  it.live("SG-09 asks no second question while the first call waits for a person", () => {
    const ran: Array<number> = []
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      assert.lengthOf(yield* H.pending, 1)
      yield* H.decide(approval, H.approve)
      const all = yield* H.ended(run)
      assert.sameMembers(reasons(all), ["Value", "DUPLICATE_CALL"])
      assert.deepStrictEqual(ran, [1])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            t: H.asks((n) => Effect.sync(() => ran.push(n)), {
              idempotency: { key: "the-one", scope: "run" }
            })
          },
          script: [calls([call("t", { n: 1 }), call("t", { n: 2 })]), text("done")]
        })
      )
    )
  })

  it.live("SG-09 is not run again by the process that takes the run over", () => {
    const ran: Array<string> = []
    const options: H.Options = {
      tools: {
        t: H.writes((n) => Effect.sync(() => ran.push(`t${n}`)), {
          idempotency: { key: "the-one", scope: "run" }
        }),
        asks: H.asks((n) => Effect.sync(() => ran.push(`asks${n}`)))
      },
      script: ({ step }) =>
        step === 2 ? call("asks", { n: 2 }) : step <= 3 ? call("t", { n: step }) : text("done")
    }
    return Effect.gen(function* () {
      const first = yield* H.boot(options)
      const run = yield* first.run(H.send("hello"))
      const { approval } = yield* first.run(H.question(run))
      yield* first.stop
      const second = yield* H.boot(options)
      yield* second.run(H.decide(approval, H.approve))
      const all = yield* second.run(H.ended(run))
      assert.deepStrictEqual(reasons(all), ["Value", "Value", "Value"])
      assert.deepStrictEqual(ran, ["t1", "asks2"])
      const [one, , three] = H.settled(all)
      assert.deepStrictEqual(three!.outcome, one!.outcome)
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.live("may be tried again after a failure, under the same key", () => {
    const keys: Array<string | undefined> = []
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(reasons(all), ["invalid_args", "Value", "Value"])
      assert.lengthOf(keys, 2)
      assert.lengthOf(new Set(keys), 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            t: H.writes(
              (n, { key }) =>
                Effect.suspend(() =>
                  keys.push(key) === 1
                    ? Effect.fail(new ToolUserError({ kind: "invalid_args", message: "no" }))
                    : Effect.succeed(n)
                ),
              { idempotency: { key: "the-one", scope: "run" } }
            )
          },
          script: ({ step }) => (step <= 3 ? call("t", { n: step }) : text("done"))
        })
      )
    )
  })
})

describe("the arguments of a call", () => {
  const note = "x".repeat(300_000)
  for (const [governance, outcome] of [
    [{}, "ARGUMENTS_TOO_LARGE"],
    // They are looked at, and have a member too many.
    [{ arguments_bytes_max: 400_000 }, "INPUT_SCHEMA"]
  ] as const) {
    it.live(`of 300 kB are ${outcome} with the bounds ${JSON.stringify(governance)}`, () =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.deepStrictEqual(reasons(all), [outcome])
      }).pipe(
        Effect.provide(
          H.layer({
            tools: { t: H.reads(() => Effect.succeed(1), governance) },
            script: [call("t", { n: 1, note }), text("done")]
          })
        )
      )
    )
  }
})
