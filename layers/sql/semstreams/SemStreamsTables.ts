/** The tables of what SemStreams' tools read and write. */
import { components } from "../../stores/semstreams/StoredComponentCatalog.ts"
import { flowStates } from "../../stores/semstreams/StoredFlowState.ts"
import { loopRecords } from "../../stores/semstreams/StoredLoopStore.ts"
import { triples } from "../../stores/semstreams/StoredTriplePublisher.ts"
import * as FeatureTables from "../engine/FeatureTables.ts"
import { statements } from "./migrations/0001_semstreams.ts"

export const layer = FeatureTables.layer({
  feature: "semstreams",
  migrations: { "0001_semstreams": statements },
  tables: FeatureTables.erasedIn([components, flowStates, loopRecords, triples]),
  of_all: [components.name]
})
