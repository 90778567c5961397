/** Its table in SQL. Row security and erasure follow from the declaration. */
import * as FeatureTables from "../../../layers/sql/engine/FeatureTables.ts"

export const layer = FeatureTables.layer({
  feature: "maintenance",
  migrations: {
    "0001_flags": [
      "CREATE TABLE troupe.maintenance (tenant text PRIMARY KEY, is_on boolean NOT NULL, who text NOT NULL)"
    ]
  },
  tables: { maintenance: { who: ["by"] } }
})
