import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { KillSwitch } from "../../services/KillSwitch.ts"
import { ask, layer as service } from "./Service.ts"

const turn = (on: unknown, as: "olga" | "vera") =>
  ask("/v1/kill-switch", { as, method: "PUT", json: { on } })

layer(service, { excludeTestServices: true })("/v1/kill-switch", (it) => {
  it.effect(
    "AG-62 an operator stops every tool and lets them run again; whoever reads sees it",
    () =>
      Effect.gen(function* () {
        const killSwitch = yield* KillSwitch
        assert.strictEqual((yield* turn(true, "vera")).status, 403)
        assert.strictEqual((yield* turn("yes", "olga")).status, 400)
        assert.isFalse(killSwitch.isOn())
        const stopped = yield* turn(true, "olga")
        assert.deepStrictEqual([stopped.status, stopped.json], [200, { on: true }])
        assert.isTrue(killSwitch.isOn())
        assert.deepStrictEqual((yield* ask("/v1/kill-switch", { as: "vera" })).json, { on: true })
        assert.strictEqual((yield* ask("/v1/kill-switch", { as: "carl" })).status, 403)
        yield* turn(false, "olga")
        assert.isFalse(killSwitch.isOn())
      })
  )
})
