/**
 * Handlers of agents and health.
 */
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { AgentDirectory, hostedBy } from "../../../services/AgentDirectory.ts"
import type { ActorInfo } from "../../../services/AgentRuntime.ts"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import { RunList } from "../../../services/RunList.ts"
import { StoreError } from "../../../services/StoreError.ts"
import { StoreSpace } from "../../../services/StoreSpace.ts"
import { TaskStore } from "../../../services/TaskStore.ts"
import type { Authentication, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { RunId } from "../../../src/value/Ids.ts"
import { problemOf } from "../boundary/Problems.ts"
import { Readiness } from "../boundary/Readiness.ts"

/** The maximum number of actors in one response, over all agents. */
const actors_max = 200

const actorView = ({ address, restarts, run, state }: ActorInfo) => ({
  key: address.key,
  state,
  restarts,
  ...(run === undefined ? undefined : { run_id: run })
})

const agents: Layer.Layer<
  HttpApiGroup.Service<"troupe", "agents">,
  never,
  AgentDirectory | AgentRuntime | RunList | Authentication | Validation
> = HttpApiBuilder.group(
  TroupeApi,
  "agents",
  Effect.fnUntraced(function* (handlers) {
    const directory = yield* AgentDirectory
    const runtime = yield* AgentRuntime
    const runs = yield* RunList
    const hosted = hostedBy(directory.all)

    return handlers.handleAll({
      unhosted: Effect.fnUntraced(function* () {
        const { tenant } = yield* CurrentPrincipal
        return { items: yield* Effect.mapError(runs.unhosted({ tenant, hosted }), problemOf) }
      }),
      list: Effect.fnUntraced(function* () {
        const { tenant } = yield* CurrentPrincipal
        const known = yield* Effect.mapError(runtime.actors(actors_max, tenant), problemOf)
        return {
          items: directory.all.map(({ spec, specialists, tools }) => ({
            name: spec.name,
            ...(spec.kind === undefined ? undefined : { kind: spec.kind }),
            description: spec.description,
            ...(spec.model === undefined ? undefined : { model: spec.model }),
            tools: Array.from(tools, ([name, { key }]) => ({ name, key })),
            specialists: Array.from(specialists.values()),
            actors: known.filter(({ address }) => address.agent === spec.name).map(actorView)
          }))
        }
      })
    })
  })
)

/** The time in ms after which a store that has not answered counts as not available. */
const answer_ms = 5_000

const inTime = Effect.timeoutOrElse({
  duration: answer_ms,
  orElse: () => new StoreError({ message: "no answer in time" })
})

const unknown_run = RunId.make("00000000-0000-4000-8000-000000000000")

const health: Layer.Layer<
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

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "agents" | "health">,
  never,
  AgentDirectory | AgentRuntime | RunList | TaskStore | Readiness | Authentication | Validation
> = Layer.mergeAll(agents, health)
