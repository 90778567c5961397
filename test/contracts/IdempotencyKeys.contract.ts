/** Which call holds a key beyond its run. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import type { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import type { ConversationStore } from "../../services/ConversationStore.ts"
import type { KeyClaim } from "../../services/IdempotencyKeys.ts"
import { IdempotencyKeys } from "../../services/IdempotencyKeys.ts"
import type { Outbox } from "../../services/Outbox.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import { callId, rootFrame } from "../../src/Ids.ts"
import type { Tenant } from "../../src/Ids.ts"
import type { Options } from "./RunJournal.contract.ts"
import * as Samples from "./Samples.ts"

type Needs = ApprovalRecords | ConversationStore | IdempotencyKeys | Outbox | RunJournal | TaskStore

const calling = () => Samples.begin({}, [Samples.modelTurned(1, 1)])

const claimOf = ({ run }: Samples.Begun, tenant: Tenant, key: string): KeyClaim => ({
  tenant,
  key,
  run,
  call: callId(rootFrame, 1, 0),
  seq: 3,
  asked: "asked",
  at: 1_000,
  expires_at: 2_000
})

export const idempotencyKeysTests = (
  it: Vitest.MethodsNonLive<Needs>,
  { rolls_back }: Options
): void => {
  it.effect("a key is held by one call of its tenant, until it expires or is given over", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const [a, b] = [yield* calling(), yield* calling()]
      const [tenant, other, key] = [Samples.tenant(), Samples.tenant(), Samples.unique("key")]
      const first = claimOf(a, tenant, key)
      const second = { ...claimOf(b, tenant, key), seq: 5, at: 1_999 }
      const { asked, at, call, run, seq } = first
      assert.isTrue(yield* keys.reserve(first))
      assert.deepInclude(yield* keys.find(tenant, key, 1_999), { asked, at, call, run, seq })
      assert.isFalse(yield* keys.reserve(second))
      assert.isFalse(yield* keys.reserve(second, { ...first, call: callId(rootFrame, 1, 1) }))
      assert.isFalse(yield* keys.reserve(second, { ...first, seq: 4 }))
      assert.isTrue(yield* keys.reserve(claimOf(b, other, key)))
      // The call that holds it may be dispatched again.
      assert.isTrue(yield* keys.reserve({ ...first, seq: 4 }))
      assert.strictEqual((yield* keys.find(tenant, key, 1_999))?.seq, 4)
      assert.isTrue(yield* keys.reserve(second, { ...first, seq: 4 }))
      assert.strictEqual((yield* keys.find(tenant, key, 1_999))?.run, b.run)
      assert.isUndefined(yield* keys.find(tenant, key, 2_000))
      assert.isTrue(yield* keys.reserve({ ...first, at: 2_000, expires_at: 3_000 }))
      assert.strictEqual((yield* keys.find(tenant, key, 2_000))?.run, a.run)
    })
  )

  it.effect("of several dispatches under one key at once, one is journaled", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const journal = yield* RunJournal
      const [tenant, key] = [Samples.tenant(), Samples.unique("key")]
      const all = yield* Effect.forEach(Array.from({ length: 5 }), calling)
      const dispatch = (begun: Samples.Begun) => {
        const reserve = Effect.filterOrFail(
          keys.reserve(claimOf(begun, tenant, key)),
          (isReserved) => isReserved
        )
        return journal.transact(begun.run, begun.fence, reserve, (exit) => {
          const next = begun.next(Samples.callSettled())
          return Exit.isSuccess(exit) ? next : { ...next, events: [] }
        })
      }
      yield* Effect.forEach(all, dispatch, { concurrency: "unbounded" })
      const holder = (yield* keys.find(tenant, key, 1_000))?.run
      for (const { run } of all) {
        const { length } = yield* journal.head(run)
        assert.strictEqual(length, run === holder ? 4 : 3)
      }
      assert.include(
        all.map(({ run }) => run),
        holder
      )
    })
  )

  if (rolls_back) rollbackTests(it)
}

const rollbackTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a key is free again where the transaction of its dispatch does not commit", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const journal = yield* RunJournal
      const begun = yield* calling()
      const [tenant, key] = [Samples.tenant(), Samples.unique("key")]
      const reserve = keys.reserve(claimOf(begun, tenant, key))
      const record = () => begun.next(Samples.callSettled())
      const reserved = Deferred.makeUnsafe<void>()
      const held = Effect.andThen(
        reserve,
        Effect.andThen(Deferred.succeed(reserved, undefined), Effect.never)
      )
      const dispatch = yield* Effect.forkChild(
        journal.transact(begun.run, begun.fence, held, record)
      )
      yield* Deferred.await(reserved)
      yield* Fiber.interrupt(dispatch)
      assert.isUndefined(yield* keys.find(tenant, key, 1_000))
      const failing = Effect.andThen(reserve, Effect.fail("no"))
      yield* journal.transact(begun.run, begun.fence, failing, record)
      assert.isUndefined(yield* keys.find(tenant, key, 1_000))
    })
  )
}
