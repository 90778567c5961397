/**
 * Delivers events to one webhook by HTTP POST. 2xx is delivered; an answer that another try cannot change (4xx, except
 * 408, 425 and 429) is refused; anything else failed. Reaches public addresses, and ranges that its config names. Says
 * nothing of the address, in errors or in spans. Where there is a secret, each request is signed by Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
 */
import { createHmac } from "node:crypto"
import { Clock, Context, Effect, Layer, Redacted, Result, Schema } from "effect"
import { Base64 } from "effect/encoding"
import { FetchHttpClient, HttpBody, HttpClient, HttpClientRequest } from "effect/http"
import type { DeliveryHandler, RoomHandlers } from "../../services/DeliveryHandlers.ts"
import { DeliveryFailed, DeliveryRefused } from "../../services/DeliveryHandlers.ts"
import type { AddressRange } from "../../src/network/Address.ts"
import {
  isMetadataHost,
  literalAddress,
  mayDial,
  parseAddressRanges
} from "../../src/network/Address.ts"
import { cloudEventOf, webhook_topic, WebhookEvent } from "../../src/delivery/IncomingEvent.ts"
import { judgedFetch } from "../network/JudgedFetch.ts"
import type { Wait } from "../network/HttpAnswers.ts"
import { waitOf } from "../network/HttpAnswers.ts"

/** The configuration of the webhook that receives events. */
export class WebhookConfig extends Context.Service<
  WebhookConfig,
  {
    /** Where events are posted: https, at a public address unless `allow_ranges` has it. */
    readonly url: string
    /** The `source` of the envelope, a URI reference; absent = `troupe`. */
    readonly source?: string | undefined
    /** How long one answer may take; absent = 10,000. The relay's own timeout must be longer. */
    readonly timeout_ms?: number | undefined
    /**
     * `whsec_` and 24 to 64 bytes in base64, with which receivers check that the request is ours. Several while one takes the
     * place of another: each signs. Absent = requests are not signed.
     */
    readonly secret?: Redacted.Redacted | ReadonlyArray<Redacted.Redacted> | undefined
    /** Address ranges that may be reached although they are not public, such as `127.0.0.0/8`. Absent = none. */
    readonly allow_ranges?: ReadonlyArray<string> | undefined
  }
>()("troupe/layers/channel/WebhookConfig") {}

/** The configuration is invalid. */
export class WebhookMisconfigured extends Schema.TaggedError<WebhookMisconfigured>()(
  "WebhookMisconfigured",
  {
    /** The member of `WebhookConfig` at fault. */
    field: Schema.String,
    /** What is wrong with it, and what to write instead. */
    message: Schema.String
  }
) {}

const rangesOf = (texts: ReadonlyArray<string>) =>
  Effect.fromResult(
    Result.mapError(
      parseAddressRanges(texts),
      (problem) => new WebhookMisconfigured({ field: "allow_ranges", message: `${problem}.` })
    )
  )

const secret_prefix = "whsec_"
const key_bytes = { min: 24, max: 64 }

const bad_secret = new WebhookMisconfigured({
  field: "secret",
  message: `It is a Redacted ${secret_prefix} with ${key_bytes.min} to ${key_bytes.max} bytes in base64, or several.`
})

const keyOf = (secret: Redacted.Redacted): Effect.Effect<Uint8Array, WebhookMisconfigured> => {
  const given: unknown = Redacted.isRedacted(secret) ? Redacted.value(secret) : undefined
  if (typeof given !== "string" || !given.startsWith(secret_prefix)) return bad_secret
  const key = Result.getOrUndefined(Base64.decode(given.slice(secret_prefix.length)))
  if (key === undefined || key.length < key_bytes.min || key.length > key_bytes.max) {
    return bad_secret
  }
  return Effect.succeed(key)
}

const keysOf = (secret: WebhookConfig["Service"]["secret"]) => {
  if (secret === undefined) return Effect.succeed([])
  const secrets = Array.isArray(secret) ? secret : [secret]
  return secrets.length === 0 ? bad_secret : Effect.forEach(secrets, keyOf)
}

