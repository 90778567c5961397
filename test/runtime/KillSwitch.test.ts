/** A tenant's kill switch in several processes over one store. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as StoredToolStops from "../../layers/stores/StoredToolStops.ts"
import { onRows } from "../contracts/OnRows.ts"
import * as LocalKillSwitch from "../../layers/runtime/approval/LocalKillSwitch.ts"
import { KillSwitch } from "../../services/KillSwitch.ts"
import { StoreError } from "../../services/StoreError.ts"
import { ToolStops } from "../../services/ToolStops.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"

const [acme, other] = [Tenant.make("acme"), Tenant.make("other")]
const olga = new Principal({ id: "olga", tenant: acme, roles: ["operator"] })

const away = Effect.fail(new StoreError({ message: "away" }))

/** A store that can be away, and processes over it. */
const makeStore = Effect.gen(function* () {
  const inner = yield* ToolStops
  const store = {
    isAway: false,
    beforeAnswer: Effect.void as Effect.Effect<void>,
    beforeWrite: Effect.void as Effect.Effect<void, StoreError>
  }
  const stops = ToolStops.of({
    tenants: Effect.suspend(() =>
      store.isAway ? away : Effect.tap(inner.tenants, () => store.beforeAnswer)
    ),
    set: (...of) =>
      Effect.suspend(() =>
        store.isAway ? away : Effect.andThen(store.beforeWrite, inner.set(...of))
      )
  })
  const boot = Effect.gen(function* () {
    const scope = yield* Scope.make()
    const layer = Layer.provide(Layer.fresh(LocalKillSwitch.layer), Layer.succeed(ToolStops, stops))
    const context = yield* Layer.buildWithScope(layer, scope)
    const { isOn, turn, turnAll } = yield* Effect.provideContext(KillSwitch, context)
    return { isOn, turn, turnAll, kill: Scope.close(scope, Exit.void) }
  })
  return { store, boot }
})

const test = (title: string, body: Effect.Effect<unknown, unknown, ToolStops | Scope.Scope>) =>
  it.effect(title, () => Effect.provide(Effect.scoped(body), onRows(StoredToolStops.layer)))

