/** The options of a start. */
import type { Effect, Layer } from "effect"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import type { Guard } from "../../../src/agent/Guard.ts"
import type { ToolGraph } from "../../../src/graph/ToolGraph.ts"
import type { RoleRights } from "../../../src/principal/Rights.ts"
import type { Policy } from "../../../src/permission/Policy.ts"
import type { Budget } from "../../../src/cost/Budget.ts"
import type { PriceTable } from "../../../src/cost/PriceTable.ts"
import type { Time, Timed } from "../../../src/value/Times.ts"
import type { McpOptions } from "../../../src/mcp/McpServer.ts"
import type { RoomHandlers } from "../../../services/DeliveryHandlers.ts"
import type { BlobBounds } from "../../../services/BlobStore.ts"
import type { ModelGateway } from "../../../services/ModelGateway.ts"
import type { OutboxReader } from "../../../services/OutboxReader.ts"
import type { OutboxReplayer } from "../../../services/OutboxReplayer.ts"
import type { ChannelBindings } from "../../../services/ChannelBindings.ts"
import type { ChannelAdapter } from "../../channel/NotificationService.ts"
import type * as CodeTool from "../../builtin/CodeTool.ts"
import type * as ConfiguredTools from "../../calls/ConfiguredTools.ts"
import type * as LocalToolRegistry from "../../runtime/directory/LocalToolRegistry.ts"
import type { ToolQueue } from "../../../services/ToolQueue.ts"
import type { ModelChoice } from "../../model/providers/ChosenModels.ts"
import type { Telemetry } from "../../telemetry/OpenTelemetry.ts"
import type { Http } from "./ServerOptions.ts"
import type { EventHandlers } from "../../../src/delivery/EventEffect.ts"
import type { AnyFeature, Ports, StorePorts } from "./Feature.ts"
import type { ObserversInput } from "./ObserversInput.ts"
import type { PostgresSettings } from "../../sql/engine/Postgres.ts"
import type { RetentionOptions } from "../../sql/retention/Retention.ts"

/** A connection URL, which begins with `postgres://` or `postgresql://`, and settings of its client. */
export interface PostgresStore extends PostgresSettings {
  /** The URL, with user and password. A URL of another kind rejects the start. */
  readonly postgres: string
}

/**
 * A channel to bind a conversation to, and the person whose preferences and in-app copies apply there. 1 to 200 characters each.
 */
export interface BindTo {
  /** `in_app`, or the name of a channel. */
  readonly channel: string
  /** Where in that channel: an e-mail address, a Slack channel. */
  readonly address: string
  /** The id of the principal who is told. */
  readonly recipient: string
}

/** Where webhooks of tenants may be, and how long what was delivered to them is listed. */
export interface WebhookOptions {
  /** Address ranges that they may be at although these are not public, such as `10.0.0.0/8`. At most 64. Absent = none. */
  readonly allow_ranges?: ReadonlyArray<string>
  /** Whether their URLs may begin with `http://`. Absent = https alone. */
  readonly http?: boolean
  /** How long deliveries are kept: a minute to a year. Absent = 30 days. */
  readonly retention_ms?: Time
}

/** Which events the service takes in, and which agent they tell. */
export interface EventOptions {
  /** The name of an agent of this process; another one rejects the start. */
  readonly agent: string
  /** The channels that a conversation is bound to if an event begins it. Absent = none: it is available only through this API. */
  readonly bindings?: ReadonlyArray<BindTo>
  /**
   * What each type of event causes: `{ "order.paid": ({ data }) => ({ _tag: "Tell", conversation, text }) }`. They take precedence
   * over those of features; events of other types are refused. Absent = those of the features alone.
   */
  readonly handlers?: EventHandlers
  /** How long events are remembered to detect repetitions; one that happened earlier is refused. Absent = 30 days. */
  readonly retention_ms?: Time
}

/**
 * `ephemeral`: in memory, and gone with the process. `directory`: PGlite, for one process at a time; needs the packages
 * `@electric-sql/pglite` and `@effect/sql-pg`. `postgres`: a connection URL and settings of its client; needs `@effect/sql-pg`.
 */
