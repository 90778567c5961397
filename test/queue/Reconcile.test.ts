/** A call that began in a worker that is gone, and whose tool has a `reconcile`. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Schema } from "effect"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import { ToolQueueConfig } from "../../layers/runtime/queue/ToolQueueConfig.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import { ToolTerminalError, ToolTransientError, ToolUserError } from "../../src/error/ToolError.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { Reconciled } from "../../src/tool/GovernedTool.ts"
import { eventually } from "../contracts/Contract.ts"

const key = "t.pay@1"
const id = "call-1"

type Asks = Effect.Effect<Reconciled<{ readonly receipt: string }>, ToolError>

interface Seen {
  readonly bodies: Array<string | undefined>
  readonly asked: Array<string | undefined>
}

const seen = (): Seen => ({ bodies: [], asked: [] })

const pay = (
  { asked, bodies }: Seen,
  asks: (count: number) => Asks,
  timeout_ms = 30,
  capabilities: ReadonlyArray<string> = []
) =>
  tool(
    {
      namespace: "t",
      name: "pay",
      side_effects: "external",
      permission: "allow",
      timeout_ms,
      capabilities,
      output: Schema.Struct({ receipt: Schema.String }),
      reconcile: (_, call) => Effect.suspend(() => asks(asked.push(call.key)))
    },
    (_, call) => {
      bodies.push(call.key)
      return { receipt: "body" }
    }
  )

const worker = (family: ReturnType<typeof pay>, more: Partial<ToolQueueConfig> = {}) =>
  ToolWorker.layer({ tools: [family] }).pipe(
    Layer.provide(
      Layer.effect(
        ToolQueueConfig,
        Effect.map(ToolQueueConfig, (defaults) => ({
          ...defaults,
          ack_wait_ms: 300,
          backoff_ms: [5],
          sweep_ms: 20,
          stop_ms: 100,
          ...more
        }))
      )
    )
  )

/** A call that a worker began and did not end, after this many deliveries. */
const lost = Effect.fnUntraced(function* (deliveries = 1, expires_at = 4e12) {
  const queue = yield* ToolQueue
  const payload = { id, name: key, arguments: {}, loop_id: "r", metadata: { permission: "allow" } }
  yield* queue.send({ id, tool: key, tenant: Tenant.make("acme"), expires_at, payload })
  for (let count = 1; count <= deliveries; count++) {
    const claim = { owner: `gone-${count}`, tools: [key], limit: 1, lease_ms: 1 }
    yield* eventually(queue.claim(claim), (all) => all.length === 1)
    assert.isTrue(yield* queue.begin(id, claim.owner))
  }
})

const awaited = ToolQueue.use((queue) => queue.awaited(id))
const dead = ToolQueue.use((queue) => queue.dead(1))

const happened: Asks = Effect.succeed({ _tag: "Happened", result: { receipt: "asked" } })
const not: Asks = Effect.succeed({ _tag: "NotHappened" })
const unsure: Asks = Effect.succeed({ _tag: "Unknown" })
const away: Asks = Effect.fail(new ToolTransientError({ kind: "network", message: "away" }))
const asked = { content: '{"receipt":"asked"}' }
const unknown = { error_kind: "unknown", metadata: { outcome: "unknown" } } as const

const cases: ReadonlyArray<
  readonly [title: string, asks: (count: number) => Asks, says: object, asks: number, acts: number]
> = [
  ["has the result that its tool found", () => happened, asked, 1, 0],
  ["is run where it did not happen", () => not, { content: '{"receipt":"body"}' }, 1, 1],
  ["is unknown where its tool does not know", () => unsure, unknown, 1, 0],
  [
    "is unknown where the reconcile of its tool breaks",
    () => Effect.die(new Error("bug")),
    unknown,
    1,
    0
  ],
  [
    "has the failure that its tool found",
    () =>
      Effect.fail(new ToolUserError({ kind: "not_found", reason: "GONE", message: "no order" })),
    { error: "no order", metadata: { error_class: "ToolUserError", error_reason: "GONE" } },
    1,
    0
  ],
  [
    "has a terminal failure whose message says that it may have taken effect",
    () => Effect.fail(new ToolTerminalError({ kind: "internal", message: "broken." })),
    { error: "broken. It may have taken effect." },
    1,
    0
  ],
  [
    "is reconciled again where its tool could not be asked",
    (n) => (n === 1 ? away : happened),
    asked,
    2,
    0
  ],
  [
    "is reconciled again where its tool did not answer in time",
    (n) => (n === 1 ? Effect.never : happened),
    asked,
    2,
    0
  ]
]

