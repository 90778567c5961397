/**
 * Every read route: what it reads of a tenant is read in the role that sees this tenant alone. Statements of requests compare no
 * tenants here, so that a route which forgets the role finds the rows of others.
 */
import { createHash, randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApi } from "effect/http-api"
import { SqlClient, Statement } from "effect/sql"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AccessTokens } from "../../services/AccessTokens.ts"
import { AuthorizationRecords } from "../../services/AuthorizationRecords.ts"
import { BudgetLedger } from "../../services/BudgetLedger.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { CallRecords } from "../../services/CallRecords.ts"
import { ChannelBindings } from "../../services/ChannelBindings.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { Notices } from "../../services/Notices.ts"
import { Outbox } from "../../services/Outbox.ts"
import { DraftStore } from "../../services/spectral/platform/contracts/DraftStore.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { RunReader } from "../../services/RunReader.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import { Webhooks } from "../../services/Webhooks.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { ChannelName, in_app } from "../../src/conversation/ChannelBinding.ts"
import { WebhookId } from "../../src/delivery/Webhook.ts"
import { AgentName, AuthorizationId, MessageId, Tenant, TokenId } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { SystemId } from "../../src/spectral/platform/contracts/Fact.ts"
import { Principal } from "../../src/principal/Principal.ts"
import * as Samples from "../contracts/Samples.ts"
import { recordOf } from "../contracts/CallRecords.contract.ts"
import { newRow } from "../contracts/MemoryRows.ts"
import { sample } from "../platform/Records.ts"
import { onEngines } from "../sql/Engines.ts"
import { comparingNone, withoutRowSecurity } from "../sql/Forgetting.ts"
import { sessionRole } from "../sql/SessionRole.ts"
import { publishCredit } from "../worlds/Worlds.ts"
import { baseUrl } from "./Service.ts"

/** Stands in what belongs to the tenant. */
const canary = "canary"

const tenants = { acme: Tenant.make("acme"), other: Tenant.make("other") }
type Who = keyof typeof tenants

/** The same person in both tenants, who may read everything of it. */
const credentials = (["acme", "other"] as const).map((tenant) => ({
  sha256: createHash("sha256").update(tenant).digest("hex"),
  principal: new Principal({ id: "olga", tenant: tenants[tenant], roles: ["admin"] })
}))

/** An agent that nobody talks to: the runs of others stay as they are. */
const idle = AgentSpec.make({
  name: AgentName.make("idle"),
  instructions: "Wait.",
  budgets: [{ name: "seeded", scope: "customer", period: "none", calls: 3 }]
})

const service = Server.layer({ listen: { port: 0 }, credentials }).pipe(
  Layer.provideMerge(Runtime.layer({ agents: [idle], tools: [] })),
  Layer.provide(ScriptedModelGateway.layer(() => ScriptedModelGateway.text("hello"))),
  Layer.provideMerge(Spectral.layer),
  Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
  Layer.fresh,
  Layer.orDie
)

/** A run that waits for an answer, one that waits for its client, and one in quarantine. */
const seededRuns = Effect.fnUntraced(function* (tenant: Tenant) {
  const asked = Samples.approvalRequested()
  const question = { ...asked, payload: { ...asked.payload, args_summary: canary } }
  const cost = {
    _tag: "Priced",
    agent: AgentName.make(canary),
    amount: "1",
    currency: "USD",
    prices: "v1"
  } as const
  const turn = { ...Samples.modelTurned(1, 1), cost }
  const waiting = yield* Samples.begin({ tenant, message: canary }, [turn, question])
  const requested = Samples.clientRequested()
  const client = yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 1), requested])
  const lost = { _tag: "CallUnknown", call: Samples.firstCall, tool: canary } as const
  yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 1), lost])
  const broken = yield* Samples.begin({ tenant, message: canary })
  yield* SqlClient.SqlClient.use((sql) =>
    sql.unsafe("DELETE FROM troupe.run_events WHERE run_id = $1::uuid AND seq = 1", [broken.run])
  )
  yield* RunReader.use((reader) => Effect.flip(reader.read(broken.run, 0, 10)))
  return {
    run: waiting.run,
    conversation: waiting.task.conversation,
    approval: question.approval,
    client: { conversation: client.task.conversation, call: requested.approval },
    broken: broken.run
  }
})

