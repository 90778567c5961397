/**
 * The methods of a service for runs in quarantine.
 */
import { Effect } from "effect"
import type { JournalError } from "../../../services/RunJournal.ts"
import { RunJournal } from "../../../services/RunJournal.ts"
import * as Entries from "../../../src/entry/Entries.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import type { RawEvent } from "../../../src/run/Quarantine.ts"
import type { RunNotFound } from "../../../src/run/RunCommand.ts"
import { boundedPage } from "../../../src/value/Pages.ts"

export const list = Effect.fnUntraced(function* (by: Principal) {
  const { tenant } = yield* Entries.entitled(by, "repair")
  return yield* RunJournal.use((journal) => journal.quarantined({ tenant, limit: 500 }))
})

/** At most so many rows, and fewer where they are large. */
const rows_max = 10_000

/** The stored rows of a run. A run of another tenant is not found. */
export const rows = Effect.fnUntraced(function* (run: string, from: number, by: Principal) {
  const { tenant } = yield* Entries.entitled(by, "repair")
  const run_id = yield* Entries.runId(run, "run")
  const first = yield* Entries.seq(from, "from")
  const journal = yield* RunJournal
  const page = yield* boundedPage<RawEvent, RunNotFound | JournalError>(rows_max, (last, limit) =>
    Effect.map(
      journal.raw(tenant, run_id, last === undefined ? first : last.seq + 1, limit),
      ({ events }) => events
    )
  )
  return page.items
})

export const release = Effect.fnUntraced(function* (run: string, by: Principal) {
  const who = yield* Entries.entitled(by, "repair")
  const run_id = yield* Entries.runId(run, "run")
  yield* RunJournal.use((journal) => journal.liftQuarantine(run_id, who.tenant))
})
