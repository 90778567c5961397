import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Layer, Metric, Ref, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as MergedDeliveryHandlers from "../../layers/runtime/relay/MergedDeliveryHandlers.ts"
import * as OutboxRelay from "../../layers/runtime/relay/OutboxRelay.ts"
import type { DeliveryHandler } from "../../services/DeliveryHandlers.ts"
import { DeliveryFailed, DeliveryRefused } from "../../services/DeliveryHandlers.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import { StoreError } from "../../services/StoreError.ts"
import type { OutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import { MessageId, Tenant } from "../../src/value/Ids.ts"

const tenant = Tenant.make("acme")
const idOf = (n: number) =>
  MessageId.make(`00000000-0000-4000-8000-${n.toString().padStart(12, "0")}`)
const message = (n: number, key: string, topic = "t") => ({
  id: idOf(n),
  tenant,
  key,
  topic,
  payload: { n }
})

const config: OutboxRelay.RelayConfig = {
  concurrency: 4,
  timeout_ms: 1_000,
  lease_margin_ms: 500,
  sweep_ms: 5_000,
  attempts_max: 3,
  backoff_initial_ms: 100,
  stop_ms: 2_000
}

/** Starts a relay in a new scope, over the outbox of the test, and returns what stops it. */
const start = (
  handler: DeliveryHandler,
  over: Partial<OutboxRelay.RelayConfig> = {},
  topics: ReadonlyArray<string> = ["t"]
) =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const scope = yield* Scope.make()
    yield* Layer.build(OutboxRelay.layer).pipe(
      Effect.provide(
        MergedDeliveryHandlers.layer(
          Effect.succeed(topics.map((topic) => [topic, handler] as const))
        )
      ),
      Effect.provideService(Outbox, outbox),
      Effect.provideService(OutboxRelay.RelayConfig, { ...config, ...over }),
      Scope.provide(scope)
    )
    return (exit: Exit.Exit<void> = Exit.void) => Scope.close(scope, exit)
  })

const settle = Effect.gen(function* () {
  for (let i = 0; i < 50; i++) yield* Effect.yieldNow
})
const after = (ms: number) => Effect.andThen(TestClock.adjust(ms), settle)

const dead = Effect.flatMap(OutboxReader, (reader) => reader.deadLetters({ tenant, limit: 100 }))
const counted = (name: string) =>
  Effect.map(Metric.snapshot, (all) =>
    all
      .filter((each) => each.id === name)
      .reduce((sum, each) => sum + Number((each.state as { readonly count: number }).count), 0)
  )

const test = <A, E>(
  title: string,
  body: Effect.Effect<A, E, Outbox | OutboxReader | OutboxReplayer | Scope.Scope>
) => it.effect(title, () => Effect.provide(body, EphemeralStores.layer))