export type Store =
  | "ephemeral"
  | {
      /** The path of the directory, which is made if it is not there. */
      readonly directory: string
    }
  | Timed<PostgresStore>

/** Services that the runtime provides to tools which need them. */
export type ToolServices = OutboxReader | OutboxReplayer | ToolQueue

type ToolFamily = LocalToolRegistry.Family<unknown, ToolServices>

/** What a service is started with. */
export interface Options<Known extends ReadonlyArray<AgentSpec> = ReadonlyArray<AgentSpec>> {
  /** The agents of this process, as `AgentSpec.make` and `agent` make them; each name once. */
  readonly agents: Known
  /**
   * Agents that are graphs of tools: loaded, or as texts of YAML (needs the package `yaml`) or JSON. Each becomes an agent with
   * the graph's name, which answers by running the graph and calls no model. Absent = none.
   * @see src/graph/README.md
   */
  readonly graphs?: ReadonlyArray<string | ToolGraph>
  /**
   * Single tools and families of tools, as `tool`, `govern` and `remote` make them. Two with one key end the start. Absent =
   * none.
   * @see src/tool/README.md
   */
  readonly tools?: ReadonlyArray<ToolFamily>
  /**
   * Tools that `tools` may replace by ones with the same plain name: families, and plugins, which are families under a manifest.
   * Absent = none.
   * @see src/tool/README.md
   */
  readonly shared?: ReadonlyArray<LocalToolRegistry.Shared<unknown, ToolServices>>
  /**
   * Features, such as `feature()` of `troupe/spectral`: each brings its tools, operations, event handlers and stores, whose
   * tables it makes itself. At most 64, of different names. Absent = none.
   * @see layers/compose/README.md
   */
  readonly features?: ReadonlyArray<AnyFeature>
  /**
   * Handlers of outbox topics, such as webhooks. Absent = none.
   * @see layers/channel/README.md
   */
  readonly deliveries?: ReadonlyArray<Effect.Effect<RoomHandlers, unknown, ToolServices>>
  /**
   * MCP servers whose tools are imported; needs the package `@modelcontextprotocol/client`. Absent = none.
   * @see layers/mcp/README.md
   */
  readonly mcp?: McpOptions
  /**
   * Tools that are defined by configurations: operations, workflows and gateway actions of a host platform, and scripts. Absent =
   * none.
   * @see layers/calls/README.md
   */
  readonly toolConfigs?: Timed<ConfiguredTools.Options> & Pick<CodeTool.Options, "secrets">
  /**
   * A name such as `"anthropic/claude-sonnet-4-5"`, whose API key is in the environment; a model object of an AI SDK package,
   * such as `openai("gpt-5")`; a list of these, which are tried in order (at most 64); or a Layer, such as those of
   * `troupe/models`.
   * @see layers/model/README.md
   */
  readonly model: ModelChoice | ReadonlyArray<ModelChoice> | Layer.Layer<ModelGateway, unknown>
  /**
   * Counts the tokens of prompts, for example `GptTokenizer` of `troupe/models`. Absent = the tokens are estimated.
   * @see src/conversation/README.md
   */
  readonly tokenizer?: Layer.Layer<never, unknown>
  /**
   * Which calls run, need approval or are refused; `policyOf` reads it from JSON. Absent = the tools' categories decide.
   * @see src/permission/README.md
   */
  readonly policy?: Policy
  /**
   * Guards of texts, as `Guard.make` makes them: each judges messages, results or answers of all agents or of some, and they are
   * asked in this order, before the `guards` of an `agent`. At most 16, of different names. Absent = none.
   * @see layers/runtime/README.md
   */
  readonly guards?: ReadonlyArray<Guard>
  /**
   * The prices of models, which agents with a `cost_max` need. The start rejects if an entry cannot be right. Absent = nothing is
   * costed.
   * @see src/cost/README.md
   */
  readonly prices?: PriceTable
  /**
   * What all agents may use per customer, conversation, agent or tenant, and hour, day, week, month or for ever:
   * `{ name: "daily", scope: "customer", period: "day", calls: 20 }`. At most 32, beside those of single agents. Absent = none.
   * @see src/cost/README.md
   */
  readonly budgets?: ReadonlyArray<Budget>
  /**
   * `{ directory }`: PGlite in the process, one process a directory. `{ postgres: "postgres://..." }`: a server, with settings of
   * its client. Absent = `"ephemeral"`: in memory, and gone with the process.
   * @see layers/sql/README.md
   */
  readonly store?: Store
  /**
   * Your own Layers of ports of `troupe/services`, in place of those of `store`, which they may need. Absent = none.
   * @see services/README.md
   */
  readonly ports?: Layer.Layer<never, unknown, StorePorts>
  /**
   * Removes old data of finished work from a durable store; `{}` = with the usual ages. Absent = only results of queued calls,
   * memories, events and notices are removed, by their own settings.
   * @see layers/sql/README.md
   */
  readonly retention?: Timed<RetentionOptions>
  /** The names of the agents that customers may talk to. Absent = none: whoever is only a `customer` is refused. */
  readonly customer_agents?: ReadonlyArray<string>
  /**
   * Where people see a question, such as `"https://desk.example/approvals/{id}"`: each approval has this address as its `url`,
   * with its own id in the place of `{id}`. Absent = approvals have only `link`, their path in the API.
   */
  readonly approval_url?: string
  /**
   * Roles of the application, by names of its own: `{ auditor: { inspect: "all", decide: "named" } }` has these rights of every
   * service, with these reaches, and no others; with `actFor: { customer: ["send", "follow"] }` it acts so for customers. At most
   * 32, lower-case; none is called like a role that there is. Absent = none.
   * @see src/permission/README.md
   */
  readonly roles?: Readonly<Record<string, RoleRights>>
  /**
   * Where traces, metrics and logs are sent. `true` = also to the default collector, or to the OpenTelemetry provider that the
   * application registered; `false` = nowhere. Absent = to the collector that the standard `OTEL_*` variables name, if any.
   * @see layers/telemetry/README.md
   */
  readonly telemetry?: boolean | Telemetry
  /**
   * `{ call, turn }`: functions that are called with each finished call and each model turn, for metrics and logs;
   * `{ record: true }` keeps a record of every call beside the journal, for audits. Absent = none.
   * @see src/replay/README.md
   */
  readonly observe?: ObserversInput
  /**
   * Channels through which people are notified, such as `SlackChannel.adapter` of `troupe/layers`. Absent = people are told in
   * the application alone.
   * @see layers/channel/README.md
   */
  readonly channels?: ReadonlyArray<
    Effect.Effect<ChannelAdapter, unknown, ToolServices | ChannelBindings>
  >
  /**
   * What takes what those channels' own servers send here, such as `SlackIngress.layer`. Absent = they find nothing.
   * @see layers/channel/README.md
   */
  readonly ingress?: Layer.Layer<never, unknown, Ports>
  /**
   * Bounds of images and other files: `file_bytes_max`, `tenant_bytes_max`, what of it one customer brings (`customer_bytes_max`)
   * and all of them (`customers_bytes_max`), and how long a file is kept that is not sent (`unsent_ms`). Absent = 20 MB, 10 GB, a
   * quarter, three quarters, a day.
   */
  readonly files?: Timed<Partial<BlobBounds>>
  /**
   * The HTTP API of this service: on a port, as functions to mount in a server of the application, or both. Absent = none.
   * @see layers/http/README.md
   */
  readonly http?: Http
  /**
   * The agent of this process that receives the events given to `publish`. Absent = events are not accepted.
   * @see layers/channel/README.md
   */
  readonly events?: EventOptions
  /**
   * Where the webhooks may be that admins of tenants make (`createWebhook`). Absent = at public addresses, over https.
   * @see layers/channel/README.md
   */
  readonly webhooks?: WebhookOptions
  /** How long a stop waits for the steps that are in flight, 0 to an hour; then it interrupts them. Absent = 5 s. */
  readonly drain_ms?: Time
  /**
   * What the runs at work may take of the heap together, in bytes, by estimate: 8,000,000 or more. What finds no room waits in
   * the store. No tenant, and so no run, takes more than half. Absent = half of V8's heap limit.
   * @see layers/runtime/README.md
   */
  readonly in_flight_bytes_max?: number
}