/** Records of the reference application. */
const recordsSeeded = Effect.fnUntraced(function* (tenant: Tenant) {
  yield* RecordImporter.use((importer) => importer.record(tenant, sample))
  const system_id = SystemId.make("support-bot")
  const draft = { kind: "system_card", system_id, title: canary, owner: canary } as const
  const author = { run: "r", call: "0/1.0", principal: "olga" }
  yield* DraftStore.use((drafts) => drafts.write(tenant, draft, author))
  yield* publishCredit(tenant)
})

/** A webhook and what it is told of a run. */
const hookSeeded = Effect.fnUntraced(function* (tenant: Tenant, run: RunId) {
  const webhook = WebhookId.make(randomUUID())
  const webhooks = yield* Webhooks
  const hook = { url: "https://hooks.example/", description: canary, created_by: "olga" }
  yield* webhooks.add({ tenant, id: webhook }, { ...hook, created_at: 1_000 }, `whsec_${webhook}`)
  const data = { run, tool: canary } as const
  const news = { type: "approval.settled", subject: run, data } as const
  yield* webhooks.deliver({ tenant, event: MessageId.make(randomUUID()), news, at: 1_000 })
  return webhook
})

/** What belongs to the tenant beside its runs. */
const seeded = Effect.fnUntraced(function* (tenant: Tenant) {
  const runs = yield* seededRuns(tenant)
  const { conversation, run } = runs
  const bytes = new TextEncoder().encode(canary)
  const digest = createHash("sha256").update(bytes).digest("hex")
  const file = { digest, media_type: "text/plain" }
  yield* BlobStore.use((blobs) =>
    blobs.put(tenant, file, bytes, { run, conversation, as: "message" }, 1_000)
  )
  const held = { tenant, budget: "seeded", scope: "customer", unit: "calls", starts_at: 0 } as const
  const lines = [{ account: { ...held, holder: canary }, amount: "1", max: "3" }]
  yield* BudgetLedger.use((ledger) => ledger.reserve({ run, place: "0/1", lines }))
  const letter = Samples.outboxMessage({ tenant, payload: { canary } })
  const outbox = yield* Outbox
  yield* outbox.enqueue([letter, Samples.outboxMessage({ tenant, topic: canary })])
  yield* outbox.claim({ owner: "t", topics: [letter.topic], limit: 1, lease_ms: 60_000 })
  yield* outbox.failed(letter.id, "t", "refused by the receiver", undefined)
  const notices = yield* Notices
  const agent = Samples.operations
  yield* notices.record({
    tenant,
    about: Samples.unique("about"),
    content: { kind: "answer", conversation, agent, text: canary },
    recipients: [{ recipient: "olga", messages: [], digest: [] }]
  })
  yield* notices.prefer(tenant, "olga", { channels: { [ChannelName.make(canary)]: "off" } })
  const place = { channel: in_app, address: canary, recipient: "olga" }
  yield* ChannelBindings.use((bindings) => bindings.bind(tenant, conversation, place))
  const times = { created_at: Date.now(), expires_at: Date.now() + 3_600_000 }
  const token = { ...times, name: canary, tenant, principal: "ci", created_by: "olga" }
  yield* AccessTokens.use((tokens) =>
    tokens.add({ id: TokenId.make(randomUUID()), roles: ["viewer"], ...token }, "f".repeat(64))
  )
  yield* AuthorizationRecords.use((records) =>
    records.add({
      id: AuthorizationId.make(randomUUID()),
      tenant,
      agent,
      action: "refund",
      tool_key: "shop.refund@1",
      tool_digest: "a".repeat(64),
      granted_by: canary,
      granted_at: times.created_at,
      expires_at: times.expires_at,
      uses: 0
    })
  )
  yield* SubjectErasure.use((erasure) => erasure.erase({ tenant, subject: "nobody", by: canary }))
  yield* recordsSeeded(tenant)
  yield* MemoryStore.use((store) =>
    store.add(
      newRow(canary, {
        tenant,
        agent: idle.name,
        anchor: conversation,
        session: conversation,
        at: times.created_at
      })
    )
  )
  yield* CallRecords.use((records) =>
    records.store([{ ...recordOf(tenant, run, 1), tool_name: canary }])
  )
  const webhook = yield* hookSeeded(tenant, run)
  return { ...runs, digest, letter: letter.id, webhook }
})
type Seeds = Effect.Success<ReturnType<typeof seeded>>

