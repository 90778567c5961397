/**
 * Handlers of health checks.
 */
import type { Layer } from "effect"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { StoreSpace } from "../../../services/StoreSpace.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { answers, inTime } from "../../service/StoreHealth.ts"
import { problemOf } from "../boundary/Problems.ts"
import { Readiness } from "../boundary/Readiness.ts"

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "health">,
  never,
  Effect.Services<typeof answers> | Readiness
> = HttpApiBuilder.group(
  TroupeApi,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* Effect.context<Effect.Services<typeof answers>>()
    const readiness = yield* Readiness
    const space = yield* StoreSpace

    return handlers.handleAll({
      health: () => Effect.succeed({ status: "up" as const }),
      ready: Effect.fnUntraced(function* () {
        const { state } = readiness
        if (state !== "ready") {
          return yield* Effect.fail(
            makeProblem(503, state, `The service is ${state}`, "Ask again later.")
          )
        }
        yield* answers.pipe(Effect.provideContext(store), Effect.mapError(problemOf))
        yield* inTime(space.check).pipe(
          Effect.mapError(({ message }) =>
            makeProblem(503, "store-unavailable", "A store takes no writes", `${message}.`)
          )
        )
        return { status: "ready" as const }
      })
    })
  })
)
