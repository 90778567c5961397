/**
 * The notices that were sent to people: a copy for each recipient, which copies were read, and which channels each person wants.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { ChannelName } from "../src/conversation/ChannelBinding.ts"
import type { Notice, NoticeContent, NoticeId, NoticePreferences } from "../src/delivery/Notice.ts"
import type { NewOutboxMessage } from "../src/delivery/OutboxMessage.ts"
import type { Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** One piece of content for several recipients. */
export interface NewNotices {
  readonly tenant: Tenant
  /** Identifies the content, so that nobody gets it twice; 1 to 500 characters. */
  readonly about: string
  readonly content: NoticeContent
  readonly recipients: ReadonlyArray<NoticeRecipient>
}

/** One recipient, and what goes to the recipient's channels. */
export interface NoticeRecipient {
  readonly recipient: string
  readonly messages: ReadonlyArray<NewOutboxMessage>
  readonly digest: ReadonlyArray<DigestItem>
}

/** An item that waits to be sent, together with others, in a digest to one address. */
export interface DigestItem {
  readonly tenant: Tenant
  readonly channel: ChannelName
  readonly address: string
  readonly recipient: string
  readonly content: NoticeContent
}

export interface NoticePage {
  readonly tenant: Tenant
  readonly recipient: string
  readonly unread?: boolean | undefined
  /** 1 to 500. */
  readonly limit: number
  /** The last notice of the page before; if it is unknown, the page is empty. */
  readonly after?: NoticeId | undefined
}

export class Notices extends Context.Service<
  Notices,
  {
    /**
     * Writes each recipient's copy and, in the same transaction, the messages to the recipient's channels and the items for a
     * digest. Recipients who have a notice about the same thing are left out. Returns how many recipients got a copy.
     */
    record(notices: NewNotices): Effect.Effect<number, StoreError>
    /** The notices of one person, newest first. */
    list(page: NoticePage): Effect.Effect<ReadonlyArray<Notice>, StoreError>
    /** How many notices of a person are unread; counted to 1,000. */
    unread(tenant: Tenant, recipient: string): Effect.Effect<number, StoreError>
    /** Marks unread notices of a person as read; at most 500 ids. Returns how many were marked. */
    read(
      tenant: Tenant,
      recipient: string,
      ids: ReadonlyArray<NoticeId>
    ): Effect.Effect<number, StoreError>
    /** The person's preferences; `noPreferences` if they were never set. */
    preferences(tenant: Tenant, recipient: string): Effect.Effect<NoticePreferences, StoreError>
    prefer(
      tenant: Tenant,
      recipient: string,
      preferences: NoticePreferences
    ): Effect.Effect<void, StoreError>
    /**
     * Takes at most `limit` (100) items, oldest first, for the address that has waited longest, if its items have waited since
     * before `before` (ms since 1970). `messageOf` makes the message with the items, which is written in the same transaction.
     * False = no address has waited so long.
     */
    digest(
      before: number,
      limit: number,
      messageOf: (items: ReadonlyArray<DigestItem>) => NewOutboxMessage
    ): Effect.Effect<boolean, StoreError>
    /** Removes notices from before `before` (ms since 1970), oldest first; at most `limit` (1,000). Returns how many. */
    forget(before: number, limit: number): Effect.Effect<number, StoreError>
  }
>()("troupe/services/Notices") {}
