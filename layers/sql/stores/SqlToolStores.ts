/**
 * The stores that the built-in tools read and write, in SQL.
 */
import { Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { CallRecords } from "../../../services/CallRecords.ts"
import type { ComponentCatalog } from "../../../services/ComponentCatalog.ts"
import type { FlowState } from "../../../services/FlowState.ts"
import type { LoopStore } from "../../../services/LoopStore.ts"
import type { TriplePublisher } from "../../../services/TriplePublisher.ts"
import type { TenantReads } from "../engine/TenantReads.ts"
import * as SqlCallRecords from "../tools/SqlCallRecords.ts"
import * as SqlComponentCatalog from "../tools/SqlComponentCatalog.ts"
import * as SqlFlowState from "./SqlFlowState.ts"
import * as SqlLoopStore from "./SqlLoopStore.ts"
import * as SqlTriplePublisher from "./SqlTriplePublisher.ts"

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
