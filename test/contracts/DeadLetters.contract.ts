/** OutboxReader and OutboxReplayer: dead letters are read, replayed and discarded. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Outbox } from "../../services/Outbox.ts"
import type { DeadLetterQuery } from "../../services/OutboxReader.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import type { NewOutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { contract } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = Outbox | OutboxReader | OutboxReplayer

/** Claims the heads of a topic and makes each a dead letter with this error. */
const die = Effect.fnUntraced(function* (topic: string, error = "the receiver refused it") {
  const outbox = yield* Outbox
  const owner = Samples.unique("relay")
  const claimed = yield* outbox.claim({ owner, topics: [topic], limit: 500, lease_ms: 600_000 })
  for (const message of claimed) yield* outbox.failed(message.id, owner, error, undefined)
})

/** A dead letter of a new topic. */
const dead = Effect.fnUntraced(function* (given: Partial<NewOutboxMessage> = {}, error?: string) {
  const outbox = yield* Outbox
  const message = Samples.outboxMessage(given)
  yield* outbox.enqueue([message])
  yield* die(message.topic, error)
  // So that no two letters of one tenant die in the same millisecond.
  yield* Effect.sleep("3 millis")
  return message
})

const why = { reason: "the receiver is up again", by: "ada" }

const found = (query: Partial<DeadLetterQuery> & { readonly tenant: Tenant }) =>
  Effect.flatMap(OutboxReader, (reader) =>
    Effect.map(reader.deadLetters({ limit: 500, ...query }), (letters) =>
      letters.map((letter) => letter.event_id)
    )
  )

const matching = (query: Partial<DeadLetterQuery> & { readonly tenant: Tenant }) =>
  OutboxReader.use((reader) => reader.matching({ limit: 10_001, ...query }))

const contentTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("ST-44 a dead letter keeps its message and how each try failed", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const reader = yield* OutboxReader
      const message = Samples.outboxMessage()
      yield* outbox.enqueue([message])
      const claim = { owner: "a", topics: [message.topic], limit: 1, lease_ms: 600_000 }
      yield* outbox.claim(claim)
      yield* outbox.failed(message.id, "a", "refused once", 1)
      yield* outbox.claim(claim)
      yield* outbox.failed(message.id, "a", "refused twice", undefined)
      const letter = yield* reader.deadLetter(message.tenant, message.id)
      const { dead_at, failures, ...rest } = letter
      assert.deepStrictEqual(rest, {
        event_id: message.id,
        tenant: message.tenant,
        handler_name: message.topic,
        key: message.key,
        payload: message.payload,
        attempts: 2,
        status: "dead"
      })
      assert.deepStrictEqual(
        failures.map(({ attempt, error }) => [attempt, error]),
        [
          [1, "refused once"],
          [2, "refused twice"]
        ]
      )
      assert.isAtLeast(dead_at, failures[1]!.at)
    })
  )
}

const listTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("ST-43 dead letters are listed newest first, at most as many as asked for", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const a = yield* dead({ tenant })
      const b = yield* dead({ tenant })
      const c = yield* dead({ tenant })
      assert.deepStrictEqual(yield* found({ tenant }), [c.id, b.id, a.id])
      assert.deepStrictEqual(yield* found({ tenant, limit: 2 }), [c.id, b.id])
      assert.deepStrictEqual(yield* found({ tenant, limit: 2, after: b.id }), [a.id])
      assert.deepStrictEqual(yield* found({ tenant, limit: 2, after: a.id }), [])
      const foreign = yield* dead()
      for (const after of [foreign.id, Samples.messageId()]) {
        assert.deepStrictEqual(yield* found({ tenant, after }), [])
      }
    })
  )

  it.effect("ST-43 dead letters are filtered by handler and by the time of death", () =>
    Effect.gen(function* () {
      const reader = yield* OutboxReader
      const tenant = Samples.tenant()
      const a = yield* dead({ tenant })
      const b = yield* dead({ tenant })
      const c = yield* dead({ tenant })
      const at = (yield* reader.deadLetter(tenant, b.id)).dead_at
      assert.deepStrictEqual(yield* found({ tenant, handler_name: b.topic }), [b.id])
      assert.deepStrictEqual(yield* found({ tenant, handler_name: "nobody" }), [])
      assert.deepStrictEqual(yield* found({ tenant, dead_from: at }), [c.id, b.id])
      assert.deepStrictEqual(yield* found({ tenant, dead_to: at }), [b.id, a.id])
      assert.deepStrictEqual(yield* found({ tenant, dead_from: at, dead_to: at }), [b.id])
      const none = { tenant, dead_from: at, handler_name: a.topic }
      assert.deepStrictEqual(yield* found(none), [])
    })
  )

  it.effect("dead letters are filtered by key and by what the last failure begins with", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const odd = '503 "away" \\ 100% \u20ac'
      const a = yield* dead({ tenant, key: "order-1" })
      const b = yield* dead({ tenant, key: "order-2" }, `${odd}: try later`)
      const c = yield* dead({ tenant, key: "order-2" }, '400, "error":"503')
      assert.deepStrictEqual(yield* found({ tenant, key: "order-2" }), [c.id, b.id])
      assert.deepStrictEqual(yield* found({ tenant, key: "order" }), [])
      for (const [error, ids] of [
        ["the receiver", [a.id]],
        [odd, [b.id]],
        ['503 "away"', [b.id]],
        ["503", [b.id]],
        ["503_", []],
        ["away", []],
        ["attempt", []],
        ["error", []],
        ["40", [c.id]],
        ["", [c.id, b.id, a.id]]
      ] as const) {
        assert.deepStrictEqual(yield* found({ tenant, error }), [...ids], error)
        assert.deepStrictEqual(yield* matching({ tenant, error }), [...ids], error)
      }
      assert.deepStrictEqual(yield* found({ tenant, key: "order-2", error: "4" }), [c.id])
    })
  )

  it.effect("the ids of those that match come in the order of the list", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const a = yield* dead({ tenant })
      const b = yield* dead({ tenant })
      yield* dead()
      assert.deepStrictEqual(yield* matching({ tenant }), [b.id, a.id])
      assert.deepStrictEqual(yield* matching({ tenant, limit: 1 }), [b.id])
      assert.deepStrictEqual(yield* matching({ tenant, after: b.id }), [a.id])
      assert.deepStrictEqual(yield* matching({ tenant, handler_name: a.topic }), [a.id])
      const replayer = yield* OutboxReplayer
      yield* replayer.discard({ tenant, event_id: b.id, ...why })
      assert.deepStrictEqual(yield* matching({ tenant }), [a.id])
      // The cursor stays where it was.
      assert.deepStrictEqual(yield* matching({ tenant, after: b.id }), [a.id])
      assert.deepStrictEqual(yield* matching({ tenant: Samples.tenant(), after: b.id }), [])
    })
  )

  it.effect("a tenant sees its own dead letters", () =>
    Effect.gen(function* () {
      const reader = yield* OutboxReader
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const { id } = yield* dead({ tenant })
      assert.deepStrictEqual(yield* found({ tenant: other }), [])
      const unseen = yield* Effect.flip(reader.deadLetter(other, id))
      assert.strictEqual(unseen._tag, "DeadLetterNotFound")
      const unknown = yield* Effect.flip(reader.deadLetter(tenant, Samples.messageId()))
      assert.strictEqual(unknown._tag, "DeadLetterNotFound")
      const nonsense = yield* Effect.flip(reader.deadLetter(tenant, "not an id"))
      assert.strictEqual(nonsense._tag, "DeadLetterNotFound")
    })
  )
}

const reading = (it: Vitest.MethodsNonLive<Needs>) => {
  contentTests(it)
  listTests(it)
}

const replayTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a dead letter is replayed once, under its own id, and is marked as replayed", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const reader = yield* OutboxReader
      const replayer = yield* OutboxReplayer
      const tenant = Samples.tenant()
      const message = yield* dead({ tenant })
      yield* replayer.replay({ tenant, event_id: message.id, ...why })
      const claim = { owner: "a", topics: [message.topic], limit: 10, lease_ms: 600_000 }
      const [again, ...rest] = yield* outbox.claim(claim)
      assert.deepStrictEqual(rest, [])
      assert.strictEqual(again?.id, message.id)
      assert.isTrue(again?.replayed)
      assert.strictEqual(again?.attempts, 1)
      assert.deepStrictEqual(again?.payload, message.payload)
      const letter = yield* reader.deadLetter(tenant, message.id)
      assert.strictEqual(letter.status, "replayed")
      assert.strictEqual(letter.resolved_by, "ada")
      assert.strictEqual(letter.resolved_reason, why.reason)
      assert.isAtLeast(letter.resolved_at ?? 0, letter.dead_at)
      assert.deepStrictEqual(yield* found({ tenant }), [])
      assert.deepStrictEqual(yield* found({ tenant, status: "replayed" }), [message.id])
      for (const resolve of [replayer.replay, replayer.discard]) {
        const second = yield* Effect.flip(resolve({ tenant, event_id: message.id, ...why }))
        assert.strictEqual(second._tag, "DeadLetterResolved")
      }
    })
  )

  it.effect("a replayed message still waits for a host of its agent", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const replayer = yield* OutboxReplayer
      const tenant = Samples.tenant()
      const agent = AgentName.make("hosted")
      const message = Samples.outboxMessage({ tenant, agent })
      const claim = { owner: "a", topics: [message.topic], limit: 10, lease_ms: 600_000 }
      yield* outbox.enqueue([message])
      yield* outbox.claim({ ...claim, agents: [agent] })
      assert.isTrue(yield* outbox.failed(message.id, "a", "no", undefined))
      yield* replayer.replay({ tenant, event_id: message.id, ...why })
      assert.deepStrictEqual(yield* outbox.claim(claim), [])
      const [again] = yield* outbox.claim({ ...claim, agents: [agent] })
      assert.strictEqual(again?.id, message.id)
    })
  )

  it.effect("of 8 replays at once one sends the message", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const replayer = yield* OutboxReplayer
      const tenant = Samples.tenant()
      const { id, topic } = yield* dead({ tenant })
      const results = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, i) => `person-${i}`),
        (by) => Effect.result(replayer.replay({ tenant, event_id: id, reason: "again", by })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 1)
      const claim = { owner: "a", topics: [topic], limit: 10, lease_ms: 600_000 }
      assert.strictEqual((yield* outbox.claim(claim)).length, 1)
      assert.isTrue(yield* outbox.delivered(id, "a"))
      assert.deepStrictEqual(yield* outbox.claim(claim), [])
    })
  )
}

const replayOrderTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a replayed message comes after those that wait in its key", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const replayer = yield* OutboxReplayer
      const tenant = Samples.tenant()
      const first = yield* dead({ tenant })
      const second = { ...first, id: Samples.messageId() }
      yield* outbox.enqueue([second])
      yield* replayer.replay({ tenant, event_id: first.id, ...why })
      const order: Array<string> = []
      for (let i = 0; i < 2; i++) {
        const claim = { owner: "a", topics: [first.topic], limit: 10, lease_ms: 600_000 }
        for (const { id } of yield* outbox.claim(claim)) {
          order.push(id)
          yield* outbox.delivered(id, "a")
        }
      }
      assert.deepStrictEqual(order, [second.id, first.id])
    })
  )

  it.effect("a replayed message that fails again is a dead letter again", () =>
    Effect.gen(function* () {
      const reader = yield* OutboxReader
      const replayer = yield* OutboxReplayer
      const tenant = Samples.tenant()
      const { id, topic } = yield* dead({ tenant })
      yield* replayer.replay({ tenant, event_id: id, ...why })
      yield* die(topic, "refused again")
      const letter = yield* reader.deadLetter(tenant, id)
      assert.strictEqual(letter.status, "dead")
      assert.strictEqual(letter.failures.at(-1)?.error, "refused again")
      assert.deepStrictEqual(yield* found({ tenant }), [id])
      yield* replayer.replay({ tenant, event_id: id, ...why })
    })
  )
}

const discardTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a discarded dead letter keeps its reason and is not sent", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const reader = yield* OutboxReader
      const replayer = yield* OutboxReplayer
      const tenant = Samples.tenant()
      const { id, topic } = yield* dead({ tenant })
      yield* replayer.discard({ tenant, event_id: id, reason: "a test event", by: "bob" })
      const letter = yield* reader.deadLetter(tenant, id)
      assert.deepStrictEqual(
        [letter.status, letter.resolved_by, letter.resolved_reason],
        ["discarded", "bob", "a test event"]
      )
      const claim = { owner: "a", topics: [topic], limit: 10, lease_ms: 600_000 }
      assert.deepStrictEqual(yield* outbox.claim(claim), [])
      const late = yield* Effect.flip(replayer.replay({ tenant, event_id: id, ...why }))
      assert.strictEqual(late._tag, "DeadLetterResolved")
    })
  )

  it.effect("an unknown dead letter, and one of another tenant, is not found and not changed", () =>
    Effect.gen(function* () {
      const replayer = yield* OutboxReplayer
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const { id } = yield* dead({ tenant })
      const tries = [
        replayer.replay({ tenant, event_id: Samples.messageId(), ...why }),
        replayer.replay({ tenant: other, event_id: id, ...why }),
        replayer.discard({ tenant: other, event_id: id, ...why }),
        replayer.discard({ tenant, event_id: "not an id", ...why })
      ]
      for (const each of tries) {
        assert.strictEqual((yield* Effect.flip(each))._tag, "DeadLetterNotFound")
      }
      assert.deepStrictEqual(yield* found({ tenant }), [id])
    })
  )
}

