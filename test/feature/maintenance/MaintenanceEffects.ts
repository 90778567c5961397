/** The flag of each tenant, over any store. */
import { Effect, Schema } from "effect"
import { serve } from "../../../layers/service/Served.ts"
import { flag, json, table, tableRows, text } from "../../../layers/stores/TypedRows.ts"
import { Rows } from "../../../services/Rows.ts"
import { Tenant } from "../../../src/value/Ids.ts"
import * as Operations from "./MaintenanceOperations.ts"

const By = Schema.Struct({ by: Schema.String })

const flags = table({
  name: "maintenance",
  what: "tenants under maintenance",
  key: ["tenant"],
  columns: { tenant: text(Tenant), is_on: flag, who: json(By) },
  erased: { marked: { who: new Set(["by"]) } }
})

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
