/** Which conversation a watcher follows. */
import type { Brand } from "effect"
import type { ConversationId, Tenant } from "../../../src/value/Ids.ts"

/** A conversation of one tenant. Another tenant's conversation of the same id is another channel. */
export type ChannelKey = Brand.Branded<string, "ChannelKey">

export const channelKey = (tenant: Tenant, conversation: ConversationId): ChannelKey =>
  `${tenant}/${conversation}` as ChannelKey
