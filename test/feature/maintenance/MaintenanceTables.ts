/** Its table, in memory and in SQL. Row security and erasure follow from the declaration. */
import { Schema } from "effect"
import { Tenant } from "troupe"
import { flag, json, table, text } from "troupe/feature"

const By = Schema.Struct({ by: Schema.String })

export const flags = table({
  name: "maintenance",
  what: "tenants under maintenance",
  key: ["tenant"],
  columns: { tenant: text(Tenant), is_on: flag, who: json(By) },
  erased: { marked: { who: new Set(["by"]) } }
})

export const migrations = {
  "0001_flags": [
    "CREATE TABLE troupe.maintenance (tenant text PRIMARY KEY, is_on boolean NOT NULL, who text NOT NULL)"
  ]
}