/** The clock with its wall time set ahead by so many ms, or back; its monotonic time is the same. */
const setAhead = (clock: Clock.Clock, ms: number): Clock.Clock => {
  const wall = () => clock.currentTimeMillisUnsafe() + ms
  return {
    currentTimeMillisUnsafe: wall,
    currentTimeMillis: Effect.sync(wall),
    currentTimeNanosUnsafe: () => BigInt(wall()) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => BigInt(wall()) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
}

const monotonicMs = Effect.map(
  Effect.flatMap(Clock.Clock, (clock) => clock.monotonicTimeNanos),
  (nanos) => Number(nanos) / 1_000_000
)

const fastSweep = Layer.effect(
  ToolQueueConfig,
  Effect.map(ToolQueueConfig, (defaults) => ({ ...defaults, sweep_ms: 20 }))
)

describe("a redelivered call that began", () => {
  for (const [title, asks, says, asked, acts] of cases) {
    it.live(title, () => {
      const all = seen()
      return Effect.gen(function* () {
        yield* lost()
        yield* Layer.build(worker(pay(all, asks)))
        assert.deepInclude(yield* awaited, says)
        assert.deepStrictEqual([all.asked.length, all.bodies.length], [asked, acts])
        assert.strictEqual(new Set([...all.asked, ...all.bodies]).size, 1)
        assert.isString(all.asked[0])
        const queue = yield* ToolQueue
        yield* eventually(queue.nextDueAt([key]), (due) => due === undefined)
        assert.deepStrictEqual(yield* dead, [])
      }).pipe(Effect.scoped, Effect.provide(EphemeralToolQueue.layer))
    })
  }

  it.live("is not reconciled before the timeout of the lost attempt has passed", () => {
    const all = seen()
    let asked_at = 0
    return Effect.gen(function* () {
      yield* lost()
      const [claimed] = yield* eventually(
        ToolQueue.use((queue) =>
          queue.claim({ owner: "look", tools: [key], limit: 1, lease_ms: 1 })
        ),
        (found) => found.length === 1
      )
      const family = pay(
        all,
        () =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            asked_at = now
            return happened
          }),
        400
      )
      yield* Layer.build(worker(family))
      assert.deepInclude(yield* awaited, asked)
      assert.isAtLeast(asked_at, claimed!.begun_at! + 400)
    }).pipe(Effect.scoped, Effect.provide(EphemeralToolQueue.layer))
  })

  const hour_ms = 3_600_000
  for (const [title, ahead_ms, attempts] of [
    ["is set ahead, after a whole attempt all the same", hour_ms, 1],
    ["is set back, after twice the time of an attempt at most", -hour_ms, 2]
  ] as const) {
    it.live(`is reconciled by a worker whose wall clock ${title}`, () => {
      const all = seen()
      const timeout_ms = 100
      // The dispatch of a body may take as long as the body.
      const attempt_ms = 2 * timeout_ms
      let asked_at = 0
      return Effect.gen(function* () {
        const clock = yield* Clock.Clock
        yield* lost()
        const asks = Effect.flatMap(monotonicMs, (now) => {
          asked_at = now
          return happened
        })
        const from = yield* monotonicMs
        yield* Layer.build(worker(pay(all, () => asks, timeout_ms))).pipe(
          Effect.provideService(Clock.Clock, setAhead(clock, ahead_ms))
        )
        assert.deepInclude(yield* awaited, asked)
        assert.isAtLeast(asked_at - from, attempts * attempt_ms)
        assert.isBelow(asked_at - from, 100 * attempt_ms)
      }).pipe(Effect.scoped, Effect.provide(EphemeralToolQueue.layer))
    })
  }

  it.live("waits for the end of its lost attempt longer than one delivery may run", () => {
    const all = seen()
    return Effect.gen(function* () {
      yield* lost()
      yield* Layer.build(
        worker(
          pay(all, () => happened, 200),
          { message_ms_max: 100 }
        )
      )
      assert.deepInclude(yield* awaited, asked)
      assert.strictEqual(all.asked.length, 1)
    }).pipe(Effect.scoped, Effect.provide(EphemeralToolQueue.layer))
  })

  it.live("is not run where it did not happen and has expired", () => {
    const all = seen()
    return Effect.gen(function* () {
      yield* lost(1, 1)
      yield* Layer.build(worker(pay(all, () => not)))
      assert.deepNestedInclude(yield* awaited, { "metadata.error_reason": "EXPIRED" })
      assert.deepStrictEqual([all.asked.length, all.bodies.length], [1, 0])
    }).pipe(Effect.scoped, Effect.provide(EphemeralToolQueue.layer))
  })

  it.live("is not reconciled by a worker that may not run its tool", () => {
    const all = seen()
    return Effect.gen(function* () {
      yield* lost()
      const guarded = pay(all, () => happened, 30, ["tools:pay"])
      yield* Layer.build(
        ToolWorker.layer({ tools: [guarded], capabilities: [] }).pipe(Layer.provide(fastSweep))
      )
      assert.deepInclude(yield* awaited, unknown)
      assert.deepStrictEqual(all, seen())
    }).pipe(Effect.scoped, Effect.provide(EphemeralToolQueue.layer))
  })
})

describe("a call that began and was delivered too often", () => {
  for (const [title, asks, says, acts, isDead] of [
    ["has the result that its tool finds", () => happened, asked, 0, false],
    [
      "is refused where its tool says that it did not happen",
      () => not,
      { error: "every worker that ran it ended before it did." },
      0,
      true
    ],
    ["is unknown where its tool does not know", () => unsure, unknown, 0, true],
    [
      "is unknown where its tool cannot be asked for as many deliveries again",
      () => away,
      unknown,
      0,
      true
    ]
  ] as const) {
    it.live(title, () => {
      const all = seen()
      return Effect.gen(function* () {
        yield* lost(2)
        yield* Layer.build(worker(pay(all, asks), { deliveries_max: 2 }))
        assert.deepInclude(yield* awaited, says)
        assert.strictEqual(all.bodies.length, acts)
        assert.isAtLeast(all.asked.length, 1)
        assert.isAtMost(all.asked.length, 2)
        const queue = yield* ToolQueue
        yield* eventually(queue.nextDueAt([key]), (due) => due === undefined)
        assert.strictEqual((yield* dead).length, isDead ? 1 : 0)
      }).pipe(Effect.scoped, Effect.provide(EphemeralToolQueue.layer))
    })
  }
})
