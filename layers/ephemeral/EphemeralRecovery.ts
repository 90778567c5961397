/**
 * Makes heads of runs, and finds the runs that an owner recovers, adopts or hands over. Private to this room.
 */
import { Clock, Effect } from "effect"
import type { RunHead } from "../../services/RunReader.ts"
import type { RunId } from "../../src/value/Ids.ts"
import type { Need } from "../../src/run/Needs.ts"
import type { Store, StoredRun } from "./EphemeralStore.ts"
import { roundRobinByAge } from "./RoundRobin.ts"

export const runHeadOf = (store: Store, run: StoredRun, now: number): RunHead => ({
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
  parkable: run.parkable,
  ...(run.quarantined === undefined ? undefined : { quarantined: true }),
  ...(run.needs.length === 0 ? undefined : { needs: run.needs })
})

const takeRoundRobin = (runs: ReadonlyArray<StoredRun>, limit: number) =>
  roundRobinByAge(runs, ({ tenant }) => tenant).slice(0, limit)

const isHosted = ({ address, needs }: StoredRun, hosted: ReadonlyArray<Need>): boolean =>
  hosted.includes(address.agent) && needs.every((need) => hosted.includes(need))

export const recoverableRuns = Effect.fn("RunOwnership.recoverable")(function* (
  store: Store,
  owner: string,
  hosted: ReadonlyArray<Need>,
  limit: number
) {
  const now = yield* Clock.currentTimeMillis
  const found: Array<StoredRun> = []
  for (const run of store.open) {
    if (run.parkable || run.quarantined !== undefined) continue
    if (!isHosted(run, hosted) || !isFirst(store, run)) continue
    const current = runHeadOf(store, run, now).owner
    if (current === undefined || current === owner) found.push(run)
  }
  return takeRoundRobin(found, limit).map((run) => runHeadOf(store, run, now))
})

/** Whether every earlier run of the address has ended. */
const isFirst = (store: Store, run: StoredRun): boolean => {
  for (const other of store.openOf.get(run.actor) ?? []) {
    if (other.ordinal < run.ordinal) return false
  }
  return true
}

export const adoptRuns = Effect.fn("RunOwnership.adopt")(function* (
  store: Store,
  owner: string,
  hosted: ReadonlyArray<Need>,
  limit: number
) {
  const now = yield* Clock.currentTimeMillis
  const found: Array<StoredRun> = []
  for (const run of store.open) {
    if (!run.parkable || run.quarantined !== undefined || !isHosted(run, hosted)) continue
    if (runHeadOf(store, run, now).owner === undefined) found.push(run)
  }
  return takeRoundRobin(found, limit).map((run) => {
    run.owner = owner
    return runHeadOf(store, run, now)
  })
})

export const handOverRun = (store: Store, id: RunId, epoch: number, needs: ReadonlyArray<Need>) =>
  Effect.sync(() => {
    const run = store.runs.get(id)
    if (run === undefined || run.epoch !== epoch) return false
    run.owner = undefined
    run.needs = needs
    for (const { onAmended } of store.amended) onAmended(id)
    return true
  })
