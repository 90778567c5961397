/**
 * Kill switches in this process: one for all tenants, and one for each.
 */
import { Effect, Layer } from "effect"
import * as Entries from "../../../src/entry/Entries.ts"
import type { Tenant } from "../../../src/Ids.ts"
import { KillSwitch } from "../../../services/KillSwitch.ts"

const make = Effect.sync(() => {
  let all = false
  const stopped = new Set<Tenant>()
  return KillSwitch.of({
    isOn: (tenant) => all || stopped.has(tenant),
    turn: Effect.fn("KillSwitch.turn")(function* (given, who) {
      const on = yield* Entries.flag(given, "on")
      const by = yield* Entries.entitled(who, "stopTools")
      if (on) stopped.add(by.tenant)
      else stopped.delete(by.tenant)
      yield* Effect.logWarning(
        on ? "every tool of a tenant is stopped" : "a tenant's tools may run again"
      ).pipe(Effect.annotateLogs({ tenant: by.tenant, by: by.id }))
    }),
    turnAll: Effect.fn("KillSwitch.turnAll")(function* (given) {
      const on = yield* Entries.flag(given, "on")
      all = on
      yield* Effect.logWarning(on ? "every tool is stopped" : "tools may run again")
    })
  })
})

export const layer: Layer.Layer<KillSwitch> = Layer.effect(KillSwitch, make)