const undeliveredTests = (it: Vitest.MethodsNonLive<Needs>) => {
  it.effect("what waits is counted by topic, with its oldest and its last failure", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const tenant = Samples.tenant()
      const of = (whose = tenant) => OutboxReader.use((reader) => reader.undelivered(whose))
      assert.deepStrictEqual(yield* of(), [])
      const [topic, other] = [Samples.unique("a"), Samples.unique("b")]
      const given = [topic, topic, topic, other].map((topic) =>
        Samples.outboxMessage({ tenant, topic, key: Samples.unique("k") })
      )
      const before = Date.now()
      yield* outbox.enqueue(given)
      yield* outbox.enqueue([Samples.outboxMessage({ topic })])
      const claim = (topic: string, limit: number) =>
        outbox.claim({ owner: "a", topics: [topic], limit, lease_ms: 600_000 })
      const [first, second] = (yield* claim(topic, 10)).filter((each) => each.tenant === tenant)
      assert.isDefined(second)
      yield* outbox.failed(first!.id, "a", 'refused \u0000 "once"', 9e12)
      yield* Effect.sleep("3 millis")
      yield* outbox.failed(second!.id, "a", "refused later", 9e12)
      const [counted, single, ...none] = yield* of()
      assert.deepStrictEqual(none, [])
      const { last_failure, oldest_at = 0, ...rest } = counted!
      assert.deepStrictEqual(rest, { topic, count: 3, failed: 2 })
      assert.isAtLeast(oldest_at, before)
      assert.deepInclude(last_failure, { attempt: 1, error: "refused later" })
      assert.deepInclude(single, { topic: other, count: 1, failed: 0 })
      assert.isUndefined(single?.last_failure)
      // What is delivered or dead waits no more.
      const [last] = yield* claim(other, 1)
      yield* outbox.failed(last!.id, "a", "for good", undefined)
      assert.deepStrictEqual(
        (yield* of()).map((each) => each.topic),
        [topic]
      )
      assert.deepStrictEqual(yield* of(Samples.tenant()), [])
      const letters = yield* OutboxReader.use((reader) => reader.undelivered(tenant, "dead"))
      const [letter, ...others] = letters
      assert.deepStrictEqual(others, [])
      assert.deepInclude(letter, { topic: other, count: 1, failed: 1 })
      assert.strictEqual(letter?.last_failure?.error, "for good")
      assert.strictEqual(letter?.last_failure?.at, letter?.oldest_at)
      const settled = { tenant, event_id: last!.id, ...why }
      yield* OutboxReplayer.use((replayer) => replayer.discard(settled))
      const none_dead = OutboxReader.use((reader) => reader.undelivered(tenant, "dead"))
      assert.deepStrictEqual(yield* none_dead, [])
    })
  )

  it.effect("of more than 1,000 messages 1,001 are counted", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const topic = Samples.unique("topic")
      const many = Array.from({ length: 1_010 }, () => Samples.outboxMessage({ tenant, topic }))
      yield* Outbox.use((outbox) => outbox.enqueue(many))
      const [counted] = yield* OutboxReader.use((reader) => reader.undelivered(tenant))
      assert.strictEqual(counted?.count, 1_001)
    })
  )
}

const resolving = (it: Vitest.MethodsNonLive<Needs>) => {
  replayTests(it)
  replayOrderTests(it)
  discardTests(it)
}

export const deadLetterTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  reading(it)
  undeliveredTests(it)
  resolving(it)
}

export const deadLettersContract = contract("OutboxReader and OutboxReplayer", deadLetterTests)
