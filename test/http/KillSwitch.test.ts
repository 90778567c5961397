import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { KillSwitch } from "../../services/KillSwitch.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { ask, layer as service } from "./Service.ts"

const turn = (on: unknown, as: "olga" | "vera" | "stranger") =>
  ask("/v1/kill-switch", { as, method: "PUT", json: { on } })

const acme = Tenant.make("acme")
const other = Tenant.make("other")

layer(service, { excludeTestServices: true })("/v1/kill-switch", (it) => {
  it.effect(
    "AG-62 an operator stops every tool and lets them run again, and viewers can read the switch",
    () =>
      Effect.gen(function* () {
        const killSwitch = yield* KillSwitch
        assert.strictEqual((yield* turn(true, "vera")).status, 403)
        assert.strictEqual((yield* turn("yes", "olga")).status, 400)
        assert.isFalse(killSwitch.isOn(acme))
        const stopped = yield* turn(true, "olga")
        assert.deepStrictEqual([stopped.status, stopped.json], [200, { on: true }])
        assert.isTrue(killSwitch.isOn(acme))
        assert.deepStrictEqual((yield* ask("/v1/kill-switch", { as: "vera" })).json, { on: true })
        assert.strictEqual((yield* ask("/v1/kill-switch", { as: "carl" })).status, 403)
        yield* turn(false, "olga")
        assert.isFalse(killSwitch.isOn(acme))
      })
  )

  it.effect("AG-62 nobody can read or turn the switch of another tenant or of the process", () =>
    Effect.gen(function* () {
      const killSwitch = yield* KillSwitch
      yield* turn(true, "olga")
      assert.deepStrictEqual((yield* ask("/v1/kill-switch", { as: "stranger" })).json, {
        on: false
      })
      assert.deepStrictEqual((yield* turn(false, "stranger")).json, { on: false })
      assert.isTrue(killSwitch.isOn(acme))
      yield* turn(true, "stranger")
      yield* turn(false, "olga")
      assert.isFalse(killSwitch.isOn(acme))
      assert.isTrue(killSwitch.isOn(other))
      yield* turn(false, "stranger")
      yield* killSwitch.turnAll(true)
      assert.deepStrictEqual((yield* turn(false, "olga")).json, { on: true })
      yield* killSwitch.turnAll(false)
      assert.deepStrictEqual((yield* ask("/v1/kill-switch", { as: "olga" })).json, { on: false })
    })
  )
})
