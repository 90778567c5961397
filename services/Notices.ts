/**
 * What people were told: a copy for each of them, what of it they have read, and which channels they want.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { ChannelName } from "../src/conversation/ChannelBinding.ts"
import type { Notice, NoticeContent, NoticeId, NoticePreferences } from "../src/delivery/Notice.ts"
import type { NewOutboxMessage } from "../src/delivery/Outbox.ts"
import type { Tenant } from "../src/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** One thing that several people are told. */
export interface NewNotices {
  readonly tenant: Tenant
  /** Names what is told, so that nobody is told it twice; 1 to 500 characters. */
  readonly about: string
  readonly content: NoticeContent
  readonly recipients: ReadonlyArray<Told>
}

/** One person, and what goes to the person's channels. */
export interface Told {
  readonly recipient: string
  readonly messages: ReadonlyArray<NewOutboxMessage>
  readonly digest: ReadonlyArray<DigestItem>
}

/** What waits to be told together at one address. */
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
  /** The last of the page before; one that is unknown has no page behind it. */
  readonly after?: NoticeId | undefined
}

export class Notices extends Context.Service<
  Notices,
  {
    /**
     * Writes each person's copy, and with it, in one transaction, the messages to the person's channels and what waits for a
     * digest. Whoever was told before is left out. How many people were told.
     */
    record(notices: NewNotices): Effect.Effect<number, StoreError>
    /** Of one person, newest first. */
    list(page: NoticePage): Effect.Effect<ReadonlyArray<Notice>, StoreError>
    /** How many of a person's are unread; counted to 1,000. */
    unread(tenant: Tenant, recipient: string): Effect.Effect<number, StoreError>
    /** Marks a person's notices as read, those that are not yet; at most 500 ids. How many were marked. */
    read(
      tenant: Tenant,
      recipient: string,
      ids: ReadonlyArray<NoticeId>
    ): Effect.Effect<number, StoreError>
    /** Those that nobody set are `noPreferences`. */
    preferences(tenant: Tenant, recipient: string): Effect.Effect<NoticePreferences, StoreError>
    prefer(
      tenant: Tenant,
      recipient: string,
      preferences: NoticePreferences
    ): Effect.Effect<void, StoreError>
    /**
     * Takes what waits for the address that waits longest, if since before `before` (ms since 1970): at most `limit` (100)
     * items, oldest first. `told` makes the message that tells them; it is written in the same transaction. False = none.
     */
    digest(
      before: number,
      limit: number,
      told: (items: ReadonlyArray<DigestItem>) => NewOutboxMessage
    ): Effect.Effect<boolean, StoreError>
    /** Removes notices from before `before` (ms since 1970), the oldest first; at most `limit` (1,000). How many. */
    forget(before: number, limit: number): Effect.Effect<number, StoreError>
  }
>()("troupe/services/Notices") {}
