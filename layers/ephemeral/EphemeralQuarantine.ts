/**
 * Runs in quarantine: puts them there, lists them, reads their entries unchecked, and releases them. Private to this room.
 */
import { Clock, Effect, Result } from "effect"
import type { RawPage, RunQuarantine } from "../../services/RunQuarantine.ts"
import { announceLostRecord, announceQuarantine } from "../../services/RunQuarantine.ts"
import type { QuarantinedRun, RunQuarantined } from "../../src/run/Quarantine.ts"
import { foldWhole } from "../../src/run/Quarantine.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { restoredRecords } from "../../src/run/Projection.ts"
import { RunNotFound } from "../../src/run/RunCommand.ts"
import { restoreApproval } from "./EphemeralProjection.ts"
import type { Store, StoredRun } from "./EphemeralStore.ts"

const page_max = 500
const raw_max = 10_000

const viewOf = (
  store: Store,
  run: StoredRun,
  { at, why }: NonNullable<StoredRun["quarantined"]>
): QuarantinedRun => {
  const open = store.openOf.get(run.actor) ?? []
  return {
    run_id: run.run_id,
    agent: run.address.agent,
    conversation: run.conversation,
    reason: why.reason,
    seq: why.seq,
    length: run.entries.length,
    at,
    waiting: [...open].filter((other) => other.ordinal > run.ordinal).length
  }
}

/** Puts the run into quarantine, announces it if it is new, and fails with the reason. */
export const put = <A = never>(
  run: StoredRun,
  why: RunQuarantined,
  at: number
): Effect.Effect<A, RunQuarantined> =>
  Effect.suspend(() => {
    if (run.quarantined !== undefined) return Effect.fail(run.quarantined.why)
    run.quarantined = { why, at }
    return Effect.andThen(announceQuarantine(why), Effect.fail(why))
  })

const auditRuns = (store: Store) =>
  Effect.fnUntraced(function* (limit: number, after?: RunId) {
    const all = [...store.open].filter(({ run_id }) => after === undefined || run_id > after)
    const page = all.sort((a, b) => (a.run_id < b.run_id ? -1 : 1)).slice(0, limit)
    for (const run of page) {
      if (run.quarantined !== undefined) continue
      const state = foldWhole(run.run_id, run.entries, run.entries.length)
      if (Result.isFailure(state)) {
        yield* Effect.ignore(put(run, state.failure, yield* Clock.currentTimeMillis))
        continue
      }
      for (const record of restoredRecords(run, run.entries, state.success)) {
        if (restoreApproval(store, record)) yield* announceLostRecord(record)
      }
    }
    return page.length < limit ? undefined : page.at(-1)?.run_id
  })

export const make = (store: Store): RunQuarantine["Service"] => ({
  audit: auditRuns(store),
  quarantined: ({ after, limit, tenant }) =>
    Effect.sync(() => {
      const all = [...store.runs.values()]
        .flatMap((run) =>
          run.tenant === tenant && run.quarantined !== undefined
            ? [viewOf(store, run, run.quarantined)]
            : []
        )
        .sort((a, b) => a.at - b.at || (a.run_id < b.run_id ? -1 : 1))
      const from = after === undefined ? 0 : all.findIndex((run) => run.run_id === after) + 1
      return all.slice(from, from + Math.min(Math.max(limit, 1), page_max))
    }),
  raw: (tenant, id, from, limit) =>
    Effect.suspend((): Effect.Effect<RawPage, RunNotFound> => {
      const run = store.runs.get(id)
      if (run?.tenant !== tenant) return Effect.fail(new RunNotFound({ run_id: id }))
      const events = run.entries
        .filter(({ seq }) => seq >= from)
        .slice(0, Math.min(Math.max(limit, 0), raw_max))
        .map(({ at, event, seq }) => ({
          seq,
          at,
          type: event._tag,
          payload: JSON.stringify(event)
        }))
      return Effect.succeed({ quarantined: run.quarantined !== undefined, events })
    }),
  liftQuarantine: (id, tenant) =>
    Effect.suspend((): Effect.Effect<void, RunNotFound | RunQuarantined> => {
      const run = store.runs.get(id)
      if (run === undefined || run.tenant !== tenant) {
        return Effect.fail(new RunNotFound({ run_id: id }))
      }
      if (run.quarantined === undefined) return Effect.void
      const state = foldWhole(id, run.entries, run.entries.length)
      if (Result.isFailure(state)) {
        run.quarantined = { ...run.quarantined, why: state.failure }
        return Effect.fail(state.failure)
      }
      run.quarantined = undefined
      for (const { onAmended } of store.amended) onAmended(id)
      return Effect.void
    })
})
