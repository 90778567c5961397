/**
 * Runs in quarantine: lists them, reads their entries unchecked, and releases them. Private to this room.
 */
import { Effect, Result } from "effect"
import type { RawPage, RunJournal } from "../../services/RunJournal.ts"
import type { QuarantinedRun, RunQuarantined } from "../../src/run/Quarantine.ts"
import { foldWhole } from "../../src/run/Quarantine.ts"
import { RunNotFound } from "../../src/run/RunCommand.ts"
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

export const make = (
  store: Store
): Pick<RunJournal["Service"], "quarantined" | "raw" | "liftQuarantine"> => ({
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
