/**
 * The stores that the built-in tools read and write, in one process.
 */
import { Layer } from "effect"
import type { CallRecords } from "../../services/CallRecords.ts"
import type { ComponentCatalog } from "../../services/semstreams/ComponentCatalog.ts"
import type { FlowState } from "../../services/semstreams/FlowState.ts"
import type { LoopStore } from "../../services/semstreams/LoopStore.ts"
import type { TriplePublisher } from "../../services/semstreams/TriplePublisher.ts"
import * as EphemeralCallRecords from "./EphemeralCallRecords.ts"
import * as EphemeralComponentCatalog from "./semstreams/EphemeralComponentCatalog.ts"
import * as EphemeralFlowState from "./semstreams/EphemeralFlowState.ts"
import * as EphemeralLoopStore from "./semstreams/EphemeralLoopStore.ts"
import type { EphemeralStore } from "./EphemeralStore.ts"
import * as EphemeralTriplePublisher from "./semstreams/EphemeralTriplePublisher.ts"

export const layer: Layer.Layer<
  CallRecords | ComponentCatalog | FlowState | LoopStore | TriplePublisher,
  never,
  EphemeralStore
> = Layer.mergeAll(
  EphemeralCallRecords.layer,
  EphemeralComponentCatalog.layer,
  EphemeralFlowState.layer,
  EphemeralLoopStore.layer,
  EphemeralTriplePublisher.layer
)
