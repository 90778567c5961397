/** Runs in quarantine, which are read and released through the journal. */
import { Effect } from "effect"
import type { JournalError } from "../../services/RunJournal.ts"
import { RunQuarantine } from "../../services/RunQuarantine.ts"
import { limit_default } from "../../src/operation/Page.ts"
import * as QuarantineOperations from "../../src/operation/QuarantineOperations.ts"
import type { RawEvent } from "../../src/run/Quarantine.ts"
import { RunNotQuarantined } from "../../src/run/Quarantine.ts"
import type { RunNotFound } from "../../src/run/RunCommand.ts"
import { boundedPage } from "../../src/value/Pages.ts"
import { pageOf, serve } from "./Served.ts"

export const list = serve(
  QuarantineOperations.list,
  Effect.fnUntraced(function* ({ after, limit = limit_default }, { tenant }) {
    const items = yield* RunQuarantine.use((quarantine) =>
      quarantine.quarantined({ tenant, limit, after })
    )
    return pageOf({ items, last: items.length < limit ? undefined : items.at(-1) }, "run_id")
  })
)

export const events = serve(
  QuarantineOperations.events,
  Effect.fnUntraced(function* ({ after = -1, id, limit = limit_default }, { tenant }) {
    const quarantine = yield* RunQuarantine
    const { quarantined } = yield* quarantine.raw(tenant, id, 0, 0)
    if (!quarantined) return yield* new RunNotQuarantined({ run_id: id })
    const page = yield* boundedPage<RawEvent, RunNotFound | JournalError>(limit, (last, limit) =>
      Effect.map(
        quarantine.raw(tenant, id, (last?.seq ?? after) + 1, limit),
        ({ events }) => events
      )
    )
    return pageOf(page, "seq")
  })
)

export const release = serve(QuarantineOperations.release, ({ id }, { tenant }) =>
  Effect.asVoid(RunQuarantine.use((quarantine) => quarantine.liftQuarantine(id, tenant)))
)
