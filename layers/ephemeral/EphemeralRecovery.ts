/**
 * Makes heads of runs, and finds the runs that an owner recovers, adopts or hands over. Private to this room.
 */
import { Clock, Effect } from "effect"
import type { Owner } from "../../services/RunOwnership.ts"
import type { RunHead } from "../../services/RunReader.ts"
import type { AgentName, RunId } from "../../src/value/Ids.ts"
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
    run.owner !== undefined && (store.leases.get(run.owner)?.until ?? 0) > now
      ? run.owner
      : undefined,
  parkable: run.parkable,
  ...(run.quarantined === undefined ? undefined : { quarantined: true }),
  ...(run.needs.length === 0 ? undefined : { needs: run.needs })
})

const owners_max = 500

/** What one hosts is not noted in a store that only its own process has. */
export const ownersOf = ({ leases }: Store, limit: number, now: number): ReadonlyArray<Owner> =>
  Array.from(leases, ([owner, { seen_at, since, until }]) => ({
    owner,
    since,
    seen_at,
    lease_until: until,
    guarded: false,
    hosted: []
  }))
    .filter(({ lease_until }) => lease_until > now)
    .sort((a, b) => b.since - a.since || (a.owner < b.owner ? -1 : 1))
    .slice(0, Math.max(0, Math.min(limit, owners_max)))

const takeRoundRobin = (runs: ReadonlyArray<StoredRun>, limit: number) =>
  roundRobinByAge(runs, ({ tenant }) => tenant).slice(0, limit)

const isHosted = ({ address, needs }: StoredRun, hosted: ReadonlyArray<Need>): boolean =>
  hosted.includes(address.agent) && needs.every((need) => hosted.includes(need))

/** Runs with work to do whose owner has no lease or is `owner` itself, in their turns. */
const workFor = Effect.fnUntraced(function* (
  store: Store,
  owner: string,
  limit: number,
  is: (run: StoredRun) => boolean
) {
  const now = yield* Clock.currentTimeMillis
  const found: Array<StoredRun> = []
  for (const run of store.open) {
    if (run.parkable || run.quarantined !== undefined || !is(run)) continue
    const current = runHeadOf(store, run, now).owner
    if (current === undefined || current === owner) found.push(run)
  }
  return takeRoundRobin(found, limit).map((run) => runHeadOf(store, run, now))
})

export const recoverableRuns = (
  store: Store,
  owner: string,
  hosted: ReadonlyArray<Need>,
  limit: number
) =>
  workFor(
    store,
    owner,
    limit,
    (run) => isHosted(run, hosted) && earlierOf(store, run).length === 0
  ).pipe(Effect.withSpan("RunOwnership.recoverable"))

export const answerableRuns = (
  store: Store,
  owner: string,
  agents: ReadonlyArray<AgentName>,
  hosted: ReadonlyArray<Need>,
  limit: number
) =>
  workFor(store, owner, limit, (run) => {
    if (!agents.includes(run.address.agent) || !isHosted(run, hosted)) return false
    const [first, ...others] = earlierOf(store, run)
    return first?.parkable === true && first.quarantined === undefined && others.length === 0
  }).pipe(Effect.withSpan("RunOwnership.answerable"))

/** The earlier runs of the address that have not ended. */
const earlierOf = (store: Store, { actor, ordinal }: StoredRun): ReadonlyArray<StoredRun> =>
  [...(store.openOf.get(actor) ?? [])].filter((other) => other.ordinal < ordinal)

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
