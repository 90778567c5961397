/** The flag of each tenant, over any store. */
import { Effect } from "effect"
import { Rows, serve, tableRows } from "troupe/feature"
import * as Operations from "./MaintenanceOperations.ts"
import { flags } from "./MaintenanceTables.ts"

export const maintenance = serve(Operations.get, (_, { tenant }) =>
  Effect.gen(function* () {
    const found = yield* tableRows(yield* Rows, flags).one({ tenant })
    return found === undefined ? { on: false } : { on: found.is_on, by: found.who.by }
  })
)

export const setMaintenance = serve(Operations.set, ({ on }, { id: by, tenant }) =>
  Effect.gen(function* () {
    const rows = tableRows(yield* Rows, flags)
    yield* rows.add([{ tenant, is_on: on, who: { by } }], ["is_on", "who"])
    return { on, by }
  })
)
