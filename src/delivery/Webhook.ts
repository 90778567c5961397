/**
 * Webhooks: where a tenant wants to be told of what happens, of which events, and what became of telling it. Events are thin: they
 * say what happened to what, and a receiver that is entitled to more asks the API.
 */
import { Schema } from "effect"
import { decisionNames } from "../approval/Approval.ts"
import type { AddressRange } from "../network/Address.ts"
import { isMetadataHost, literalAddress, mayDial } from "../network/Address.ts"
import { textUpTo } from "../value/Bounds.ts"
import { AgentName, ApprovalId, ConversationId, plainText, RunId, Uuid } from "../value/Ids.ts"

/** The most webhooks of a tenant, disabled ones among them. */
export const webhooks_max = 20

/** The most secrets with which one webhook's requests are signed at the same time. */
export const secrets_max = 4

/** The most deliveries of one webhook that wait; of further events it says that they failed. */
export const waiting_max = 10_000

/** The most attempts that are kept of one delivery; older ones are dropped. */
export const attempts_kept = 20

/** The most deliveries that are sent again by one request. */
export const resent_max = 500

const day_ms = 86_400_000

/** A webhook without a success for this long, in ms, is disabled, if this many attempts failed in a row. */
export const disabling = { after_ms: 3 * day_ms, attempts: 20 } as const

export const WebhookId = Uuid.pipe(Schema.brand("WebhookId"))
export type WebhookId = typeof WebhookId.Type

export const WebhookDeliveryId = Uuid.pipe(Schema.brand("WebhookDeliveryId"))
export type WebhookDeliveryId = typeof WebhookDeliveryId.Type

/** What a webhook may be told of. */
export const webhook_types = [
  "run.complete",
  "run.failed",
  "run.cancelled",
  "approval.requested",
  "approval.settled",
  "webhook.disabled"
] as const

export const WebhookType = Schema.Literals(webhook_types)
export type WebhookType = typeof WebhookType.Type

/** A type, or all that begin alike. */
const TypePattern = Schema.Literals([...webhook_types, "run.*", "approval.*", "webhook.*"])

/** How what an event is about stands then: a run, or a question. */
const EventStatus = Schema.Literals([
  "complete",
  "failed",
  "cancelled",
  "pending",
  "decided",
  "expired"
])

const some = Schema.isMinLength(1)

/** Which events of its types a webhook is told of: those that fit each member. */
export class WebhookFilter extends Schema.Opaque<WebhookFilter>()(
  Schema.Struct({
    /** Only events of runs of these agents. Absent = of any. */
    agents: Schema.optionalKey(Schema.Array(AgentName).check(some, Schema.isMaxLength(50))),
    /** Only events of these conversations. Absent = of any. */
    conversations: Schema.optionalKey(
      Schema.Array(ConversationId).check(some, Schema.isMaxLength(100))
    ),
    /** Only events about what stands so then. Absent = in any way. */
    statuses: Schema.optionalKey(Schema.Array(EventStatus).check(some, Schema.isMaxLength(6)))
  })
) {}

/** Where a webhook's events go, and which these are. */
const settings = {
  /** Where events are posted: https, at a public address unless the service says otherwise. At most 2,000 characters. */
  url: textUpTo(2_000).check(plainText),
  /** What people call it: at most 200 characters. Absent = nothing. */
  description: Schema.optionalKey(textUpTo(200).check(plainText)),
  /** The types of events, such as `run.failed` or `run.*`. Absent = all. */
  types: Schema.optionalKey(Schema.Array(TypePattern).check(some, Schema.isMaxLength(20))),
  /** Which of these events. Absent = all. */
  filter: Schema.optionalKey(WebhookFilter)
} as const

export const WebhookSettings = Schema.Struct(settings)
export interface WebhookSettings extends Schema.Schema.Type<typeof WebhookSettings> {}

/** As stored: an erasure may have left a mark in any text. */
export const StoredWebhookSettings = Schema.Struct({
  ...settings,
  /** Where events are posted, or the mark. */
  url: Schema.String,
  /** What it is for, or the mark. */
  description: Schema.optionalKey(Schema.String),
  /** Which events are told. */
  filter: Schema.optionalKey(
    Schema.Struct({
      ...WebhookFilter.fields,
      /** The conversations whose events are told. Absent = all. */
      conversations: Schema.optionalKey(Schema.Array(Schema.String))
    })
  ),
  /** Who made the webhook. */
  created_by: Schema.String,
  /** When, in ms since 1970. */
  created_at: Schema.Int
})
export interface StoredWebhookSettings extends Schema.Schema.Type<typeof StoredWebhookSettings> {}

/** Members of the settings that may name a person. An erasure overwrites them. */
export const settings_texts: ReadonlySet<string> = new Set([
  "url",
  "description",
  "conversations",
  "created_by"
])

