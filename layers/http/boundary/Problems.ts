/**
 * Maps the errors of ports to problems. The texts are composed here from members that are safe to show; a store's own text never
 * leaves the process.
 */
import { Effect } from "effect"
import { HttpEffect, HttpServerResponse, ProblemDetails } from "effect/http"
import { error_status } from "../../../src/operation/ErrorStatus.ts"
import type { Described, Problem } from "../../../src/operation/Problem.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { cutText } from "../../../src/value/CutText.ts"
import type { PortError } from "../../service/PortError.ts"
import { keepSaid } from "./StoreFaults.ts"

/** The name and title for each error tag. */
const kinds = {
  AddressConflict: ["address-conflict", "The agent may take no part in the conversation"],
  AgentBusy: ["agent-busy", "The agent is busy"],
  AgentNotFound: ["agent-not-found", "Agent not found"],
  AnchorMismatch: ["anchor-mismatch", "The conversation does not fit the agent's memory"],
  ApprovalAltered: ["approval-altered", "The approval is not what its run asked"],
  ApprovalExpired: ["approval-expired", "The approval has expired"],
  ApprovalNotFound: ["approval-not-found", "Approval not found"],
  ApprovalSettled: ["approval-settled", "The approval is settled"],
  AuthorizationNotFound: ["authorization-not-found", "Authorisation not found"],
  AuthorizationRefused: ["authorization-refused", "The action cannot be authorised"],
  BindingsFull: ["bindings-full", "The conversation has too many channels"],
  ClientResultRefused: ["client-result-refused", "The result does not fit the call"],
  CallNotUnknown: ["call-not-unknown", "The call does not wait to be settled"],
  ConversationNotFound: ["conversation-not-found", "Conversation not found"],
  DeadLetterNotFound: ["dead-letter-not-found", "Dead letter not found"],
  DeadLetterResolved: ["dead-letter-resolved", "The dead letter is resolved"],
  DecisionUnfit: ["decision-unfit", "The decision does not fit the question"],
  DigestMismatch: ["digest-mismatch", "The bytes are not those of the digest"],
  EventConflict: ["event-conflict", "The event came before with another content"],
  EventOutOfTime: ["event-out-of-time", "The event is too old, or not yet due"],
  EventTypeUnknown: ["event-type-unknown", "Nothing is done about events of this type"],
  FileNotFound: ["file-not-found", "File not found"],
  FilesFull: ["files-full", "The files are too large together"],
  FileTooLarge: ["file-too-large", "The file is too large"],
  IdempotencyConflict: ["idempotency-conflict", "The idempotency key was used before"],
  IntakeFull: ["intake-full", "Too many messages at the same time"],
  InvalidInput: ["invalid-input", "A value is not what it must be"],
  JournalError: ["store-unavailable", "A store did not answer"],
  MailboxFull: ["mailbox-full", "Too many messages wait"],
  McpDefinitionNotOffered: ["mcp-definition-not-offered", "The server offers another definition"],
  McpPinConflict: ["mcp-pin-conflict", "Another definition was accepted meanwhile"],
  McpToolNotFound: ["mcp-tool-not-found", "MCP tool not found"],
  MemoryRefused: ["memory-refused", "The memory cannot be changed so"],
  MessageTooLarge: ["message-too-large", "The message is too large"],
  NestedTooDeep: ["nested-too-deep", "Runs start one another too deep"],
  NotEntitled: ["not-entitled", "Not entitled"],
  NotForCustomers: ["forbidden", "Not allowed"],
  NotForkable: ["not-forkable", "The run cannot be forked"],
  RunIsOver: ["run-is-over", "The run has ended"],
  RunQuarantined: ["run-quarantined", "The run is in quarantine"],
  RunNotFound: ["run-not-found", "Run not found"],
  RunNotQuarantined: ["not-in-quarantine", "The run is not in quarantine"],
  ShuttingDown: ["shutting-down", "The service is stopping"],
  StoreError: ["store-unavailable", "A store did not answer"],
  SubjectIsActive: ["subject-is-active", "The subject has runs that are not over"],
  TokenNotFound: ["token-not-found", "Token not found"],
  TooManySecrets: ["too-many-secrets", "Too many secrets sign"],
  TooManyTokens: ["too-many-tokens", "Too many tokens"],
  TooManyWebhooks: ["too-many-webhooks", "Too many webhooks"],
  TooManyAuthorizations: ["too-many-authorizations", "Too many authorisations"],
  Unauthorized: ["unauthorized", "A valid token is needed"],
  WebhookDeliveryNotFound: ["webhook-delivery-not-found", "Delivery not found"],
  WebhookDeliveryWaits: ["webhook-delivery-waits", "The delivery waits to be sent"],
  WebhookIsDisabled: ["webhook-is-disabled", "The webhook is disabled"],
  WebhookNotFound: ["webhook-not-found", "Webhook not found"]
} as const satisfies Record<PortError["_tag"], readonly [string, string]>

