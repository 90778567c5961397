/**
 * The stores that the built-in tools read and write, in one process.
 */
import { Layer } from "effect"
import type { CallRecords } from "../../services/CallRecords.ts"
import type { ComponentCatalog } from "../../services/ComponentCatalog.ts"
import type { FlowState } from "../../services/FlowState.ts"
import type { LoopStore } from "../../services/LoopStore.ts"
import type { TriplePublisher } from "../../services/TriplePublisher.ts"
import * as EphemeralCallRecords from "./EphemeralCallRecords.ts"
import * as EphemeralComponentCatalog from "./EphemeralComponentCatalog.ts"
import * as EphemeralFlowState from "./EphemeralFlowState.ts"
import * as EphemeralLoopStore from "./EphemeralLoopStore.ts"
import type { EphemeralStore } from "./EphemeralStore.ts"
import * as EphemeralTriplePublisher from "./EphemeralTriplePublisher.ts"

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