/** Why no event goes to a webhook. */
export const WebhookDisabled = Schema.Struct({
  /** When it was disabled, in ms since 1970. */
  at: Schema.Int,
  /** `asked`: by whoever may. `failing`: for three days no attempt succeeded. `gone`: its receiver answered 410. */
  reason: Schema.Literals(["asked", "failing", "gone"]),
  /** The principal who disabled it. Absent = the service did. */
  by: Schema.optionalKey(Schema.String)
})
export interface WebhookDisabled extends Schema.Schema.Type<typeof WebhookDisabled> {}

/** Attempts that failed since the last that succeeded. */
export const WebhookFailing = Schema.Struct({
  /** When the first of them began, in ms since 1970. */
  since: Schema.Int,
  /** How many there are. */
  attempts: Schema.Int
})
export interface WebhookFailing extends Schema.Schema.Type<typeof WebhookFailing> {}

/** A secret as lists show it. */
const SecretTerm = Schema.Struct({
  /** When it was made, in ms since 1970. */
  made_at: Schema.Int,
  /** It signs before this time. Absent = until it is replaced. */
  ends_at: Schema.optionalKey(Schema.Int)
})

/** Where a tenant wants to be told of events. Times are in ms since 1970. */
export class Webhook extends Schema.Opaque<Webhook>()(
  Schema.Struct({
    /** Names it in the other operations. */
    id: WebhookId,
    ...StoredWebhookSettings.fields,
    /** Whether events go there. */
    enabled: Schema.Boolean,
    /** Why not. Absent = they do. */
    disabled: Schema.optionalKey(WebhookDisabled),
    /** What failed last. Absent = the last attempt succeeded, or there was none. */
    failing: Schema.optionalKey(WebhookFailing),
    /** The secrets that sign its requests, newest first, without their texts. */
    secrets: Schema.Array(SecretTerm)
  })
) {}

/** A webhook with a new secret, whose text no other answer has. */
export class WebhookWithSecret extends Schema.Opaque<WebhookWithSecret>()(
  Schema.Struct({
    /** `whsec_` and 32 bytes in base64, for a library of Standard Webhooks. Only this answer ever contains it. */
    secret: Schema.String,
    ...Webhook.fields
  })
) {}

/** What happened, as a receiver is told: names of things, and none of what anybody said. */
export const WebhookData = Schema.Struct({
  /** The run that ended, or that asks. */
  run: Schema.optionalKey(RunId),
  /** Its conversation. */
  conversation: Schema.optionalKey(ConversationId),
  /** Its agent. */
  agent: Schema.optionalKey(AgentName),
  /** How the run, or the question, stands since then. */
  status: Schema.optionalKey(EventStatus),
  /** The question. */
  approval: Schema.optionalKey(ApprovalId),
  /** The plain name of the tool that the question is about. */
  tool: Schema.optionalKey(Schema.String),
  /** What was decided. */
  decision: Schema.optionalKey(Schema.Literals(Object.values(decisionNames))),
  /** When nobody can answer the question any more, in ms since 1970. */
  expires_at: Schema.optionalKey(Schema.Int),
  /** The webhook that was disabled. */
  webhook: Schema.optionalKey(WebhookId),
  /** Why it was. */
  reason: Schema.optionalKey(Schema.Literals(["failing", "gone"]))
})
export interface WebhookData extends Schema.Schema.Type<typeof WebhookData> {}

/** An event for webhooks. */
export const WebhookNews = Schema.Struct({
  /** What happened. */
  type: WebhookType,
  /** The run; of a webhook its id. */
  subject: Schema.String,
  /** What it is about. */
  data: WebhookData
})
export interface WebhookNews extends Schema.Schema.Type<typeof WebhookNews> {}

/** Whether a webhook with these settings is told of the event. */
export const isWanted = (
  { filter = {}, types }: Pick<StoredWebhookSettings, "filter" | "types">,
  { data, type }: WebhookNews
): boolean =>
  (types === undefined ||
    types.some((each) => each === type || each === `${type.slice(0, type.indexOf("."))}.*`)) &&
  (
    [
      [filter.agents, data.agent],
      [filter.conversations, data.conversation],
      [filter.statuses, data.status]
    ] as ReadonlyArray<readonly [ReadonlyArray<string> | undefined, string | undefined]>
  ).every(([wanted, its]) => wanted === undefined || (its !== undefined && wanted.includes(its)))

/** One request, and how it ended. Of the answer nothing but its status is kept. */
export const WebhookAttempt = Schema.Struct({
  /** When it began, in ms since 1970. */
  at: Schema.Int,
  /** How long it took, in ms. */
  ms: Schema.Int,
  /** The status of the answer. Absent = there was none. */
  status: Schema.optionalKey(Schema.Int),
  /** Why it did not deliver the event. Absent = it did. */
  error: Schema.optionalKey(Schema.Literals(["status", "timeout", "unreachable"]))
})
export interface WebhookAttempt extends Schema.Schema.Type<typeof WebhookAttempt> {}

/** `waiting`: it is sent, or will be again. `failed`: nothing is tried any more, unless it is resent. */
export const WebhookDeliveryStatus = Schema.Literals(["waiting", "delivered", "failed"])
export type WebhookDeliveryStatus = typeof WebhookDeliveryStatus.Type

