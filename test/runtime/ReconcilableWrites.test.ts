/** Lost writes whose tool can be asked what became of them. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import { ToolTerminalError, ToolTransientError, ToolUserError } from "../../src/error/ToolError.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { CallId } from "../../src/value/Ids.ts"
import { policyOf } from "../../src/permission/Policy.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"
import type { Settlement } from "../../src/run/UnknownCall.ts"
import type { CallContext, GovernedTool, Reconciled } from "../../src/tool/GovernedTool.ts"
import { eventually } from "../contracts/Contract.ts"
import * as H from "./Harness.ts"

const script = [call("write", { n: 7 }), text("done")]
const first = CallId.make("0/1.0")

type Asks = (count: number, call: CallContext) => Effect.Effect<Reconciled, ToolError>

/** Gives every tool of a runtime the question. */
const asking =
  (asks: Asks, seen: Array<CallContext> = []) =>
  (tool: GovernedTool<AgentMemory>): GovernedTool<AgentMemory> => ({
    ...tool,
    spec: { ...tool.spec, reconcile: true },
    reconcile: (_, context) => Effect.suspend(() => asks(seen.push(context.call), context.call))
  })

const settle = (run: RunId, settlement: Settlement) =>
  AgentRuntime.use((runtime) => runtime.settle(run, first, settlement, H.alice))

const network = new ToolTransientError({ kind: "network", message: "connection reset" })
const bug: unknown = new Error("bug")
const away: ReturnType<Asks> = Effect.fail(network)
const happened: ReturnType<Asks> = Effect.succeed({ _tag: "Happened", result: "asked" })
const not: ReturnType<Asks> = Effect.succeed({ _tag: "NotHappened" })
const unsure: ReturnType<Asks> = Effect.succeed({ _tag: "Unknown" })

/** What JavaScript may give: reading its tag throws. */
const unreadable = {
  get _tag(): never {
    throw new Error("bug")
  }
}

/** A write whose first `lost` sends get no answer. */
const losing = (lost: number, more: Parameters<typeof H.writes>[1] = {}) => {
  const bodies: Array<CallContext> = []
  const tool = H.writes(
    (n, context) => (bodies.push(context) <= lost ? Effect.fail(network) : Effect.succeed(n)),
    { timeout_ms: 120, ...more }
  )
  return { bodies, tool }
}

const value = (json: string): Outcome => ({ _tag: "Value", json })
const failed = (error: object) => ({ _tag: "Failed", ...error })

const cases: ReadonlyArray<
  readonly [title: string, asks: Asks, outcome: object, asks: number, bodies: number]
> = [
  ["happened has the result that its tool finds", () => happened, value('"asked"'), 1, 1],
  ["did not happen is sent again", () => not, value("7"), 1, 2],
  [
    "ended with a failure has that",
    () => Effect.fail(new ToolUserError({ kind: "not_found", reason: "GONE", message: "no" })),
    failed({ "error.reason": "GONE" }),
    1,
    1
  ],
  [
    "ended with a transient failure has that, where its tool says so",
    () => Effect.succeed({ _tag: "Failed", error: network }),
    failed({ "error.class": "ToolTransientError", "error.kind": "network" }),
    1,
    1
  ],
  [
    "has a result that its schema or its cap refuses is terminal, and may have taken effect",
    () => Effect.succeed({ _tag: "Happened", result: "x".repeat(200) }),
    failed({ "error.reason": "RESULT_TOO_LARGE" }),
    1,
    1
  ],
  [
    "ended with a failure of the tool's own may have taken effect",
    () => Effect.fail(new ToolTerminalError({ kind: "internal", message: "broken." })),
    failed({ "error.message": "broken. It may have taken effect." }),
    1,
    1
  ],
  [
    "cannot be asked for at once is asked for again",
    (n) => (n < 3 ? away : happened),
    value('"asked"'),
    3,
    1
  ],
  [
    "is not answered for in time is asked for again",
    (n) => (n < 2 ? Effect.never : happened),
    value('"asked"'),
    2,
    1
  ]
]

