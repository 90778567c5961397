/**
 * One request to a webhook: an event as structured JSON of CloudEvents, signed by Standard Webhooks where there are keys
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). Says nothing of the address, in
 * errors or in spans. Private to this room.
 */
import { createHmac } from "node:crypto"
import { Clock, Effect } from "effect"
import type { AddressRange } from "../../src/network/Address.ts"
import type { CloudEvent } from "../../src/delivery/IncomingEvent.ts"
import type { WebhookAnswer } from "../../src/delivery/Webhook.ts"

const content_type = "application/cloudevents+json; charset=utf-8"

/** What is sent, and where. */
export interface WebhookRequest {
  readonly url: string
  readonly event: CloudEvent
  /** Each signs, in this order. None = the request is not signed. */
  readonly keys: ReadonlyArray<Uint8Array>
}

/** The id is the event's and the same at each delivery; the time is this delivery's, so that receivers can refuse old requests. */
const signatureOf = (
  { event: { id }, keys }: WebhookRequest,
  now: number,
  body: string
): Readonly<Record<string, string>> => {
  if (keys.length === 0) return {}
  const timestamp = String(Math.floor(now / 1_000))
  const signed = keys.map(
    (key) => `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`
  )
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signed.join(" ")
  }
}

/** Sends requests to public addresses, and to those in `allow`. The answer's body is not read. */
export const makeSender = Effect.fnUntraced(function* (
  allow: ReadonlyArray<AddressRange>,
  timeout_ms: number
): Effect.fn.Return<(request: WebhookRequest) => Effect.Effect<WebhookAnswer>> {
  // Loaded with its client where there is a webhook: most services have none.
  const [{ judgedFetch }, { waitOf }] = yield* Effect.promise(() =>
    Promise.all([import("../network/JudgedFetch.ts"), import("../network/HttpAnswers.ts")])
  )
  const fetch = judgedFetch({ allow })
  return Effect.fnUntraced(
    function* ({ event, keys, url }: WebhookRequest) {
      const body = JSON.stringify(event)
      const signature = signatureOf({ event, keys, url }, yield* Clock.currentTimeMillis, body)
      const headers = { ...signature, "content-type": content_type }
      // Redirects are not followed: they would send the event to a host that nobody named.
      const request = { method: "POST", headers, body, redirect: "manual" } as const
      const answer = yield* Effect.tryPromise((signal) => fetch(url, { ...request, signal }))
      // Only the status is read: the connection is given back without the body, however long that is.
      yield* Effect.ignore(Effect.tryPromise(async () => answer.body?.cancel()))
      const wait = answer.headers.get("retry-after") ?? undefined
      return { status: answer.status, ...waitOf(wait, yield* Clock.currentTimeMillis) }
    },
    (sent) =>
      sent.pipe(
        Effect.catch(() => Effect.succeed({ missing: "unreachable" } as const)),
        Effect.timeoutOrElse({
          duration: timeout_ms,
          orElse: () => Effect.succeed({ missing: "timeout" } as const)
        })
      )
  )
})
