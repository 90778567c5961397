/** The outbox: order per key, leases, retries, dead letters. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Scope } from "effect"
import type { OutboxClaim } from "../../services/Outbox.ts"
import { Outbox } from "../../services/Outbox.ts"
import type { OutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { contract, eventually } from "./Contract.ts"
import * as Samples from "./Samples.ts"
import { either } from "../Long.ts"

type Needs = Outbox

const ids = (messages: ReadonlyArray<Pick<OutboxMessage, "id">>) =>
  messages.map((message) => message.id)

/** A new topic, with functions that enqueue to a key of it and claim from it. */
const topic = () => {
  const topic = Samples.unique("topic")
  return {
    topic,
    enqueue: Effect.fnUntraced(function* (...keys: ReadonlyArray<string>) {
      const outbox = yield* Outbox
      const messages = keys.map((key) => Samples.outboxMessage({ topic, key }))
      yield* outbox.enqueue(messages)
      return messages
    }),
    claim: (owner: string, given: Partial<OutboxClaim> = {}) =>
      Effect.flatMap(Outbox, (outbox) =>
        outbox.claim({ owner, topics: [topic], limit: 100, lease_ms: 600_000, ...given })
      )
  }
}

const keyOrderTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a claimed message is as it was written, and its attempt counts", () =>
    Effect.gen(function* () {
      const { claim, enqueue } = topic()
      const [written] = yield* enqueue(Samples.unique("k"))
      const [message, ...rest] = yield* claim("a")
      assert.deepStrictEqual(rest, [])
      const { created_at, key_seq, ...content } = message!
      assert.isAbove(created_at, 0)
      assert.isAtLeast(key_seq, 0)
      assert.deepStrictEqual(content, { ...written!, attempts: 1, replayed: false })
    })
  )

  it.effect("messages of a key come one at a time, in order", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { claim, enqueue } = topic()
      const key = Samples.unique("k")
      const written = [...(yield* enqueue(key, key)), ...(yield* enqueue(key))]
      const got: Array<OutboxMessage> = []
      for (let i = 0; i < 3; i++) {
        const claimed = yield* claim("a")
        assert.strictEqual(claimed.length, 1)
        assert.deepStrictEqual(yield* claim("b"), [])
        assert.isTrue(yield* outbox.delivered(claimed[0]!.id, "a"))
        got.push(claimed[0]!)
      }
      assert.deepStrictEqual(ids(got), ids(written))
      assert.isTrue(got[0]!.key_seq < got[1]!.key_seq && got[1]!.key_seq < got[2]!.key_seq)
      assert.deepStrictEqual(yield* claim("a"), [])
    })
  )

  it.effect("the heads of free keys come oldest first, at most as many as asked for", () =>
    Effect.gen(function* () {
      const { claim, enqueue } = topic()
      const [k1, k2, k3] = [Samples.unique("k"), Samples.unique("k"), Samples.unique("k")]
      const written: Array<OutboxMessage["id"]> = []
      for (const key of [k1, k1, k2, k3]) {
        written.push((yield* enqueue(key))[0]!.id)
        yield* Effect.sleep("2 millis")
      }
      assert.deepStrictEqual(ids(yield* claim("a", { limit: 2 })), [written[0], written[2]])
      assert.deepStrictEqual(ids(yield* claim("a", { limit: 2 })), [written[3]])
    })
  )
}

const claimTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("claims at the same time share no message and no key", () =>
    Effect.gen(function* () {
      const { claim, enqueue } = topic()
      const keys = Array.from({ length: 40 }, () => Samples.unique("k"))
      yield* enqueue(...keys, ...keys)
      const claims = yield* Effect.forEach(
        ["a", "b", "c", "d"],
        (owner) => claim(owner, { limit: 10 }),
        { concurrency: "unbounded" }
      )
      const taken = claims.flat()
      assert.strictEqual(new Set(ids(taken)).size, taken.length)
      assert.strictEqual(new Set(taken.map((message) => message.key)).size, taken.length)
      const rest = yield* claim("e", { limit: 500 })
      assert.strictEqual(taken.length + rest.length, 40)
    })
  )

  it.effect("a message whose topic has no handler waits", () =>
    Effect.gen(function* () {
      const { claim, enqueue, topic: mine } = topic()
      yield* enqueue(Samples.unique("k"))
      assert.deepStrictEqual(yield* claim("a", { topics: [Samples.unique("other")] }), [])
      assert.deepStrictEqual(yield* claim("a", { topics: [] }), [])
      const both = yield* claim("a", { topics: [Samples.unique("other"), mine] })
      assert.strictEqual(both.length, 1)
    })
  )

  it.effect("a message whose id is known changes nothing", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { claim, enqueue } = topic()
      const [written] = yield* enqueue(Samples.unique("k"))
      yield* outbox.enqueue([
        { ...written!, payload: "another" },
        { ...written!, key: Samples.unique("k") }
      ])
      const claimed = yield* claim("a")
      assert.strictEqual(claimed.length, 1)
      assert.deepStrictEqual(claimed[0]!.payload, written!.payload)
      assert.isTrue(yield* outbox.delivered(written!.id, "a"))
      assert.deepStrictEqual(yield* claim("a"), [])
    })
  )
}

const order = (it: Vitest.MethodsNonLive<Needs>) => {
  keyOrderTests(it)
  claimTests(it)
}

const hosts = (it: Vitest.MethodsNonLive<Needs>) => {
  const [mine, other] = [AgentName.make("mine"), AgentName.make("other")]
  const forAgents = Effect.fnUntraced(function* (
    topic: string,
    ...agents: ReadonlyArray<AgentName | undefined>
  ) {
    const outbox = yield* Outbox
    const messages = agents.map((agent) =>
      Samples.outboxMessage({ topic, ...(agent === undefined ? undefined : { agent }) })
    )
    yield* outbox.enqueue(messages)
    return messages
  })

  it.effect("a message for an agent is claimed only by its host, and is due for no other", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { claim, topic: about } = topic()
      const [a, b, anybody] = yield* forAgents(about, mine, other, undefined)
      assert.deepStrictEqual(ids(yield* claim("none")), [anybody!.id])
      assert.isTrue(yield* outbox.delivered(anybody!.id, "none"))
      assert.isUndefined(
        yield* outbox.nextDueAt({ topics: [about], agents: [AgentName.make("x")] })
      )
      assert.isDefined(yield* outbox.nextDueAt({ topics: [about], agents: [mine] }))
      const claimed = yield* claim("a", { agents: [mine] })
      assert.deepStrictEqual(ids(claimed), [a!.id])
      assert.strictEqual(claimed[0]!.agent, mine)
      assert.deepStrictEqual(yield* claim("a", { agents: [mine, AgentName.make("third")] }), [])
      assert.deepStrictEqual(ids(yield* claim("b", { agents: [mine, other] })), [b!.id])
    })
  )

  it.effect("thousands of messages without a host delay none that has one", () =>
    Effect.gen(function* () {
      const { claim, topic: about } = topic()
      yield* forAgents(about, ...Array.from({ length: 2_000 }, () => other))
      const [hosted] = yield* forAgents(about, mine)
      assert.deepStrictEqual(ids(yield* claim("a", { agents: [mine], limit: 1 })), [hosted!.id])
    })
  )

  it.effect("the next message of a key waits for its own host", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { claim, topic: about } = topic()
      const key = Samples.unique("k")
      const first = Samples.outboxMessage({ topic: about, key, agent: mine })
      const second = Samples.outboxMessage({ topic: about, key, agent: other })
      yield* outbox.enqueue([first, second])
      assert.deepStrictEqual(yield* claim("b", { agents: [other] }), [])
      assert.deepStrictEqual(ids(yield* claim("a", { agents: [mine] })), [first.id])
      assert.isTrue(yield* outbox.delivered(first.id, "a"))
      assert.deepStrictEqual(yield* claim("a", { agents: [mine] }), [])
      assert.deepStrictEqual(ids(yield* claim("b", { agents: [other] })), [second.id])
    })
  )
}