describe("a lost write of a reconcilable tool that", () => {
  for (const [title, asks, outcome, questions, sends] of cases) {
    it.effect(title, () => {
      const { bodies, tool } = losing(1, { result_bytes_max: 100 })
      const seen: Array<CallContext> = []
      return Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.deepNestedInclude(H.outcome(all), outcome)
        assert.deepStrictEqual([seen.length, bodies.length], [questions, sends])
        assert.strictEqual(H.count(all, "CallDispatched"), sends)
        assert.strictEqual(H.count(all, "CallUnknown"), 0)
        const dispatched = all.find((event) => event._tag === "CallDispatched")!
        assert.strictEqual(dispatched.on_loss, "ask")
        for (const { key } of [...seen, ...bodies]) assert.strictEqual(key, dispatched.key)
        for (const { over_at } of seen) assert.strictEqual(over_at, dispatched.over_at)
      }).pipe(
        H.asTimePasses,
        Effect.provide(H.layer({ tools: { write: tool }, script, spied: asking(asks, seen) }))
      )
    })
  }

  for (const [title, asks, questions] of [
    ["nobody can say of is unknown, and waits for an operator", () => unsure, 1],
    ["its tool dies of is unknown", () => Effect.die(new Error("bug")), 1],
    ["has an answer that cannot be read is unknown", () => Effect.succeed(unreadable), 1],
    ["its tool fails at with an Error is unknown", () => Effect.fail(bug) as never, 1],
    ["cannot be asked for three times is unknown", () => away, 3]
  ] as ReadonlyArray<readonly [string, Asks, number]>) {
    it.effect(title, () => {
      const { bodies, tool } = losing(1)
      const seen: Array<CallContext> = []
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        yield* H.happened(run, "CallUnknown")
        assert.deepStrictEqual([seen.length, bodies.length], [questions, 1])
        yield* settle(run, { _tag: "RunAgain" })
        assert.deepStrictEqual(H.outcome(yield* H.ended(run)), value("7"))
        assert.strictEqual(bodies.length, 2)
      }).pipe(
        H.asTimePasses,
        Effect.provide(H.layer({ tools: { write: tool }, script, spied: asking(asks, seen) }))
      )
    })
  }

  it.effect("never happens is sent three times and then fails with NOT_DONE", () => {
    const { bodies, tool } = losing(99)
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepNestedInclude(H.outcome(all), failed({ "error.reason": "NOT_DONE" }))
      assert.strictEqual(bodies.length, 3)
      assert.strictEqual(H.count(all, "CallDispatched"), 3)
      const times = all.flatMap((event) =>
        event._tag === "CallDispatched" ? [event.over_at!] : []
      )
      assert.deepStrictEqual(
        times,
        [...new Set(times)].sort((a, b) => a - b)
      )
    }).pipe(
      H.asTimePasses,
      Effect.provide(H.layer({ tools: { write: tool }, script, spied: asking(() => not) }))
    )
  })
})

