/**
 * The list of actors that a runtime shows: those in the process, then those whose run is parked, then those that crashed
 * too often.
 */
import { parseActorKey } from "../../../src/value/Ids.ts"
import type { RunId, Tenant } from "../../../src/value/Ids.ts"
import type { ActorInfo } from "../../../services/AgentRuntime.ts"
import type { Actor } from "./Actor.ts"

export interface ActorIndex {
  readonly actors: ReadonlyMap<string, Actor>
  /** The address key of each parked run. */
  readonly parked: ReadonlyMap<RunId, string>
  readonly stopped: ReadonlyMap<string, Actor>
}

/** At most `limit`; of one tenant, or of all of them. */
export const actorList = (
  { actors, parked, stopped }: ActorIndex,
  limit: number,
  only: Tenant | undefined
): ReadonlyArray<ActorInfo> => {
  const found: Array<ActorInfo> = []
  const show = ({ address, restarts, run, state, tenant }: Actor) => {
    if (found.length >= limit || (only !== undefined && tenant !== only)) return
    found.push({ tenant, address, state, run, restarts })
  }
  for (const actor of actors.values()) show(actor)
  for (const [run, key] of parked) {
    if (found.length >= limit) break
    if (actors.has(key) || (only !== undefined && !key.startsWith(`${only}/`))) continue
    found.push({ ...parseActorKey(key), state: "parked", run, restarts: 0 })
  }
  for (const actor of stopped.values()) show(actor)
  return found
}
