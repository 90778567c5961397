/**
 * The methods of a service for runs in quarantine.
 */
import { Effect } from "effect"
import { RunJournal } from "../../services/RunJournal.ts"
import * as Entries from "../../src/entry/Entries.ts"
import type { Principal } from "../../src/Principal.ts"

export const list = Effect.fnUntraced(function* (by: Principal) {
  const { tenant } = yield* Entries.entitled(by, "repair")
  return yield* RunJournal.use((journal) => journal.quarantined({ tenant, limit: 500 }))
})

/** The stored rows of a run. A run of another tenant is not found. */
export const rows = Effect.fnUntraced(function* (run: string, from: number, by: Principal) {
  const { tenant } = yield* Entries.entitled(by, "repair")
  const run_id = yield* Entries.runId(run, "run")
  const first = yield* Entries.seq(from, "from")
  const { events } = yield* RunJournal.use((journal) => journal.raw(tenant, run_id, first, 10_000))
  return events
})

export const release = Effect.fnUntraced(function* (run: string, by: Principal) {
  const who = yield* Entries.entitled(by, "repair")
  const run_id = yield* Entries.runId(run, "run")
  yield* RunJournal.use((journal) => journal.liftQuarantine(run_id, who.tenant))
})
