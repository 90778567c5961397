/**
 * One request to a webhook: an event as structured JSON of CloudEvents, signed by Standard Webhooks where there are keys
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). Says nothing of the address, in
 * errors or in spans. Private to this room.
 */
import { createHmac } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import { FetchHttpClient, HttpBody, HttpClient, HttpClientRequest } from "effect/http"
import type { AddressRange } from "../../src/network/Address.ts"
import type { CloudEvent } from "../../src/delivery/IncomingEvent.ts"
import type { WebhookAnswer } from "../../src/delivery/Webhook.ts"
import { waitOf } from "../network/HttpAnswers.ts"

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
  const { judgedFetch } = yield* Effect.promise(() => import("../network/JudgedFetch.ts"))
  const fetch = judgedFetch({ allow })
  const context = yield* Effect.scoped(Layer.build(FetchHttpClient.layer))
  // Only the status is read: the scope gives the connection back without the body, however long that is.
  const client = HttpClient.withScope(Context.get(context, HttpClient.HttpClient))
  return Effect.fnUntraced(
    function* (request: WebhookRequest) {
      const body = JSON.stringify(request.event)
      const headers = signatureOf(request, yield* Clock.currentTimeMillis, body)
      const { headers: said, status } = yield* HttpClientRequest.post(request.url).pipe(
        HttpClientRequest.setHeaders(headers),
        HttpClientRequest.setBody(HttpBody.text(body, content_type)),
        client.execute
      )
      return { status, ...waitOf(said["retry-after"], yield* Clock.currentTimeMillis) }
    },
    (sent) =>
      sent.pipe(
        Effect.scoped,
        Effect.catch(() => Effect.succeed({ missing: "unreachable" } as const)),
        Effect.timeoutOrElse({
          duration: timeout_ms,
          orElse: () => Effect.succeed({ missing: "timeout" } as const)
        })
      ),
    // Redirects are not followed: they would send the event to a host that nobody named.
    Effect.provideService(FetchHttpClient.Fetch, fetch),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
  )
})