describe("a reconcilable tool is asked", () => {
  it.effect(
    "only when the time of the lost attempt is over, even if its connection was lost at once",
    () => {
      const { tool } = losing(1, { timeout_ms: 1_000 })
      const seen: Array<CallContext> = []
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        yield* H.happened(run, "CallDispatched")
        yield* TestClock.adjust(999)
        assert.strictEqual(seen.length, 0)
        yield* TestClock.adjust(1)
        yield* H.ended(run)
        assert.strictEqual(seen.length, 1)
      }).pipe(
        Effect.provide(
          H.layer({ tools: { write: tool }, script, spied: asking(() => happened, seen) })
        )
      )
    }
  )

  it.effect("only when an interrupted body has ended, and never if it does not end", () => {
    const gates = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
    let bodies = 0
    const tool = H.writes(
      () => Effect.as(Effect.uninterruptible(Deferred.await(gates[bodies++]!)), null),
      { timeout_ms: 100 }
    )
    const seen: Array<CallContext> = []
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "CallDispatched")
      yield* TestClock.adjust(199)
      assert.strictEqual(seen.length, 0)
      yield* Deferred.succeed(gates[0]!, undefined)
      yield* H.ended(run)
      assert.deepStrictEqual([seen.length, bodies], [1, 1])
      const other = yield* H.send("hello", "c-2")
      yield* H.happened(other, "CallDispatched", 1, "c-2")
      yield* TestClock.adjust(200)
      yield* H.happened(other, "CallUnknown", 1, "c-2")
      assert.deepStrictEqual([seen.length, bodies], [1, 2])
      yield* Deferred.succeed(gates[1]!, undefined)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { write: tool },
          script: ({ step }) => (step === 1 ? call("write", { n: 7 }) : text("done")),
          spied: asking(() => happened, seen)
        })
      )
    )
  })

  it.effect(
    "while its run is cancelled: its answer is kept, and a call that did not happen is not sent",
    () => {
      const outcomes: Array<object> = []
      const one = (asks: Asks) => {
        const gate = Deferred.makeUnsafe<void>()
        const asked = Deferred.makeUnsafe<void>()
        const { bodies, tool } = losing(1)
        const waits: Asks = (count, context) =>
          Effect.andThen(
            Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(gate)),
            asks(count, context)
          )
        return Effect.gen(function* () {
          const run = yield* H.send("hello")
          yield* Deferred.await(asked)
          yield* AgentRuntime.use((runtime) => runtime.interrupt(run, H.alice, "enough"))
          yield* H.happened(run, "RunStopping")
          yield* Deferred.succeed(gate, undefined)
          const all = yield* H.ended(run)
          assert.deepInclude(H.end(all), { status: "cancelled" })
          assert.strictEqual(bodies.length, 1)
          outcomes.push(H.outcome(all)!)
        }).pipe(
          H.asTimePasses,
          Effect.provide(
            H.layer({
              tools: { write: { ...tool, governance: { ...tool.governance, timeout_ms: 500 } } },
              script,
              spied: asking(waits)
            })
          )
        )
      }
      return Effect.gen(function* () {
        yield* one(() => happened)
        yield* one(() => not)
        assert.deepStrictEqual(outcomes[0], value('"asked"'))
        assert.deepNestedInclude(outcomes[1], failed({ "error.reason": "NOT_DONE" }))
      })
    }
  )

  it.effect("while an operator settles the call, which has one result", () => {
    const gate = Deferred.makeUnsafe<void>()
    const asked = Deferred.makeUnsafe<void>()
    const { tool } = losing(1, { timeout_ms: 200 })
    const waits: Asks = () =>
      Effect.andThen(
        Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(gate)),
        happened
      )
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.asTimePasses(Deferred.await(asked))
      const { over_at } = (yield* H.events(run)).find((event) => event._tag === "CallDispatched")!
      const early = yield* Effect.flip(settle(run, { _tag: "RunAgain" }))
      assert.strictEqual(early._tag, "CallNotUnknown")
      yield* TestClock.setTime(over_at!)
      yield* settle(run, { _tag: "Succeeded", json: '"seen"' })
      yield* Deferred.succeed(gate, undefined)
      const all = yield* H.ended(run)
      assert.deepStrictEqual(
        H.settled(all).map(({ by, outcome }) => [outcome, by]),
        [[value('"seen"'), "alice"]]
      )
    }).pipe(Effect.provide(H.layer({ tools: { write: tool }, script, spied: asking(waits) })))
  })
})

/** A run whose call an owner that is gone dispatched `ago` ms ago, and what a new process makes of it. */
const taken = Effect.fnUntraced(function* (
  options: H.Options,
  on_loss: "ask" | "unknown" = "ask",
  timeout_ms = 100
) {
  const gone = yield* H.boot({
    tools: { write: H.writes(() => Effect.never, { timeout_ms }) },
    script,
    spied: on_loss === "ask" ? asking(() => Effect.never) : (is) => is,
    config: { lease_ms: 1_000, drain_ms: 0 }
  })
  const run = yield* gone.run(H.send("hello"))
  yield* gone.run(H.happened(run, "CallDispatched"))
  yield* gone.stop
  return { run, next: yield* H.boot(options) }
})

