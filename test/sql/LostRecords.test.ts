import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import { clientComesBack, comesBack, gapIsFound } from "../contracts/LostRecords.ts"
import { onEngines } from "./Engines.ts"

const doing = (statement: string) =>
  Effect.fnUntraced(function* (id: string) {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe(statement, [id])
  })

onEngines("a question whose record was lost", (it) => {
  it.effect("is asked again, from its run's journal, where the record was deleted", () =>
    comesBack(doing("DELETE FROM troupe.approvals WHERE id = $1::uuid")).pipe(
      Effect.provide(EphemeralStore.layer)
    )
  )

  it.effect("is asked again where the record says that it was decided", () =>
    comesBack(
      doing(
        `UPDATE troupe.approvals SET status = 1, answer = '{"decided_by":"eve"}' WHERE id = $1::uuid`
      )
    ).pipe(Effect.provide(EphemeralStore.layer))
  )
})

onEngines("a client's call whose record was lost", (it) => {
  it.effect("is listed again, from its run's journal, and can be answered", () =>
    clientComesBack(doing("DELETE FROM troupe.approvals WHERE id = $1::uuid")).pipe(
      Effect.provide(EphemeralStore.layer)
    )
  )
})

onEngines("a journal with a gap", (it) => {
  it.effect("is in quarantine after the next start, also where nobody touches the run", () =>
    gapIsFound(doing("DELETE FROM troupe.run_events WHERE run_id = $1::uuid AND seq = 2")).pipe(
      Effect.provide(EphemeralStore.layer)
    )
  )
})
