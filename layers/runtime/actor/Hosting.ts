/**
 * What this process can go on with: runs of its agents that need nothing else, or nothing that it does not host.
 */
import { Effect } from "effect"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { hostedBy } from "../../../services/AgentDirectory.ts"
import type { Address, RunId } from "../../../src/Ids.ts"
import type { Need } from "../../../src/run/Needs.ts"
import { needsOf, versionOf } from "../../../src/run/Needs.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { ActorHost } from "./ActorHost.ts"

export type Hosting = ReturnType<typeof make>

const nothing: ReadonlyArray<Need> = []

export const make = (directory: AgentDirectory["Service"]) => {
  const hosted = hostedBy(directory.all)
  const here = new Set(hosted)

  /** The version that a run waits for whose agent says so. One that was accepted without any waits for none. */
  const pinned = ({ accepted, stopping }: RunState): ReadonlyArray<Need> => {
    if (accepted === undefined || stopping !== undefined) return nothing
    const { address, pins } = accepted
    const agent = directory.get(address.agent)
    return agent?.spec.on_change !== "wait" || pins.definition === ""
      ? nothing
      : [versionOf(address.agent, pins)]
  }

  return {
    agents: directory.all.map(({ spec }) => spec.name),
    hosted,
    /** Is all of it hosted here? */
    has: ({ agent }: Address, needs = nothing): boolean =>
      here.has(agent) && needs.every((need) => here.has(need)),
    /** All that the run needs, if this process lacks any of it; otherwise nothing. */
    lacking: (state: RunState): ReadonlyArray<Need> => {
      const needs = [...needsOf(state), ...pinned(state)]
      return needs.every((need) => here.has(need)) ? nothing : needs
    }
  }
}

/** Lets go of a claimed run that needs what this process does not host: it is for one that does. */
export const handedOver = Effect.fnUntraced(function* (
  { hosting, loop, table }: ActorHost,
  run_id: RunId,
  state: RunState
) {
  const needs = hosting.lacking(state)
  if (needs.length === 0) return false
  table.releaseRun(run_id)
  yield* loop.journal.handOver(run_id, state.epoch, needs)
  yield* Effect.logInfo("a run waits for a process that hosts what it needs", { run_id, needs })
  return true
})
