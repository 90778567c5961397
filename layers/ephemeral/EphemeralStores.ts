/**
 * All stores of one process over one new `EphemeralStore`, so that every reader sees the projections of a run. `AgentMemory` is
 * not among them: it is built for each address over the `MemoryStore`.
 */
import { Layer } from "effect"
import type { Stores } from "../../services/Stores.ts"
import * as Stored from "../stores/StoredStores.ts"
import * as EphemeralApprovalRecords from "./EphemeralApprovalRecords.ts"
import * as EphemeralBlobStore from "./EphemeralBlobStore.ts"
import * as EphemeralBudgetLedger from "./EphemeralBudgetLedger.ts"
import * as EphemeralConversationStore from "./EphemeralConversationStore.ts"
import * as EphemeralCostLedger from "./EphemeralCostLedger.ts"
import * as EphemeralDeadLetters from "./EphemeralDeadLetters.ts"
import * as EphemeralMemoryStore from "./EphemeralMemoryStore.ts"
import * as EphemeralOutbox from "./EphemeralOutbox.ts"
import * as EphemeralRows from "./EphemeralRows.ts"
import * as EphemeralRunJournal from "./EphemeralRunJournal.ts"
import * as EphemeralStore from "./EphemeralStore.ts"
import * as EphemeralSubjectErasure from "./EphemeralSubjectErasure.ts"
import * as EphemeralRunList from "./EphemeralRunList.ts"
import * as EphemeralTaskStore from "./EphemeralTaskStore.ts"
import * as EphemeralToolQueue from "./EphemeralToolQueue.ts"

export const layer: Layer.Layer<Stores | EphemeralStore.EphemeralStore> = Layer.mergeAll(
  EphemeralRunJournal.layer,
  EphemeralRunList.layer,
  EphemeralBudgetLedger.layer,
  EphemeralCostLedger.layer,
  Stored.layer,
  EphemeralApprovalRecords.layer,
  EphemeralMemoryStore.layer,
  EphemeralDeadLetters.layer,
  EphemeralToolQueue.layer,
  EphemeralSubjectErasure.layer
).pipe(
  Layer.provideMerge(EphemeralBlobStore.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      EphemeralConversationStore.layer,
      EphemeralOutbox.layer,
      EphemeralTaskStore.layer
    )
  ),
  Layer.provideMerge(EphemeralRows.layer),
  Layer.provideMerge(EphemeralStore.layer)
)