/** The id is the message's and the same at each delivery; the time is this delivery's, so that receivers can refuse old requests. */
const signatureOf = (
  keys: ReadonlyArray<Uint8Array>,
  id: string,
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

const timeout_ms_default = 10_000

/** Why no request could be made with this configuration: each event would be a dead letter, after its last attempt. */
const wrongIn = (
  config: WebhookConfig["Service"],
  timeout_ms: number,
  allow: ReadonlyArray<AddressRange>
): WebhookMisconfigured | undefined => {
  const url = URL.parse(config.url)
  if (url === null || !/^https?:$/.test(url.protocol) || `${url.username}${url.password}` !== "") {
    const message = "It is a URL that begins with https:// or http://, without a user or password."
    return new WebhookMisconfigured({ field: "url", message })
  }
  if (isMetadataHost(url)) {
    const message = "It is a cloud's metadata service, which no webhook may reach."
    return new WebhookMisconfigured({ field: "url", message })
  }
  const address = literalAddress(url)
  if (address !== undefined && !mayDial(address, { allow })) {
    const message = "Its address is not public. Name its range in allow_ranges."
    return new WebhookMisconfigured({ field: "url", message })
  }
  return timeout_ms > 0
    ? undefined
    : new WebhookMisconfigured({ field: "timeout_ms", message: "It is more than 0 ms." })
}

/** Statuses that ask for a later retry: Request Timeout, Too Early, Too Many Requests. */
const later: ReadonlySet<number> = new Set([408, 425, 429])

const content_type = "application/cloudevents+json; charset=utf-8"

const decode = Schema.decodeUnknownEffect(WebhookEvent)

const judge = (
  status: number,
  wait: Wait
): Effect.Effect<void, DeliveryFailed | DeliveryRefused> => {
  if (status >= 200 && status < 300) return Effect.void
  const message = `the receiver answered ${status}`
  return status >= 400 && status < 500 && !later.has(status)
    ? Effect.fail(new DeliveryRefused({ message }))
    : Effect.fail(new DeliveryFailed({ message, ...wait }))
}

/** The handler of `webhook.deliver`. */
export const handlers: Effect.Effect<RoomHandlers, WebhookMisconfigured, WebhookConfig> =
  Effect.gen(function* () {
    const config = yield* WebhookConfig
    const { source = "troupe", timeout_ms = timeout_ms_default, url } = config
    const allow = yield* rangesOf(config.allow_ranges ?? [])
    const wrong = wrongIn(config, timeout_ms, allow)
    if (wrong !== undefined) return yield* wrong
    const fetch = judgedFetch({ allow })
    const keys = yield* keysOf(config.secret)
    const context = yield* Layer.build(FetchHttpClient.layer)
    // Only the status is read: the scope gives the connection back without the body, however long that is.
    const client = HttpClient.withScope(Context.get(context, HttpClient.HttpClient))

    const deliver: DeliveryHandler = Effect.fnUntraced(
      function* (message) {
        const event = yield* Effect.mapError(
          decode(message.payload),
          () => new DeliveryRefused({ message: "the payload is no webhook event" })
        )
        const body = JSON.stringify(cloudEventOf(message, event, source))
        const signature = signatureOf(keys, message.id, yield* Clock.currentTimeMillis, body)
        const response = yield* HttpClientRequest.post(url).pipe(
          HttpClientRequest.setHeaders(signature),
          HttpClientRequest.setBody(HttpBody.text(body, content_type)),
          client.execute,
          Effect.mapError(
            () => new DeliveryFailed({ message: "the receiver could not be reached" })
          ),
          Effect.timeoutOrElse({
            duration: timeout_ms,
            orElse: () =>
              new DeliveryFailed({
                message: `the receiver did not answer within ${timeout_ms} ms`
              })
          })
        )
        const wait = waitOf(response.headers["retry-after"], yield* Clock.currentTimeMillis)
        return yield* judge(response.status, wait)
      },
      Effect.scoped,
      // Redirects are not followed: they would send the event to a host that is not configured.
      Effect.provideService(FetchHttpClient.Fetch, fetch),
      Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
    )
    return [[webhook_topic, deliver] as const]
  }).pipe(Effect.scoped)