interface Route {
  readonly path: (seeds: Seeds) => string
  /** What of the tenant its answer shows. Absent = it shows no row of a tenant. */
  readonly shows?: (seeds: Seeds) => string
  /** The tables that it also reads in the role of the engine, which sees all tenants. Absent = none. */
  readonly asEngine?: ReadonlyArray<string>
  /** Rows of others are also dropped above the store, so that they are not shown without row security either. */
  readonly isDropped?: true
}

const shown = () => canary

/** By group and endpoint. */
const routes: Readonly<Record<string, Route>> = {
  "agents.list": { path: () => "/v1/agents" },
  "agents.unhosted": {
    path: () => "/v1/unhosted",
    shows: () => Samples.operations,
    // What living processes host, which no tenant may read.
    asEngine: ["processes"]
  },
  "approvals.get": { path: ({ approval }) => `/v1/approvals/${approval}`, shows: shown },
  // The tool of its question.
  "approvals.insights": { path: () => "/v1/approval-insights", shows: () => "replay_dlq_event" },
  "approvals.list": { path: () => "/v1/approvals", shows: shown },
  "authorizations.list": { path: () => "/v1/authorizations?all=true", shows: shown },
  "bulk.countCalls": { path: () => "/v1/bulk/unknown-calls", shows: () => '"count":1' },
  "bulk.countLetters": { path: () => "/v1/bulk/dead-letters", shows: () => '"count":1' },
  "bulk.countRuns": { path: () => "/v1/bulk/runs", shows: () => '"count":3' },
  "clientCalls.list": {
    path: ({ client }) => `/v1/conversations/${client.conversation}/client-calls`,
    shows: ({ client }) => client.call,
    // Which runs of the conversation's agent are open. Their calls are read as the tenant.
    asEngine: ["processes", "run_details", "runs"]
  },
  "conversations.events": {
    path: ({ conversation }) => `/v1/conversations/${conversation}/events`,
    shows: shown,
    // What the runtime's watch follows, once the conversation was found as the tenant.
    asEngine: ["agent_tasks", "run_pairs", "runs"]
  },
  "conversations.get": {
    path: ({ conversation }) => `/v1/conversations/${conversation}`,
    shows: shown
  },
  "conversations.list": {
    path: () => "/v1/conversations",
    shows: ({ conversation }) => conversation
  },
  "costs.budgets": { path: () => "/v1/budgets", shows: shown },
  "costs.list": { path: () => "/v1/costs", shows: shown },
  "deadLetters.get": { path: ({ letter }) => `/v1/dead-letters/${letter}`, shows: shown },
  "deadLetters.list": { path: () => "/v1/dead-letters", shows: ({ letter }) => letter },
  "drafts.get": { path: () => "/v1/drafts/draft-1", shows: shown },
  "drafts.list": { path: () => "/v1/drafts", shows: shown },
  "erasures.list": { path: () => "/v1/erasures", shows: shown },
  "files.download": {
    path: ({ conversation, digest }) => `/v1/conversations/${conversation}/files/${digest}`,
    shows: shown
  },
  "health.health": { path: () => "/health" },
  "health.ready": { path: () => "/ready", asEngine: ["agent_tasks"] },
  "killSwitch.get": { path: () => "/v1/kill-switch" },
  "notices.bindings": {
    path: ({ conversation }) => `/v1/conversations/${conversation}/bindings`,
    shows: shown
  },
  "notices.list": { path: () => "/v1/notices", shows: shown },
  "notices.preferences": { path: () => "/v1/notices/preferences", shows: shown },
  "memories.list": {
    path: ({ conversation }) => `/v1/memories?agent=idle&conversation=${conversation}&tier=session`,
    shows: shown,
    isDropped: true
  },
  "quarantine.events": { path: ({ broken }) => `/v1/quarantine/${broken}/events`, shows: shown },
  "quarantine.list": { path: () => "/v1/quarantine", shows: ({ broken }) => broken },
  "records.getChangeset": { path: () => "/v1/changesets/change-1", shows: () => "change-1" },
  "records.getCluster": { path: () => "/v1/failure-clusters/rude", shows: () => "rude" },
  "records.getScan": { path: () => "/v1/scans/scan-1", shows: () => "scan-1" },
  "records.listChangesets": { path: () => "/v1/changesets", shows: () => "change-1" },
  "records.listClusters": { path: () => "/v1/failure-clusters", shows: () => "rude" },
  "records.listFailures": {
    path: () => "/v1/failure-clusters/rude/failures",
    shows: () => "failure-4"
  },
  "records.listScans": { path: () => "/v1/scans", shows: () => "scan-1" },
  "runs.comparison": {
    path: ({ run }) => `/v1/runs/${run}/comparison?of=${run}`,
    shows: ({ run }) => run
  },
  "runs.events": { path: ({ run }) => `/v1/runs/${run}/events`, shows: shown },
  "runs.get": { path: ({ run }) => `/v1/runs/${run}`, shows: shown },
  "runs.list": { path: () => "/v1/runs", shows: shown },
  "runs.records": { path: ({ run }) => `/v1/runs/${run}/records`, shows: shown },
  "runs.unknown": { path: () => "/v1/unknown-calls", shows: shown },
  "standing.checks": {
    path: () => "/v1/checks",
    shows: ({ broken }) => broken,
    // What living processes host.
    asEngine: ["processes"]
  },
  // The topic of a message that waits.
  "standing.deliveries": { path: () => "/v1/deliveries", shows: shown },
  "standing.settings": { path: () => "/v1/settings" },
  "standing.processes": {
    path: () => "/v1/processes",
    // The topic of a message that waits.
    shows: shown,
    // Processes and workers are for all tenants.
    asEngine: ["processes", "tool_workers"]
  },
  "tokens.list": { path: () => "/v1/tokens", shows: shown },
  "tools.list": { path: () => "/v1/tools" },
  "tools.policy": { path: () => "/v1/policy" },
  "tools.servers": { path: () => "/v1/mcp-servers" },
  "tools.times": { path: () => "/v1/tool-times?from=0", shows: shown },
  // What workers offer is for all tenants.
  "tools.workers": { path: () => "/v1/worker-tools", asEngine: ["tool_workers"] },
  // Secrets are of no tenant, so that no read of one finds them. What is told of them is when they sign.
  "webhooks.deliveries": {
    path: ({ webhook }) => `/v1/webhooks/${webhook}/deliveries`,
    shows: shown,
    asEngine: ["webhook_secrets"]
  },
  "webhooks.get": {
    path: ({ webhook }) => `/v1/webhooks/${webhook}`,
    shows: shown,
    asEngine: ["webhook_secrets"]
  },
  "webhooks.list": { path: () => "/v1/webhooks", shows: shown, asEngine: ["webhook_secrets"] },
  "worlds.getWorld": { path: () => "/v1/worlds/credit", shows: () => "Consumer credit" },
  "worlds.getRule": { path: () => "/v1/worlds/credit/rules/apr-shown", shows: () => "apr-shown" },
  "worlds.listWorlds": { path: () => "/v1/worlds", shows: () => "Consumer credit" },
  "worlds.listCandidates": {
    path: () => "/v1/worlds/credit/candidates",
    shows: () => "candidate-1"
  },
  "worlds.listRules": { path: () => "/v1/worlds/credit/rules", shows: () => "apr-shown" }
}

