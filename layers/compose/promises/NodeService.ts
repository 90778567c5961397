/** The service that `start` of `troupe/embed` returns, and the messages that it takes. */
import type { Approval } from "../../../src/approval/Approval.ts"
import type { PrincipalInput } from "../../../src/principal/Principal.ts"
import type { ReceivedEvent } from "../../../src/delivery/IncomingEvent.ts"
import type { QueuedBehind } from "../../../src/run/QueuedBehind.ts"
import type { FeedItem } from "../../../src/run/FeedItem.ts"
import type { AnySchema } from "../../../src/tool/ToolCodec.ts"
import type { Following, Wait } from "./Answer.ts"
import type { AnswerTo, PartTo, SendTo, ToAgent } from "./SendTo.ts"
import type { AnyFeature } from "../options/Feature.ts"
import type { EffectsOf } from "./FeatureMethods.ts"
import type { HttpMethods } from "../assembly/ServedHttp.ts"
import type * as ApprovalOperations from "../../../src/operation/ApprovalOperations.ts"
import type * as ClientCallOperations from "../../../src/operation/ClientCallOperations.ts"
import type * as BulkOperations from "../../../src/operation/BulkOperations.ts"
import type * as ConversationOperations from "../../../src/operation/ConversationOperations.ts"
import type * as AgentOperations from "../../../src/operation/AgentOperations.ts"
import type * as AuthorizationOperations from "../../../src/operation/AuthorizationOperations.ts"
import type * as MemoryOperations from "../../../src/operation/MemoryOperations.ts"
import type * as NoticeOperations from "../../../src/operation/NoticeOperations.ts"
import type * as CostOperations from "../../../src/operation/CostOperations.ts"
import type * as DeadLetterOperations from "../../../src/operation/DeadLetterOperations.ts"
import type * as ErasureOperations from "../../../src/operation/ErasureOperations.ts"
import type * as FileOperations from "../../../src/operation/FileOperations.ts"
import type * as KillSwitchOperations from "../../../src/operation/KillSwitchOperations.ts"
import type { ArgumentsOf, Operation, ResultOf } from "../../../src/operation/Operation.ts"
import type * as QuarantineOperations from "../../../src/operation/QuarantineOperations.ts"
import type * as RunOperations from "../../../src/operation/RunOperations.ts"
import type * as StandingOperations from "../../../src/operation/StandingOperations.ts"
import type * as TokenOperations from "../../../src/operation/TokenOperations.ts"
import type * as ToolOperations from "../../../src/operation/ToolOperations.ts"
import type * as WebhookOperations from "../../../src/operation/WebhookOperations.ts"
import type { PublishedEvent } from "./MethodShapes.ts"

export type { Send } from "./SendTo.ts"

/** A run that was sent before, to be streamed again, by whoever may follow it. */
export interface StreamedRun {
  /** The id of the run, as `send` and the stream's first part give it. */
  readonly run: string
  /** The `cursor` of the last part that was had: the stream goes on behind it. Absent = from the run's start. */
  readonly after?: string
}

/** The methods of a feature's operations. */
export type FeatureMethods<F extends AnyFeature> =
  EffectsOf<F> extends infer Effects
    ? {
        readonly [Name in keyof Effects]: Effects[Name] extends {
          readonly operation: infer O extends Operation
        }
          ? Method<O>
          : never
      }
    : never

/** The method of an operation: what it takes one by one, the rest as one object, and who asks. */
type Method<O extends Operation> = (...args: ArgumentsOf<O>) => Promise<ResultOf<O>>

/** A message that is durable. */
export interface Sent {
  /** The id of the run that answers it: for `result`, `watch` and `stream`. */
  readonly run: string
  /** The id of its conversation. */
  readonly conversation: string
  /** The message's number in its conversation, from 1. */
  readonly ordinal: number
  /** False = the idempotency key was known, and this is the earlier message with that key. */
  readonly created: boolean
  /**
   * The message waits behind an earlier run of its conversation, which waits for people to answer these questions. A customer
   * sees only questions that it may answer. Absent = it does not.
   */
  readonly queued_behind?: QueuedBehind
}

