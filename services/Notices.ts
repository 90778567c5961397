/**
 * The notices that were sent to people: a copy for each recipient, which copies were read, and which channels each person wants.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { ChannelName } from "../src/conversation/ChannelBinding.ts"
import type { Notice, NoticeContent, NoticeId, NoticePreferences } from "../src/delivery/Notice.ts"
import type { NewOutboxMessage } from "../src/delivery/OutboxMessage.ts"
import type { ApprovalId, Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** One piece of content for several recipients. */
export interface NewNotices {
  /** Whose notices. */
  readonly tenant: Tenant
  /** Identifies the content, so that nobody gets it twice; 1 to 500 characters. */
  readonly about: string
  /** What they say. */
  readonly content: NoticeContent
  /** Who gets them, and by which channels. */
  readonly recipients: ReadonlyArray<NoticeRecipient>
}

/** One recipient, and what goes to the recipient's channels. */
export interface NoticeRecipient {
  /** The id of the principal. */
  readonly recipient: string
  /** Messages that go to its channels at once. */
  readonly messages: ReadonlyArray<NewOutboxMessage>
  /** Items that wait for a digest. */
  readonly digest: ReadonlyArray<DigestItem>
}

/** An item that waits to be sent, together with others, in a digest to one address. */
export interface DigestItem {
  /** Whose item. */
  readonly tenant: Tenant
  /** The channel that sends the digest. */
  readonly channel: ChannelName
  /** Where in the channel. */
  readonly address: string
  /** The id of the principal. */
  readonly recipient: string
  /** What it says. */
  readonly content: NoticeContent
}

/** Where an open question stands in a channel, so that its message there can be changed when the question is settled. */
export interface QuestionPost {
  /** Whose question. */
  readonly tenant: Tenant
  /** The question. */
  readonly approval: ApprovalId
  /** The channel that has its message. */
  readonly channel: ChannelName
  /** Where in the channel. */
  readonly address: string
  /** The id of the principal who was told. */
  readonly recipient: string
  /** The channel's own name of the message; 1 to 500 characters. */
  readonly post: string
}

/** Selects a page of notices of one recipient. */
export interface NoticePage {
  /** Whose notices. */
  readonly tenant: Tenant
  /** The id of the principal. */
  readonly recipient: string
  /** True = only those that were not read. Absent = all. */
  readonly unread?: boolean | undefined
  /** 1 to 500. */
  readonly limit: number
  /** The last notice of the page before; if it is unknown, the page is empty. */
  readonly after?: NoticeId | undefined
}

/** What people are told, in the application and by channels. */
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
    /** Sets the person's preferences, in place of those before. */
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
    /** Keeps where a question stands in a channel. */
    posted(post: QuestionPost): Effect.Effect<void, StoreError>
    /**
     * Takes one post of a question and writes its message in the same transaction, so that each post is told of once. False = the
     * question has none left.
     */
    settle(
      tenant: Tenant,
      approval: ApprovalId,
      messageOf: (post: QuestionPost) => NewOutboxMessage
    ): Effect.Effect<boolean, StoreError>
    /** Replaces the content of every copy of what was told as `about`. */
    replace(tenant: Tenant, about: string, content: NoticeContent): Effect.Effect<void, StoreError>
    /**
     * Removes notices from before `before` (ms since 1970), oldest first; at most `limit` (1,000). Returns how many. Posts from
     * before it are removed with them.
     */
    forget(before: number, limit: number): Effect.Effect<number, StoreError>
  }
>()("troupe/services/Notices") {}