/** One event for one webhook. Times are in ms since 1970. */
export class WebhookDelivery extends Schema.Opaque<WebhookDelivery>()(
  Schema.Struct({
    /** Names it in `resendWebhookDelivery`. */
    id: WebhookDeliveryId,
    /** The webhook. */
    webhook: WebhookId,
    /** The id of the event, which is the same at each attempt and for each webhook. */
    event: Uuid,
    ...WebhookNews.fields,
    /** Whether it waits, was delivered or failed. */
    status: WebhookDeliveryStatus,
    /** Why it failed without an attempt. Absent = it did not. */
    reason: Schema.optionalKey(Schema.Literals(["disabled", "full"])),
    /** The newest 20 attempts, oldest first. */
    attempts: Schema.Array(WebhookAttempt),
    /** Its place: of one webhook later events have greater numbers. Receivers see it as `sequence`. */
    sequence: Schema.Int,
    /** When the event was written. */
    created_at: Schema.Int
  })
) {}

/** The tenant has no such webhook. */
export class WebhookNotFound extends Schema.TaggedError<WebhookNotFound>()("WebhookNotFound", {
  /** The id that was asked for. */
  id: Schema.String
}) {
  override get message(): string {
    return `there is no webhook ${JSON.stringify(this.id)}`
  }
}

/** The webhook has no such delivery. */
export class WebhookDeliveryNotFound extends Schema.TaggedError<WebhookDeliveryNotFound>()(
  "WebhookDeliveryNotFound",
  {
    /** The id that was asked for. */
    id: Schema.String
  }
) {
  override get message(): string {
    return `there is no delivery ${JSON.stringify(this.id)} of this webhook`
  }
}

/** The delivery waits to be sent, so it cannot be sent again. */
export class WebhookDeliveryWaits extends Schema.TaggedError<WebhookDeliveryWaits>()(
  "WebhookDeliveryWaits",
  {
    /** The delivery. */
    id: Schema.String
  }
) {
  override get message(): string {
    return `the delivery ${this.id} waits to be sent`
  }
}

/** Nothing is sent to a webhook that is disabled. */
export class WebhookIsDisabled extends Schema.TaggedError<WebhookIsDisabled>()(
  "WebhookIsDisabled",
  {
    /** The webhook. */
    id: Schema.String
  }
) {
  override get message(): string {
    return `the webhook ${this.id} is disabled`
  }
}

/** The tenant has as many webhooks as it may have. */
export class TooManyWebhooks extends Schema.TaggedError<TooManyWebhooks>()("TooManyWebhooks", {
  /** The most of a tenant. */
  webhooks_max: Schema.Int
}) {
  override get message(): string {
    return `there are ${this.webhooks_max} webhooks in this tenant, which is the most`
  }
}

/** As many secrets sign for the webhook as may. */
export class TooManySecrets extends Schema.TaggedError<TooManySecrets>()("TooManySecrets", {
  /** The most of a webhook. */
  secrets_max: Schema.Int
}) {
  override get message(): string {
    return `${this.secrets_max} secrets sign for this webhook, which is the most: with overlap_ms 0 the new one takes their place at once`
  }
}

/** How long one answer of a receiver may take, in ms, where nothing else is said. */
export const answer_ms_default = 10_000

/** What a receiver answered: a status, and when it wants to be asked again; or why there is no answer. */
export type WebhookAnswer =
  | { readonly status: number; readonly retry_after_ms?: number }
  | { readonly missing: "timeout" | "unreachable" }

/** Statuses that ask for a later retry: Request Timeout, Too Early, Too Many Requests. */
const later: ReadonlySet<number> = new Set([408, 425, 429])

/** Whether the event is delivered, or whether another try may succeed. */
export const verdictOf = (answer: WebhookAnswer): "delivered" | "refused" | "failed" => {
  if ("missing" in answer) return "failed"
  const { status } = answer
  if (status >= 200 && status < 300) return "delivered"
  return status >= 400 && status < 500 && !later.has(status) ? "refused" : "failed"
}

/** How the secrets of Standard Webhooks begin, before their bytes in base64. */
export const secret_prefix = "whsec_"

/** What is wrong with the URL of a webhook, as a sentence; undefined = nothing that is seen before its name is resolved. */
export const webhookUrlFault = (
  text: string,
  allow: ReadonlyArray<AddressRange>,
  isPlainAllowed: boolean
): string | undefined => {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || `${url.username}${url.password}` !== "") {
    return `It is a URL that begins with https://${isPlainAllowed ? " or http://" : ""}, without a user or password.`
  }
  if (url.protocol === "http:" && !isPlainAllowed) return "It is a URL that begins with https://."
  if (isMetadataHost(url)) return "It is a cloud's metadata service, which no webhook may reach."
  const address = literalAddress(url)
  return address !== undefined && !mayDial(address, { allow })
    ? "Its address is not public. Name its range in allow_ranges."
    : undefined
}