const day_ms = 86_400_000

/** A name that the caller gave, cut at 200 characters. */
const quoted = (name: string): string => JSON.stringify(name.slice(0, 200))
const cut = ({ message }: { readonly message: string }): string => `${cutText(message, 300)}.`
const lost =
  "Nothing was done, or its acknowledgement was lost. Try again; a message with the same Idempotency-Key."

/** The detail for each error tag. */
const details: { readonly [E in PortError as E["_tag"]]: (error: E) => string } = {
  AddressConflict: ({ agent, conversation }) =>
    `Conversation ${conversation} is not one of agent ${agent}.`,
  AgentBusy: ({ message }) => `${message}.`,
  AgentNotFound: ({ agent }) => `There is no agent ${quoted(agent)}.`,
  AnchorMismatch: ({ agent, needs }) => `Agent ${agent} needs ${needs}.`,
  ApprovalAltered: ({ id }) =>
    `The record of approval ${id} was changed since its run asked; nothing was decided. Tell an operator.`,
  ApprovalExpired: ({ expired_at, id }) => `Approval ${id} expired at ${expired_at} ms.`,
  ApprovalNotFound: ({ id }) => `There is no approval ${quoted(id)}.`,
  ApprovalSettled: ({ id, status }) => `Approval ${id} is ${status}; nothing was changed.`,
  AuthorizationNotFound: ({ id }) => `There is no authorisation ${quoted(id)}.`,
  AuthorizationRefused: ({ action, agent, reason }) =>
    `${quoted(action)} of ${agent} cannot be authorised in advance: ${reason}.`,
  BindingsFull: ({ message }) => `${message}.`,
  ClientResultRefused: ({ message }) => `${message}. The call waits on.`,
  CallNotUnknown: ({ call, phase }) =>
    `Call ${quoted(call)} is in phase ${phase}; only an unknown call can be settled.`,
  ConversationNotFound: ({ begins, id }) =>
    `There is no conversation ${quoted(id)}.${begins === undefined ? "" : ` One that you begin is named ${begins}.`}`,
  DeadLetterNotFound: ({ event_id }) => `There is no dead letter ${quoted(event_id)}.`,
  DeadLetterResolved: ({ event_id, status }) => `Dead letter ${event_id} was ${status} before.`,
  DecisionUnfit: ({ decision, fits, id }) =>
    `${id} takes ${fits.join(" or ")}, not ${decision}. Nothing was changed.`,
  DigestMismatch: () =>
    "They were changed on the way, or the digest is another file's. Nothing was stored.",
  EventConflict: () =>
    "An event of this source and id came before and said something else. Nothing was changed.",
  EventOutOfTime: ({ retention_ms }) =>
    `Events are taken for ${Math.round(retention_ms / day_ms)} days from their time on, and up to an hour before it. Nothing was changed.`,
  EventTypeUnknown: ({ type }) => `No agent is told of events of the type ${quoted(type)}.`,
  FileNotFound: ({ digest }) => `There is no file ${quoted(digest)}.`,
  FilesFull: ({ message }) => `${message}. Nothing was stored.`,
  FileTooLarge: ({ bytes_max }) => `A file has at most ${bytes_max} bytes.`,
  IdempotencyConflict: () => "This Idempotency-Key came with another message before.",
  IntakeFull: () => "Nothing was accepted. Send it again a moment later.",
  InvalidInput: ({ message }) => message,
  JournalError: () => lost,
  MailboxFull: ({ address, waiting_max }) =>
    `${address} has ${waiting_max} messages waiting, which is its limit.`,
  McpDefinitionNotOffered: cut,
  McpPinConflict: cut,
  McpToolNotFound: cut,
  MemoryRefused: cut,
  MessageTooLarge: ({ bytes_max }) => `A message has at most ${bytes_max} bytes of UTF-8.`,
  NestedTooDeep: ({ depth, depth_max }) =>
    `This run would be nested ${depth} deep, and its agent takes ${depth_max}. Nothing was accepted.`,
  // Who acts for a user is not told to the user; the log has it.
  NotEntitled: ({ message, via }) =>
    via !== undefined ? "This is not done for somebody else." : `${message}.`,
  NotForCustomers: ({ message }) => message,
  NotForkable: ({ message }) => `${message}.`,
  RunIsOver: ({ run_id, status }) => `Run ${run_id} is ${status}.`,
  RunQuarantined: ({ reason, run_id, seq }) =>
    `The journal of run ${run_id} does not fold at event ${seq} (${reason}). Nothing was changed; operators read it at /v1/quarantine of this API.`,
  RunNotFound: ({ run_id }) => `There is no run ${quoted(run_id)}.`,
  RunNotQuarantined: () => "Its journal folds: read it at /v1/runs/{id}/events.",
  ShuttingDown: () => "It takes no new work. Try again when it is back.",
  StoreError: () => lost,
  SubjectIsActive: ({ message }) => `${message}. What was not erased before stays as it is.`,
  TokenNotFound: ({ id }) => `There is no token ${quoted(id)}.`,
  TooManySecrets: ({ message }) => `${message}.`,
  TooManyTokens: ({ tokens_max }) =>
    `${tokens_max} tokens of this tenant are in force, which is the most. Revoke one first.`,
  TooManyWebhooks: ({ message }) => `${message}. Delete one first.`,
  TooManyAuthorizations: ({ authorizations_max }) =>
    `${authorizations_max} authorisations are in force in this workspace, which is the most. Revoke one first.`,
  Unauthorized: () => "Send `Authorization: Bearer <token>` with a token that this service knows.",
  WebhookDeliveryNotFound: ({ id }) => `There is no delivery ${quoted(id)} of this webhook.`,
  WebhookDeliveryWaits: ({ id }) => `Delivery ${id} is sent without this.`,
  WebhookIsDisabled: ({ id }) => `Webhook ${id} is disabled. Enable it first.`,
  WebhookNotFound: ({ id }) => `There is no webhook ${quoted(id)}.`
}