const turns = (it: Vitest.MethodsNonLive<Needs>) => {
  const of = Effect.fnUntraced(function* (topic: string, tenant: Tenant, n: number) {
    const outbox = yield* Outbox
    const messages = Array.from({ length: n }, () => Samples.outboxMessage({ topic, tenant }))
    yield* outbox.enqueue(messages)
    return messages
  })
  const tenants = (n: number) =>
    Array.from({ length: n }, () => Tenant.make(Samples.unique("tenant"))).sort()

  it.effect("one message of a tenant is in the first claim behind thousands of another's", () =>
    Effect.gen(function* () {
      const { claim, topic: about } = topic()
      const [a, b] = tenants(2)
      const many = yield* of(about, a!, either(400, 4_000))
      const [one] = yield* of(about, b!, 1)
      const claimed = ids(yield* claim("r", { limit: 16 }))
      assert.deepStrictEqual(claimed.slice(0, 2), [many[0]!.id, one!.id])
      assert.deepStrictEqual(claimed.slice(2), ids(many.slice(1, 15)))
    })
  )

  it.effect("tenants take turns, beginning behind the one that was served last", () =>
    Effect.gen(function* () {
      const { claim, topic: about } = topic()
      const all = tenants(3)
      const written = new Map<Tenant, ReadonlyArray<string>>()
      for (const tenant of all) written.set(tenant, ids(yield* of(about, tenant, 5)))
      const [a, b, c] = all as [Tenant, Tenant, Tenant]
      const at = (tenant: Tenant, n: number) => written.get(tenant)![n]
      assert.deepStrictEqual(ids(yield* claim("r", { limit: 2, after: a })), [at(b, 0), at(c, 0)])
      const next = ids(yield* claim("r", { limit: 4, after: c }))
      assert.deepStrictEqual(next, [at(a, 0), at(b, 1), at(c, 1), at(a, 1)])
      const gone = Tenant.make(`${b}~`)
      assert.deepStrictEqual(ids(yield* claim("r", { limit: 1, after: gone })), [at(c, 2)])
    })
  )

  it.effect("a tenant gets no more than its room, and the others get theirs", () =>
    Effect.gen(function* () {
      const { claim, topic: about } = topic()
      const [a, b, c] = tenants(3) as [Tenant, Tenant, Tenant]
      for (const tenant of [a, b, c]) yield* of(about, tenant, 5)
      const claimed = yield* claim("r", { room: 2, rooms: new Map([[b, 0]]) })
      assert.deepStrictEqual(
        claimed.map(({ tenant }) => tenant),
        [a, c, a, c]
      )
      assert.strictEqual((yield* claim("r", { room: 0, rooms: new Map([[b, 9]]) })).length, 5)
    })
  )
}

const leaseTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("what a released claim holds is given back as if it had not been claimed", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { claim, enqueue } = topic()
      const key = Samples.unique("k")
      const [first] = yield* enqueue(key, key)
      const [lost, other] = [Samples.unique("lost"), topic()]
      yield* other.enqueue(Samples.unique("k"))
      assert.strictEqual((yield* other.claim(Samples.unique("other"))).length, 1)
      assert.strictEqual((yield* claim(lost)).length, 1)
      yield* outbox.release([lost, Samples.unique("nobody")])
      assert.isFalse(yield* outbox.delivered(first!.id, lost))
      assert.deepStrictEqual(yield* other.claim("b"), [])
      const again = yield* claim("b")
      assert.deepStrictEqual(ids(again), ids([first!]))
      assert.strictEqual(again[0]!.attempts, 1)
    })
  )

  it.effect("a message whose lease ended goes to another owner, under the same id", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { claim, enqueue } = topic()
      const [written] = yield* enqueue(Samples.unique("k"))
      assert.strictEqual((yield* claim("a", { lease_ms: 1 })).length, 1)
      const again = yield* eventually(claim("b"), (claimed) => claimed.length > 0)
      assert.deepStrictEqual(ids(again), [written!.id])
      assert.strictEqual(again[0]!.attempts, 2)
      assert.isFalse(yield* outbox.delivered(written!.id, "a"))
      assert.isFalse(yield* outbox.failed(written!.id, "a", "late", undefined))
      assert.isTrue(yield* outbox.delivered(written!.id, "b"))
      assert.isFalse(yield* outbox.delivered(written!.id, "b"))
    })
  )
}

const retryTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a failed message waits until retry_at and holds its key", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { claim, enqueue, topic: mine } = topic()
      const key = Samples.unique("k")
      const [first] = yield* enqueue(key, key)
      yield* claim("a")
      const now = yield* Clock.currentTimeMillis
      assert.isTrue(yield* outbox.failed(first!.id, "a", "refused", now + 3_600_000))
      assert.deepStrictEqual(yield* claim("a"), [])
      assert.strictEqual(yield* outbox.nextDueAt({ topics: [mine] }), now + 3_600_000)
      assert.isUndefined(yield* outbox.nextDueAt({ topics: [Samples.unique("other")] }))
      assert.isAtLeast(yield* outbox.depth, 2)
    })
  )

  it.effect("a failed message that is due again comes before the next of its key", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { claim, enqueue } = topic()
      const key = Samples.unique("k")
      const [first, second] = yield* enqueue(key, key)
      for (let attempt = 1; attempt <= 3; attempt++) {
        const claimed = yield* claim("a")
        assert.deepStrictEqual(ids(claimed), [first!.id])
        assert.strictEqual(claimed[0]!.attempts, attempt)
        assert.isTrue(yield* outbox.failed(first!.id, "a", "refused", 1))
      }
      yield* claim("a")
      assert.isTrue(yield* outbox.delivered(first!.id, "a"))
      assert.deepStrictEqual(ids(yield* claim("a")), [second!.id])
    })
  )

  it.effect("a dead letter leaves the outbox and releases its key", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { claim, enqueue } = topic()
      const key = Samples.unique("k")
      const [first, second] = yield* enqueue(key, key)
      yield* claim("a")
      assert.isTrue(yield* outbox.failed(first!.id, "a", "refused", undefined))
      assert.deepStrictEqual(ids(yield* claim("a")), [second!.id])
      yield* outbox.enqueue([first!])
      assert.isTrue(yield* outbox.delivered(second!.id, "a"))
      assert.deepStrictEqual(yield* claim("a"), [])
    })
  )
}

const wakeupTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("listeners are woken when messages are written, until their scope closes", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { claim, enqueue } = topic()
      const closed = yield* Scope.make()
      let afterClose = 0
      yield* Scope.provide(
        outbox.onWritten(() => {
          afterClose++
        }),
        closed
      )
      yield* Scope.close(closed, Exit.void)
      const woken = Deferred.makeUnsafe<void>()
      yield* outbox.onWritten(() => {
        Deferred.doneUnsafe(woken, Exit.void)
      })
      yield* enqueue(Samples.unique("k"))
      yield* Effect.timeout(Deferred.await(woken), "10 seconds")
      assert.strictEqual(afterClose, 0)
      assert.strictEqual((yield* claim("a")).length, 1)
    })
  )
}

const leases = (it: Vitest.MethodsNonLive<Needs>) => {
  leaseTests(it)
  retryTests(it)
  wakeupTests(it)
}

export const outboxTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  order(it)
  hosts(it)
  turns(it)
  leases(it)
}

export const outboxContract = contract("Outbox", outboxTests)