/** Those of the API that read, and which of them name what they read. */
const reading = ((): ReadonlyMap<string, { readonly isById: boolean }> => {
  const found = new Map<string, { readonly isById: boolean }>()
  HttpApi.reflect(Spectral.SpectralApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint, group }) => {
      if (endpoint.method !== "GET") return
      found.set(`${group.identifier}.${endpoint.identifier}`, {
        isById: endpoint.path.includes(":")
      })
    }
  })
  return found
})()

/** Statements of requests, by the role that they are in. */
interface Noted {
  asTenant: number
  asEngine: Array<string>
}

const tablesOf = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(
    texts.flatMap((text) =>
      Array.from(text.matchAll(/troupe\.(\w+)\b(?!\()/g), ([, name]) => name!)
    )
  )
]

/** Runs the effect with statements of requests that compare no tenants, and notes in whose role each is. */
const noting =
  (noted: Noted) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provideService(effect, Statement.CurrentTransformer, (statement, sql, fiber) =>
      Effect.gen(function* () {
        const request = Context.getOrUndefined(fiber.context, HttpServerRequest.HttpServerRequest)
        if (request === undefined) return statement
        const [text, params] = statement.compile()
        // It takes the role, and reads nothing.
        if (text.includes("set_config('role'")) return statement
        const role = yield* sessionRole(sql)
        if (role.startsWith("troupe_tenant_")) noted.asTenant++
        else noted.asEngine.push(text)
        return sql.unsafe(comparingNone(text), params)
      }).pipe(Effect.orDie)
    )