const statuses = error_status satisfies Record<PortError["_tag"], number>
type Statuses = typeof statuses
/** The problem of an error, typed by the status of that error. */
type ProblemOf<E extends PortError> = E extends PortError ? Problem<Statuses[E["_tag"]]> : never

export const problemOf = <E extends PortError>(error: E): ProblemOf<E> => {
  const [name, title] = kinds[error._tag]
  const detailOf: (error: never) => string = details[error._tag]
  const problem: Problem = makeProblem(
    statuses[error._tag],
    name,
    title,
    detailOf(error as never),
    error._tag === "AgentNotFound" || error._tag === "EventTypeUnknown"
      ? { available: error.available }
      : undefined
  )
  if (error._tag === "StoreError" || error._tag === "JournalError") {
    keepSaid(problem, error.message)
  }
  return problem as ProblemOf<E>
}

const isObject = (error: unknown): error is object => typeof error === "object" && error !== null
const isDescribed = (error: unknown): error is Described => isObject(error) && "problem" in error
const isOfPort = (error: unknown): error is PortError =>
  isObject(error) && Object.hasOwn(kinds, String(Reflect.get(error, "_tag")))
const isProblem = (error: unknown): error is Problem =>
  isObject(error) && String(Reflect.get(error, "type")).startsWith("urn:troupe:problem:")

/** The problem of an error of a port, of one that a feature describes, or one that is a problem. Undefined = nobody declared it. */
export const anyProblemOf = (error: unknown): Problem | undefined => {
  if (isProblem(error)) return error
  return isDescribed(error) ? error.problem : isOfPort(error) ? problemOf(error) : undefined
}

export const respond = (problem: Problem): HttpServerResponse.HttpServerResponse =>
  ProblemDetails.toResponse({ ...problem })

/** The problem of a request that the principal may not make, whatever its content. */
export const forbidden = (detail: string): Problem<403> =>
  makeProblem(403, "forbidden", "Not allowed", detail)

/** Fails with 429 and a `Retry-After` in whole seconds, at least 1. */
export const refusedUntil = (seconds: number, name: string, title: string, detail: string) =>
  Effect.andThen(
    HttpEffect.appendPreResponseHandler((_, response) =>
      Effect.succeed(HttpServerResponse.setHeader(response, "retry-after", String(seconds)))
    ),
    Effect.fail(makeProblem(429, name, title, detail))
  )