describe("OutboxRelay", () => {
  test(
    "delivers what is written, in order per key, and removes it",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const seen: Array<number> = []
      const before = yield* counted("troupe_outbox_delivered_total")
      const stop = yield* start((m) =>
        Effect.sync(() => void seen.push((m.payload as { readonly n: number }).n))
      )
      yield* outbox.enqueue([message(1, "a"), message(2, "a"), message(3, "a")])
      yield* settle
      assert.deepStrictEqual(seen, [1, 2, 3])
      assert.strictEqual(yield* outbox.depth, 0)
      assert.strictEqual((yield* counted("troupe_outbox_delivered_total")) - before, 3)
      yield* stop()
    })
  )

  test(
    "reports an outcome once the store answers again, long before the lease ends",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      let isAway = false
      let tries = 0
      const delivered: typeof outbox.delivered = (id, owner) =>
        Effect.suspend(() =>
          isAway ? Effect.fail(new StoreError({ message: "away" })) : outbox.delivered(id, owner)
        )
      const stop = yield* Effect.provideService(
        start(() => Effect.sync(() => void ((isAway = true), tries++)), {
          lease_margin_ms: 600_000
        }),
        Outbox,
        { ...outbox, delivered }
      )
      yield* outbox.enqueue([message(1, "a"), message(2, "a")])
      const soon = Effect.repeat(after(500), { times: 40 })
      yield* soon
      assert.strictEqual(tries, 1)
      isAway = false
      yield* soon
      assert.strictEqual(tries, 2)
      isAway = false
      yield* soon
      assert.strictEqual(yield* outbox.depth, 0)
      yield* stop()
    })
  )

  test(
    "releases at once what a claim took whose answer was lost",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const away = Effect.fail(new StoreError({ message: "away" }))
      let losses = 0
      const claim: typeof outbox.claim = (asked) =>
        Effect.flatMap(outbox.claim(asked), (all) =>
          all.length > 0 && ++losses === 1 ? away : Effect.succeed(all)
        )
      const seen: Array<number> = []
      const stop = yield* Effect.provideService(
        start((each) => Effect.sync(() => void seen.push(each.attempts)), {
          lease_margin_ms: 600_000
        }),
        Outbox,
        { ...outbox, claim }
      )
      yield* outbox.enqueue([message(1, "a")])
      yield* after(2_000)
      // As if it had not been claimed: the lost claim does not count as a try.
      assert.deepStrictEqual(seen, [1])
      assert.strictEqual(yield* outbox.depth, 0)
      yield* stop()
    })
  )

  test(
    "lets slow deliveries of one tenant take half of the places, and delivers another's",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const of = (name: string, n: number) => ({
        ...message(n, `${name}${n}`),
        tenant: Tenant.make(name)
      })
      const began: Array<string> = []
      const gate = yield* Deferred.make<void>()
      const stop = yield* start((m) => {
        began.push(m.key)
        return m.tenant === "slow" ? Deferred.await(gate) : Effect.void
      })
      yield* outbox.enqueue(Array.from({ length: 40 }, (_, n) => of("slow", n)))
      yield* settle
      assert.deepStrictEqual(began.splice(0), ["slow0", "slow1"])
      yield* outbox.enqueue([of("quick", 50), of("quick", 51), of("quick", 52)])
      yield* settle
      assert.deepStrictEqual(began.splice(0), ["quick50", "quick51", "quick52"])
      yield* Deferred.succeed(gate, undefined)
      yield* stop()
    }).pipe(Effect.scoped)
  )

  test(
    "runs at most `concurrency` deliveries at once and one of a key",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const gate = yield* Deferred.make<void>()
      const running = new Set<string>()
      let most = 0
      let twice = false
      const stop = yield* start((m) =>
        Effect.gen(function* () {
          if (running.has(m.key)) twice = true
          running.add(m.key)
          most = Math.max(most, running.size)
          yield* Deferred.await(gate)
          yield* Effect.yieldNow
          running.delete(m.key)
        })
      )
      // The messages are of two tenants, because one tenant alone does not get all places.
      yield* outbox.enqueue(
        Array.from({ length: 40 }, (_, n) => ({
          ...message(n, `k${n % 20}`),
          tenant: Tenant.make(`tenant${n % 2}`)
        }))
      )
      yield* settle
      assert.strictEqual(running.size, 4)
      yield* Deferred.succeed(gate, undefined)
      for (let i = 0; i < 40; i++) yield* settle
      assert.strictEqual(yield* outbox.depth, 0)
      assert.strictEqual(most, 4)
      assert.isFalse(twice)
      yield* stop()
    })
  )

  test(
    "leaves a message whose topic has no handler waiting",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const stop = yield* start(() => Effect.void)
      yield* outbox.enqueue([message(1, "a", "other"), message(2, "b")])
      yield* after(60_000)
      assert.strictEqual(yield* outbox.depth, 1)
      assert.deepStrictEqual(yield* dead, [])
      yield* stop()
    })
  )

  test(
    "waits longer after each failed try, and then makes the message a dead letter with its history",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const tries: Array<number> = []
      const stop = yield* start((m) =>
        Effect.gen(function* () {
          tries.push(yield* Clock.currentTimeMillis)
          return yield* new DeliveryFailed({
            message: `try ${m.attempts}: https://u:p@host/x said 503\n    at deliver (/app/x.ts:1:1)`
          })
        })
      )
      yield* outbox.enqueue([message(1, "a"), message(2, "a")])
      yield* settle
      yield* after(99)
      assert.strictEqual(tries.length, 1)
      yield* after(1)
      assert.strictEqual(tries.length, 2)
      yield* after(200)
      assert.deepStrictEqual(tries.slice(0, 3), [0, 100, 300])
      const [letter] = yield* dead
      assert.strictEqual(letter?.event_id, idOf(1))
      assert.strictEqual(letter?.attempts, 3)
      assert.deepStrictEqual(
        letter?.failures.map((failure) => [failure.attempt, failure.error]),
        [1, 2, 3].map((n) => [n, `try ${n}: [address] said 503`])
      )
      assert.strictEqual(tries[3], 300, "a dead letter releases its key")
      yield* stop()
    })
  )

  test(
    "makes a refused message a dead letter at the first try",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const deadBefore = yield* counted("troupe_outbox_dead_total")
      const failedBefore = yield* counted("troupe_outbox_failed_total")
      const stop = yield* start(() => new DeliveryRefused({ message: "the receiver answered 410" }))
      yield* outbox.enqueue([message(1, "a")])
      yield* settle
      const [letter] = yield* dead
      assert.strictEqual(letter?.attempts, 1)
      assert.strictEqual(letter?.failures[0]?.error, "the receiver answered 410")
      assert.strictEqual((yield* counted("troupe_outbox_dead_total")) - deadBefore, 1)
      assert.strictEqual((yield* counted("troupe_outbox_failed_total")) - failedBefore, 1)
      yield* stop()
    })
  )

  test(
    "counts a defect, a thrown non-error, a self-interruption and a timeout as failed tries and goes on",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const faults: ReadonlyArray<Effect.Effect<never>> = [
        Effect.die(new Error("token=abc broke")),
        Effect.die({ password: "hunter2" }),
        Effect.interrupt,
        Effect.never
      ]
      const stop = yield* start(
        (m) => faults[(m.payload as { readonly n: number }).n] ?? Effect.void,
        { attempts_max: 1 }
      )
      yield* outbox.enqueue(faults.map((_, n) => message(n, `k${n}`)))
      yield* settle
      yield* after(1_000)
      const letters = [...(yield* dead)].sort((a, b) => (a.event_id < b.event_id ? -1 : 1))
      assert.deepStrictEqual(
        letters.map((letter) => letter.failures[0]?.error),
        [
          "the handler broke: token=[secret] broke",
          "the handler broke: it threw something that is no error",
          "the handler interrupted itself",
          "no answer within 1000 ms"
        ]
      )
      yield* outbox.enqueue([message(9, "k")])
      yield* settle
      assert.strictEqual(yield* outbox.depth, 0)
      yield* stop()
    })
  )

  test(
    "goes on after a store that did not answer to a claim or to a report",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const away = yield* Ref.make(true)
      const flaky = <A>(call: Effect.Effect<A, StoreError>) =>
        Effect.flatMap(Ref.get(away), (is) =>
          is ? Effect.fail(new StoreError({ message: "away" })) : call
        )
      let deliveries = 0
      const stop = yield* Effect.provideService(
        start(() =>
          Effect.andThen(
            Ref.set(away, true),
            Effect.sync(() => void deliveries++)
          )
        ),
        Outbox,
        {
          ...outbox,
          claim: (claim) => flaky(outbox.claim(claim)),
          delivered: (id, owner) => flaky(outbox.delivered(id, owner)),
          nextDueAt: (routes) => flaky(outbox.nextDueAt(routes))
        }
      )
      yield* outbox.enqueue([message(1, "a")])
      yield* after(3_000)
      assert.strictEqual(deliveries, 0)
      yield* Ref.set(away, false)
      yield* after(1_000)
      assert.strictEqual(deliveries, 1)
      assert.strictEqual(yield* outbox.depth, 1, "delivered, and not yet written down")
      yield* Ref.set(away, false)
      yield* after(5_000)
      assert.strictEqual(yield* outbox.depth, 0)
      assert.strictEqual(deliveries, 1)
      yield* stop()
    })
  )

  test(
    "delivers the same id again after a crash between the delivery and its report",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      // The claim of a process that delivered and died before it reported.
      yield* outbox.enqueue([message(1, "a")])
      yield* outbox.claim({ owner: "dead process", topics: ["t"], limit: 1, lease_ms: 60_000 })
      const ids: Array<OutboxMessage> = []
      const stop = yield* start((m) => Effect.sync(() => void ids.push(m)), { attempts_max: 1 })
      yield* after(59_999)
      assert.deepStrictEqual(ids, [])
      yield* after(1)
      assert.deepStrictEqual(
        ids.map((m) => [m.id, m.attempts]),
        [[idOf(1), 2]]
      )
      yield* stop()
    })
  )

  test(
    "makes a message whose tries never end a dead letter",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      yield* outbox.enqueue([message(1, "a")])
      for (let i = 0; i < 8; i++) {
        yield* outbox.claim({ owner: "killed", topics: ["t"], limit: 1, lease_ms: 10 })
        yield* TestClock.adjust(10)
      }
      let tries = 0
      const stop = yield* start(() => Effect.sync(() => void tries++))
      yield* settle
      assert.strictEqual(tries, 0)
      assert.include((yield* dead)[0]?.failures[0]?.error, "never ended")
      yield* stop()
    })
  )

  test(
    "lets only the newest claim of a message report: a try that outlived its lease changes nothing",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const gates = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const
      const before = yield* counted("troupe_outbox_delivered_total")
      let tries = 0
      const stop = yield* start(() =>
        Effect.suspend(() => Effect.uninterruptible(Deferred.await(gates[tries++]!)))
      )
      yield* outbox.enqueue([message(1, "a")])
      yield* after(1_500)
      assert.strictEqual(tries, 2)
      yield* Deferred.succeed(gates[0], undefined)
      yield* settle
      assert.strictEqual(yield* outbox.depth, 1, "the second try still holds it")
      assert.strictEqual((yield* counted("troupe_outbox_delivered_total")) - before, 0)
      yield* Deferred.succeed(gates[1], undefined)
      yield* settle
      assert.strictEqual(yield* outbox.depth, 0)
      assert.strictEqual((yield* counted("troupe_outbox_delivered_total")) - before, 1)
      yield* stop()
    })
  )

  test(
    "lets a delivery in flight finish when it stops",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const gate = yield* Deferred.make<void>()
      const stop = yield* start(() => Deferred.await(gate))
      yield* outbox.enqueue([message(1, "a"), message(2, "a")])
      yield* settle
      const stopping = yield* Effect.forkChild(stop())
      yield* settle
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(stopping)
      assert.strictEqual(yield* outbox.depth, 1, "the next message of the key is not begun")
    })
  )

  test(
    "gives back a delivery that does not finish within `stop_ms`",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const stop = yield* start(() => Effect.never, { timeout_ms: 60_000, attempts_max: 1 })
      yield* outbox.enqueue([message(1, "a")])
      yield* settle
      const stopping = yield* Effect.forkChild(stop())
      yield* after(1_999)
      assert.isUndefined(stopping.pollUnsafe())
      yield* after(1)
      yield* Fiber.join(stopping)
      const [again] = yield* outbox.claim({ owner: "next", topics: ["t"], limit: 1, lease_ms: 1 })
      assert.strictEqual(again?.id, idOf(1))
      assert.deepStrictEqual(yield* dead, [])
    })
  )

  test(
    "delivers a replayed dead letter under its own id, marked as replayed",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const down = yield* Ref.make(true)
      const seen: Array<OutboxMessage> = []
      const stop = yield* start((m) =>
        Effect.flatMap(Ref.get(down), (is) =>
          is
            ? Effect.fail(new DeliveryRefused({ message: "down" }))
            : Effect.sync(() => void seen.push(m))
        )
      )
      yield* outbox.enqueue([message(1, "a")])
      yield* settle
      yield* Ref.set(down, false)
      const replayer = yield* OutboxReplayer
      yield* replayer.replay({ tenant, event_id: idOf(1), reason: "repaired", by: "ann" })
      yield* settle
      assert.deepStrictEqual(
        seen.map((m) => [m.id, m.replayed]),
        [[idOf(1), true]]
      )
      yield* stop()
    })
  )

  it.effect("refuses two handlers of one topic at the start", () =>
    Effect.gen(function* () {
      const one = Effect.succeed([["t", () => Effect.void] as const])
      const error = yield* Effect.flip(
        Effect.scoped(Layer.build(MergedDeliveryHandlers.layer(one, one)))
      )
      assert.strictEqual(error._tag, "DuplicateDeliveryHandler")
      assert.strictEqual(error.topic, "t")
      assert.include(error.message, 'two handlers deliver messages of the topic "t"')
    })
  )
})
