/**
 * All stores of every runtime that are written once, over the rows of one driver.
 */
import { Layer } from "effect"
import type { AccessTokens } from "../../services/AccessTokens.ts"
import type { AuthorizationRecords } from "../../services/AuthorizationRecords.ts"
import type { CallRecords } from "../../services/CallRecords.ts"
import type { ChannelBindings } from "../../services/ChannelBindings.ts"
import type { ConversationStore } from "../../services/ConversationStore.ts"
import type { EventInbox } from "../../services/EventInbox.ts"
import type { IdempotencyKeys } from "../../services/IdempotencyKeys.ts"
import type { McpPins } from "../../services/McpPins.ts"
import type { Notices } from "../../services/Notices.ts"
import type { Outbox } from "../../services/Outbox.ts"
import type { Rows } from "../../services/Rows.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import type { ToolStops } from "../../services/ToolStops.ts"
import type { Webhooks } from "../../services/Webhooks.ts"
import { tokens } from "./StoredAccessTokens.ts"
import * as StoredAccessTokens from "./StoredAccessTokens.ts"
import { authorizations } from "./StoredAuthorizationRecords.ts"
import * as StoredAuthorizationRecords from "./StoredAuthorizationRecords.ts"
import { callRecords } from "./StoredCallRecords.ts"
import * as StoredCallRecords from "./StoredCallRecords.ts"
import { channelBindings } from "./StoredChannelBindings.ts"
import * as StoredChannelBindings from "./StoredChannelBindings.ts"
import { eventInbox } from "./StoredEventInbox.ts"
import * as StoredEventInbox from "./StoredEventInbox.ts"
import { idempotencyKeys } from "./StoredIdempotencyKeys.ts"
import * as StoredIdempotencyKeys from "./StoredIdempotencyKeys.ts"
import * as StoredMcpPins from "./StoredMcpPins.ts"
import { digestItems, notices, preferences, questionPosts } from "./StoredNotices.ts"
import * as StoredNotices from "./StoredNotices.ts"
import * as StoredToolStops from "./StoredToolStops.ts"
import { deliveries, webhooks } from "./StoredWebhooks.ts"
import * as StoredWebhooks from "./StoredWebhooks.ts"

/** The tables in which a person may stand. What an erasure does there follows from them, on every driver. */
export const erasedTables = [
  tokens,
  authorizations,
  callRecords,
  channelBindings,
  digestItems,
  questionPosts,
  eventInbox,
  idempotencyKeys,
  notices,
  preferences,
  webhooks,
  deliveries
]

export const layer: Layer.Layer<
  | AccessTokens
  | AuthorizationRecords
  | CallRecords
  | ChannelBindings
  | EventInbox
  | IdempotencyKeys
  | McpPins
  | Notices
  | ToolStops
  | Webhooks,
  never,
  ConversationStore | Outbox | Rows | TaskStore
> = Layer.mergeAll(
  StoredAccessTokens.layer,
  StoredAuthorizationRecords.layer,
  StoredCallRecords.layer,
  StoredChannelBindings.layer,
  StoredEventInbox.layer,
  StoredIdempotencyKeys.layer,
  StoredMcpPins.layer,
  StoredNotices.layer,
  StoredToolStops.layer,
  StoredWebhooks.layer
)
