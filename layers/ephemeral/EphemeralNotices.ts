/**
 * Notices to people, in one process. It keeps the newest 10,000 notices of each person.
 */
import { Clock, Effect, Layer } from "effect"
import type { DigestItem } from "../../services/Notices.ts"
import { Notices } from "../../services/Notices.ts"
import { Outbox } from "../../services/Outbox.ts"
import type { Notice, NoticeId, NoticePreferences } from "../../src/delivery/Notice.ts"
import { noPreferences } from "../../src/delivery/Notice.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { EphemeralStore, newId, offerRows, tenantKey } from "./EphemeralStore.ts"

const page_max = 500
const unread_max = 1_000
const digest_max = 100
const forget_max = 1_000
const notices_max = 10_000

interface Stored {
  readonly about: string
  readonly notice: Notice
}

interface Waiting extends DigestItem {
  readonly at: number
}

const isAtSame = (a: DigestItem, b: DigestItem): boolean =>
  a.tenant === b.tenant && a.channel === b.channel && a.address === b.address

/** The methods for people: their notices, and which channels they want. */
const ofPeople = (
  notices: ReadonlyMap<string, Array<Stored>>,
  preferences: Map<string, NoticePreferences>
) => {
  const of = (tenant: Tenant, recipient: string) => notices.get(tenantKey(tenant, recipient)) ?? []
  return {
    list: ({ after, limit, recipient, tenant, unread = false }) =>
      Effect.sync(() => {
        const all = of(tenant, recipient).map(({ notice }) => notice)
        const end = after === undefined ? all.length : all.findIndex(({ id }) => id === after)
        return all
          .slice(0, Math.max(end, 0))
          .filter(({ read_at }) => !unread || read_at === undefined)
          .toReversed()
          .slice(0, Math.min(limit, page_max))
      }),
    unread: (tenant, recipient) =>
      Effect.sync(() => {
        const all = of(tenant, recipient).filter(({ notice }) => notice.read_at === undefined)
        return Math.min(all.length, unread_max)
      }),
    read: Effect.fn("Notices.read")(function* (tenant, recipient, ids) {
      const read_at = yield* Clock.currentTimeMillis
      const wanted = new Set<string>(ids.slice(0, page_max))
      const all = of(tenant, recipient)
      let marked = 0
      for (const [index, { about, notice }] of all.entries()) {
        if (!wanted.has(notice.id) || notice.read_at !== undefined) continue
        all[index] = { about, notice: { ...notice, read_at } }
        marked++
      }
      return marked
    }),
    preferences: (tenant, recipient) =>
      Effect.sync(() => preferences.get(tenantKey(tenant, recipient)) ?? noPreferences),
    prefer: (tenant, recipient, given) =>
      Effect.sync(() => void preferences.set(tenantKey(tenant, recipient), given))
  } satisfies Partial<Notices["Service"]>
}

/**
 * Removes notices that were created before `before`, each person's oldest first, at most `limit` (up to 1,000) in all. Gives how
 * many it removed.
 */
const forget = (notices: Map<string, Array<Stored>>, before: number, limit: number): number => {
  let gone = 0
  for (const [key, all] of notices) {
    const kept = all.findIndex(({ notice }) => notice.created_at >= before)
    const old = kept < 0 ? all.length : kept
    gone += all.splice(0, Math.min(old, Math.min(limit, forget_max) - gone)).length
    if (all.length === 0) notices.delete(key)
  }
  return gone
}

const make = Effect.gen(function* () {
  const store = yield* EphemeralStore
  const outbox = yield* Outbox
  /** The notices of each person, oldest first. */
  const notices = new Map<string, Array<Stored>>()
  const preferences = new Map<string, NoticePreferences>()
  let waiting: Array<Waiting> = []
  yield* offerRows("notices", (tenant) =>
    [...notices.values()].flatMap((all) =>
      all.flatMap((stored) => {
        const { agent: _agent, tenant: whose, ...value } = stored.notice
        const remove = () => void all.splice(all.indexOf(stored), 1)
        return whose === tenant ? [{ value: { ...value, about: stored.about }, remove }] : []
      })
    )
  )
  yield* offerRows("notice_preferences", (tenant) =>
    [...preferences.keys()].flatMap((key) => {
      const [whose, recipient] = key.split("\0")
      return whose === tenant
        ? [{ value: { recipient }, remove: () => void preferences.delete(key) }]
        : []
    })
  )
  yield* offerRows("digest_items", (tenant) =>
    waiting.flatMap((item) => {
      const { address, content, recipient, tenant: whose } = item
      const remove = () => void (waiting = waiting.filter((each) => each !== item))
      return whose === tenant ? [{ value: { address, recipient, content }, remove }] : []
    })
  )

  return Notices.of({
    ...ofPeople(notices, preferences),
    record: Effect.fn("Notices.record")(function* ({ about, content, recipients, tenant }) {
      const created_at = yield* Clock.currentTimeMillis
      let count = 0
      for (const { digest, messages, recipient } of recipients) {
        const key = tenantKey(tenant, recipient)
        const all = notices.get(key) ?? []
        if (all.some((each) => each.about === about)) continue
        const id = newId(store) as NoticeId
        all.push({ about, notice: { id, tenant, recipient, ...content, created_at } })
        if (all.length > notices_max) all.shift()
        notices.set(key, all)
        waiting.push(...digest.map((item) => ({ ...item, at: created_at })))
        yield* outbox.enqueue(messages)
        count++
      }
      return count
    }, Effect.uninterruptible),
    digest: Effect.fn("Notices.digest")(function* (before, limit, messageOf) {
      const first = waiting.find(({ at }) => at < before)
      if (first === undefined) return false
      const taken = waiting
        .filter((each) => isAtSame(each, first))
        .slice(0, Math.min(limit, digest_max))
      waiting = waiting.filter((each) => !taken.includes(each))
      yield* outbox.enqueue([messageOf(taken.map(({ at: _at, ...item }) => item))])
      return true
    }, Effect.uninterruptible),
    forget: (before, limit) => Effect.sync(() => forget(notices, before, limit))
  })
})

export const layer: Layer.Layer<Notices, never, EphemeralStore | Outbox> = Layer.effect(
  Notices,
  make
)
