/**
 * Notices to people. A store that is lost with its process keeps the newest 10,000 of each person.
 */
import { Clock, Effect, Layer, Schema } from "effect"
import type { NewNotices, NoticeRecipient } from "../../services/Notices.ts"
import { Notices } from "../../services/Notices.ts"
import { Outbox } from "../../services/Outbox.ts"
import { Rows } from "../../services/Rows.ts"
import { ChannelName } from "../../src/conversation/ChannelBinding.ts"
import {
  NoticeContent,
  NoticeId,
  NoticePreferences,
  noPreferences
} from "../../src/delivery/Notice.ts"
import { ApprovalId, Tenant } from "../../src/value/Ids.ts"
import {
  anyTenant,
  int8,
  json,
  optional,
  place,
  said,
  table,
  tableRows,
  text,
  uuid
} from "./TypedRows.ts"

const page_max = 500
const unread_max = 1_000
const digest_max = 100
const forget_max = 1_000

export const notices = table({
  name: "notices",
  what: "notices",
  // The same is told to one person once.
  key: ["about", "recipient", "tenant"],
  columns: {
    position: place,
    id: uuid(NoticeId),
    tenant: text(Tenant),
    recipient: said,
    about: text(Schema.String),
    payload: json(NoticeContent),
    created_at: int8,
    read_at: optional(int8)
  },
  erased: { removed: ["recipient", "about", "payload"] },
  group: ["tenant", "recipient"],
  kept: { rows_max: 10_000 }
})

export const preferences = table({
  name: "notice_preferences",
  what: "preferences",
  key: ["recipient", "tenant"],
  columns: { tenant: text(Tenant), recipient: said, payload: json(NoticePreferences) },
  erased: { removed: ["recipient"] }
})

const waiting = {
  position: place,
  tenant: text(Tenant),
  channel: text(ChannelName),
  address: said,
  at: int8
}

export const digestItems = table({
  name: "digest_items",
  what: "items of a digest",
  key: ["position"],
  columns: { ...waiting, recipient: said, payload: json(NoticeContent) },
  erased: { removed: ["address", "recipient", "payload"] }
})

export const questionPosts = table({
  name: "question_posts",
  what: "posts of questions",
  key: ["position"],
  columns: {
    position: place,
    tenant: text(Tenant),
    approval: uuid(ApprovalId),
    channel: text(ChannelName),
    address: said,
    recipient: said,
    post: said,
    at: int8
  },
  erased: { removed: ["address", "recipient", "post"] },
  group: ["tenant", "approval"]
})

/** The same, without what may be unreadable. */
const digestAddresses = table({ ...digestItems, columns: waiting })

/** The methods for people: their notices, and which channels they want. */
const ofPeople = (driver: Rows["Service"]) => {
  const told = tableRows(driver, notices)
  const wanted = tableRows(driver, preferences)
  return {
    list: Effect.fn("Notices.list")(function* ({
      after,
      limit,
      recipient,
      tenant,
      unread = false
    }) {
      const found = yield* told.list({
        where: { tenant, recipient, read_at: unread ? null : undefined },
        order: ["position"],
        descends: true,
        after: after === undefined ? undefined : { id: after, tenant, recipient },
        limit: Math.min(limit, page_max)
      })
      return found.map(({ about: _about, payload, position: _place, ...row }) => ({
        ...row,
        ...payload
      }))
    }),
    unread: (tenant, recipient) =>
      told.count({ where: { tenant, recipient, read_at: null }, limit: unread_max }),
    read: Effect.fn("Notices.read")(function* (tenant, recipient, ids) {
      const read_at = yield* Clock.currentTimeMillis
      const id = ["in", ids.slice(0, page_max)] as const
      return yield* told.set({ where: { id, tenant, recipient, read_at: null } }, { read_at })
    }),
    preferences: (tenant, recipient) =>
      Effect.map(wanted.one({ tenant, recipient }), (row) => row?.payload ?? noPreferences),
    prefer: (tenant, recipient, payload) =>
      Effect.asVoid(wanted.add([{ tenant, recipient, payload }], ["payload"]))
  } satisfies Partial<Notices["Service"]>
}

/** The methods for posts of questions. */
const ofPosts = (driver: Rows["Service"], outbox: Outbox["Service"]) => {
  const posts = tableRows(driver, questionPosts)
  return {
    posted: Effect.fn("Notices.posted")(function* (post) {
      yield* posts.add([{ ...post, at: yield* Clock.currentTimeMillis }])
    }),
    settle: Effect.fn("Notices.settle")(function* (tenant, approval, messageOf) {
      const where = { tenant, approval }
      const [post] = yield* posts.take({ where, order: ["position"], limit: 1, lock: "skip" })
      if (post === undefined) return false
      yield* outbox.enqueue([messageOf(post)])
      return true
    }, driver.transaction)
  } satisfies Partial<Notices["Service"]>
}

const make = Effect.gen(function* () {
  const driver = yield* Rows
  const outbox = yield* Outbox
  const told = tableRows(driver, notices)
  const items = tableRows(driver, digestItems)
  const addresses = tableRows(driver, digestAddresses)
  const posts = tableRows(driver, questionPosts)

  /** Notifies one person, unless the person was notified before. */
  const tell = Effect.fnUntraced(function* (
    { about, content: payload, tenant }: NewNotices,
    { digest, messages, recipient }: NoticeRecipient,
    now: number
  ) {
    const id = NoticeId.make(crypto.randomUUID())
    const row = { id, tenant, recipient, about, payload, created_at: now }
    if ((yield* told.add([row])) === 0) return 0
    yield* items.add(digest.map(({ content, ...item }) => ({ ...item, payload: content, at: now })))
    yield* outbox.enqueue(messages)
    return 1
  })

  return Notices.of({
    ...ofPeople(driver),
    ...ofPosts(driver, outbox),
    record: Effect.fn("Notices.record")(function* (given) {
      const now = yield* Clock.currentTimeMillis
      let count = 0
      for (const each of given.recipients) count += yield* tell(given, each, now)
      return count
    }, driver.transaction),
    digest: Effect.fn("Notices.digest")(function* (before, limit, messageOf) {
      const [oldest] = yield* addresses.all({
        where: { tenant: anyTenant, at: ["<", before] },
        order: ["at", "position"],
        limit: 1,
        lock: "skip"
      })
      if (oldest === undefined) return false
      const { address, channel, tenant } = oldest
      // Another process that takes items at the same moment gets the next ones.
      const taken = yield* items.take({
        where: { tenant, channel, address },
        order: ["position"],
        limit: Math.min(limit, digest_max),
        lock: "skip"
      })
      const contents = taken.map(({ at: _at, payload, position: _place, ...item }) => ({
        ...item,
        content: payload
      }))
      if (contents.length === 0) return false
      yield* outbox.enqueue([messageOf(contents)])
      return true
    }, driver.transaction),
    replace: (tenant, about, payload) =>
      Effect.asVoid(told.set({ where: { tenant, about } }, { payload })),
    forget: Effect.fn("Notices.forget")(function* (before, most) {
      const limit = Math.min(most, forget_max)
      yield* posts.remove({ where: { tenant: anyTenant, at: ["<", before] }, order: ["at"], limit })
      const where = { tenant: anyTenant, created_at: ["<", before] } as const
      return yield* told.remove({ where, order: ["created_at"], limit })
    })
  })
})

export const layer: Layer.Layer<Notices, never, Outbox | Rows> = Layer.effect(Notices, make)
