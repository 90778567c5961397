import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { clientComesBack, comesBack, gapIsFound } from "../contracts/LostRecords.ts"

describe("an approval whose record was lost (ephemeral)", () => {
  it.live("is restored from the journal of its run", () =>
    comesBack(
      Effect.fnUntraced(function* (id) {
        const store = yield* EphemeralStore.EphemeralStore
        store.approvals.delete(id)
        store.pending.delete(id)
      })
    ).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.live("of a client's call is restored too", () =>
    clientComesBack(
      Effect.fnUntraced(function* (id) {
        const store = yield* EphemeralStore.EphemeralStore
        store.approvals.delete(id)
        store.pending.delete(id)
      })
    ).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.live("puts its run into quarantine at the next start where the journal has a gap", () =>
    gapIsFound(
      Effect.fnUntraced(function* (run) {
        const store = yield* EphemeralStore.EphemeralStore
        store.runs.get(run)!.entries.splice(2, 1)
      }),
      // The audit comes seconds after the start, as in production.
      {}
    ).pipe(Effect.provide(EphemeralStores.layer))
  )
})
