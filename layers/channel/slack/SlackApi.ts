/**
 * Slack's Web API, as far as it is used: one POST with JSON, and its answers. No package of Slack's is used: its client has
 * a queue and retries of its own, which the outbox has already, and its calls cannot be interrupted.
 */
import { Clock, Context, Effect, Layer, Option, Redacted, Result, Schema } from "effect"
import { FetchHttpClient, HttpBody, HttpClient, HttpClientRequest } from "effect/http"
import { DeliveryFailed, DeliveryRefused } from "../../../services/DeliveryHandlers.ts"
import type { AddressRange } from "../../../src/network/Address.ts"
import { parseAddressRange } from "../../../src/network/Address.ts"
import { answerText } from "../../network/AnswerText.ts"
import { judgedFetch } from "../../network/JudgedFetch.ts"
import type { Wait } from "../../network/RetryAfter.ts"
import { waitOf } from "../../network/RetryAfter.ts"
import { SlackConfig, SlackMisconfigured } from "./SlackConfig.ts"

/** The greatest size of an answer, in bytes. */
const answer_bytes_max = 1_000_000
const timeout_ms_default = 10_000
const api_url_default = "https://slack.com/api"

/** Transient errors (https://docs.slack.dev/reference/methods/chat.postMessage). */
const passing: ReadonlySet<string> = new Set([
  "fatal_error",
  "internal_error",
  "message_limit_exceeded",
  "ratelimited",
  "rate_limited",
  "request_timeout",
  "service_unavailable",
  "team_added_to_org"
])

const Answer = Schema.Struct({
  ok: Schema.Boolean,
  error: Schema.optionalKey(Schema.String),
  ts: Schema.optionalKey(Schema.String)
})
const decodeAnswer = Schema.decodeUnknownOption(Schema.fromJsonString(Answer))

/** Words of Slack's, as they may stand in a log. */
const isName = (error: string): boolean => /^[a-z0-9_]{1,64}$/.test(error)

const rangesOf = (
  texts: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<AddressRange>, SlackMisconfigured> =>
  Effect.forEach(texts, (text) => {
    const range = parseAddressRange(text)
    return Result.isSuccess(range)
      ? Effect.succeed(range.success)
      : Effect.fail(new SlackMisconfigured({ field: "allow_ranges", message: `${range.failure}.` }))
  })

const judge = (
  status: number,
  wait: Wait,
  text: string
): Effect.Effect<typeof Answer.Type, DeliveryFailed | DeliveryRefused> => {
  if (status === 429) {
    return Effect.fail(new DeliveryFailed({ message: "Slack limits the rate", ...wait }))
  }
  if (status < 200 || status > 299) {
    const message = `Slack answered ${status}`
    return Effect.fail(
      status >= 500 ? new DeliveryFailed({ message }) : new DeliveryRefused({ message })
    )
  }
  const answer = Option.getOrUndefined(decodeAnswer(text))
  if (answer === undefined) {
    return Effect.fail(new DeliveryFailed({ message: "Slack's answer could not be read" }))
  }
  if (answer.ok) return Effect.succeed(answer)
  const { error = "" } = answer
  const message = `Slack refused the message: ${isName(error) ? error : "it does not say why"}`
  return Effect.fail(
    passing.has(error) ? new DeliveryFailed({ message }) : new DeliveryRefused({ message })
  )
}

/** Calls a method of the Web API. */
export type SlackCall = (
  method: string,
  body: Schema.Json
) => Effect.Effect<typeof Answer.Type, DeliveryFailed | DeliveryRefused>

const tooLarge = new DeliveryFailed({ message: "Slack's answer is too large" })

export const makeSlackCall: Effect.Effect<SlackCall, SlackMisconfigured, SlackConfig> = Effect.gen(
  function* () {
    const config = yield* SlackConfig
    const { api_url = api_url_default, timeout_ms = timeout_ms_default } = config
    // A variable that is not set: each message would be a dead letter.
    if (Redacted.value(config.token).trim() === "") {
      return yield* new SlackMisconfigured({ field: "token", message: "it is empty" })
    }
    const fetch = judgedFetch({ allow: yield* rangesOf(config.allow_ranges ?? []) })
    const context = yield* Layer.build(FetchHttpClient.layer)
    const client = HttpClient.withScope(Context.get(context, HttpClient.HttpClient))

    const call: SlackCall = Effect.fnUntraced(
      function* (method, body) {
        const away = new DeliveryFailed({ message: "Slack could not be reached" })
        const request = HttpClientRequest.post(`${api_url}/${method}`).pipe(
          HttpClientRequest.bearerToken(Redacted.value(config.token)),
          HttpClientRequest.setBody(
            HttpBody.text(JSON.stringify(body), "application/json; charset=utf-8")
          )
        )
        return yield* Effect.gen(function* () {
          const response = yield* Effect.mapError(client.execute(request), () => away)
          const text = yield* answerText(response, answer_bytes_max, { broken: away, tooLarge })
          const wait = waitOf(response.headers["retry-after"], yield* Clock.currentTimeMillis)
          return yield* judge(response.status, wait, text)
        }).pipe(
          Effect.timeoutOrElse({
            duration: timeout_ms,
            orElse: () =>
              Effect.fail(
                new DeliveryFailed({ message: `Slack did not answer within ${timeout_ms} ms` })
              )
          })
        )
      },
      Effect.scoped,
      Effect.provideService(FetchHttpClient.Fetch, fetch),
      Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
    )
    return call
  }
).pipe(Effect.scoped)
