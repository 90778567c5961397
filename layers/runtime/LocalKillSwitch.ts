/**
 * A switch in this process.
 */
import { Effect, Layer } from "effect"
import { NotEntitled } from "../../src/approval/Approval.ts"
import type { Role } from "../../src/Principal.ts"
import { holds } from "../../src/Principal.ts"
import { KillSwitch } from "../../services/KillSwitch.ts"

const turning: ReadonlyArray<Role> = ["operator"]

const make = Effect.sync(() => {
  let on = false
  return KillSwitch.of({
    isOn: () => on,
    turn: Effect.fn("KillSwitch.turn")(function* (wanted, by) {
      if (!holds(by, turning)) return yield* new NotEntitled({ principal: by.id, needs: turning })
      on = wanted
      yield* Effect.logWarning(wanted ? "every tool is stopped" : "tools may run again").pipe(
        Effect.annotateLogs({ by: by.id })
      )
    })
  })
})

export const layer: Layer.Layer<KillSwitch> = Layer.effect(KillSwitch, make)
