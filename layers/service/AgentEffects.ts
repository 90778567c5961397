/** The agents of a service, their actors, and what waits for others. */
import { Effect } from "effect"
import { AgentDirectory, hostedBy } from "../../services/AgentDirectory.ts"
import type { ActorInfo } from "../../services/AgentRuntime.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunList } from "../../services/RunList.ts"
import * as AgentOperations from "../../src/operation/AgentOperations.ts"
import { serve } from "./Served.ts"

/** The maximum number of actors in one response, over all agents. */
const actors_max = 200

const actorView = ({ address, restarts, run, state }: ActorInfo) => ({
  key: address.key,
  state,
  restarts,
  ...(run === undefined ? undefined : { run_id: run })
})

export const list = serve(
  AgentOperations.list,
  Effect.fnUntraced(function* (_, { tenant }) {
    const { all } = yield* AgentDirectory
    const known = yield* AgentRuntime.use((runtime) => runtime.actors(actors_max, tenant))
    return {
      items: all.map(({ handoffs = new Map(), pins, spec, specialists, tools }) => ({
        name: spec.name,
        ...(spec.kind === undefined ? undefined : { kind: spec.kind.name }),
        description: spec.description,
        ...(spec.model === undefined ? undefined : { model: spec.model }),
        tools: Array.from(tools, ([name, { key }]) => ({ name, key })),
        specialists: Array.from(specialists.values()),
        handoffs: Array.from(handoffs.values()),
        limits: spec.limits,
        version: `${pins.definition}.${pins.tools}`,
        actors: known.filter(({ address }) => address.agent === spec.name).map(actorView)
      }))
    }
  })
)

export const unhosted = serve(
  AgentOperations.unhosted,
  Effect.fnUntraced(function* (_, { tenant }) {
    const hosted = hostedBy((yield* AgentDirectory).all)
    return { items: yield* RunList.use((runs) => runs.unhosted({ tenant, hosted })) }
  })
)