describe("a reconcilable call of an owner that is gone", () => {
  const timeout_ms = 200
  const options = (
    asks: Asks,
    seen: Array<CallContext>,
    bodies: Array<CallContext>
  ): H.Options => ({
    // It asks a person now: one who let it go has done so for what is sent again too.
    tools: {
      write: H.asks((n, context) => Effect.sync(() => bodies.push(context) && n), { timeout_ms })
    },
    script: () => text("done"),
    spied: asking(asks, seen)
  })

  for (const [title, asks, outcome, sends, was_ms] of [
    ["has the result that its tool finds", () => happened, value('"asked"'), 0, 300],
    ["is sent by the next one where it did not happen", () => not, value("7"), 1, 300],
    [
      "is asked for no earlier where its time seems to be over",
      () => happened,
      value('"asked"'),
      0,
      1
    ]
  ] as ReadonlyArray<readonly [string, Asks, Outcome, number, number]>) {
    it.effect(title, () => {
      const seen: Array<CallContext> = []
      const bodies: Array<CallContext> = []
      let asked_at = 0
      const timed: Asks = (count, context) =>
        Effect.andThen(
          Effect.map(
            Effect.clockWith((clock) => clock.currentTimeMillis),
            (now) => (asked_at = now)
          ),
          asks(count, context)
        )
      return Effect.gen(function* () {
        const taken_at = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
        const { next, run } = yield* taken(options(timed, seen, bodies), "ask", was_ms)
        const all = yield* next.run(H.ended(run))
        assert.deepStrictEqual(H.outcome(all), outcome)
        assert.deepStrictEqual([seen.length, bodies.length], [1, sends])
        assert.strictEqual(H.count(all, "CallUnknown"), 0)
        const [dispatched] = all.flatMap((event) =>
          event._tag === "CallDispatched" ? [event] : []
        )
        assert.isAtLeast(asked_at, dispatched!.over_at!)
        // An attempt may begin its body as late as its timeout after its dispatch.
        assert.isAtLeast(asked_at - taken_at, 2 * timeout_ms)
        for (const { key } of [...seen, ...bodies]) assert.strictEqual(key, dispatched!.key)
      }).pipe(H.asTimePasses, Effect.scoped, Effect.provide(EphemeralStores.layer))
    })
  }

  for (const [title, change] of [
    ["its tool cannot be asked any more", { spied: undefined }],
    [
      "its sender's roles may not use the tool any more",
      { policy: policyOf({ rules: [{ pattern: "write", permission: "deny", roles: ["admin"] }] }) }
    ]
  ] as const) {
    it.live(`is unknown where ${title}, and is not run`, () => {
      const seen: Array<CallContext> = []
      const bodies: Array<CallContext> = []
      return Effect.gen(function* () {
        const { spied, ...rest } = { ...options(() => not, seen, bodies), ...change } as H.Options
        const { next, run } = yield* taken(spied === undefined ? rest : { ...rest, spied })
        yield* next.run(H.happened(run, "CallUnknown"))
        assert.deepStrictEqual([seen.length, bodies.length], [0, 0])
        // The next owner found that out itself: nothing of it crashed and was started again.
        assert.strictEqual(H.count(yield* next.run(H.events(run)), "RunClaimed"), 2)
      }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
    })
  }

  it.live(
    "waits where its tool is gone, until a process has the tool or an operator settles the call",
    () => {
      const seen: Array<CallContext> = []
      const bodies: Array<CallContext> = []
      return Effect.gen(function* () {
        const { next, run } = yield* taken({
          ...options(() => happened, seen, bodies),
          tools: {},
          spied: (is) => is
        })
        const [waiting] = yield* eventually(next.run(H.unhosted), (all) => all.length === 1)
        assert.deepInclude(waiting, { agent: H.agentName, tool: "test.write@1", count: 1 })
        yield* next.run(settle(run, { _tag: "Succeeded", json: "5" }))
        const all = yield* next.run(H.ended(run))
        assert.deepStrictEqual(H.outcome(all), value("5"))
        assert.strictEqual(H.count(all, "CallUnknown"), 0)
        assert.deepStrictEqual([seen.length, bodies.length], [0, 0])
      }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
    }
  )

  it.live("is unknown where it was dispatched before its tool could be asked", () => {
    const seen: Array<CallContext> = []
    return Effect.gen(function* () {
      const { next, run } = yield* taken(
        options(() => happened, seen, []),
        "unknown"
      )
      yield* next.run(H.happened(run, "CallUnknown"))
      assert.strictEqual(seen.length, 0)
    }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
  })

  it.effect("ends as unknown when its run is cancelled while its tool is asked", () => {
    const asked = Deferred.makeUnsafe<void>()
    const waits: Asks = () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
    return Effect.gen(function* () {
      const { next, run } = yield* taken(options(waits, [], []))
      yield* Deferred.await(asked)
      const head = yield* RunReader.use((reader) => reader.head(run))
      assert.strictEqual(head.status, "processing")
      yield* next.run(AgentRuntime.use((runtime) => runtime.interrupt(run, H.alice, "enough")))
      const all = yield* next.run(H.ended(run))
      assert.deepStrictEqual(H.outcome(all), { _tag: "Unknown" })
      assert.deepInclude(H.end(all), { status: "cancelled" })
    }).pipe(H.asTimePasses, Effect.scoped, Effect.provide(EphemeralStores.layer))
  })
})
