/**
 * All stores of one process over one new `EphemeralStore`, so that every reader sees the projections of a run. Without
 * `AgentMemory`, which is built for each address over the same store.
 */
import { Layer } from "effect"
import type { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import type { CallRecords } from "../../services/CallRecords.ts"
import type { ComponentCatalog } from "../../services/ComponentCatalog.ts"
import type { ConversationStore } from "../../services/ConversationStore.ts"
import type { CostLedger } from "../../services/CostLedger.ts"
import type { FlowState } from "../../services/FlowState.ts"
import type { LoopStore } from "../../services/LoopStore.ts"
import type { McpPins } from "../../services/McpPins.ts"
import type { Outbox } from "../../services/Outbox.ts"
import type { OutboxReader } from "../../services/OutboxReader.ts"
import type { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import type { RunJournal } from "../../services/RunJournal.ts"
import type { RunList } from "../../services/RunList.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import type { ToolQueue } from "../../services/ToolQueue.ts"
import type { TriplePublisher } from "../../services/TriplePublisher.ts"
import * as EphemeralApprovalRecords from "./EphemeralApprovalRecords.ts"
import * as EphemeralConversationStore from "./EphemeralConversationStore.ts"
import * as EphemeralCostLedger from "./EphemeralCostLedger.ts"
import * as EphemeralMcpPins from "./EphemeralMcpPins.ts"
import * as EphemeralOutbox from "./EphemeralOutbox.ts"
import * as EphemeralOutboxReader from "./EphemeralOutboxReader.ts"
import * as EphemeralOutboxReplayer from "./EphemeralOutboxReplayer.ts"
import * as EphemeralRunJournal from "./EphemeralRunJournal.ts"
import * as EphemeralStore from "./EphemeralStore.ts"
import * as EphemeralRunList from "./EphemeralRunList.ts"
import * as EphemeralTaskStore from "./EphemeralTaskStore.ts"
import * as EphemeralToolQueue from "./EphemeralToolQueue.ts"
import * as EphemeralToolStores from "./EphemeralToolStores.ts"

export const layer: Layer.Layer<
  | RunJournal
  | RunList
  | TaskStore
  | ConversationStore
  | ApprovalRecords
  | CallRecords
  | ComponentCatalog
  | CostLedger
  | FlowState
  | LoopStore
  | McpPins
  | Outbox
  | OutboxReader
  | OutboxReplayer
  | ToolQueue
  | TriplePublisher
  | EphemeralStore.EphemeralStore
> = Layer.mergeAll(
  EphemeralRunJournal.layer,
  EphemeralRunList.layer,
  EphemeralTaskStore.layer,
  EphemeralConversationStore.layer,
  EphemeralCostLedger.layer,
  EphemeralApprovalRecords.layer,
  EphemeralMcpPins.layer,
  EphemeralOutbox.layer,
  EphemeralOutboxReader.layer,
  EphemeralOutboxReplayer.layer,
  EphemeralToolQueue.layer,
  EphemeralToolStores.layer
).pipe(Layer.provideMerge(EphemeralStore.layer))
