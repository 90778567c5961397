/** Calls of tools in a queue: queued once, in one claim at a time, run at least once, with one result. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import type { NewToolMessage, ToolClaim } from "../../services/ToolQueue.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { ToolTerminalError, ToolTransientError } from "../../src/error/ToolError.ts"
import type { ResultMessage } from "../../src/queue/CallMessage.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { refusalReply, replyOf } from "../../src/queue/ToolMessage.ts"
import { contract, eventually } from "./Contract.ts"
import * as Samples from "./Samples.ts"
import { waitingCallsTests } from "./WaitingCalls.contract.ts"
import { toolOffersTests } from "./ToolOffers.contract.ts"

const tenant = Samples.tenant()
const later = 4_000_000_000_000

const message = (more: Partial<NewToolMessage> = {}): NewToolMessage => ({
  id: Samples.unique("call"),
  tool: Samples.unique("shop.refund@"),
  tenant,
  expires_at: later,
  payload: { name: "refund", arguments: { order: 'ü "€" \u0000 😀' } },
  ...more
})

const callOf = ({ id }: NewToolMessage) => ({ id, name: "refund" })

const value = (of: NewToolMessage, given: unknown = "done"): ResultMessage =>
  replyOf(callOf(of), { _tag: "Value", json: JSON.stringify(given) })

const claim = (tool: string, more: Partial<ToolClaim> = {}) =>
  ToolQueue.use((queue) =>
    queue.claim({
      owner: Samples.unique("owner"),
      tools: [tool],
      limit: 10,
      lease_ms: 60_000,
      ...more
    })
  )

const deliveryTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  it.effect(
    "a call is delivered as it was sent, to one claim, and to no claim of other tools",
    () =>
      Effect.gen(function* () {
        const queue = yield* ToolQueue
        const sent = message()
        assert.isUndefined(yield* queue.send(sent))
        assert.deepStrictEqual(yield* claim(Samples.unique("other")), [])
        assert.deepStrictEqual(yield* claim(sent.tool), [
          { ...sent, deliveries: 1, begun_at: undefined, result: undefined }
        ])
        assert.deepStrictEqual(yield* claim(sent.tool), [])
      })
  )

  it.effect("what a released claim holds is given back as if it had not been claimed", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const [mine, other] = [message(), message()]
      yield* queue.send(mine)
      yield* queue.send(other)
      const lost = Samples.unique("lost")
      assert.strictEqual((yield* claim(mine.tool, { owner: lost })).length, 1)
      assert.strictEqual((yield* claim(other.tool)).length, 1)
      yield* queue.release([lost, Samples.unique("nobody")])
      assert.isFalse(yield* queue.begin(mine.id, lost))
      assert.deepStrictEqual(yield* claim(other.tool), [])
      assert.strictEqual((yield* claim(mine.tool))[0]?.deliveries, 1)
      // A call that is over stays over.
      const done = Samples.unique("done")
      const third = message()
      yield* queue.send(third)
      yield* claim(third.tool, { owner: done })
      assert.isTrue(yield* queue.acknowledge(third.id, done))
      yield* queue.release([done])
      assert.deepStrictEqual(yield* claim(third.tool), [])
    })
  )
}

const repeatedSendTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  it.effect("a call that is sent twice is queued once, however its members are ordered", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const sent = message({ payload: { a: 1, b: 2 } })
      yield* queue.send(sent)
      assert.isUndefined(
        yield* queue.send({ ...sent, payload: { b: 2, a: 1 }, expires_at: later + 5 })
      )
      const [only, ...more] = yield* claim(sent.tool)
      assert.strictEqual(only?.expires_at, later + 5)
      assert.deepStrictEqual(more, [])
    })
  )

  it.effect(
    "a known id with another tool, tenant or arguments is refused, and nothing changes",
    () =>
      Effect.gen(function* () {
        const queue = yield* ToolQueue
        const sent = message()
        yield* queue.send(sent)
        for (const wrong of [
          { tool: Samples.unique("other") },
          { tenant: Samples.tenant() },
          { payload: { name: "refund", arguments: { order: "another" } } }
        ]) {
          const error = yield* Effect.flip(queue.send({ ...sent, ...wrong }))
          assert.deepInclude(error, { _tag: "ToolMessageConflict", id: sent.id })
        }
        assert.strictEqual((yield* claim(sent.tool)).length, 1)
      })
  )

  it.effect("a call that is sent again under another approval is the same call", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const deed = { name: "refund", arguments: { order: "a" } }
      const first = { ...deed, approved_by: "ann", metadata: { call: "0/1.0" } }
      const sent = message({ payload: first })
      const again = {
        ...sent,
        payload: { ...deed, approved_by: "bob", metadata: { call: "0/1.0", permission: "allow" } }
      }
      yield* queue.send(sent)
      assert.isUndefined(yield* queue.send(again))
      const [only] = yield* claim(sent.tool)
      assert.deepStrictEqual(only?.payload, first)
      yield* queue.publish(sent.id, value(sent))
      assert.deepStrictEqual(yield* queue.send(again), value(sent))
    })
  )
}

const callStateTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  it.effect("a look returns the state of a call, and changes nothing", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const [sent, lost, dead] = [message(), message(), message()]
      assert.isUndefined(yield* queue.status(sent.id))
      for (const each of [sent, lost, dead]) {
        yield* queue.send(each)
        assert.deepStrictEqual(yield* queue.status(each.id), {
          status: "waiting",
          result: undefined
        })
        yield* claim(each.tool, { owner: "owner" })
      }
      yield* queue.publish(sent.id, value(sent))
      yield* queue.acknowledge(sent.id, "owner")
      assert.deepStrictEqual(yield* queue.status(sent.id), { status: "over", result: value(sent) })
      const unknown = replyOf(callOf(lost), { _tag: "Unknown" })
      yield* queue.publish(lost.id, unknown)
      for (let i = 0; i < 2; i++) {
        assert.deepStrictEqual(yield* queue.status(lost.id), { status: "waiting", result: unknown })
      }
      yield* queue.failed(dead.id, "owner", "no", undefined)
      assert.deepStrictEqual(yield* queue.status(dead.id), { status: "dead", result: undefined })
      // The worker that gave it up reported no result.
      yield* queue.discard(dead.id)
      assert.deepStrictEqual(yield* queue.status(dead.id), { status: "over", result: undefined })
    })
  )

  it.effect("each call is in exactly one of many claims that run while it is sent", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const { tool } = message()
      const all = Array.from({ length: 12 }, () => message({ tool }))
      yield* Effect.forEach([...all, ...all], (each) => queue.send(each), { concurrency: 8 })
      const claims = yield* Effect.forEach(all, () => claim(tool, { limit: 2 }), { concurrency: 6 })
      const ids = claims.flat().map(({ id }) => id)
      assert.sameMembers(
        ids,
        all.map(({ id }) => id)
      )
      assert.strictEqual(new Set(ids).size, all.length)
    })
  )

  it.effect("a call that was never claimed can be withdrawn, and one that was cannot", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const [one, other] = [message(), message()]
      yield* queue.send(one)
      yield* queue.send(other)
      yield* claim(other.tool)
      assert.isTrue(yield* queue.withdraw(one.id))
      assert.isFalse(yield* queue.withdraw(one.id))
      assert.isFalse(yield* queue.withdraw(other.id))
      assert.deepStrictEqual(yield* claim(one.tool), [])
    })
  )
}

const sendTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  deliveryTests(it)
  repeatedSendTests(it)
  callStateTests(it)
}

/** The oldest tenant by name comes first, as no tenant was served last. */
const turnTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  const sends = Effect.fnUntraced(function* (tool: string, of: Tenant, n: number) {
    const queue = yield* ToolQueue
    const all = Array.from({ length: n }, () => message({ tool, tenant: of }))
    // In the order of their age.
    for (const each of all) yield* queue.send(each)
    return ids(all)
  })
  const ids = (all: ReadonlyArray<{ readonly id: string }>) => all.map(({ id }) => id)
  const tenants = (n: number) => Array.from({ length: n }, () => Samples.tenant()).sort()

  it.effect("one call of a tenant is in the first claim behind 300 of another's", () =>
    Effect.gen(function* () {
      const { tool } = message()
      const [a, b] = tenants(2)
      const many = yield* sends(tool, a!, 300)
      const [one] = yield* sends(tool, b!, 1)
      const claimed = ids(yield* claim(tool, { limit: 16 }))
      assert.deepStrictEqual(claimed, [many[0]!, one!, ...many.slice(1, 15)])
    })
  )

  it.effect("tenants take turns, beginning behind the one that was served last", () =>
    Effect.gen(function* () {
      const { tool } = message()
      const [a, b, c] = tenants(3) as [Tenant, Tenant, Tenant]
      const [ofA, ofB, ofC] = [
        yield* sends(tool, a, 5),
        yield* sends(tool, b, 5),
        yield* sends(tool, c, 5)
      ]
      const take = (limit: number, after: Tenant) => Effect.map(claim(tool, { limit, after }), ids)
      assert.deepStrictEqual(yield* take(2, a), [ofB[0], ofC[0]])
      assert.deepStrictEqual(yield* take(4, c), [ofA[0], ofB[1], ofC[1], ofA[1]])
      assert.deepStrictEqual(yield* take(1, Tenant.make(`${b}~`)), [ofC[2]])
      const rest = [...ofA.slice(2), ...ofB.slice(2), ...ofC.slice(3)]
      assert.sameMembers(yield* take(100, b), rest)
      assert.deepStrictEqual(yield* take(100, b), [])
    })
  )

  it.effect("a tenant's oldest call comes first, whatever its tool", () =>
    Effect.gen(function* () {
      const tools = [message().tool, message().tool]
      const [a, b] = tenants(2) as [Tenant, Tenant]
      const [first] = yield* sends(tools[1]!, a, 1)
      yield* Effect.sleep(2)
      const [second] = yield* sends(tools[0]!, a, 1)
      const [other] = yield* sends(tools[0]!, b, 1)
      const claimed = yield* claim(tools[0]!, { tools })
      assert.deepStrictEqual(ids(claimed), [first!, other!, second!])
    })
  )

  it.effect("a call that was given back comes after those of its tenant that are due", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const { tool } = message()
      const [first, second] = yield* sends(tool, Samples.tenant(), 2)
      assert.deepStrictEqual(ids(yield* claim(tool, { owner: "one", limit: 1 })), [first])
      const now = yield* Clock.currentTimeMillis
      yield* queue.failed(first!, "one", "not now", now + 2)
      yield* Effect.sleep(5)
      assert.deepStrictEqual(ids(yield* claim(tool)), [second!, first!])
    })
  )
}

const resultTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  it.effect(
    "a result reaches those who wait for it or send the call again, and the first one counts",
    () =>
      Effect.gen(function* () {
        const queue = yield* ToolQueue
        const sent = message()
        yield* queue.send(sent)
        const waiting = yield* Effect.forkChild(queue.awaited(sent.id), { startImmediately: true })
        yield* claim(sent.tool, { owner: "one" })
        assert.deepStrictEqual(yield* queue.publish(sent.id, value(sent)), value(sent))
        assert.deepStrictEqual(yield* Fiber.join(waiting), value(sent))
        assert.deepStrictEqual(yield* queue.publish(sent.id, value(sent, "late")), value(sent))
        assert.deepStrictEqual(yield* queue.send(sent), value(sent))
        assert.isTrue(yield* queue.acknowledge(sent.id, "one"))
        assert.isFalse(yield* queue.acknowledge(sent.id, "one"))
        assert.deepStrictEqual(yield* queue.send(sent), value(sent))
        assert.deepStrictEqual(yield* queue.awaited(sent.id), value(sent))
      })
  )

  it.effect("an inconclusive result is returned, and the next sending runs the call again", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const busy = new ToolTransientError({ kind: "external", message: "busy" })
      for (const open of [
        (of: NewToolMessage) => refusalReply(callOf(of), busy),
        (of: NewToolMessage) => replyOf(callOf(of), { _tag: "Unknown" })
      ]) {
        const sent = message()
        yield* queue.send(sent)
        yield* claim(sent.tool, { owner: "one" })
        yield* queue.begin(sent.id, "one")
        yield* queue.publish(sent.id, open(sent))
        yield* queue.acknowledge(sent.id, "one")
        assert.deepStrictEqual(yield* queue.awaited(sent.id), open(sent))
        assert.isUndefined(yield* queue.send(sent))
        const [again] = yield* claim(sent.tool)
        assert.deepInclude(again, { deliveries: 1, begun_at: undefined, result: undefined })
      }
    })
  )

  it.effect(
    "who waits may send an inconclusive call again at once, and waits for its next end",
    () =>
      Effect.gen(function* () {
        const queue = yield* ToolQueue
        const sent = message()
        yield* queue.send(sent)
        yield* claim(sent.tool)
        const waiting = yield* Effect.forkChild(
          Effect.gen(function* () {
            const first = yield* queue.awaited(sent.id)
            yield* queue.send(sent)
            return [first, yield* queue.awaited(sent.id)]
          })
        )
        yield* Effect.yieldNow
        const unknown = replyOf(callOf(sent), { _tag: "Unknown" })
        yield* queue.publish(sent.id, unknown)
        yield* eventually(claim(sent.tool), (claimed) => claimed.length === 1)
        yield* queue.publish(sent.id, value(sent))
        assert.deepStrictEqual(yield* Fiber.join(waiting), [unknown, value(sent)])
      })
  )

  it.effect("a call with a final result is not run again, also where that is a refusal", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const sent = message()
      const refused = refusalReply(
        callOf(sent),
        new ToolTerminalError({ kind: "internal", message: "no" })
      )
      yield* queue.send(sent)
      yield* claim(sent.tool)
      yield* queue.publish(sent.id, refused)
      assert.deepStrictEqual(yield* queue.send(sent), refused)
    })
  )
}

const redeliveryTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  it.effect(
    "a call whose lease ended goes to another claim, with the time at which it was begun",
    () =>
      Effect.gen(function* () {
        const queue = yield* ToolQueue
        const sent = message()
        yield* queue.send(sent)
        yield* claim(sent.tool, { owner: "first", lease_ms: 1 })
        const began = yield* Clock.currentTimeMillis
        yield* queue.begin(sent.id, "first")
        const [second] = yield* eventually(
          claim(sent.tool, { owner: "second" }),
          (all) => all.length > 0
        )
        assert.deepInclude(second, { id: sent.id, deliveries: 2 })
        assert.isAtLeast(second!.begun_at!, began)
        assert.isAtMost(second!.begun_at!, yield* Clock.currentTimeMillis)
        for (const late of [
          queue.begin(sent.id, "first"),
          queue.extend(sent.id, "first", 60_000),
          queue.acknowledge(sent.id, "first"),
          queue.failed(sent.id, "first", "no", 0)
        ]) {
          assert.isFalse(yield* late)
        }
        assert.isTrue(yield* queue.acknowledge(sent.id, "second"))
      })
  )

  it.effect(
    "a redelivered call carries the result that was recorded before it was acknowledged",
    () =>
      Effect.gen(function* () {
        const queue = yield* ToolQueue
        const sent = message()
        yield* queue.send(sent)
        yield* claim(sent.tool, { lease_ms: 1 })
        yield* queue.publish(sent.id, value(sent))
        const [again] = yield* eventually(claim(sent.tool), (all) => all.length > 0)
        assert.deepStrictEqual(again?.result, value(sent))
      })
  )

  it.effect(
    "an extended lease keeps the call, and a call that was given back waits until it is due",
    () =>
      Effect.gen(function* () {
        const queue = yield* ToolQueue
        const sent = message()
        yield* queue.send(sent)
        yield* claim(sent.tool, { owner: "one", lease_ms: 1 })
        assert.isTrue(yield* queue.extend(sent.id, "one", 60_000))
        assert.deepStrictEqual(yield* claim(sent.tool), [])
        const now = yield* Clock.currentTimeMillis
        assert.isTrue(yield* queue.failed(sent.id, "one", "not now", now + 60_000))
        assert.deepStrictEqual(yield* claim(sent.tool), [])
        assert.strictEqual(yield* queue.nextDueAt([sent.tool, "x"]), now + 60_000)
        assert.isUndefined(yield* queue.nextDueAt([Samples.unique("other")]))
      })
  )
}

const endTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  it.effect("a call that fails for good is dead, and an operator replays or discards it", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const sent = message()
      yield* queue.send(sent)
      yield* claim(sent.tool, { owner: "one" })
      yield* queue.begin(sent.id, "one")
      assert.isTrue(yield* queue.failed(sent.id, "one", "unreadable \u0000", undefined))
      assert.deepStrictEqual(yield* claim(sent.tool), [])
      const find = Effect.map(queue.dead(500), (all) => all.find(({ id }) => id === sent.id))
      assert.deepInclude(yield* find, { ...sent, deliveries: 1, error: "unreadable \u0000" })
      assert.isTrue(yield* queue.replay(sent.id, later + 1))
      assert.isFalse(yield* queue.replay(sent.id, later + 1))
      const [again] = yield* claim(sent.tool, { owner: "two" })
      assert.deepInclude(again, { deliveries: 1, begun_at: undefined, expires_at: later + 1 })
      yield* queue.failed(sent.id, "two", "again", undefined)
      assert.isTrue(yield* queue.discard(sent.id))
      assert.isUndefined(yield* find)
    })
  )

  it.effect("only calls that were over before a time are pruned", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const [over, open] = [message(), message()]
      for (const sent of [over, open]) {
        yield* queue.send(sent)
        yield* claim(sent.tool, { owner: "one" })
        yield* queue.publish(sent.id, value(sent))
      }
      yield* queue.acknowledge(over.id, "one")
      yield* queue.prune(0)
      assert.isDefined(yield* queue.send(over))
      assert.isAtLeast(yield* queue.prune(later), 1)
      assert.isUndefined(yield* queue.send(over))
      assert.isDefined(yield* queue.send(open))
    })
  )

  it.effect("a sent call wakes the listeners", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      let woken = 0
      yield* queue.onSent(() => void woken++)
      yield* queue.send(message())
      yield* eventually(
        Effect.sync(() => woken),
        (count) => count > 0
      )
    }).pipe(Effect.scoped)
  )
}

const leaseTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  redeliveryTests(it)
  endTests(it)
}

export const toolQueueContract = contract<ToolQueue>("ToolQueue", (it) => {
  sendTests(it)
  turnTests(it)
  resultTests(it)
  leaseTests(it)
  waitingCallsTests(it)
  toolOffersTests(it)
})
