/** The errors of ports, each of which every surface tells in its own way: over HTTP as a problem. */
import type { ShuttingDown } from "../../services/AgentRuntime.ts"
import type { Unauthorized } from "../../services/Credentials.ts"
import type { JournalError, StoreError } from "../../services/StoreError.ts"
import type { AgentNotFound } from "../../src/agent/AgentSpec.ts"
import type {
  ApprovalAltered,
  ApprovalExpired,
  ApprovalNotFound,
  ApprovalSettled,
  ClientResultRefused,
  DecisionUnfit
} from "../../src/approval/Approval.ts"
import type { NotForCustomers } from "../../src/conversation/CustomerView.ts"
import type { NotForkable } from "../../src/run/Forked.ts"
import type { NotEntitled } from "../../src/principal/NotEntitled.ts"
import type { BindingsFull } from "../../src/conversation/ChannelBinding.ts"
import type {
  DigestMismatch,
  FileNotFound,
  FilesFull,
  FileTooLarge
} from "../../src/conversation/Part.ts"
import type { ConversationNotFound } from "../../src/conversation/Conversation.ts"
import type {
  AddressConflict,
  AgentBusy,
  IdempotencyConflict,
  IntakeFull,
  MailboxFull,
  MessageTooLarge,
  NestedTooDeep
} from "../../src/delivery/AgentTask.ts"
import type {
  EventConflict,
  EventOutOfTime,
  EventTypeUnknown
} from "../../src/delivery/IncomingEvent.ts"
import type { DeadLetterNotFound, DeadLetterResolved } from "../../src/delivery/OutboxMessage.ts"
import type {
  TooManySecrets,
  TooManyWebhooks,
  WebhookDeliveryNotFound,
  WebhookDeliveryWaits,
  WebhookIsDisabled,
  WebhookNotFound
} from "../../src/delivery/Webhook.ts"
import type { InvalidInput } from "../../src/schema/InvalidInput.ts"
import type {
  McpDefinitionNotOffered,
  McpPinConflict,
  McpToolNotFound
} from "../../src/mcp/McpPin.ts"
import type { MemoryRefused } from "../../src/memory/MemoryRow.ts"
import type { AnchorMismatch } from "../../src/memory/MemoryAnchors.ts"
import type {
  AuthorizationNotFound,
  AuthorizationRefused,
  TooManyAuthorizations
} from "../../src/permission/Authorization.ts"
import type { SubjectIsActive } from "../../src/erasure/Erasure.ts"
import type { TokenNotFound, TooManyTokens } from "../../src/permission/AccessToken.ts"
import type { RunNotQuarantined, RunQuarantined } from "../../src/run/Quarantine.ts"
import type { CallNotUnknown, RunIsOver, RunNotFound } from "../../src/run/RunCommand.ts"

/** The errors of the runtime's ports that an effect may fail with: every surface knows how to tell them. */
export type PortError =
  | AddressConflict
  | AgentBusy
  | AgentNotFound
  | AnchorMismatch
  | ApprovalAltered
  | ApprovalExpired
  | ApprovalNotFound
  | ApprovalSettled
  | AuthorizationNotFound
  | AuthorizationRefused
  | BindingsFull
  | CallNotUnknown
  | ClientResultRefused
  | ConversationNotFound
  | DeadLetterNotFound
  | DeadLetterResolved
  | DecisionUnfit
  | DigestMismatch
  | EventConflict
  | EventOutOfTime
  | EventTypeUnknown
  | FileNotFound
  | FilesFull
  | FileTooLarge
  | IdempotencyConflict
  | IntakeFull
  | InvalidInput
  | JournalError
  | MailboxFull
  | McpDefinitionNotOffered
  | McpPinConflict
  | McpToolNotFound
  | MemoryRefused
  | MessageTooLarge
  | NestedTooDeep
  | NotEntitled
  | NotForCustomers
  | NotForkable
  | RunIsOver
  | RunNotFound
  | RunNotQuarantined
  | RunQuarantined
  | ShuttingDown
  | StoreError
  | SubjectIsActive
  | TokenNotFound
  | TooManyAuthorizations
  | TooManySecrets
  | TooManyTokens
  | TooManyWebhooks
  | Unauthorized
  | WebhookDeliveryNotFound
  | WebhookDeliveryWaits
  | WebhookIsDisabled
  | WebhookNotFound
