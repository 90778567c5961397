/**
 * Heads of runs, and which of them are to be recovered or looked after. Private to this room.
 */
import { Clock, Effect } from "effect"
import type { RunHead } from "../../services/RunJournal.ts"
import type { AgentName, Tenant } from "../../src/Ids.ts"
import { actorKey } from "../../src/Ids.ts"
import type { Store, StoredRun } from "./EphemeralStore.ts"

export const headOf = (store: Store, run: StoredRun, now: number): RunHead => ({
  run_id: run.run_id,
  tenant: run.tenant,
  address: run.address,
  conversation: run.conversation,
  ordinal: run.ordinal,
  status: run.status,
  epoch: run.epoch,
  length: run.entries.length,
  created_at: run.created_at,
  owner:
    run.owner !== undefined && (store.leases.get(run.owner) ?? 0) > now ? run.owner : undefined,
  rests: run.rests,
  ...(run.quarantined === undefined ? undefined : { quarantined: true })
})

export const recoverable = Effect.fn("RunJournal.recoverable")(function* (
  store: Store,
  owner: string,
  agents: ReadonlyArray<AgentName>,
  limit: number
) {
  const now = yield* Clock.currentTimeMillis
  const found: Array<readonly [turn: number, head: RunHead]> = []
  const turns = new Map<Tenant, number>()
  for (const run of store.open) {
    if (run.rests || run.quarantined !== undefined) continue
    if (!agents.includes(run.address.agent) || !isFirst(store, run)) continue
    const head = headOf(store, run, now)
    if (head.owner !== undefined && head.owner !== owner) continue
    const turn = turns.get(run.tenant) ?? 0
    turns.set(run.tenant, turn + 1)
    found.push([turn, head])
  }
  // Stable: of each turn the oldest first.
  found.sort(([a], [b]) => a - b)
  return found.slice(0, limit).map(([, head]) => head)
})

/** Has every run of the address that came before it ended? */
const isFirst = (store: Store, run: StoredRun): boolean => {
  for (const other of store.openOf.get(actorKey(run.tenant, run.address)) ?? []) {
    if (other.ordinal < run.ordinal) return false
  }
  return true
}

export const adopt = Effect.fn("RunJournal.adopt")(function* (
  store: Store,
  owner: string,
  agents: ReadonlyArray<AgentName>,
  limit: number
) {
  const now = yield* Clock.currentTimeMillis
  const found: Array<RunHead> = []
  for (const run of store.open) {
    if (found.length >= limit) break
    if (!run.rests || run.quarantined !== undefined) continue
    if (!agents.includes(run.address.agent)) continue
    if (headOf(store, run, now).owner !== undefined) continue
    run.owner = owner
    found.push(headOf(store, run, now))
  }
  return found
})
