/**
 * All stores of a runtime. Each kind of store provides all of them, over one database or one memory, so that every reader sees
 * the projections of a run's events.
 */
import type { AccessTokens } from "./AccessTokens.ts"
import type { ApprovalRecords } from "./ApprovalRecords.ts"
import type { AuthorizationRecords } from "./AuthorizationRecords.ts"
import type { BlobStore } from "./BlobStore.ts"
import type { BudgetLedger } from "./BudgetLedger.ts"
import type { CallRecords } from "./CallRecords.ts"
import type { ChannelBindings } from "./ChannelBindings.ts"
import type { ConversationStore } from "./ConversationStore.ts"
import type { CostLedger } from "./CostLedger.ts"
import type { EventInbox } from "./EventInbox.ts"
import type { IdempotencyKeys } from "./IdempotencyKeys.ts"
import type { McpPins } from "./McpPins.ts"
import type { MemoryStore } from "./MemoryStore.ts"
import type { Notices } from "./Notices.ts"
import type { Outbox } from "./Outbox.ts"
import type { OutboxReader } from "./OutboxReader.ts"
import type { OutboxReplayer } from "./OutboxReplayer.ts"
import type { Rows } from "./Rows.ts"
import type { RunJournal } from "./RunJournal.ts"
import type { RunNews } from "./RunNews.ts"
import type { RunOwnership } from "./RunOwnership.ts"
import type { RunQuarantine } from "./RunQuarantine.ts"
import type { RunReader } from "./RunReader.ts"
import type { RunList } from "./RunList.ts"
import type { SubjectErasure } from "./SubjectErasure.ts"
import type { TaskStore } from "./TaskStore.ts"
import type { ToolQueue } from "./ToolQueue.ts"
import type { ToolStops } from "./ToolStops.ts"
import type { Webhooks } from "./Webhooks.ts"

/** The journal of runs: one store answers all of them. */
export type RunPorts = RunJournal | RunNews | RunOwnership | RunQuarantine | RunReader

/** Every port of a store: what a driver implements. */
export type Stores =
  | AccessTokens
  | ApprovalRecords
  | AuthorizationRecords
  | BlobStore
  | BudgetLedger
  | CallRecords
  | ChannelBindings
  | ConversationStore
  | CostLedger
  | EventInbox
  | IdempotencyKeys
  | McpPins
  | MemoryStore
  | Notices
  | Outbox
  | OutboxReader
  | OutboxReplayer
  | Rows
  | RunList
  | RunPorts
  | SubjectErasure
  | TaskStore
  | ToolQueue
  | ToolStops
  | Webhooks
