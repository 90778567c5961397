/**
 * What people do in Slack: they write in the thread of a conversation, and decide its questions. Both arrive at
 * `POST /v1/channels/slack`, signed by Slack.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import { Clock, Duration, Effect, Layer, Option, Redacted, Result, Schema } from "effect"
import { RateLimiter } from "effect/persistence"
import { CustomerAgents } from "../../../services/AgentDirectory.ts"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import { ChannelBindings } from "../../../services/ChannelBindings.ts"
import type { IngressAnswer, IngressHandler } from "../../../services/ChannelIngress.ts"
import { ChannelIngress } from "../../../services/ChannelIngress.ts"
import { ConversationStore, openConversation } from "../../../services/ConversationStore.ts"
import { StoreError } from "../../../services/StoreError.ts"
import { agentRefusal } from "../../../src/conversation/CustomerView.ts"
import type { JsonBounds } from "../../../src/value/BoundedJson.ts"
import { bounds_default, readJson } from "../../../src/value/BoundedJson.ts"
import type { AgentName } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import type { SlackCall } from "./SlackApi.ts"
import {
  makeSlackCall,
  sentenceOf,
  slack,
  SlackConfig,
  SlackMisconfigured,
  unescaped
} from "./SlackApi.ts"
import type { SlackCount } from "./SlackDecisions.ts"
import { courtesy, done, Name, takeInteraction } from "./SlackDecisions.ts"

/** As for people who use the HTTP API. Only what would reach an agent or a question is counted, and only of users that are somebody here. */
const user_per_minute = 300
const team_per_minute = 1_200

/** Slack sends an event again after a failure, the last time some minutes later. */
const refused = (whose: string, limit: number, wait: Duration.Duration): IngressAnswer => {
  const retry_after_s = Math.max(1, Math.ceil(Duration.toMillis(wait) / 1_000))
  return {
    status: 429,
    retry_after_s,
    body: `at most ${limit} messages and clicks a minute are taken ${whose}; try again in ${retry_after_s} s`
  }
}

const makeSlackCount: Effect.Effect<SlackCount, never, SlackConfig | RateLimiter.RateLimiter> =
  Effect.gen(function* () {
    const limiter = yield* RateLimiter.RateLimiter
    const config = yield* SlackConfig
    const bucket = (key: string, whose: string, limit: number) =>
      limiter.consume({ algorithm: "token-bucket", window: "1 minute", limit, key }).pipe(
        Effect.as(undefined),
        Effect.catch(({ reason }) =>
          // A store in memory always answers.
          reason._tag === "RateLimitExceeded"
            ? Effect.succeed(refused(whose, limit, reason.retryAfter))
            : Effect.die(reason)
        )
      )
    const ofUser = config.user_per_minute ?? user_per_minute
    const ofTeam = config.team_per_minute ?? team_per_minute
    return Effect.fnUntraced(function* (user) {
      const refusal = yield* bucket(`user ${user}`, "from one user", ofUser)
      return refusal ?? (yield* bucket("team", "from one workspace", ofTeam))
    })
  })

/** Slack's own: an older request is a replay (https://docs.slack.dev/authentication/verifying-requests-from-slack). */
const window_s = 300
const unsigned: IngressAnswer = { status: 401, body: "the request is not signed by Slack" }
const unreadable: IngressAnswer = { status: 400, body: "the request cannot be read" }
/** The answer after which Slack sends the same request again. */
const later: IngressAnswer = { status: 503, body: "try again" }

const isSigned = (
  secret: Redacted.Redacted,
  { body, headers }: Parameters<IngressHandler>[0],
  now_ms: number
): boolean => {
  const timestamp = headers["x-slack-request-timestamp"] ?? ""
  if (!/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now_ms / 1_000 - Number(timestamp)) > window_s) return false
  const expected = `v0=${createHmac("sha256", Redacted.value(secret)).update(`v0:${timestamp}:${body}`).digest("hex")}`
  const given = Buffer.from(headers["x-slack-signature"] ?? "")
  return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected))
}

const Challenge = Schema.Struct({
  type: Schema.Literal("url_verification"),
  challenge: Schema.String.check(Schema.isMaxLength(1_000))
})
const Said = Schema.Struct({
  type: Schema.Literal("event_callback"),
  team_id: Name,
  event_id: Name,
  event: Schema.Struct({
    type: Schema.Literal("message"),
    /** Present on most messages that are not new messages of a person: an edit, a join, or a bot's message. */
    subtype: Schema.optionalKey(Schema.String),
    bot_id: Schema.optionalKey(Schema.String),
    user: Schema.optionalKey(Name),
    channel: Name,
    text: Schema.optionalKey(Schema.String),
    thread_ts: Schema.optionalKey(Name)
  })
})
type Said = typeof Said.Type
const decodeChallenge = Schema.decodeUnknownOption(Challenge)
const decodeSaid = Schema.decodeUnknownOption(Said)

interface Surface {
  readonly config: SlackConfig["Service"]
  readonly call: SlackCall
  readonly count: SlackCount
  readonly agents: AgentRuntime["Service"]
  readonly bindings: ChannelBindings["Service"]
  readonly conversations: ConversationStore["Service"]
  readonly customer_agents: ReadonlyArray<AgentName>
  readonly desk: ApprovalDesk["Service"]
  readonly people: ReadonlyMap<string, Principal>
}

/** Of a person: a reply also sent to the channel, with files, by `/me` (https://docs.slack.dev/reference/events/message). */
const said_subtypes: ReadonlySet<string | undefined> = new Set([
  undefined,
  "thread_broadcast",
  "file_share",
  "me_message"
])

