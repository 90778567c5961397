/**
 * Handlers of the kill switch of a tenant. Both the endpoint and the port check who may use it. The switch of the whole process
 * cannot be reached over HTTP.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { KillSwitch } from "../../../services/KillSwitch.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { forbidden, problemOf } from "../boundary/Problems.ts"

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "killSwitch">,
  never,
  KillSwitch | Authentication | RequestBody | Validation
> = HttpApiBuilder.group(
  TroupeApi,
  "killSwitch",
  Effect.fnUntraced(function* (handlers) {
    const killSwitch = yield* KillSwitch

    return handlers.handleAll({
      get: () => Effect.map(CurrentPrincipal, ({ tenant }) => ({ on: killSwitch.isOn(tenant) })),
      turn: Effect.fnUntraced(function* ({ payload }) {
        const by = yield* CurrentPrincipal
        yield* Effect.mapError(killSwitch.turn(payload.on, by), (error) =>
          error._tag === "StoreError"
            ? problemOf(error)
            : forbidden("Only operators turn the switch.")
        )
        return { on: killSwitch.isOn(by.tenant) }
      })
    })
  })
)
