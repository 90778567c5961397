/**
 * Handlers of health checks.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { StoreError } from "../../../services/StoreError.ts"
import { StoreSpace } from "../../../services/StoreSpace.ts"
import { TaskStore } from "../../../services/TaskStore.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { RunId } from "../../../src/value/Ids.ts"
import { problemOf } from "../boundary/Problems.ts"
import { Readiness } from "../boundary/Readiness.ts"

/** The time in ms after which a store that has not answered counts as not available. */
const answer_ms = 5_000

const inTime = Effect.timeoutOrElse({
  duration: answer_ms,
  orElse: () => new StoreError({ message: "no answer in time" })
})

const unknown_run = RunId.make("00000000-0000-4000-8000-000000000000")

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "health">,
  never,
  TaskStore | Readiness
> = HttpApiBuilder.group(
  TroupeApi,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const tasks = yield* TaskStore
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
        yield* inTime(tasks.get(unknown_run)).pipe(Effect.mapError(problemOf))
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
