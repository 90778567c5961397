/** Webhooks of a tenant. The text of a secret is in the answer that made it, and in no other. */
import { Clock, Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { Base64 } from "effect/encoding"
import { WebhookReach, Webhooks } from "../../services/Webhooks.ts"
import type { WebhookDelivery, WebhookSettings } from "../../src/delivery/Webhook.ts"
import { secret_prefix, WebhookId, webhookUrlFault } from "../../src/delivery/Webhook.ts"
import { limit_default } from "../../src/operation/Page.ts"
import * as WebhookOperations from "../../src/operation/WebhookOperations.ts"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import { boundedPage } from "../../src/value/Pages.ts"
import { pageOf, serve } from "./Served.ts"

const secret_bytes = 32

/** Fails for a URL that no event would be sent to. What its name stands for is looked at again whenever it is dialled. */
const failUnlessReachable = Effect.fnUntraced(function* ({ url }: WebhookSettings) {
  const { allow, http } = yield* WebhookReach
  const reason = webhookUrlFault(url, allow, http)
  if (reason !== undefined) return yield* new InvalidInput({ field: "payload.url", reason })
})

const newSecret = SecureRandom.SecureRandom.use((random) =>
  Effect.map(random.randomBytes(secret_bytes), (bytes) => secret_prefix + Base64.encode(bytes))
)

export const list = serve(
  WebhookOperations.list,
  Effect.fnUntraced(function* (_, { tenant }) {
    const now = yield* Clock.currentTimeMillis
    return { items: yield* Webhooks.use((webhooks) => webhooks.list(tenant, now)) }
  })
)

export const create = serve(
  WebhookOperations.create,
  Effect.fn("Webhooks.create")(function* (settings, { id: created_by, tenant }) {
    yield* failUnlessReachable(settings)
    const webhooks = yield* Webhooks
    const random = yield* SecureRandom.SecureRandom
    const id = WebhookId.make(yield* random.uuidV4())
    const secret = yield* newSecret
    const created_at = yield* Clock.currentTimeMillis
    const made = { ...settings, created_by, created_at }
    return { secret, ...(yield* webhooks.add({ tenant, id }, made, secret)) }
  })
)

export const get = serve(
  WebhookOperations.get,
  Effect.fnUntraced(function* ({ id }, { tenant }) {
    const now = yield* Clock.currentTimeMillis
    return yield* Webhooks.use((webhooks) => webhooks.get({ tenant, id }, now))
  })
)

export const change = serve(
  WebhookOperations.change,
  Effect.fn("Webhooks.change")(function* ({ enabled, id, ...settings }, { id: by, tenant }) {
    yield* failUnlessReachable(settings)
    const now = yield* Clock.currentTimeMillis
    return yield* Webhooks.use((webhooks) =>
      webhooks.change({ tenant, id }, { settings, enabled, by, now })
    )
  })
)

export const remove = serve(WebhookOperations.remove, ({ id }, { tenant }) =>
  Webhooks.use((webhooks) => webhooks.remove({ tenant, id }))
)

export const rotate = serve(
  WebhookOperations.rotate,
  Effect.fn("Webhooks.rotate")(function* ({ id, overlap_ms }, { tenant }) {
    const webhooks = yield* Webhooks
    const secret = yield* newSecret
    const now = yield* Clock.currentTimeMillis
    return { secret, ...(yield* webhooks.rotate({ tenant, id }, secret, now, now + overlap_ms)) }
  })
)

export const deliveries = serve(
  WebhookOperations.deliveries,
  Effect.fnUntraced(function* ({ after, id, limit = limit_default, status }, { tenant }) {
    const webhooks = yield* Webhooks
    yield* webhooks.get({ tenant, id }, yield* Clock.currentTimeMillis)
    const page = yield* boundedPage(limit, (last: WebhookDelivery | undefined, limit) =>
      webhooks.deliveries({ tenant, webhook: id, status, limit, after: last?.id ?? after })
    )
    return pageOf(page, "id")
  })
)

export const resend = serve(WebhookOperations.resend, ({ delivery, id }, { tenant }) =>
  Webhooks.use((webhooks) => webhooks.resend({ tenant, id }, delivery))
)

export const resendFailed = serve(WebhookOperations.resendFailed, ({ id, limit, since }, by) =>
  Effect.map(
    Webhooks.use((webhooks) => webhooks.resendFailed({ tenant: by.tenant, id }, since, limit)),
    (resent) => ({ resent })
  )
)