describe("AG-62 the kill switch of a tenant", () => {
  test(
    "holds in a process that starts later, and in the others within two seconds, on and off",
    Effect.gen(function* () {
      const { boot } = yield* makeStore
      const [first, second] = [yield* boot, yield* boot]
      yield* first.turn(true, olga)
      assert.isTrue(first.isOn(acme))
      assert.isFalse(first.isOn(other))
      yield* TestClock.adjust(LocalKillSwitch.refresh_ms)
      assert.isTrue(second.isOn(acme))
      assert.isFalse(second.isOn(other))
      yield* first.kill
      yield* second.kill
      const lines: Array<string> = []
      const logger = Logger.map(Logger.formatLogFmt, (line) => void lines.push(line))
      const third = yield* Effect.provide(boot, Logger.layer([logger]))
      assert.isTrue(third.isOn(acme))
      // Who looks for why no tool runs finds it at the start.
      assert.include(lines.join(), "tools of tenants are stopped")
      assert.include(lines.join(), acme)
      const fourth = yield* boot
      yield* third.turn(false, olga)
      assert.isFalse(third.isOn(acme))
      yield* TestClock.adjust(LocalKillSwitch.refresh_ms)
      assert.isFalse(fourth.isOn(acme))
    })
  )

  for (const [how, beforeWrite] of [
    ["takes nothing", away],
    ["hangs while it does", Effect.never]
  ] as const) {
    test(
      `follows the others over a store that ${how}`,
      Effect.gen(function* () {
        const { boot, store } = yield* makeStore
        const inner = yield* ToolStops
        const first = yield* boot
        store.beforeWrite = beforeWrite
        yield* Effect.forkChild(Effect.exit(first.turn(true, olga)), { startImmediately: true })
        yield* inner.set(other, true, 1)
        yield* TestClock.adjust(LocalKillSwitch.refresh_ms * 2)
        assert.isTrue(first.isOn(other))
        assert.isTrue(first.isOn(acme))
        yield* inner.set(other, false, 2)
        yield* TestClock.adjust(LocalKillSwitch.refresh_ms * 2)
        assert.isFalse(first.isOn(other))
        assert.isTrue(first.isOn(acme))
      })
    )
  }

  test(
    "is on at every moment while it is stored late",
    Effect.gen(function* () {
      const { boot, store } = yield* makeStore
      const first = yield* boot
      store.isAway = true
      yield* Effect.exit(first.turn(true, olga))
      store.isAway = false
      store.beforeWrite = Effect.sleep(LocalKillSwitch.refresh_ms / 2)
      const seen: Array<boolean> = []
      store.beforeAnswer = Effect.sync(() => void seen.push(first.isOn(acme)))
      for (let n = 0; n < 8; n++) {
        yield* TestClock.adjust(LocalKillSwitch.refresh_ms / 4)
        seen.push(first.isOn(acme))
      }
      const second = yield* boot
      assert.isTrue(second.isOn(acme))
      for (let n = 0; n < 8; n++) {
        yield* TestClock.adjust(LocalKillSwitch.refresh_ms / 4)
        seen.push(first.isOn(acme))
      }
      assert.isAbove(seen.length, 16)
      assert.notInclude(seen, false)
    })
  )

  test(
    "holds where it was turned on while the store was away, and is stored when it is back",
    Effect.gen(function* () {
      const { boot, store } = yield* makeStore
      const [first, second] = [yield* boot, yield* boot]
      store.isAway = true
      const error = yield* Effect.flip(first.turn(true, olga))
      assert.strictEqual(error._tag, "StoreError")
      assert.include(error.message, "stopped in this process")
      yield* TestClock.adjust(10 * LocalKillSwitch.refresh_ms)
      assert.isTrue(first.isOn(acme))
      assert.isFalse(second.isOn(acme))
      store.isAway = false
      yield* TestClock.adjust(2 * LocalKillSwitch.refresh_ms)
      assert.isTrue(first.isOn(acme))
      assert.isTrue(second.isOn(acme))
    })
  )

  test(
    "stays on where it could not be stored that it is off, and where it cannot be read",
    Effect.gen(function* () {
      const { boot, store } = yield* makeStore
      const first = yield* boot
      yield* first.turn(true, olga)
      store.isAway = true
      assert.strictEqual((yield* Effect.flip(first.turn(false, olga)))._tag, "StoreError")
      assert.isTrue(first.isOn(acme))
      yield* TestClock.adjust(10 * LocalKillSwitch.refresh_ms)
      assert.isTrue(first.isOn(acme))
      // No process may run tools without knowing whose are stopped.
      assert.strictEqual((yield* Effect.flip(boot))._tag, "StoreError")
    })
  )

  test(
    "is not turned off by an answer of the store from before it was turned on",
    Effect.gen(function* () {
      const { boot, store } = yield* makeStore
      const first = yield* boot
      const [reads, answers] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      store.beforeAnswer = Effect.andThen(
        Deferred.succeed(reads, undefined),
        Deferred.await(answers)
      )
      const time = yield* Effect.forkChild(TestClock.adjust(LocalKillSwitch.refresh_ms))
      yield* Deferred.await(reads)
      yield* first.turn(true, olga)
      store.beforeAnswer = Effect.void
      yield* Deferred.succeed(answers, undefined)
      yield* Fiber.join(time)
      assert.isTrue(first.isOn(acme))
    })
  )

  test(
    "stays on where it is turned on while it is being turned off",
    Effect.gen(function* () {
      const { boot, store } = yield* makeStore
      const first = yield* boot
      yield* first.turn(true, olga)
      const [writes, written] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      store.beforeWrite = Effect.andThen(
        Deferred.succeed(writes, undefined),
        Deferred.await(written)
      )
      const off = yield* Effect.forkChild(first.turn(false, olga))
      yield* Deferred.await(writes)
      const on = yield* Effect.forkChild(first.turn(true, olga), { startImmediately: true })
      yield* Deferred.succeed(written, undefined)
      yield* Fiber.join(off)
      assert.isTrue(first.isOn(acme))
      yield* Fiber.join(on)
      assert.isTrue(first.isOn(acme))
      assert.isTrue((yield* boot).isOn(acme))
    })
  )

  test(
    "stays on where it is turned off and on again while it is still being turned on",
    Effect.gen(function* () {
      const { boot, store } = yield* makeStore
      const first = yield* boot
      const [writes, written] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      store.beforeWrite = Effect.andThen(
        Deferred.succeed(writes, undefined),
        Deferred.await(written)
      )
      const turns = [yield* Effect.forkChild(first.turn(true, olga), { startImmediately: true })]
      yield* Deferred.await(writes)
      for (const on of [false, true]) {
        turns.push(yield* Effect.forkChild(first.turn(on, olga), { startImmediately: true }))
      }
      yield* Deferred.succeed(written, undefined)
      yield* Effect.forEach(turns, Fiber.join)
      assert.isTrue(first.isOn(acme))
      yield* TestClock.adjust(LocalKillSwitch.refresh_ms)
      assert.isTrue(first.isOn(acme))
      assert.isTrue((yield* boot).isOn(acme))
    })
  )

  test(
    "stays off where it is turned off while its store is told again that it is on",
    Effect.gen(function* () {
      const { boot, store } = yield* makeStore
      const first = yield* boot
      store.isAway = true
      yield* Effect.flip(first.turn(true, olga))
      store.isAway = false
      const [writes, written] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      store.beforeWrite = Effect.andThen(
        Deferred.succeed(writes, undefined),
        Deferred.await(written)
      )
      const time = yield* Effect.forkChild(TestClock.adjust(LocalKillSwitch.refresh_ms))
      yield* Deferred.await(writes)
      store.beforeWrite = Effect.void
      const off = yield* Effect.forkChild(first.turn(false, olga), { startImmediately: true })
      yield* Deferred.succeed(written, undefined)
      yield* Fiber.join(off)
      yield* Fiber.join(time)
      assert.isFalse(first.isOn(acme))
      yield* TestClock.adjust(LocalKillSwitch.refresh_ms)
      assert.isFalse(first.isOn(acme))
      assert.isFalse((yield* boot).isOn(acme))
    })
  )

  test(
    "is not that of the process, which is off when the process starts",
    Effect.gen(function* () {
      const { boot } = yield* makeStore
      const first = yield* boot
      yield* first.turnAll(true)
      yield* TestClock.adjust(LocalKillSwitch.refresh_ms)
      assert.isTrue(first.isOn(other))
      assert.isFalse((yield* boot).isOn(other))
    })
  )
})
