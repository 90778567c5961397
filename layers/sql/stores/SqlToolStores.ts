/**
 * The stores that the built-in tools read and write, in SQL.
 */
import { Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { CallRecords } from "../../../services/CallRecords.ts"
import type { ComponentCatalog } from "../../../services/semstreams/ComponentCatalog.ts"
import type { FlowState } from "../../../services/semstreams/FlowState.ts"
import type { LoopStore } from "../../../services/semstreams/LoopStore.ts"
import type { TriplePublisher } from "../../../services/semstreams/TriplePublisher.ts"
import type { TenantReads } from "../engine/TenantReads.ts"
import * as SqlCallRecords from "../tools/SqlCallRecords.ts"
import * as SqlComponentCatalog from "../semstreams/SqlComponentCatalog.ts"
import * as SqlFlowState from "../semstreams/SqlFlowState.ts"
import * as SqlLoopStore from "../semstreams/SqlLoopStore.ts"
import * as SqlTriplePublisher from "../semstreams/SqlTriplePublisher.ts"

export const layer: Layer.Layer<
  CallRecords | ComponentCatalog | FlowState | LoopStore | TriplePublisher,
  never,
  SqlClient.SqlClient | TenantReads
> = Layer.mergeAll(
  SqlCallRecords.layer,
  SqlComponentCatalog.layer,
  SqlFlowState.layer,
  SqlLoopStore.layer,
  SqlTriplePublisher.layer
)
