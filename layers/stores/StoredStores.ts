/**
 * All stores that are written once, over the rows of one driver.
 */
import { Layer } from "effect"
import type { AccessTokens } from "../../services/AccessTokens.ts"
import type { AuthorizationRecords } from "../../services/AuthorizationRecords.ts"
import type { CallRecords } from "../../services/CallRecords.ts"
import type { McpPins } from "../../services/McpPins.ts"
import type { Notices } from "../../services/Notices.ts"
import type { Outbox } from "../../services/Outbox.ts"
import type { Rows } from "../../services/Rows.ts"
import type { ToolStops } from "../../services/ToolStops.ts"
import type { ComponentCatalog } from "../../services/semstreams/ComponentCatalog.ts"
import type { FlowState } from "../../services/semstreams/FlowState.ts"
import type { TriplePublisher } from "../../services/semstreams/TriplePublisher.ts"
import * as StoredAccessTokens from "./StoredAccessTokens.ts"
import * as StoredAuthorizationRecords from "./StoredAuthorizationRecords.ts"
import * as StoredCallRecords from "./StoredCallRecords.ts"
import * as StoredMcpPins from "./StoredMcpPins.ts"
import * as StoredNotices from "./StoredNotices.ts"
import * as StoredToolStops from "./StoredToolStops.ts"
import * as StoredComponentCatalog from "./semstreams/StoredComponentCatalog.ts"
import * as StoredFlowState from "./semstreams/StoredFlowState.ts"
import * as StoredTriplePublisher from "./semstreams/StoredTriplePublisher.ts"

export const layer: Layer.Layer<
  | AccessTokens
  | AuthorizationRecords
  | CallRecords
  | ComponentCatalog
  | FlowState
  | McpPins
  | Notices
  | ToolStops
  | TriplePublisher,
  never,
  Outbox | Rows
> = Layer.mergeAll(
  StoredAccessTokens.layer,
  StoredAuthorizationRecords.layer,
  StoredCallRecords.layer,
  StoredComponentCatalog.layer,
  StoredFlowState.layer,
  StoredMcpPins.layer,
  StoredNotices.layer,
  StoredToolStops.layer,
  StoredTriplePublisher.layer
)