/**
 * A method that fails rejects with a typed error, which has a `_tag`. Arguments are decoded first: a value that does not match
 * its type rejects with `InvalidInput`, which names the `field` and what is expected there, and nothing is done. A principal
 * without the role for a method is refused (`NotEntitled`); `src/principal/Rights.ts` has the table. A customer can read only what it began
 * or sent itself, from agents that are for customers, and sees only what `CustomerView` lists: no approvals, calls or reasons,
 * and of events only the members that are listed there.
 */
export interface NodeService<Contexts = {}> extends HttpMethods {
  /** Sends a message, which is durable when this resolves. `IntakeFull`: too much is sent at once (`in_flight_bytes_max`). */
  send<To extends ToAgent = string, S extends AnySchema = never>(
    message: SendTo<Contexts, To, S>,
    by?: PrincipalInput
  ): Promise<Sent>
  /**
   * Sends a message and waits for the end of the run (`complete`, `failed` or `cancelled`, with its text) or for its first
   * question (`awaiting_approval`, with the approvals). `result` waits again. A wait that ends early does not cancel the run
   * unless `cancel` is set.
   *
   * With an answer schema, the model is asked for JSON that fits it, in the way that its provider supports. If an answer does
   * not fit, the model is asked once more; then the run fails (`answer_unfit`). `value` is the decoded answer. Rejects with
   * `AnswerUnfit` if the run is complete but only the code of the schema, such as a refinement, refuses its answer.
   */
  ask<To extends ToAgent = string, S extends AnySchema = never>(
    message: SendTo<Contexts, To, S>,
    by?: PrincipalInput,
    wait?: Wait
  ): Promise<AnswerTo<S>>
  /**
   * Waits as `ask` does, for a run whose message was sent before. Rejects with `RunNotFound` if there is no such run. `answer` is
   * the schema that the message was sent with.
   */
  result<S extends AnySchema = never>(
    run: string,
    by?: PrincipalInput,
    wait?: Wait & { readonly answer?: S }
  ): Promise<AnswerTo<S>>
  /**
   * Everything that happens in a conversation of the principal's tenant, or in one run to its end: first the past from its start
   * (or after the position `after`), then what follows. `CaughtUp` marks the end of the past. Rejects with `ConversationNotFound`
   * if no conversation or run has this id. Leaving the loop cancels nothing.
   */
  readonly watch: (
    conversation_or_run: string,
    after?: { readonly ordinal: number; readonly seq: number },
    by?: PrincipalInput,
    following?: Following
  ) => AsyncIterable<FeedItem>
  /**
   * Sends the message when the loop over it begins, and goes on until its run has ended. It yields the answer's text as the model
   * writes it, the events of the run, and the answer. Each new loop sends the message again, unless the message has an
   * `idempotency_key`. Leaving the loop cancels nothing. Rejects as `send` and `watch` do.
   *
   * `{ run, after }` sends nothing: it gives a run that goes on or has ended, behind the `cursor` of a part, within a turn at the
   * very place in its text. Nothing is left out or given twice; a turn that was begun anew meanwhile comes after a `restart`.
   * Rejects with `RunNotFound`, also for a run of others, and with `InvalidInput` for a cursor of another run or ahead of it.
   *
   * With an answer schema, it also yields the part of the value that was written so far.
   */
  stream<To extends ToAgent = string, S extends AnySchema = never>(
    message: SendTo<Contexts, To, S> | (StreamedRun & { readonly answer?: S }),
    by?: PrincipalInput,
    following?: Following
  ): AsyncIterable<PartTo<S>>
  /** Questions that wait for an approver, oldest first; at most 500. */
  readonly pending: (by?: PrincipalInput) => Promise<ReadonlyArray<Approval>>
  /**
   * Takes a `Decision`, or the form of the HTTP API: `{ decision: "deny", reason: "fraud" }`. Anything else is refused. Gives the
   * question as it is then.
   */
  readonly decide: Method<typeof ApprovalOperations.decide>
  /**
   * Authorises calls of one tool by one agent in `by`'s workspace in advance. Such calls then run without asking anybody, for
   * `holds_ms` (absent = 30 days), and each call records in its run the authorization by which it ran. Rejects with
   * `AuthorizationRefused` if the tool needs no approval, is denied, or always asks.
   */
  readonly authorize: Method<typeof AuthorizationOperations.grant>
  /** Revokes an authorization: once this resolves, calls of the action ask a person again. */
  readonly revokeAuthorization: Method<typeof AuthorizationOperations.revoke>
  /** Authorizations of `by`'s workspace, newest first: 50 per page unless `limit` (to 500) is set. */
  readonly authorizations: Method<typeof AuthorizationOperations.list>
  /**
   * Questions of any status, oldest first unless `order` is set, `pending` unless `status` is set: 50 per page unless `limit` (to
   * 500) is set. `pending` lists those that the principal may decide.
   */
  readonly approvals: Method<typeof ApprovalOperations.list>
  /** How the last 2,000 questions went, by tool unless `by` is set: what was answered, expired or cancelled, and how long it waited. */
  readonly approvalInsights: Method<typeof ApprovalOperations.insights>
  /** A question and, if there is one, its answer. Rejects with `ApprovalNotFound` if the tenant has no such one. */
  readonly approval: Method<typeof ApprovalOperations.get>
  /** Calls of a conversation that wait for a result from its client, such as a browser, oldest first. */
  readonly clientCalls: Method<typeof ClientCallOperations.list>
  /**
   * Gives a call the result of its client, once: `{ result }`, or `{ error }` with the reason why there is none. A result that
   * does not fit the tool's `output_schema` rejects with `ClientResultRefused`, and the call keeps waiting.
   */
  readonly answerClientCall: Method<typeof ClientCallOperations.answer>
  /** Runs of the principal's tenant, newest first: 50 per page unless `limit` (to 500) is set. */
  readonly runs: Method<typeof RunOperations.list>
  /** A run and what it waits for, folded from its journal. Rejects with `RunNotFound` or, if it does not fold, `RunQuarantined`. */
  readonly run: Method<typeof RunOperations.get>
  /**
   * A run's events as people are shown them, behind the seq `after`: 50 per page unless `limit` (to 500) is set, and few of large
   * ones. [] = the end.
   */
  readonly runEvents: Method<typeof RunOperations.events>
  /**
   * Conversations with title, status and last message, those that were active last first: 50 per page unless `limit` (to 500) is
   * set. `after` is the last `cursor` of the page before. `search` looks for words in the 500 conversations behind it.
   */
  readonly conversations: Method<typeof ConversationOperations.list>
  /**
   * Begins a conversation with the messages of another system (`ai-sdk`, `chat-completions`, `langchain`), for operators; `customer`
   * is whose it is, who does not find it otherwise. Later runs are told what was said in it. Calls and results of tools, system
   * messages and files are left out and counted. The same import again changes nothing. Rejects with `InvalidInput`, such as at
   * `messages[3].role`, also if there is such a conversation.
   */
  readonly importHistory: Method<typeof ConversationOperations.importHistory>
  /** Gives a conversation a title, or sets its metadata. Rejects with `ConversationNotFound` if there is no such one for `by`. */
  readonly changeConversation: Method<typeof ConversationOperations.change>
  /**
   * Erases a conversation: its runs, messages, questions, files and what waits to be delivered of it. For admins, and for the
   * customer that began it. Rejects with `SubjectIsActive` while a run of it is not over. `erasures` lists it.
   */
  readonly deleteConversation: Method<typeof ConversationOperations.remove>
  /** Messages, oldest first: 50 per page unless `limit` (to 500) is set. `after` is the last `seq` of the page before. */
  readonly messages: Method<typeof ConversationOperations.get>
  /** A file of the conversation, by its digest. Rejects with `FileNotFound`, for a customer also if a tool returned it. */
  readonly file: Method<typeof FileOperations.download>
  /** Totals of what models cost, by agent unless the query's `by` is set, sorted by key. Needs `prices`. */
  readonly costs: Method<typeof CostOperations.list>
  /** What budgets have left in their current period: of the tenant, or of a customer or conversation. Customers see their own. */
  readonly budgets: Method<typeof CostOperations.budgets>
  /** Undeliverable messages, newest first: 50 per page unless `limit` (to 500) is set; `after` is the last of the page before. */
  readonly deadLetters: Method<typeof DeadLetterOperations.list>
  /** One dead letter with its failures. Rejects with `DeadLetterNotFound` if the tenant has no such one. */
  readonly deadLetter: Method<typeof DeadLetterOperations.get>
  /** Sends a dead letter again, once. Rejects with `DeadLetterResolved` if it was already replayed or discarded. */
  readonly replayDeadLetter: Method<typeof DeadLetterOperations.replay>
  /** Marks a dead letter as not to be sent again. */
  readonly discardDeadLetter: Method<typeof DeadLetterOperations.discard>
  /** How many runs are not over and match, up to 10,000, and until when: what `cancelRuns` is given. */
  readonly countRuns: Method<typeof BulkOperations.countRuns>
  /**
   * Cancels the next runs that match and were accepted before `until`: 100 unless `limit` (to 500) is set, and fewer once it has
   * taken two seconds. Says what became of each. The next step has `next_after` as its `after`; without one nothing is left.
   */
  readonly cancelRuns: Method<typeof BulkOperations.cancelRuns>
  /** How many dead letters wait and match, as `countRuns` does. */
  readonly countDeadLetters: Method<typeof BulkOperations.countLetters>
  /** Sends the next dead letters that match again, as `cancelRuns` cancels runs. */
  readonly replayDeadLetters: Method<typeof BulkOperations.replayLetters>
  /** Gives the next dead letters that match up, as `cancelRuns` cancels runs. */
  readonly discardDeadLetters: Method<typeof BulkOperations.discardLetters>
  /** How many calls have an unknown outcome and match, as `countRuns` does. */
  readonly countUnknown: Method<typeof BulkOperations.countCalls>
  /** Records the same outcome for the next unknown calls that match, as `cancelRuns` cancels runs. */
  readonly settleCalls: Method<typeof BulkOperations.settleCalls>
  /** Calls whose outcome is unknown, oldest first, at most 500. `settle` records the outcome of each. */
  readonly unknown: Method<typeof RunOperations.unknown>
  /** The agents of this process with their tools, and at most 200 of their actors that have runs of the tenant. */
  readonly agents: Method<typeof AgentOperations.list>
  /** Work that waits for an agent that no living process hosts, sorted by agent; at most 500. */
  readonly unhosted: Method<typeof AgentOperations.unhosted>
  /**
   * Cancels a run that has not ended, with a reason. Calls that were dispatched may still happen. Rejects with `RunIsOver`
   * after its end.
   */
  readonly cancel: Method<typeof RunOperations.cancel>
  /** Records the outcome of a call whose outcome is unknown: a `Settlement`, or the form of the HTTP API. */
  readonly settle: Method<typeof RunOperations.settle>
  /**
   * Runs it again from a turn on, in a conversation of its own, with another message, model or policy. The fork changes nothing:
   * its calls get the results of that run, or are refused. Rejects with `NotForkable`.
   */
  readonly fork: Method<typeof RunOperations.fork>
  /** What a run did beside another one (`of`), by default that which it was forked from: at most 1,000 deeds. */
  readonly comparison: Method<typeof RunOperations.comparison>
  /** Stops every tool of `by`'s tenant, or lets them run again: here at once, elsewhere 2 s later (`KillSwitch` says the rest). */
  readonly stopTools: Method<typeof KillSwitchOperations.turn>
  /** Whether every tool of `by`'s tenant is stopped, by its own switch or by that of the process. */
  readonly toolsStopped: Method<typeof KillSwitchOperations.get>
  /** Who works on runs, with how many of the tenant each holds, and what of the tenant waits: counted to 1,000. */
  readonly processes: Method<typeof StandingOperations.processes>
  /** What an examination finds, as `troupe doctor`: of the database, and of what waits for the tenant. Changes nothing. */
  readonly checks: Method<typeof StandingOperations.checks>
  /** What is delivered, by topic: what of the tenant waits, has failed or is dead, counted to 1,000, and the last failure's code. */
  readonly deliveries: Method<typeof StandingOperations.deliveries>
  /** How this process was started, as far as its values are numbers, words and switches. For admins. */
  readonly settings: Method<typeof StandingOperations.settings>
  /** For whoever runs the process: stops all tenants' tools, whatever their own switches say, or ends that. Not over HTTP. */
  readonly stopAllTools: (stopped: boolean) => Promise<void>
  /** Runs of the tenant whose journal does not fold, the one found first at the start: 50 per page unless `limit` (to 500) is set. */
  readonly quarantined: Method<typeof QuarantineOperations.list>
  /**
   * Stored rows of a run in quarantine, readable or not, behind the seq `after`: 50 per page unless `limit` (to 500) is set, and
   * few of large ones. [] = the end. Rejects with `RunNotQuarantined` if its journal folds.
   */
  readonly rawEvents: Method<typeof QuarantineOperations.events>
  /** Folds a run in quarantine again, and lets it continue if it folds; for operators. */
  readonly releaseRun: Method<typeof QuarantineOperations.release>
  /**
   * Records of a run's calls, oldest first: 50 per page unless `limit` (to 500) is set; `after` is the last key of the page before.
   * They are stored only with `observe: { record: true }`, shortly after the call. Rejects with `RunNotFound` if there is no such run.
   */
  readonly records: Method<typeof RunOperations.records>
  /** What an agent remembers for a conversation's address, newest first: 50 per page unless `limit` (to 500) is set. */
  readonly memories: Method<typeof MemoryOperations.list>
  /**
   * Removes a row from the memory. The row that it superseded, if any, is valid again. Rejects with `MemoryRefused` if the
   * address has no such row, or if the row is itself superseded.
   */
  readonly undoMemory: Method<typeof MemoryOperations.undo>
  /**
   * Removes every memory row of the tenant that names the subject (1 to 200 characters): as its subject, in its text or in an
   * anchor. Reports where the subject still appears in other tables. Journals are not changed.
   */
  readonly eraseMemories: Method<typeof MemoryOperations.erase>
  /**
   * Erases a subject (the id of a principal) from every store of the tenant: what it said, was sent and decided, and everything
   * that names it. Journals keep digests, whose key is in the report and nowhere else. Rejects with `SubjectIsActive` while a run
   * of its conversations is not over. For admins. Repeating it erases what was added since.
   */
  readonly erase: Method<typeof ErasureOperations.erase>
  /** Erasures in the principal's tenant, newest first: 50 per page unless `limit` (to 500) is set. For admins. */
  readonly erasures: Method<typeof ErasureOperations.list>
  /** Registers a text of record, or replaces that of its name: no copy of it can become a memory. At most 1,000 a place. */
  readonly registerText: Method<typeof MemoryOperations.register>
  /**
   * Accepts an event for the principal's tenant; it is durable when this resolves. Repeating the same source and id has no
   * further effect (`isNew: false`). Rejects with `EventTypeUnknown` if events of its type are not handled.
   */
  readonly publish: (event: PublishedEvent, by: PrincipalInput) => Promise<ReceivedEvent>
  /** Binds a conversation to a channel, which gets the agent's answers and questions from then on. Gives all bindings, at most 16. */
  readonly bind: Method<typeof NoticeOperations.bind>
  /** Removes a binding, if there is one. Gives those that are left. */
  readonly unbind: Method<typeof NoticeOperations.unbind>
  /** The channels of a conversation. Rejects with `ConversationNotFound` if the tenant has no such one. */
  readonly bindings: Method<typeof NoticeOperations.bindings>
  /** Notices to the principal, newest first: 50 per page unless `limit` (to 500) is set. */
  readonly notices: Method<typeof NoticeOperations.list>
  /** Marks notices of the principal as read, at most 500. Gives how many were unread before. */
  readonly readNotices: Method<typeof NoticeOperations.read>
  /** Which channels the principal wants; for a channel that is not named it is `immediately`. */
  readonly preferences: Method<typeof NoticeOperations.preferences>
  /** Sets how the principal wants to be told by a channel: at once, in digests or not at all. */
  readonly prefer: Method<typeof NoticeOperations.prefer>
  /**
   * Creates a token for the HTTP API, for `by`'s tenant; for admins. The result is the only place with its text (`token`); only
   * its SHA-256 is stored. Any process over the same store accepts it until it expires or `revokeToken` resolves.
   */
  readonly createToken: Method<typeof TokenOperations.create>
  /** Tokens that were created in `by`'s tenant, newest first: 50 per page unless `limit` (to 500) is set. */
  readonly tokens: Method<typeof TokenOperations.list>
  /** Revokes a token: once this resolves, no process accepts it. Rejects with `TokenNotFound` if the tenant has no such token. */
  readonly revokeToken: Method<typeof TokenOperations.revoke>
  /**
   * Tells a URL of events of `by`'s tenant: of all, or of some `types` and those that fit a `filter`. The result is the only place
   * with the `secret` that signs them. At most 20 a tenant. Rejects with `InvalidInput` for a URL that no event would be sent to.
   */
  readonly createWebhook: Method<typeof WebhookOperations.create>
  /** The webhooks of `by`'s tenant, newest first. */
  readonly webhooks: Method<typeof WebhookOperations.list>
  /** One of them. Rejects with `WebhookNotFound` if the tenant has no such webhook. */
  readonly webhook: Method<typeof WebhookOperations.get>
  /** Replaces what a webhook is told of. `enabled: false` disables it, and what waits for it has failed. */
  readonly changeWebhook: Method<typeof WebhookOperations.change>
  /** Deletes a webhook, its secrets and its deliveries. */
  readonly deleteWebhook: Method<typeof WebhookOperations.remove>
  /** Signs with a new secret, and until `overlap_ms` has passed (absent = a day) with those before it too. */
  readonly rotateWebhookSecret: Method<typeof WebhookOperations.rotate>
  /** Deliveries to a webhook with their attempts, newest first: 50 per page unless `limit` (to 500) is set. */
  readonly webhookDeliveries: Method<typeof WebhookOperations.deliveries>
  /** Sends a delivery again. Rejects with `WebhookDeliveryWaits` if it is sent without that. */
  readonly resendWebhookDelivery: Method<typeof WebhookOperations.resend>
  /** Sends again what has failed since a moment, oldest first, at most 500. Gives how many. */
  readonly resendFailedWebhookDeliveries: Method<typeof WebhookOperations.resendFailed>
  /** The tools of this process by key, with their agents and what the policy says of their calls. */
  readonly tools: Method<typeof ToolOperations.list>
  /** The policy of this process, its version, and what of it has no effect. */
  readonly policy: Method<typeof ToolOperations.policy>
  /** What a policy says of past calls, by default the one in force, and what became of them: so many runs, newest first. */
  readonly tryPolicy: Method<typeof ToolOperations.tryPolicy>
  /** How many of the last 2,000 recorded calls failed, and how long they took, by tool or day: of the last day, or since `from`. */
  readonly toolTimes: Method<typeof ToolOperations.times>
  /** Tools that workers offer to run for `remote`, sorted by name; those of workers that are gone are not `available`. */
  readonly workerTools: Method<typeof ToolOperations.workers>
  /** The MCP servers, the definitions that they offer, and which of them are accepted. For operators. */
  readonly mcpServers: Method<typeof ToolOperations.servers>
  /** Accepts the definition that a server offers now, by its hash. It is used from the next start on. For operators. */
  readonly acceptMcpTool: Method<typeof ToolOperations.accept>
  /**
   * The methods of a feature of this service, under the names that the feature gives them:
   * `troupe.of(spectral).scans({ limit: 5 }, by)`. Throws InvalidInput for a feature that the start was not given.
   */
  readonly of: <F extends AnyFeature>(feature: F) => FeatureMethods<F>
  /**
   * Waits for the steps in flight, then releases what the runtime holds. Open questions stay open, and no run is cancelled. Waits
   * and watches that are still open then reject with `ShuttingDown`, which names the run in the case of a wait; so does every
   * method called from here on.
   */
  readonly stop: () => Promise<void>
}
