/**
 * Delivers events to one webhook by HTTP POST. 2xx is delivered; an answer that another try cannot change (4xx, except
 * 408, 425 and 429) is refused; anything else failed. Reaches public addresses, and ranges that its config names. Says
 * nothing of the address, in errors or in spans. Where there is a secret, each request is signed by Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
 */
import { Context, Effect, Redacted, Result, Schema } from "effect"
import type { DeliveryHandler, RoomHandlers } from "../../services/DeliveryHandlers.ts"
import { DeliveryFailed, DeliveryRefused } from "../../services/DeliveryHandlers.ts"
import { parseAddressRanges } from "../../src/network/Address.ts"
import { cloudEventOf, webhook_topic, WebhookEvent } from "../../src/delivery/IncomingEvent.ts"
import type { WebhookAnswer } from "../../src/delivery/Webhook.ts"
import {
  answer_ms_default,
  secrets_max,
  verdictOf,
  webhookUrlFault
} from "../../src/delivery/Webhook.ts"
import { makeSender } from "./WebhookRequest.ts"
import { secret_form, signingKey } from "./WebhookSecret.ts"

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
     * `whsec_` and 24 to 64 bytes in base64, with which receivers check that the request is ours. Several, at most 4 and the
     * newest first, while one takes the place of another: each signs. Absent = requests are not signed.
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

const bad_secret = new WebhookMisconfigured({
  field: "secret",
  message: `It is a Redacted ${secret_form}, or 2 to ${secrets_max} of them, the newest first.`
})

const keysOf = (secret: WebhookConfig["Service"]["secret"]) => {
  if (secret === undefined) return Effect.succeed([])
  const secrets: ReadonlyArray<unknown> = Array.isArray(secret) ? secret : [secret]
  const keys = secrets.map((each) =>
    Redacted.isRedacted(each) ? signingKey(Redacted.value(each)) : undefined
  )
  return keys.length > 0 && keys.length <= secrets_max && keys.every((key) => key !== undefined)
    ? Effect.succeed(keys)
    : bad_secret
}

const decode = Schema.decodeUnknownEffect(WebhookEvent)

const judge = (
  answer: WebhookAnswer,
  timeout_ms: number
): Effect.Effect<void, DeliveryFailed | DeliveryRefused> => {
  const verdict = verdictOf(answer)
  if (verdict === "delivered") return Effect.void
  if ("missing" in answer) {
    const message =
      answer.missing === "timeout"
        ? `the receiver did not answer within ${timeout_ms} ms`
        : "the receiver could not be reached"
    return Effect.fail(new DeliveryFailed({ message }))
  }
  const { status, ...wait } = answer
  const message = `the receiver answered ${status}`
  return verdict === "refused"
    ? Effect.fail(new DeliveryRefused({ message }))
    : Effect.fail(new DeliveryFailed({ message, ...wait }))
}

/** The handler of `webhook.deliver`. Where no request could be made with its configuration, it fails before any event is lost. */
export const handlers: Effect.Effect<RoomHandlers, WebhookMisconfigured, WebhookConfig> =
  Effect.gen(function* () {
    const config = yield* WebhookConfig
    const { source = "troupe", timeout_ms = answer_ms_default, url } = config
    const allow = yield* rangesOf(config.allow_ranges ?? [])
    const fault = webhookUrlFault(url, allow, true)
    if (fault !== undefined)
      return yield* new WebhookMisconfigured({ field: "url", message: fault })
    if (!(timeout_ms > 0)) {
      return yield* new WebhookMisconfigured({
        field: "timeout_ms",
        message: "It is more than 0 ms."
      })
    }
    const keys = yield* keysOf(config.secret)
    const send = yield* makeSender(allow, timeout_ms)
    const deliver: DeliveryHandler = Effect.fnUntraced(function* (message) {
      const event = yield* Effect.mapError(
        decode(message.payload),
        () => new DeliveryRefused({ message: "the payload is no webhook event" })
      )
      const answer = yield* send({ url, keys, event: cloudEventOf(message, event, source) })
      yield* judge(answer, timeout_ms)
    })
    return [[webhook_topic, deliver] as const]
  })