/** Passes a message in the thread of a conversation to the conversation's agent. Any other message is ignored. */
const heard = Effect.fnUntraced(function* (surface: Surface, { event, event_id, team_id }: Said) {
  const { agents, bindings, config, conversations, count, customer_agents, people } = surface
  const { bot_id, channel, subtype, text = "", thread_ts, user } = event
  if (bot_id !== undefined || !said_subtypes.has(subtype) || user === undefined) return done
  if (thread_ts === undefined || text.trim() === "") return done
  const binding = yield* bindings.byThread(config.tenant, slack, channel, thread_ts)
  if (binding === undefined) return done
  const by = people.get(user)
  if (by === undefined) {
    yield* Effect.logWarning("a user of Slack who is nobody here wrote in a conversation")
    return done
  }
  const refusal = yield* count(user)
  if (refusal !== undefined) return refusal
  yield* openConversation(conversations.get, by, "send", binding.conversation, customer_agents)
  const agent = yield* agents.currentAgent(binding.conversation, by)
  const refused = agentRefusal(by, "send", agent, customer_agents)
  if (refused !== undefined) return yield* refused
  yield* agents.send(
    {
      agent,
      conversation: binding.conversation,
      text: unescaped(text),
      idempotency_key: `slack-${team_id}-${event_id}`.slice(0, 200),
      channel_origin: slack
    },
    by
  )
  return done
})

/** Who wrote is told where nothing of it was taken: otherwise the message looks as if it had been. */
const hear = (surface: Surface, said: Said) =>
  Effect.catch(heard(surface, said), (error) => {
    if (
      error instanceof StoreError ||
      error._tag === "IntakeFull" ||
      error._tag === "MailboxFull" ||
      error._tag === "ShuttingDown"
    ) {
      return Effect.succeed(later)
    }
    const { channel, thread_ts, user } = said.event
    return Effect.logWarning(`a message from Slack was not taken: ${error.message}`).pipe(
      Effect.andThen(
        courtesy(
          surface.call("chat.postEphemeral", {
            channel,
            user: user ?? "",
            ...(thread_ts === undefined ? undefined : { thread_ts }),
            ...sentenceOf(`Your message was not taken: ${error.message.replace(/\.$/, "")}.`)
          })
        )
      ),
      Effect.as(done)
    )
  })

/** Slack's numbers are not acted upon; a text is checked where it becomes a message. */
const bounds_unread: JsonBounds = { ...bounds_default, inexact: "round" }

const ofEvents = Effect.fnUntraced(function* (surface: Surface, body: string) {
  const json = readJson(body, bounds_unread)
  if (Result.isFailure(json)) return unreadable
  const challenge = Option.getOrUndefined(decodeChallenge(json.success))
  if (challenge !== undefined) return { ...done, body: challenge.challenge }
  const said = Option.getOrUndefined(decodeSaid(json.success))
  // Anything else that the app is subscribed to is nothing to us; Slack would send it again.
  if (said === undefined) return done
  return said.team_id === surface.config.team ? yield* hear(surface, said) : unsigned
})

const ofClicks = Effect.fnUntraced(function* (surface: Surface, body: string) {
  const json = readJson(new URLSearchParams(body).get("payload") ?? "", bounds_unread)
  if (Result.isFailure(json)) return unreadable
  return (yield* takeInteraction(surface, surface.config.team, json.success)) ?? unsigned
})

const isForm = (type: string | undefined): boolean =>
  /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type ?? "")

const make = Effect.gen(function* () {
  const config = yield* SlackConfig
  for (const field of ["user_per_minute", "team_per_minute"] as const) {
    const limit = config[field] ?? 1
    if (!Number.isInteger(limit) || limit < 1) {
      return yield* new SlackMisconfigured({ field, message: "it is a whole number, at least 1" })
    }
  }
  // Anybody could sign with it: a variable that is not set.
  if (Redacted.value(config.signing_secret).trim() === "") {
    return yield* new SlackMisconfigured({ field: "signing_secret", message: "it is empty" })
  }
  const stray = config.people.findIndex(({ principal }) => principal.tenant !== config.tenant)
  if (stray >= 0) {
    const message = "this principal is of another tenant"
    return yield* new SlackMisconfigured({ field: `people.${stray}.principal`, message })
  }
  const surface: Surface = {
    config,
    call: yield* makeSlackCall,
    count: yield* makeSlackCount,
    agents: yield* AgentRuntime,
    bindings: yield* ChannelBindings,
    conversations: yield* ConversationStore,
    customer_agents: yield* CustomerAgents,
    desk: yield* ApprovalDesk,
    people: new Map(config.people.map(({ principal, user }) => [user, principal]))
  }
  const handler: IngressHandler = Effect.fn("SlackIngress.handle")(function* (request) {
    const now = yield* Clock.currentTimeMillis
    if (!isSigned(config.signing_secret, request, now)) return unsigned
    const { body, headers } = request
    return yield* isForm(headers["content-type"])
      ? ofClicks(surface, body)
      : ofEvents(surface, body)
  })
  return new Map([[slack as string, handler]])
}).pipe(Effect.provide(RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory))))

/** Handles requests from Slack, for the option `ingress` of a start. */
export const layer: Layer.Layer<
  never,
  SlackMisconfigured,
  SlackConfig | AgentRuntime | ApprovalDesk | ChannelBindings | ConversationStore
> = Layer.effect(ChannelIngress, make)
