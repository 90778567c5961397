/**
 * A service with an agent that is told of events, over real HTTP, on stores in memory or in a database.
 */
import { createHash } from "node:crypto"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import * as NotificationService from "../../layers/channel/NotificationService.ts"
import * as Channels from "../../layers/compose/assembly/Channels.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { defaults, RuntimeConfig } from "../../layers/runtime/actor/RuntimeConfig.ts"
import { RelayConfig } from "../../layers/runtime/relay/OutboxRelay.ts"
import type { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import type { ChannelBindings } from "../../services/ChannelBindings.ts"
import type { ConversationStore } from "../../services/ConversationStore.ts"
import { eventHandlers } from "../../src/spectral/agents/EventMessage.ts"
import { platform_events } from "../../src/spectral/platform/contracts/PlatformEvent.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { BindingTarget } from "../../src/conversation/ChannelBinding.ts"
import { in_app } from "../../src/conversation/ChannelBinding.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import * as Homes from "../process/Homes.ts"

export const tokenOf = (id: string): string => `token-of-${id}`
export const acme = Tenant.make("acme")

export const principal = (id: string, roles: ReadonlyArray<Role>, tenant = acme) =>
  new Principal({ id, tenant, roles })

const people = [
  principal("platform", ["publisher"]),
  principal("olga", ["operator"]),
  principal("vera", ["viewer"]),
  principal("carl", ["customer"]),
  principal("stranger", ["admin"], Tenant.make("other"))
]
export type Who = "platform" | "olga" | "vera" | "carl" | "stranger"

export const olga: BindingTarget = { channel: in_app, address: "olga", recipient: "olga" }

export interface Given<E = never, R = ChannelBindings> {
  readonly adapters?: ReadonlyArray<Effect.Effect<NotificationService.ChannelAdapter, E, R>>
  readonly bindings?: ReadonlyArray<BindingTarget>
  readonly model?: Parameters<typeof ScriptedModelGateway.layer>[0]
  readonly tools?: Runtime.Options<MisdeclaredTool, never>["tools"]
  readonly mailbox_max?: number
  readonly relay?: Partial<RelayConfig>
  readonly retention_ms?: number
}

export const spectral = (given: Given<unknown, unknown> = {}): AgentSpec =>
  AgentSpec.make({
    name: AgentName.make("spectral"),
    instructions: "Explain what happened.",
    tools: given.tools === undefined ? [] : ["apply"],
    ...(given.mailbox_max === undefined ? undefined : { mailbox_max: given.mailbox_max })
  })

/** A new database. */
export const durable = Layer.unwrap(Effect.map(Effect.orDie(Homes.durable), Homes.storesOf))

export const stores = [
  ["in memory", Stores.ephemeral],
  ["in a database", durable]
] as const

/** The whole of it. */
export const service = <E = never, E2 = never, E3 = never>(
  given: Given<E, ChannelBindings> = {},
  over: Layer.Layer<Stores.Stores, E2> = Stores.ephemeral,
  ingress: Layer.Layer<
    never,
    E3,
    AgentRuntime | ApprovalDesk | ChannelBindings | ConversationStore
  > = Layer.empty
) => {
  const agent = spectral(given)
  const channels = Channels.make({
    adapters: given.adapters ?? [],
    events: {
      agent,
      handlers: eventHandlers,
      topics: Object.keys(platform_events),
      bindings: given.bindings ?? [olga],
      ...(given.retention_ms === undefined ? undefined : { retention_ms: given.retention_ms })
    }
  })
  const credentials = people.map((each) => ({
    sha256: createHash("sha256").update(tokenOf(each.id)).digest("hex"),
    principal: each
  }))
  return Server.layer({ listen: { port: 0 }, credentials }).pipe(
    Layer.provide(ingress),
    Layer.provideMerge(
      Runtime.layer({
        agents: [agent],
        tools: given.tools ?? [],
        deliveries: channels.deliveries
      })
    ),
    Layer.provideMerge(channels.layer),
    Layer.provide(
      ScriptedModelGateway.layer(given.model ?? (() => ScriptedModelGateway.text("understood")))
    ),
    Layer.provide(Layer.succeed(RuntimeConfig, { ...defaults, drain_ms: 1, sweep_ms: 50 })),
    Layer.provide(
      Layer.effect(
        RelayConfig,
        Effect.map(RelayConfig, (relay) => ({
          ...relay,
          sweep_ms: 50,
          backoff_initial_ms: 1,
          ...given.relay
        }))
      )
    ),
    Layer.provide(
      Layer.effect(
        NotificationService.NotificationConfig,
        Effect.map(NotificationService.NotificationConfig, (config) => ({ ...config, retry_ms: 1 }))
      )
    ),
    Layer.provideMerge(over)
  )
}

export interface Ask {
  readonly as?: Who
  readonly method?: string
  readonly json?: unknown
  readonly body?: string
  readonly headers?: Record<string, string>
}

/** One request. Null = the text is not JSON. */
export const ask = Effect.fnUntraced(function* (path: string, options: Ask = {}) {
  const { as, body, headers, json, method } = options
  const url = HttpServer.formatAddress((yield* HttpServer.HttpServer).address)
  return yield* Effect.promise(async () => {
    const sent = json === undefined ? body : JSON.stringify(json)
    const response = await fetch(url + path, {
      method: method ?? (sent === undefined ? "GET" : "POST"),
      headers: {
        ...(as === undefined ? undefined : { authorization: `Bearer ${tokenOf(as)}` }),
        ...(sent === undefined ? undefined : { "content-type": "application/json" }),
        ...headers
      },
      ...(sent === undefined ? undefined : { body: sent })
    })
    const text = await response.text()
    // oxlint-disable-next-line typescript/no-explicit-any -- what a foreign client sees has no type
    let parsed: any = null
    try {
      parsed = JSON.parse(text)
    } catch {
      parsed = null
    }
    return { status: response.status, text, json: parsed }
  })
})

export const structured = { "content-type": "application/cloudevents+json" }

export const verdict = (given: Record<string, unknown> = {}) => ({
  verdict_id: "v-1",
  scan_id: "s-1",
  cycle_id: "c-1",
  system_id: "shop",
  outcome: "fail",
  summary: "Two rubrics failed.",
  scores: [{ rubric_id: "r-1", score: 0.4, threshold: 0.6 }],
  autonomy_mode: "propose",
  changeset_id: "cs-1",
  issued_at: 1_790_000_000_000,
  ...given
})

/** An event that happens now, unless `given` says otherwise. */
export const event = (
  type: string,
  data: unknown,
  given: Record<string, unknown> = {}
): Record<string, unknown> => ({
  specversion: "1.0",
  id: "e-1",
  source: "/platform",
  type,
  time: new Date().toISOString(),
  data,
  ...given
})

export const publish = (json: unknown, as: Who = "platform") =>
  ask("/v1/events", { as, json, headers: structured })
