/**
 * Webhooks of tenants, their secrets and their deliveries. Whoever changes a webhook and its deliveries locks the webhook first.
 */
import { Effect, Layer, Schema } from "effect"
import { Outbox } from "../../services/Outbox.ts"
import { Rows } from "../../services/Rows.ts"
import type { NewWebhookEvent, WebhookHint, WebhookName } from "../../services/Webhooks.ts"
import {
  webhook_event_topic,
  webhook_send_topic,
  webhookKey,
  Webhooks
} from "../../services/Webhooks.ts"
import type { NewOutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import type { Webhook, WebhookAttempt, WebhookDelivery } from "../../src/delivery/Webhook.ts"
import {
  attempts_kept,
  disabling,
  isWanted,
  secrets_max,
  settings_texts,
  StoredWebhookSettings,
  TooManySecrets,
  TooManyWebhooks,
  waiting_max,
  WebhookAttempt as Attempt,
  WebhookDeliveryId,
  WebhookDeliveryNotFound,
  WebhookDeliveryWaits,
  WebhookDisabled,
  WebhookFailing,
  WebhookId,
  WebhookIsDisabled,
  WebhookNews,
  WebhookNotFound,
  webhooks_max
} from "../../src/delivery/Webhook.ts"
import { MessageId, Tenant } from "../../src/value/Ids.ts"
import type { Stored, TableRows } from "./TypedRows.ts"
import {
  anyTenant,
  int8,
  json,
  oneOf,
  optional,
  place,
  table,
  tableRows,
  text,
  uuid
} from "./TypedRows.ts"

const page_max = 500

/** A webhook's messages have so many keys: events of one run come in order, and one that fails delays a quarter of the others. */
const lanes = 4

export const webhooks = table({
  name: "webhooks",
  what: "webhooks",
  key: ["id"],
  columns: {
    position: place,
    id: uuid(WebhookId),
    tenant: text(Tenant),
    status: oneOf({ literals: ["enabled", "disabled"] }),
    settings: json(StoredWebhookSettings),
    disabled: optional(json(WebhookDisabled)),
    failing: optional(json(WebhookFailing))
  },
  erased: { marked: { settings: settings_texts, disabled: new Set(["by"]) } }
})

/** Of no tenant: the tenant's role reads none of them. */
export const secrets = table({
  name: "webhook_secrets",
  what: "secrets of webhooks",
  key: ["secret"],
  columns: {
    position: place,
    webhook: uuid(WebhookId),
    secret: text(Schema.String),
    made_at: int8,
    ends_at: optional(int8)
  },
  group: ["webhook"]
})

export const deliveries = table({
  name: "webhook_deliveries",
  what: "deliveries to webhooks",
  key: ["event", "webhook"],
  columns: {
    position: place,
    id: uuid(WebhookDeliveryId),
    tenant: text(Tenant),
    webhook: uuid(WebhookId),
    event: uuid(MessageId),
    status: oneOf({ literals: ["waiting", "delivered", "failed"] }),
    reason: optional(oneOf({ literals: ["disabled", "full"] })),
    news: json(WebhookNews),
    attempts: json(Schema.Array(Attempt)),
    created_at: int8
  },
  erased: { removed: ["news"] },
  group: ["tenant", "webhook"],
  kept: { rows_max: waiting_max }
})

type Hook = Stored<typeof webhooks.columns>
type Delivery = Stored<typeof deliveries.columns>
type Secret = Stored<typeof secrets.columns>

const deliveryIn = ({ news, position, tenant: _tenant, ...row }: Delivery): WebhookDelivery => ({
  ...row,
  ...news,
  sequence: position
})

const sendingOf = ({ id, news, tenant, webhook }: Delivery): NewOutboxMessage => ({
  id: MessageId.make(crypto.randomUUID()),
  tenant,
  key: `webhook/${webhook}/${Number.parseInt(news.subject.slice(-1), 16) % lanes}`,
  topic: webhook_send_topic,
  payload: { delivery: id }
})

const hintOf = (tenant: Tenant, subject: string, hint: WebhookHint): NewOutboxMessage => ({
  id: MessageId.make(crypto.randomUUID()),
  tenant,
  key: webhookKey(subject),
  topic: webhook_event_topic,
  payload: hint
})

interface Tables {
  readonly driver: Rows["Service"]
  readonly outbox: Outbox["Service"]
  readonly hooks: TableRows<typeof webhooks.columns>
  readonly terms: TableRows<typeof secrets.columns>
  readonly sent: TableRows<typeof deliveries.columns>
}

/** Finds a webhook, and keeps it from being changed until the transaction ends. */
const locked = ({ hooks }: Tables, { id, tenant }: WebhookName, lock: "wait" | "share") =>
  Effect.flatMap(hooks.one({ tenant, id }, lock), (hook) =>
    hook === undefined ? Effect.fail(new WebhookNotFound({ id })) : Effect.succeed(hook)
  )

/** The secrets that sign at this time, newest first. */
const inForce = ({ terms }: Tables, ids: ReadonlyArray<WebhookId>, now: number) =>
  terms.all({
    where: { webhook: ["in", ids] },
    or: [{ ends_at: null }, { ends_at: [">", now] }],
    order: ["position"],
    descends: true
  })

const webhookIn = (
  { id, position: _place, settings, status, tenant: _tenant, ...rest }: Hook,
  found: ReadonlyArray<Secret>
): Webhook => ({
  id,
  ...settings,
  ...rest,
  enabled: status === "enabled",
  secrets: found.flatMap(({ ends_at, made_at, webhook }) =>
    webhook === id ? [{ made_at, ...(ends_at === undefined ? undefined : { ends_at }) }] : []
  )
})

/** What waits for a webhook that is disabled has failed. */
const giveUp = ({ sent }: Tables, { id: webhook, tenant }: WebhookName) =>
  sent.set(
    { where: { tenant, webhook, status: "waiting" } },
    { status: "failed", reason: "disabled" }
  )

/** Of the secrets that sign, the newest has no end. */
const rotating = (tables: Tables) => {
  const { driver, terms } = tables
  return {
    rotate: Effect.fn("Webhooks.rotate")(function* (webhook, secret, now, ends_at) {
      const { id } = webhook
      const hook = yield* locked(tables, webhook, "wait")
      const isAtOnce = ends_at <= now
      yield* terms.remove({
        where: isAtOnce ? { webhook: id } : { webhook: id, ends_at: ["<", now + 1] }
      })
      if (!isAtOnce) {
        const held = yield* terms.count({ where: { webhook: id } })
        if (held >= secrets_max) return yield* new TooManySecrets({ secrets_max })
        yield* terms.set({ where: { webhook: id, ends_at: null } }, { ends_at })
        yield* terms.set({ where: { webhook: id, ends_at: [">", ends_at] } }, { ends_at })
      }
      yield* terms.add([{ webhook: id, secret, made_at: now }])
      return webhookIn(hook, yield* inForce(tables, [id], now))
    }, driver.transaction)
  } satisfies Partial<Webhooks["Service"]>
}

/** The methods for whoever manages webhooks. */
const managing = (tables: Tables) => {
  const { driver, hooks, sent, terms } = tables
  const get = Effect.fnUntraced(function* (webhook: WebhookName, now: number) {
    const { id, tenant } = webhook
    const found = yield* hooks.one({ tenant, id })
    if (found === undefined) return yield* new WebhookNotFound({ id })
    return webhookIn(found, yield* inForce(tables, [id], now))
  })
  return {
    add: Effect.fn("Webhooks.add")(function* ({ id, tenant }, settings, secret) {
      yield* driver.alone(`troupe webhooks ${tenant}`)
      if ((yield* hooks.count({ where: { tenant } })) >= webhooks_max) {
        return yield* new TooManyWebhooks({ webhooks_max })
      }
      const made_at = settings.created_at
      yield* hooks.add([{ id, tenant, status: "enabled", settings }])
      yield* terms.add([{ webhook: id, secret, made_at }])
      return { id, ...settings, enabled: true, secrets: [{ made_at }] }
    }, driver.transaction),
    list: Effect.fn("Webhooks.list")(function* (tenant, now) {
      const found = yield* hooks.list({ where: { tenant }, order: ["position"], descends: true })
      const ids = found.map(({ id }) => id)
      const held = yield* inForce(tables, ids, now)
      return found.map((hook) => webhookIn(hook, held))
    }),
    get,
    change: Effect.fn("Webhooks.change")(function* (webhook, { by, enabled, now, settings }) {
      const { tenant, id } = webhook
      const hook = yield* locked(tables, webhook, "wait")
      const { created_at, created_by } = hook.settings
      const isAsked = !enabled && hook.status === "enabled"
      yield* hooks.set(
        { where: { tenant, id } },
        {
          settings: { ...settings, created_at, created_by },
          status: enabled ? "enabled" : "disabled",
          ...(enabled && { disabled: undefined }),
          ...(isAsked && { disabled: { at: now, reason: "asked", by } as const }),
          ...(enabled && hook.status === "disabled" && { failing: undefined })
        }
      )
      if (isAsked) yield* giveUp(tables, webhook)
      return yield* get(webhook, now)
    }, driver.transaction),
    remove: Effect.fn("Webhooks.remove")(function* ({ id, tenant }) {
      if ((yield* hooks.remove({ where: { tenant, id } })) === 0) {
        return yield* new WebhookNotFound({ id })
      }
      yield* terms.remove({ where: { webhook: id } })
      yield* sent.remove({ where: { tenant, webhook: id } })
    }, driver.transaction)
  } satisfies Partial<Webhooks["Service"]>
}

/** How a webhook stands after an attempt that failed, or one that succeeded. */
const standing = (
  { failing }: Hook,
  { at, error, ms, status }: WebhookAttempt
): {
  readonly failing: typeof WebhookFailing.Type | undefined
  readonly disabled?: typeof WebhookDisabled.Type & { readonly reason: "failing" | "gone" }
} => {
  if (error === undefined) return { failing: undefined }
  const now = at + ms
  const since = failing?.since ?? at
  const attempts = (failing?.attempts ?? 0) + 1
  const isLong = now - since >= disabling.after_ms && attempts >= disabling.attempts
  const reason = status === 410 ? "gone" : isLong ? "failing" : undefined
  return {
    failing: { since, attempts },
    ...(reason === undefined ? undefined : { disabled: { at: now, reason } })
  }
}

/** Makes deliveries of an event. */
const telling = ({ driver, hooks, outbox, sent }: Tables) => {
  /** Writes one delivery and its message, if the event is new to the webhook. */
  const write = Effect.fnUntraced(function* (
    { at: created_at, event, news, tenant }: NewWebhookEvent,
    { id: webhook }: Hook
  ) {
    const where = { tenant, webhook, status: "waiting" } as const
    const isFull = (yield* sent.count({ where, limit: waiting_max })) >= waiting_max
    const row = {
      id: WebhookDeliveryId.make(crypto.randomUUID()),
      tenant,
      webhook,
      event,
      news,
      attempts: [],
      created_at,
      ...(isFull
        ? ({ status: "failed", reason: "full" } as const)
        : ({ status: "waiting" } as const))
    }
    if ((yield* sent.add([row])) === 1 && !isFull) {
      yield* outbox.enqueue([sendingOf({ ...row, position: 0 })])
    }
  })

  return {
    deliver: Effect.fn("Webhooks.deliver")(function* (event) {
      const { news, tenant } = event
      const enabled = yield* hooks.list({
        where: { tenant, status: "enabled" },
        order: ["position"],
        lock: "share"
      })
      for (const hook of enabled) {
        if (isWanted(hook.settings, news)) yield* write(event, hook)
      }
    }, driver.transaction)
  } satisfies Partial<Webhooks["Service"]>
}

/** The methods for the sender. */
const sending = (tables: Tables) => {
  const { driver, hooks, outbox, sent } = tables
  return {
    due: Effect.fn("Webhooks.due")(function* (tenant, id, now) {
      const found = yield* sent.one({ tenant, id, status: "waiting" })
      if (found === undefined) return undefined
      const { created_at, event, news, position, webhook } = found
      const hook = yield* hooks.one({ tenant, id: webhook, status: "enabled" })
      if (hook === undefined) return undefined
      const held = yield* inForce(tables, [webhook], now)
      const { url } = hook.settings
      return { position, event, news, created_at, url, secrets: held.map(({ secret }) => secret) }
    }),
    attempted: Effect.fn("Webhooks.attempted")(function* (tenant, id, attempt, status) {
      const found = yield* sent.one({ tenant, id, status: "waiting" })
      if (found === undefined) return undefined
      const { webhook } = found
      const attempts = [...found.attempts, attempt].slice(-attempts_kept)
      const write = sent.set({ where: { tenant, id, status: "waiting" } }, { attempts, status })
      const seen = yield* hooks.one({ tenant, id: webhook })
      if (seen?.failing === undefined && attempt.error === undefined) {
        yield* write
        return undefined
      }
      const hook = yield* hooks.one({ tenant, id: webhook, status: "enabled" }, "wait")
      if (hook === undefined) return undefined
      yield* write
      const { disabled, failing } = standing(hook, attempt)
      const where = { tenant, id: webhook }
      yield* hooks.set({ where }, { failing })
      if (disabled === undefined) return undefined
      const { reason } = disabled
      yield* hooks.set({ where }, { status: "disabled", disabled })
      yield* giveUp(tables, { tenant, id: webhook })
      yield* outbox.enqueue([
        hintOf(tenant, webhook, { type: "webhook.disabled", webhook, reason })
      ])
      return webhook
    }, driver.transaction),
    forget: Effect.fn("Webhooks.forget")((before, most) =>
      sent.remove({
        where: { tenant: anyTenant, created_at: ["<", before] },
        order: ["created_at"],
        limit: Math.min(most, page_max)
      })
    )
  } satisfies Partial<Webhooks["Service"]>
}

/** The methods for whoever looks after deliveries. */
const resending = (tables: Tables) => {
  const { driver, outbox, sent } = tables
  const enabled = Effect.fnUntraced(function* (webhook: WebhookName) {
    const { status } = yield* locked(tables, webhook, "share")
    if (status === "disabled") return yield* new WebhookIsDisabled({ id: webhook.id })
  })
  return {
    deliveries: Effect.fn("Webhooks.deliveries")(function* (query) {
      const { after, limit, status, tenant, webhook } = query
      const found = yield* sent.list({
        where: { tenant, webhook, status },
        order: ["position"],
        descends: true,
        after: after === undefined ? undefined : { tenant, webhook, id: after },
        limit: Math.min(limit, page_max)
      })
      return found.map(deliveryIn)
    }),
    resend: Effect.fn("Webhooks.resend")(function* (webhook, id) {
      yield* enabled(webhook)
      const where = { tenant: webhook.tenant, webhook: webhook.id, id }
      const found = yield* sent.one(where, "wait")
      if (found === undefined) return yield* new WebhookDeliveryNotFound({ id })
      if (found.status === "waiting") return yield* new WebhookDeliveryWaits({ id })
      yield* sent.set({ where }, { status: "waiting", reason: undefined })
      yield* outbox.enqueue([sendingOf(found)])
      const { reason: _reason, ...again } = found
      return deliveryIn({ ...again, status: "waiting" })
    }, driver.transaction),
    resendFailed: Effect.fn("Webhooks.resendFailed")(function* (webhook, since, limit) {
      yield* enabled(webhook)
      const { id, tenant } = webhook
      const found = yield* sent.list({
        where: { tenant, webhook: id, status: "failed", created_at: [">=", since] },
        order: ["position"],
        limit: Math.min(limit, page_max),
        lock: "skip"
      })
      if (found.length === 0) return 0
      yield* sent.set(
        { where: { tenant, id: ["in", found.map((each) => each.id)] } },
        { status: "waiting", reason: undefined }
      )
      yield* outbox.enqueue(found.map(sendingOf))
      return found.length
    }, driver.transaction)
  } satisfies Partial<Webhooks["Service"]>
}

const make = Effect.gen(function* () {
  const driver = yield* Rows
  const tables: Tables = {
    driver,
    outbox: yield* Outbox,
    hooks: tableRows(driver, webhooks),
    terms: tableRows(driver, secrets),
    sent: tableRows(driver, deliveries)
  }
  return Webhooks.of({
    ...managing(tables),
    ...rotating(tables),
    ...telling(tables),
    ...sending(tables),
    ...resending(tables)
  })
})

export const layer: Layer.Layer<Webhooks, never, Outbox | Rows> = Layer.effect(Webhooks, make)
