/**
 * What a runtime shows of its actors: those that live here, those whose run waits for a person with nothing of it in the
 * process, and those that crashed too often.
 */
import { addressOf } from "../../src/Ids.ts"
import type { RunId } from "../../src/Ids.ts"
import type { ActorInfo } from "../../services/AgentRuntime.ts"
import type { Actor } from "./Actor.ts"

export interface Known {
  readonly actors: ReadonlyMap<string, Actor>
  /** The address of each run that is parked. */
  readonly parked: ReadonlyMap<RunId, string>
  readonly stopped: ReadonlyMap<string, Actor>
}

/** At most `limit`. */
export const actorList = (
  { actors, parked, stopped }: Known,
  limit: number
): ReadonlyArray<ActorInfo> => {
  const found: Array<ActorInfo> = []
  const show = ({ address, restarts, run, state }: Actor) => {
    if (found.length < limit) found.push({ address, state, run, restarts })
  }
  for (const actor of actors.values()) show(actor)
  for (const [run, key] of parked) {
    if (found.length >= limit) break
    if (!actors.has(key)) found.push({ address: addressOf(key), state: "parked", run, restarts: 0 })
  }
  for (const actor of stopped.values()) show(actor)
  return found
}
