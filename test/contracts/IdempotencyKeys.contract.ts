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
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { isErased } from "../../src/replay/Erased.ts"
import * as Samples from "./Samples.ts"
import type { Options } from "./Transact.contract.ts"

type Needs =
  | ApprovalRecords
  | ConversationStore
  | IdempotencyKeys
  | Outbox
  | RunPorts
  | SubjectErasure
  | TaskStore

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
      const reader = yield* RunReader
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
        const { length } = yield* reader.head(run)
        assert.strictEqual(length, run === holder ? 4 : 3)
      }
      assert.include(
        all.map(({ run }) => run),
        holder
      )
    })
  )

  freedTests(it)
  if (rolls_back) rollbackTests(it)
}

const freedTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a key is freed once, in its tenant, and for the call that holds it", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const [a, b] = [yield* calling(), yield* calling()]
      const [tenant, key] = [Samples.tenant(), Samples.unique("key")]
      const first = claimOf(a, tenant, key)
      const freed = { by: "ada ü", at: 1_500 }
      assert.isFalse(yield* keys.free(first, freed))
      yield* keys.reserve(first)
      assert.isFalse(yield* keys.free({ ...first, tenant: Samples.tenant() }, freed))
      assert.isFalse(yield* keys.free(claimOf(b, tenant, key), freed))
      assert.isFalse(yield* keys.free({ ...first, call: callId(rootFrame, 1, 1) }, freed))
      assert.isFalse(yield* keys.free(first, { ...freed, at: 2_000 }))
      assert.isUndefined((yield* keys.find(tenant, key, 1_500))?.freed)
      assert.isTrue(yield* keys.free(first, freed))
      assert.isFalse(yield* keys.free(first, { by: "bob", at: 1_501 }))
      const over = yield* keys.find(tenant, key, 1_502)
      assert.deepInclude(over, { run: a.run, call: first.call, freed })
      assert.isTrue(yield* keys.reserve(claimOf(b, tenant, key), over))
      const next = yield* keys.find(tenant, key, 1_502)
      assert.deepInclude(next, { run: b.run, asked: "asked" })
      assert.isUndefined(next?.freed)
    })
  )

  it.effect("who freed a key is erased from it, and it stays free", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const [tenant, key] = [Samples.tenant(), Samples.unique("key")]
      const claim = claimOf(yield* calling(), tenant, key)
      yield* keys.reserve(claim)
      yield* keys.free(claim, { by: "zelda", at: 1_500 })
      const { erased } = yield* SubjectErasure.use(({ erase }) =>
        erase({ tenant, subject: "zelda", by: "root" })
      )
      assert.strictEqual(erased["idempotency_keys"], 1)
      const freed = (yield* keys.find(tenant, key, 1_600))?.freed
      assert.strictEqual(freed?.at, 1_500)
      assert.isTrue(isErased(freed?.by))
    })
  )
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