/** The status and the text of an answer; of a stream, until it has said what it is to show, or that nothing more is there. */
const ask = Effect.fnUntraced(function* (path: string, as: Who) {
  const url = yield* baseUrl
  return yield* Effect.promise(async () => {
    const abort = new AbortController()
    const headers = { authorization: `Bearer ${as}` }
    const response = await fetch(url + path, { headers, signal: abort.signal })
    let text = ""
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      text += piece
      if (text.includes(": caught up")) break
    }
    abort.abort()
    return { status: response.status, text }
  })
})

describe("read routes", () => {
  it("are all in this list, and no other", () => {
    assert.sameMembers(Object.keys(routes), [...reading.keys()])
  })
})

onEngines("read routes without a comparison of tenants", (it) => {
  it.effect("find nothing of another tenant, which row security alone keeps from them", () => {
    const noted: Noted = { asTenant: 0, asEngine: [] }
    return Effect.gen(function* () {
      const seeds = yield* seeded(tenants.acme)
      for (const [name, { asEngine = [], isDropped, path, shows }] of Object.entries(routes)) {
        const { isById } = reading.get(name)!
        const at = path(seeds)
        noted.asTenant = 0
        noted.asEngine = []
        const own = yield* ask(at, "acme")
        assert.strictEqual(own.status, 200, `${name}: ${own.text}`)
        assert.sameMembers([...tablesOf(noted.asEngine)], [...asEngine], name)
        assert.strictEqual(noted.asTenant > 0, shows !== undefined, name)
        if (shows === undefined) continue
        const row = shows(seeds)
        assert.include(own.text, row, name)
        const isFound = Effect.map(ask(at, "other"), ({ status, text }) =>
          isById ? status !== 404 : text.includes(row)
        )
        assert.isFalse(yield* isFound, name)
        assert.strictEqual(yield* withoutRowSecurity(isFound), isDropped === undefined, name)
      }
    }).pipe(Effect.provide(service), noting(noted))
  })
})
