/**
 * Troupe for a Node service that does not speak Effect: promises and async iterables over a runtime.
 *
 * ```ts
 * const troupe = await start({ agents, tools, model, store: { directory: ".troupe" } })
 * const { run } = await troupe.send({ agent: "operations", text: "What is stuck?" })
 * for await (const item of troupe.watch(run)) console.log(item)
 * ```
 */
import type { Effect, Layer } from "effect"
import type { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { ContextGiven, DeclaredAgent } from "../../src/agent/DeclaredAgent.ts"
import type { ToolGraph } from "../../src/graph/ToolGraph.ts"
import type { Approval } from "../../src/approval/Approval.ts"
import type { WorkspaceAgentAuthorization } from "../../src/permission/Authorization.ts"
import type { Policy } from "../../src/permission/Policy.ts"
import type { PriceTable } from "../../src/cost/PriceTable.ts"
import type { ClientAnswer, ClientCall } from "../../src/approval/ClientCall.ts"
import type { AnyDecision } from "../../src/approval/DecisionPayload.ts"
import { Tenant } from "../../src/Ids.ts"
import type { Time, Timed } from "../../src/Times.ts"
import type { GivenPrincipal } from "../../src/Principal.ts"
import { Principal } from "../../src/Principal.ts"
import type { QuarantinedRun, RawEvent } from "../../src/run/Quarantine.ts"
import type { Settlement } from "../../src/run/RunCommand.ts"
import type { RunItem, RunsQuery } from "../../src/run/RunItem.ts"
import type { UnhostedWork } from "../../src/run/UnhostedWork.ts"
import type { UnknownCall } from "../../src/run/UnknownCall.ts"
import type { CallRecord } from "../../src/tool/CallRecord.ts"
import type { McpPin } from "../../src/tool/McpPin.ts"
import type { McpOptions } from "../../src/tool/McpServer.ts"
import type { ToolListing } from "../../src/tool/Registry.ts"
import type { GivenPart } from "../../src/conversation/Part.ts"
import type { ChannelBinding } from "../../src/conversation/ChannelBinding.ts"
import type { Conversation, ConversationMessage } from "../../src/conversation/Conversation.ts"
import type { CostTotal } from "../../src/cost/CostTotal.ts"
import type { DeadLetter } from "../../src/delivery/Outbox.ts"
import type { ReceivedEvent } from "../../src/delivery/IncomingEvent.ts"
import type { Notice, NoticePreferences } from "../../src/delivery/Notice.ts"
import type { MemoryRow } from "../../src/memory/MemoryRow.ts"
import type { FeedItem } from "../../services/AgentRuntime.ts"
import type { RoomHandlers } from "../../services/DeliveryHandlers.ts"
import type { BlobBounds } from "../../services/BlobStore.ts"
import type { ModelGateway } from "../../services/ModelGateway.ts"
import type { ComponentCatalog } from "../../services/ComponentCatalog.ts"
import type { FlowState } from "../../services/FlowState.ts"
import type { LoopStore } from "../../services/LoopStore.ts"
import type { McpServerStatus } from "../../services/McpServers.ts"
import type { Erasure } from "../../services/MemoryStore.ts"
import type { ErasureRecord, ErasureReport } from "../../src/erasure/Erasure.ts"
import type { OutboxReader } from "../../services/OutboxReader.ts"
import type { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import type { ChannelBindings } from "../../services/ChannelBindings.ts"
import type { ChannelAdapter } from "../channel/NotificationService.ts"
import type * as CodeTool from "../agents/CodeTool.ts"
import type * as ConfiguredTools from "../calls/ConfiguredTools.ts"
import type * as LocalToolRegistry from "../runtime/desk/LocalToolRegistry.ts"
import type { ToolQueue } from "../../services/ToolQueue.ts"
import type { TriplePublisher } from "../../services/TriplePublisher.ts"
import type { ModelChoice } from "../model/ChosenModels.ts"
import type { Telemetry } from "../telemetry/OpenTelemetry.ts"
import type { AnySchema, Decoded } from "../../src/tool/ToolCodec.ts"
import type { Answer, AnswerWith, Following, Wait } from "./Answer.ts"
import type { RunPart, RunPartWith } from "./RunStream.ts"
import type { Http, HttpMethods } from "./EmbeddedHttp.ts"
import type { GivenObservers } from "./GivenObservers.ts"
import type { PostgresStore, RetentionOptions } from "./Stores.ts"
import type { IssuedToken } from "./TokenMethods.ts"
import type {
  BindTo,
  PublishedEvent,
  NoticesQuery,
  StoredFile,
  MemoryOf,
  MemoriesQuery,
  CostsQuery,
  DeadLettersQuery,
  TextOfRecord,
  NewToken
} from "./MethodShapes.ts"
import type { AccessToken } from "../../src/permission/AccessToken.ts"

export type * from "./Answer.ts"
export { WaitTimedOut } from "./Answer.ts"
export type { RunPart } from "./RunStream.ts"
export type { Http, HttpMethods, Token } from "./EmbeddedHttp.ts"
export type { GivenObservers } from "./GivenObservers.ts"
export type { PostgresStore, RetentionOptions } from "./Stores.ts"
export type { IssuedToken } from "./TokenMethods.ts"
export type * from "./MethodShapes.ts"

/**
 * `ephemeral`: gone with the process. `directory`: PGlite, one process; needs the packages `@electric-sql/pglite` and
 * `@effect/sql-pg`. `postgres`: a connection URL, and settings of its client; needs `@effect/sql-pg`.
 */
export type Store = "ephemeral" | { readonly directory: string } | Timed<PostgresStore>

/** Services that the tools of an embedded runtime may need beside their own. */
export type ForTools =
  | ComponentCatalog
  | FlowState
  | LoopStore
  | OutboxReader
  | OutboxReplayer
  | ToolQueue
  | TriplePublisher

type ToolFamily = LocalToolRegistry.Family<unknown, ForTools>

export interface Options {
  readonly agents: ReadonlyArray<AgentSpec>
  /**
   * Graphs of tools, loaded or as YAML or JSON texts (which needs the package `yaml`): each is an agent of its name, which
   * answers by its graph and calls no model.
   */
  readonly graphs?: ReadonlyArray<string | ToolGraph>
  /** Single tools and families of them: what `tool`, `govern` and `remote` make. */
  readonly tools?: ReadonlyArray<ToolFamily>
  /** Tools that `tools` may take the place of, by plain name. */
  readonly shared?: ReadonlyArray<ToolFamily>
  readonly plugins?: ReadonlyArray<LocalToolRegistry.Plugin<unknown, ForTools>>
  readonly deliveries?: ReadonlyArray<Effect.Effect<RoomHandlers, unknown, ForTools>>
  /** Servers whose tools are imported; needs the package `@modelcontextprotocol/client`. */
  readonly mcp?: McpOptions
  /** Tools by their configurations: operations, workflows and gateway actions of a host platform, and scripts. */
  readonly toolConfigs?: Timed<ConfiguredTools.Options> & Pick<CodeTool.Options, "secrets">
  /**
   * A name such as `"anthropic/claude-sonnet-4-5"`, whose key the environment has; a model object of an AI SDK package, such as
   * `openai("gpt-5")`; a list of these, asked in its order (at most 64); or a Layer, such as those of `troupe/models`.
   */
  readonly model: ModelChoice | ReadonlyArray<ModelChoice> | Layer.Layer<ModelGateway, unknown>
  /** Counts the tokens of prompts, for example `GptTokenizer` of `troupe/models`; absent = they are estimated. */
  readonly tokenizer?: Layer.Layer<never, unknown>
  /** Which calls run, need approval or are refused; `policyOf` reads one from JSON. Absent = their categories decide. */
  readonly policy?: Policy
  /** What models cost; needed by agents with a `cost_max`. Rejects the start where an entry cannot be right. */
  readonly prices?: PriceTable
  /** Absent = `ephemeral`. */
  readonly store?: Store
  /**
   * Removes what is over and old from a durable store; `{}` = with the usual ages. Absent = only results of queued calls, memories,
   * events and notices are removed, by their own settings.
   */
  readonly retention?: Timed<RetentionOptions>
  /**
   * Names of agents of this process that customers speak with. Absent = none: a principal that is only a `customer` is
   * refused.
   */
  readonly customer_agents?: ReadonlyArray<string>
  /**
   * Where traces, metrics and logs go. Absent = where the standard `OTEL_*` variables say, if they name a collector;
   * `true` = also to the default one, or to the OpenTelemetry provider that the application registered; `false` = nowhere.
   */
  readonly telemetry?: boolean | Telemetry
  /** Keeps a record of every call beside the journal, for audits (`records`). Absent = no. */
  readonly record?: boolean
  /** Functions that are called with each call that is over, and with each model turn, for metrics and logs. */
  readonly observe?: GivenObservers
  /** Channels beside the copy in the application: such as `SlackChannel.adapter` of `troupe/layers`. */
  readonly channels?: ReadonlyArray<
    Effect.Effect<ChannelAdapter, unknown, ForTools | ChannelBindings>
  >
  /** Bounds of images and other files. Absent = those of `BlobBounds`: 20 MB a file, 10 GB a tenant, unsent for a day. */
  readonly files?: Timed<Partial<BlobBounds>>
  /** The HTTP API over this service: on a port, as functions to mount in a server of the application's, or both. Absent = none. */
  readonly http?: Http
  /** The agent of this process that is told of events (`publish`). Absent = no events are taken. */
  readonly events?: EventOptions
}

export interface EventOptions {
  readonly agent: string
  /** Where a conversation is held that an event begins. Absent = nowhere but here. */
  readonly bindings?: ReadonlyArray<BindTo>
  /** How long events are remembered; one that happened earlier is refused. Absent = 30 days. */
  readonly retention_ms?: Time
}

export interface Send {
  /** Absent, in a conversation = the agent that holds it: to which it was handed over, or that was sent its last message. */
  readonly agent?: string
  /** May be empty where there are parts. */
  readonly text: string
  /**
   * Images, audio and other files, and texts between them; 1 to 32, which stand after the text: for example
   * `{ type: "image", media_type: "image/png", data: bytes }`. Their bytes are kept in the store, and the journal names them by their
   * digest.
   */
  readonly parts?: ReadonlyArray<GivenPart>
  /** Absent = a new conversation. */
  readonly conversation?: string
  readonly idempotency_key?: string
  /**
   * The header `baggage` of the request that led to this message, as a platform got it from a run's tool: the new run is
   * nested in that one. At most 8,192 characters. Absent = it is nested in none.
   */
  readonly baggage?: string
  /**
   * The schema of the answer, an Effect Schema or any Standard Schema (zod, valibot), of an object. It is journaled as JSON Schema,
   * at most 65,536 characters. Absent = any text is an answer.
   */
  readonly answer?: AnySchema
  /**
   * What the run is told, and its model is not: a JSON object of at most 16,384 characters. It is journaled, but for members that
   * a schema makes `Redacted`. It has to fit the `context` that the agent and its tools declare.
   */
  readonly context?: Readonly<Record<string, unknown>>
}

/** The same to what `agent` made, with the context that this agent declares. */
export interface SendTo<Told extends AnySchema> extends Omit<Send, "agent" | "context"> {
  readonly agent: DeclaredAgent<Told>
  readonly context: ContextGiven<Told>
}

export type AnySend<Told extends AnySchema> = Send | SendTo<Told>

export interface Sent {
  readonly run: string
  readonly conversation: string
  readonly ordinal: number
  /** False: the idempotency key was known, and this is what it named. */
  readonly created: boolean
}

/**
 * Every method rejects with the typed error that the port declares, by its `_tag`. Whatever is given is decoded first: a
 * value that is not what its type says is `InvalidInput`, with its `field` and what is expected there, and nothing is done.
 * A principal without the role for a method is refused (`NotEntitled`): `src/Rights.ts` has the table. A customer gets what it began and
 * sent itself, of agents that are for customers, and sees of it what `CustomerView` lists: no approvals, no calls, no
 * reasons; events have no other members than those.
 */
export interface NodeService extends HttpMethods {
  /** Durable when it resolves; handled after. */
  readonly send: <Told extends AnySchema>(
    message: AnySend<Told>,
    by?: GivenPrincipal
  ) => Promise<Sent>
  /**
   * Sends, and waits: for the end of the run (`complete`, `failed` or `cancelled`, with its text), or for its
   * first question (`awaiting_approval`, with the approvals). `result` waits again. A wait that ends early cancels nothing
   * unless `cancel` says so.
   */
  readonly ask: {
    /**
     * With a schema of answers the model is asked for JSON that fits it, in the way that its provider has for it. An answer that
     * does not fit is asked for once more; then the run fails (`answer_unfit`). `value` is the decoded answer. Rejects with
     * `AnswerUnfit` where only the code of the schema, such as a refinement, refuses the answer of a complete run.
     */
    <S extends AnySchema, Told extends AnySchema>(
      message: AnySend<Told> & { readonly answer: S },
      by?: GivenPrincipal,
      wait?: Wait
    ): Promise<AnswerWith<Decoded<S>>>
    <Told extends AnySchema>(
      message: AnySend<Told>,
      by?: GivenPrincipal,
      wait?: Wait
    ): Promise<Answer>
  }
  /** The same for a run that was sent before; rejects with `RunNotFound` where there is none. */
  readonly result: {
    /** `answer`: the schema that it was asked with. */
    <S extends AnySchema>(
      run: string,
      by: GivenPrincipal | undefined,
      wait: Wait & { readonly answer: S }
    ): Promise<AnswerWith<Decoded<S>>>
    (run: string, by?: GivenPrincipal, wait?: Wait): Promise<Answer>
  }
  /**
   * Everything that happens in a conversation of the principal's tenant from its start, or in one run to its end, then
   * what is to come; `CaughtUp` says where the past is over. Rejects with `ConversationNotFound` where neither has this
   * id. Leaving the loop cancels nothing.
   */
  readonly watch: (
    conversation_or_run: string,
    after?: { readonly ordinal: number; readonly seq: number },
    by?: GivenPrincipal,
    following?: Following
  ) => AsyncIterable<FeedItem>
  /**
   * Sends the message when the loop over it begins, and goes on until its run has ended: the answer's text as the model writes
   * it, what happens, and the answer. Each loop sends anew, unless the message has an `idempotency_key`. Leaving it cancels
   * nothing. Rejects as `send` and `watch` do.
   */
  readonly stream: {
    /** With what of the value was written so far. */
    <S extends AnySchema, Told extends AnySchema>(
      message: AnySend<Told> & { readonly answer: S },
      by?: GivenPrincipal,
      following?: Following
    ): AsyncIterable<RunPartWith<Decoded<S>>>
    <Told extends AnySchema>(
      message: AnySend<Told>,
      by?: GivenPrincipal,
      following?: Following
    ): AsyncIterable<RunPart>
  }
  /** Questions that wait for a person, oldest first; at most 500. */
  readonly pending: (by?: GivenPrincipal) => Promise<ReadonlyArray<Approval>>
  /** Takes a `Decision`, or what the HTTP API takes: `{ decision: "deny", reason: "fraud" }`. Anything else is refused. */
  readonly decide: (approval: string, decision: AnyDecision, by: GivenPrincipal) => Promise<void>
  /**
   * Authorises calls of one tool by one agent in `by`'s workspace in advance: they ask nobody, for `holds_ms` (absent = 30
   * days), and each says in its run by what it ran. Rejects with `AuthorizationRefused` where the tool asks nobody, is denied,
   * or always asks.
   */
  readonly authorize: (
    request: {
      readonly agent: string
      readonly action: string
      readonly holds_ms?: Time
      readonly uses_max?: number
    },
    by: GivenPrincipal
  ) => Promise<WorkspaceAgentAuthorization>
  /** From when it resolves, calls of the action ask a person again. */
  readonly revokeAuthorization: (
    id: string,
    by: GivenPrincipal
  ) => Promise<WorkspaceAgentAuthorization>
  /** What `by`'s workspace has authorised, newest first: 50 a page unless `limit` (to 500) says otherwise. */
  readonly authorizations: (
    page?: { readonly limit?: number; readonly all?: boolean; readonly after?: string },
    by?: GivenPrincipal
  ) => Promise<ReadonlyArray<WorkspaceAgentAuthorization>>
  /** Calls of a conversation that wait for a result of its client, such as a browser, oldest first. */
  readonly clientCalls: (
    conversation: string,
    by?: GivenPrincipal
  ) => Promise<ReadonlyArray<ClientCall>>
  /**
   * Gives a call the result of its client, once: `{ result }`, or `{ error }` with the reason why there is none. A result that
   * does not fit the tool's `output_schema` rejects with `ClientResultRefused`, and the call waits on.
   */
  readonly answerClientCall: (id: string, answer: ClientAnswer, by: GivenPrincipal) => Promise<void>
  /** Runs of the principal's tenant, newest first: 50 a page unless `limit` (to 500) says otherwise. */
  readonly runs: (query?: RunsQuery, by?: GivenPrincipal) => Promise<ReadonlyArray<RunItem>>
  /** Newest first: 50 a page unless `limit` (to 500) says otherwise; `after` is the id of the last one of the page before. */
  readonly conversations: (
    page?: { readonly limit?: number; readonly after?: string },
    by?: GivenPrincipal
  ) => Promise<ReadonlyArray<Conversation>>
  /** What was said, oldest first: 50 a page unless `limit` (to 500) says otherwise; `after` is the `seq` of the last one before. */
  readonly messages: (
    conversation: string,
    page?: { readonly limit?: number; readonly after?: number },
    by?: GivenPrincipal
  ) => Promise<ReadonlyArray<ConversationMessage>>
  /** A file of the conversation, by its digest. Rejects with `FileNotFound`, for a customer also where a tool gave it. */
  readonly file: (conversation: string, digest: string, by?: GivenPrincipal) => Promise<StoredFile>
  /** Sums of what models cost, by agent unless `by` says otherwise, in the order of their keys; needs `prices`. */
  readonly costs: (query?: CostsQuery, by?: GivenPrincipal) => Promise<ReadonlyArray<CostTotal>>
  /** Messages that could not be delivered, newest first: 50 a page unless `limit` (to 500) says otherwise; `after` is the last one before. */
  readonly deadLetters: (
    query?: DeadLettersQuery,
    by?: GivenPrincipal
  ) => Promise<ReadonlyArray<DeadLetter>>
  /** Sends a dead letter again, once; rejects with `DeadLetterResolved` where somebody has dealt with it. */
  readonly replayDeadLetter: (event_id: string, reason: string, by: GivenPrincipal) => Promise<void>
  /** Says that a dead letter is not sent again. */
  readonly discardDeadLetter: (
    event_id: string,
    reason: string,
    by: GivenPrincipal
  ) => Promise<void>
  /** Calls whose outcome is unknown, oldest first, at most 500: `settle` says what became of each. */
  readonly unknown: (by?: GivenPrincipal) => Promise<ReadonlyArray<UnknownCall>>
  /** What waits for an agent that no living process hosts, by agent; at most 500. */
  readonly unhosted: (by?: GivenPrincipal) => Promise<ReadonlyArray<UnhostedWork>>
  readonly cancel: (run: string, by: GivenPrincipal, reason: string) => Promise<void>
  /** Says what became of a call whose outcome is unknown. */
  readonly settle: (
    run: string,
    call: string,
    settlement: Settlement,
    by: GivenPrincipal
  ) => Promise<void>
  /** Stops every tool of `by`'s tenant at once, or lets them run again; until the process ends. */
  readonly stopTools: (stopped: boolean, by: GivenPrincipal) => Promise<void>
  /** The same for all tenants, whatever theirs say: for whoever runs the process. The HTTP API does not offer it. */
  readonly stopAllTools: (stopped: boolean) => Promise<void>
  /** Runs of the tenant whose journal does not fold, first found first; at most 500. */
  readonly quarantined: (by?: GivenPrincipal) => Promise<ReadonlyArray<QuarantinedRun>>
  /** Rows of a run as they are stored, from `from` (0) on, whether or not they can be read; at most 10,000. */
  readonly rawEvents: (
    run: string,
    from?: number,
    by?: GivenPrincipal
  ) => Promise<ReadonlyArray<RawEvent>>
  /** Folds a run in quarantine again, and lets it go on if it does; for operators. */
  readonly releaseRun: (run: string, by: GivenPrincipal) => Promise<void>
  /**
   * Records of a run's calls, oldest first; at most 500. They are stored shortly after the call, and only with `record`. Rejects with
   * `RunNotFound` where there is no such run.
   */
  readonly records: (run: string, by?: GivenPrincipal) => Promise<ReadonlyArray<CallRecord>>
  /** What an agent remembers for an address, newest first: 50 a page unless `limit` (to 500) says otherwise. */
  readonly memories: (
    query: MemoriesQuery,
    by?: GivenPrincipal
  ) => Promise<ReadonlyArray<MemoryRow>>
  /**
   * Takes a row out of the memory, which then has the row that it superseded again. Rejects with `MemoryRefused` where the
   * address has no such row, or the row is superseded itself.
   */
  readonly undoMemory: (of: MemoryOf, id: string, by: GivenPrincipal) => Promise<MemoryRow>
  /**
   * Removes every row of the tenant that names the subject (1 to 200 characters), as its subject, in its text or in an
   * anchor, and says what of it still stands in other tables. Journals keep what was said.
   */
  readonly eraseMemories: (subject: string, by: GivenPrincipal) => Promise<Erasure>
  /**
   * Erases a subject (the id of a principal) from every store of the tenant: what it said, was told and decided, and what names
   * it. Journals keep digests, whose key is in the report and nowhere else. Rejects with `SubjectIsActive` while a run of its
   * conversations is not over. For admins; the same again finds what came in between.
   */
  readonly erase: (
    request: { readonly subject: string },
    by: GivenPrincipal
  ) => Promise<ErasureReport>
  /** Erasures of the principal's tenant, newest first: 50 a page unless `limit` (to 500) says otherwise. For admins. */
  readonly erasures: (
    page: { readonly limit?: number; readonly after?: string },
    by: GivenPrincipal
  ) => Promise<ReadonlyArray<ErasureRecord>>
  /** Registers a text of record, or replaces the one of its name: no copy of it becomes a memory. At most 1,000 a place. */
  readonly registerText: (text: TextOfRecord, by: GivenPrincipal) => Promise<void>
  /**
   * Takes an event for the principal's tenant: durable when it resolves. The same source and id again does nothing more
   * (`isNew: false`). Rejects with `EventTypeUnknown` where nothing is done about its type.
   */
  readonly publish: (event: PublishedEvent, by: GivenPrincipal) => Promise<ReceivedEvent>
  /** Binds a conversation to a channel, where the agent's answers and questions go from then on; at most 16. */
  readonly bind: (conversation: string, to: BindTo, by: GivenPrincipal) => Promise<void>
  /** False = there was no such binding. */
  readonly unbind: (
    conversation: string,
    channel: string,
    address: string,
    by: GivenPrincipal
  ) => Promise<boolean>
  readonly bindings: (
    conversation: string,
    by: GivenPrincipal
  ) => Promise<ReadonlyArray<ChannelBinding>>
  /** What the principal was told, newest first: 50 a page unless `limit` (to 500) says otherwise. */
  readonly notices: (query: NoticesQuery, by: GivenPrincipal) => Promise<ReadonlyArray<Notice>>
  /** Marks notices of the principal as read, at most 500; how many were not read before. */
  readonly readNotices: (ids: ReadonlyArray<string>, by: GivenPrincipal) => Promise<number>
  /** Which channels the principal wants; a channel that is not named is `immediately`. */
  readonly preferences: (by: GivenPrincipal) => Promise<NoticePreferences>
  readonly prefer: (preferences: NoticePreferences, by: GivenPrincipal) => Promise<void>
  /**
   * Makes a token for the HTTP API, of `by`'s tenant; for admins. Its text (`token`) is nowhere else, and what is kept is its
   * SHA-256. Any process over the same store takes it until it expires or `revokeToken` resolves.
   */
  readonly createToken: (token: NewToken, by: GivenPrincipal) => Promise<IssuedToken>
  /** Tokens that were made in `by`'s tenant, newest first: 50 a page unless `limit` (to 500) says otherwise. */
  readonly tokens: (
    page: { readonly limit?: number; readonly after?: string },
    by: GivenPrincipal
  ) => Promise<ReadonlyArray<AccessToken>>
  /** From when it resolves no process takes the token. Rejects with `TokenNotFound` where the tenant has no such token. */
  readonly revokeToken: (id: string, by: GivenPrincipal) => Promise<AccessToken>
  /** What workers offer to run for `remote` tools, sorted by name; also of those that are gone, as not available. */
  readonly workerTools: () => Promise<ReadonlyArray<ToolListing>>
  /** MCP servers, what they offer, and what of it is accepted. */
  readonly mcpServers: () => Promise<ReadonlyArray<McpServerStatus>>
  /** Accepts the definition that a server offers now, by its hash; used from the next start on. For operators. */
  readonly acceptMcpTool: (
    server: string,
    tool: string,
    hash: string,
    by: GivenPrincipal
  ) => Promise<McpPin>
  /**
   * Waits for steps in flight, then releases what the runtime holds. Open questions stay open. Waits and watches that are left then
   * reject with `ShuttingDown`, which names the run of a wait, and so does every method from here on; no run is cancelled for it.
   */
  readonly stop: () => Promise<void>
}

/** Who acts where nobody is named: a service account of the tenant `default`. */
export const service_principal = new Principal({
  id: "service",
  tenant: Tenant.make("default"),
  roles: ["viewer", "operator"]
})

/** Starts a runtime and recovers what an earlier one left. Rejects with the typed error that prevented the start. */
export const start = async (options: Options): Promise<NodeService> => {
  // It is process-wide and compiles code at run time, so that a start enables it and an import alone does not.
  await import("effect/schema/SchemaJITCompiler/enable")
  // An import that starts nothing, such as a test's or a command line's, does not load a hundred further modules.
  const { startService } = await import("./StartedService.ts")
  return startService(options)
}
