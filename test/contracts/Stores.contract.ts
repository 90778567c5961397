/** The contracts of all stores against one layer, built once. */
import { layer } from "@effect/vitest"
import type { Layer } from "effect"
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
import type { TriplePublisher } from "../../services/TriplePublisher.ts"
import { approvalRecordsTests } from "./ApprovalRecords.contract.ts"
import { callRecordsTests } from "./CallRecords.contract.ts"
import { conversationStoreTests } from "./ConversationStore.contract.ts"
import { costLedgerTests } from "./CostLedger.contract.ts"
import { deadLetterTests } from "./DeadLetters.contract.ts"
import { handOverTests } from "./HandOver.contract.ts"
import { mcpPinsTests } from "./McpPins.contract.ts"
import { outboxTests } from "./Outbox.contract.ts"
import type { Options } from "./RunJournal.contract.ts"
import { runJournalTests } from "./RunJournal.contract.ts"
import { runListTests } from "./RunList.contract.ts"
import { taskStoreTests } from "./TaskStore.contract.ts"
import { tenantsTests } from "./Tenants.contract.ts"
import { toolStoresTests } from "./ToolStores.contract.ts"

export type Stores =
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
  | TriplePublisher

export const storesContract = <R, E>(
  name: string,
  answer: Layer.Layer<R | Stores, E>,
  options: Options
): void =>
  layer(answer, { excludeTestServices: true, timeout: "2 minutes" })(`stores (${name})`, (it) => {
    runJournalTests(it, options)
    taskStoreTests(it)
    runListTests(it)
    handOverTests(it)
    conversationStoreTests(it)
    tenantsTests(it)
    approvalRecordsTests(it)
    callRecordsTests(it)
    costLedgerTests(it)
    mcpPinsTests(it)
    outboxTests(it)
    deadLetterTests(it)
    toolStoresTests(it)
  })
