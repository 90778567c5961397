/**
 * A workspace of Slack, what people are told there (https://docs.slack.dev/reference/block-kit), and the Web API as far as it is
 * used: one POST with JSON, and its answers. No package of Slack's is used: its client has
 * a queue and retries of its own, which the outbox has already, and its calls cannot be interrupted.
 */
import { Clock, Context, Effect, Layer, Option, Redacted, Result, Schema } from "effect"
import { FetchHttpClient, HttpBody, HttpClient, HttpClientRequest } from "effect/http"
import { DeliveryFailed, DeliveryRefused } from "../../../services/DeliveryHandlers.ts"
import { parseAddressRanges } from "../../../src/network/Address.ts"
import type { Wait } from "../../network/HttpAnswers.ts"
import { answerText, waitOf } from "../../network/HttpAnswers.ts"
import { judgedFetch } from "../../network/JudgedFetch.ts"
import type { ApprovalId, Tenant } from "../../../src/value/Ids.ts"
import { ChannelName } from "../../../src/conversation/ChannelBinding.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { cutText } from "../../../src/value/CutText.ts"
import type { NoticeContent } from "../../../src/delivery/Notice.ts"

export const slack = ChannelName.make("slack")

/** A user of Slack, and the principal that it acts as. */
export interface SlackUser {
  /** The user's id in Slack, such as `U012AB3CD`. */
  readonly user: string
  /** The principal that the user acts as. Its roles decide what the user may do. */
  readonly principal: Principal
}

/** The app in one workspace of Slack, and who may act there. */
export class SlackConfig extends Context.Service<
  SlackConfig,
  {
    /** The bot's token, with the scopes `chat:write` and those of the events. */
    readonly token: Redacted.Redacted
    /** The app's signing secret: it shows that a request comes from Slack. */
    readonly signing_secret: Redacted.Redacted
    /** The workspace's id, such as `T012AB3CD`; requests of another one are refused. */
    readonly team: string
    /** The tenant for which the workspace speaks. */
    readonly tenant: Tenant
    /** The users who may act. All others may read but not act. */
    readonly people: ReadonlyArray<SlackUser>
    /** Absent = `https://slack.com/api`. */
    readonly api_url?: string | undefined
    /** How long one answer of Slack may take, in ms; absent = 10,000. */
    readonly timeout_ms?: number | undefined
    /**
     * The greatest number of messages and clicks of one user in a minute, at least 1; absent = 300. Further ones are refused
     * with 429.
     */
    readonly user_per_minute?: number | undefined
    /** The same limit for all users together; absent = 1,200. */
    readonly team_per_minute?: number | undefined
    /** Address ranges that may be reached although they are not public, such as `127.0.0.0/8`. Absent = none. */
    readonly allow_ranges?: ReadonlyArray<string> | undefined
  }
>()("troupe/layers/channel/SlackConfig") {}

/** The configuration is invalid. */
export class SlackMisconfigured extends Schema.TaggedError<SlackMisconfigured>()(
  "SlackMisconfigured",
  {
    /** The member of `SlackConfig` at fault. */
    field: Schema.String,
    /** What is wrong with it, and what to write instead. */
    message: Schema.String
  }
) {}

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

/** A message that is to be changed was deleted: nothing of it is left to change. */
const gone = "message_not_found"

const Answer = Schema.Struct({
  ok: Schema.Boolean,
  error: Schema.optionalKey(Schema.String),
  ts: Schema.optionalKey(Schema.String),
  /** The channel's id, also where the message was sent to its name or to a person. */
  channel: Schema.optionalKey(Schema.Unknown)
})
const decodeAnswer = Schema.decodeUnknownOption(Schema.fromJsonString(Answer))

/** Words of Slack's, as they may stand in a log. */
const isName = (error: string): boolean => /^[a-z0-9_]{1,64}$/.test(error)

const rangesOf = (texts: ReadonlyArray<string>) =>
  Effect.fromResult(
    Result.mapError(
      parseAddressRanges(texts),
      (problem) => new SlackMisconfigured({ field: "allow_ranges", message: `${problem}.` })
    )
  )

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
  if (answer.ok || answer.error === gone) return Effect.succeed(answer)
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
              new DeliveryFailed({ message: `Slack did not answer within ${timeout_ms} ms` })
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

/** Of a section's text and of a message's; an escaped character is up to five. */
const section_max = 3_000
const units_max = 550
/** A message has at most 50 blocks. */
const contents_max = 20

export const approve_action = "troupe.approve"
export const deny_action = "troupe.deny"

/** Slack reads these three (https://docs.slack.dev/messaging/formatting-message-text): no text can mention or link. */
const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** The text of a message, as its user wrote it. */
export const unescaped = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&")

/** Pieces that fit a section, whatever is escaped in them. */
const sections = (text: string): ReadonlyArray<Schema.Json> => {
  const pieces: Array<Schema.Json> = []
  let rest = text.toWellFormed()
  while (rest !== "") {
    const whole = escaped(rest)
    const piece = whole.length <= section_max ? rest : cutText(rest, units_max).slice(0, -1)
    rest = rest.slice(piece.length)
    pieces.push({ type: "section", text: { type: "mrkdwn", text: escaped(piece), verbatim: true } })
  }
  return pieces
}

const button = (action_id: string, text: string, style: string, approval: ApprovalId) => ({
  type: "button",
  action_id,
  style,
  text: { type: "plain_text", text },
  value: approval
})

type Told = Pick<NoticeContent, "approval" | "kind" | "text">

const blocksOf = ({ approval, kind, text }: Told): ReadonlyArray<Schema.Json> =>
  approval === undefined || kind !== "question"
    ? sections(text)
    : [
        ...sections(text),
        {
          type: "actions",
          elements: [
            button(approve_action, "Approve", "primary", approval),
            button(deny_action, "Deny", "danger", approval)
          ]
        }
      ]

interface SlackMessage {
  /** For notifications, where blocks are not shown. */
  readonly text: string
  readonly blocks: ReadonlyArray<Schema.Json>
}

const shortText = (text: string): string => escaped(cutText(text.toWellFormed(), units_max))

export const messageOf = (contents: ReadonlyArray<Told>): SlackMessage => {
  const shown = contents.slice(0, contents_max)
  const left = contents.length - shown.length
  const more = left === 0 ? [] : sections(`And ${left} more, in the application.`)
  const [first] = shown
  return {
    text: contents.length > 1 ? `${contents.length} messages` : shortText(first?.text ?? ""),
    blocks:
      shown.length > 1
        ? // Several have one section each, so that they fit.
          [...shown.flatMap(({ text }) => sections(cutText(text, units_max))), ...more]
        : shown.flatMap(blocksOf)
  }
}

/** One sentence. */
export const sentenceOf = (text: string): SlackMessage => ({
  text: shortText(text),
  blocks: sections(cutText(text, units_max))
})

const plain = (text: string) => ({ type: "plain_text", text })

/** The greatest text of a field of a form, in characters. */
const field_max = 3_000

/** The form in which a person says why a question is denied (https://docs.slack.dev/reference/views/modal-views). */
export const denialForm = (question: string, private_metadata: string): Schema.Json => ({
  type: "modal",
  callback_id: deny_action,
  private_metadata,
  title: plain("Deny"),
  submit: plain("Deny"),
  close: plain("Cancel"),
  blocks: [
    ...sections(question),
    {
      type: "input",
      block_id: "reason",
      optional: true,
      label: plain("Why? The agent reads this."),
      element: {
        type: "plain_text_input",
        action_id: "reason",
        multiline: true,
        max_length: field_max
      }
    }
  ]
})
