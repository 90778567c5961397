/** The contracts of all stores against one layer, built once. */
import { layer } from "@effect/vitest"
import type { Layer } from "effect"
import type { Stores as SemStreamsStores } from "../../layers/compose/entries/SemStreams.ts"
import type { Stores } from "../../services/Stores.ts"
import { accessTokensTests } from "./AccessTokens.contract.ts"
import { approvalRecordsTests } from "./ApprovalRecords.contract.ts"
import { authorizationRecordsTests } from "./AuthorizationRecords.contract.ts"
import { blobStoreTests } from "./BlobStore.contract.ts"
import { beginTests } from "./Begin.contract.ts"
import { budgetLedgerTests } from "./BudgetLedger.contract.ts"
import { callRecordsTests } from "./CallRecords.contract.ts"
import { conversationStoreTests } from "./ConversationStore.contract.ts"
import { costLedgerTests } from "./CostLedger.contract.ts"
import { deadLetterTests } from "./DeadLetters.contract.ts"
import { erasedWordsTests } from "./ErasedWords.contract.ts"
import { eventInboxTests } from "./EventInbox.contract.ts"
import { handOverTests } from "./HandOver.contract.ts"
import { idempotencyKeysTests } from "./IdempotencyKeys.contract.ts"
import { mcpPinsTests } from "./McpPins.contract.ts"
import { channelTests } from "./Notices.contract.ts"
import { outboxTests } from "./Outbox.contract.ts"
import { rowsTests } from "./Rows.contract.ts"
import { runJournalTests } from "./RunJournal.contract.ts"
import { runListTests } from "./RunList.contract.ts"
import { conversationDeletionTests } from "./ConversationDeletion.contract.ts"
import { subjectErasureTests } from "./SubjectErasure.contract.ts"
import { firstTaskTests } from "./FirstTask.contract.ts"
import { taskStoreTests } from "./TaskStore.contract.ts"
import { tenantsTests } from "./Tenants.contract.ts"
import { toolStopsTests } from "./ToolStops.contract.ts"
import { toolStoresTests } from "./ToolStores.contract.ts"
import type { Options } from "./Transact.contract.ts"
import { webhooksTests } from "./Webhooks.contract.ts"

export const storesContract = <R, E>(
  name: string,
  answer: Layer.Layer<R | Stores | SemStreamsStores, E>,
  options: Options
): void =>
  layer(answer, { excludeTestServices: true, timeout: "2 minutes" })(`stores (${name})`, (it) => {
    runJournalTests(it, options)
    taskStoreTests(it)
    firstTaskTests(it)
    beginTests(it)
    runListTests(it)
    handOverTests(it)
    conversationStoreTests(it)
    tenantsTests(it)
    eventInboxTests(it)
    channelTests(it)
    rowsTests(it)
    accessTokensTests(it)
    approvalRecordsTests(it)
    authorizationRecordsTests(it)
    blobStoreTests(it)
    budgetLedgerTests(it)
    callRecordsTests(it)
    costLedgerTests(it)
    idempotencyKeysTests(it, options)
    mcpPinsTests(it)
    outboxTests(it)
    deadLetterTests(it)
    toolStopsTests(it)
    toolStoresTests(it)
    subjectErasureTests(it)
    conversationDeletionTests(it)
    erasedWordsTests(it)
    webhooksTests(it)
  })
