/** The tables of what SemStreams' tools read and write, and what an erasure does in them. */
import * as FeatureTables from "../engine/FeatureTables.ts"
import { statements } from "./migrations/0001_semstreams.ts"

export const layer = FeatureTables.layer({
  feature: "semstreams",
  migrations: { "0001_semstreams": statements },
  tables: {
    components: {},
    flow_states: { state: "text" },
    loop_records: ["key", "value"],
    triples: ["subject", "predicate", "object", "source"]
  },
  of_all: ["components"]
})
