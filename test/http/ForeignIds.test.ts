/** Each route that is given an id, asked with those of another workspace: it answers as it does for ids that nobody has. */
import { createHash, randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpApi } from "effect/http-api"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AccessTokens } from "../../services/AccessTokens.ts"
import { Webhooks } from "../../services/Webhooks.ts"
import { WebhookId } from "../../src/delivery/Webhook.ts"
import { AuthorizationRecords } from "../../services/AuthorizationRecords.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { Outbox } from "../../services/Outbox.ts"
import { DraftStore } from "../../services/spectral/platform/contracts/DraftStore.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, AuthorizationId, MessageId, Tenant, TokenId } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { SystemId } from "../../src/spectral/platform/contracts/Fact.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import * as Samples from "../contracts/Samples.ts"
import { newRow } from "../contracts/MemoryRows.ts"
import { sample } from "../platform/Records.ts"
import { publishCredit } from "../worlds/Worlds.ts"
import { baseUrl } from "./Service.ts"

const acme = Tenant.make("acme")
const digestOf = (text: string) => createHash("sha256").update(text).digest("hex")

const credential = (token: string, id: string, tenant: string, ...roles: ReadonlyArray<Role>) => ({
  sha256: digestOf(token),
  principal: new Principal({ id, tenant: Tenant.make(tenant), roles })
})

const spectral = AgentSpec.make({ name: AgentName.make("spectral"), instructions: "Help." })

/** The same names in both workspaces. */
const service = Server.layer({
  listen: { port: 0 },
  credentials: [
    credential("acme", "olga", "acme", "admin"),
    credential("customer", "carl", "other", "customer"),
    credential("admin", "olga", "other", "admin")
  ],
  settings: { customer_agents: [spectral.name] }
}).pipe(
  Layer.provideMerge(Runtime.layer({ agents: [spectral], tools: [] })),
  Layer.provide(ScriptedModelGateway.layer(() => ScriptedModelGateway.text("hello"))),
  Layer.provideMerge(Spectral.layer),
  Layer.provideMerge(Stores.ephemeral),
  Layer.orDie
)

/** Ids by the first part of the path, and those of a file and of a delivery. */
type IdsOf = Readonly<Record<string, string>>

/** Records of the reference application. */
const recordsSeeded = Effect.fnUntraced(function* (tenant: Tenant) {
  yield* RecordImporter.use((importer) => importer.record(tenant, sample))
  const system_id = SystemId.make("support-bot")
  const draft = { kind: "system_card", system_id, title: "Its owner", owner: "Care" } as const
  const author = { run: "r", call: "0/1.0", principal: "olga" }
  const drafts = yield* DraftStore
  yield* drafts.write(tenant, draft, author)
  yield* publishCredit(tenant)
  yield* drafts.write(tenant, draft, author)
})

/** A webhook and what it is told of a run. */
const hookSeeded = Effect.fnUntraced(function* (tenant: Tenant, run: RunId) {
  const webhook = WebhookId.make(randomUUID())
  const webhooks = yield* Webhooks
  const created_at = Date.now()
  yield* webhooks.add(
    { tenant, id: webhook },
    { url: "https://hooks.example/", created_by: "olga", created_at },
    "whsec_1"
  )
  const news = { type: "run.failed", subject: run, data: { run: run } } as const
  yield* webhooks.deliver({ tenant, event: MessageId.make(randomUUID()), news, at: created_at })
  const [delivery] = yield* webhooks.deliveries({ tenant, webhook, limit: 1 })
  return { webhook, delivery: delivery!.id }
})

const seeded = Effect.gen(function* () {
  const tenant = acme
  const asked = Samples.approvalRequested()
  const waiting = yield* Samples.begin({ tenant, by: "carl" }, [Samples.modelTurned(1, 1), asked])
  const requested = Samples.clientRequested()
  yield* Samples.begin({ tenant, by: "carl" }, [Samples.modelTurned(1, 1), requested])
  const { conversation } = waiting.task
  const [bytes, digest] = [new TextEncoder().encode("a file"), digestOf("a file")]
  const use = { run: waiting.run, conversation, as: "message" } as const
  yield* BlobStore.use((blobs) =>
    blobs.put(tenant, { digest, media_type: "text/plain" }, bytes, use, 1_000)
  )
  const letter = Samples.outboxMessage({ tenant })
  const outbox = yield* Outbox
  yield* outbox.enqueue([letter])
  yield* outbox.claim({ owner: "t", topics: [letter.topic], limit: 1, lease_ms: 60_000 })
  yield* outbox.failed(letter.id, "t", "refused by the receiver", undefined)
  const times = { created_at: Date.now(), expires_at: Date.now() + 3_600_000 }
  const [token, authorization] = [TokenId.make(randomUUID()), AuthorizationId.make(randomUUID())]
  const given = { ...times, name: "ci", tenant, principal: "ci", created_by: "olga" }
  yield* AccessTokens.use((tokens) =>
    tokens.add({ id: token, roles: ["viewer"], ...given }, "f".repeat(64))
  )
  yield* AuthorizationRecords.use((records) =>
    records.add({
      id: authorization,
      tenant,
      agent: Samples.operations,
      action: "refund",
      tool_key: "shop.refund@1",
      tool_digest: "a".repeat(64),
      granted_by: "olga",
      granted_at: times.created_at,
      expires_at: times.expires_at,
      uses: 0
    })
  )
  const { delivery, webhook } = yield* hookSeeded(tenant, waiting.run)
  yield* recordsSeeded(tenant)
  const row = yield* MemoryStore.use((store) =>
    store.add(
      newRow("It is theirs", { tenant, agent: spectral.name, anchor: `workspace/${tenant}` })
    )
  )
  const ids: IdsOf = {
    approvals: asked.approval,
    authorizations: authorization,
    changesets: "change-1",
    "client-calls": requested.approval,
    conversations: conversation,
    "dead-letters": letter.id,
    drafts: "draft-1",
    "failure-clusters": "rude",
    memories: row.id,
    quarantine: waiting.run,
    runs: waiting.run,
    scans: "scan-1",
    tokens: token,
    webhooks: webhook,
    worlds: "credit",
    rule: "apr-shown",
    delivery,
    digest
  }
  return ids
})

const absent = (ids: IdsOf): IdsOf => {
  const forms = { changesets: "change-9", drafts: "draft-9", scans: "scan-9" }
  const worlds = { worlds: "debit", rule: "no-such-rule" }
  const others = { "failure-clusters": "rudest", conversations: "c-0", digest: digestOf("none") }
  const uuids = Object.keys(ids).map((name) => [name, randomUUID()] as const)
  return { ...Object.fromEntries(uuids), ...forms, ...worlds, ...others }
}

/** What is sent, by group and endpoint, where it is not nothing. */
const payloads: Readonly<Record<string, unknown>> = {
  "approvals.decide": { decision: "approve" },
  "clientCalls.answer": { result: 1 },
  "conversations.change": { title: "let me in" },
  "conversations.importHistory": {
    agent: "spectral",
    format: "chat-completions",
    messages: [{ role: "user", content: "let me in" }]
  },
  "conversations.sendTo": { agent: "spectral", text: "let me in" },
  "deadLetters.discard": { reason: "old" },
  "deadLetters.replay": { reason: "mended" },
  "drafts.publish": { target_id: "support-bot", based_on: 1, reason: "agreed" },
  "drafts.withdraw": { reason: "old" },
  "memories.undo": { agent: "spectral", conversation: "c-1" },
  "notices.bind": { channel: "slack", address: "C1", recipient: "carl" },
  "records.review": { decision: "approved" },
  "runs.cancel": { reason: "enough" },
  "runs.fork": {},
  "runs.settle": { call: "0/1.0", outcome: "run_again" },
  "webhooks.change": { url: "https://evil.example/" },
  "webhooks.resendFailed": { since: 1 },
  "webhooks.rotate": {}
}
const queries: Readonly<Record<string, string>> = {
  "notices.unbind": "?channel=slack&address=C1",
  "runs.comparison": "?of=RUN"
}

interface Route {
  readonly name: string
  readonly method: string
  readonly path: string
}

const beginning = ["conversations.importHistory", "conversations.sendTo"]

/** Those whose path has an id; last those that begin a conversation of that id. */
const routes = ((): ReadonlyArray<Route> => {
  const found: Array<Route> = []
  HttpApi.reflect(Spectral.SpectralApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint, group }) => {
      const { identifier, method, path } = endpoint
      if (path.includes(":"))
        found.push({ name: `${group.identifier}.${identifier}`, method, path })
    }
  })
  return found.toSorted((a, b) => beginning.indexOf(a.name) - beginning.indexOf(b.name))
})()

const pathOf = ({ name, path }: Route, ids: IdsOf): string => {
  const [, , group = ""] = path.split("/")
  const at = path
    .replace(":digest", ids["digest"]!)
    .replace(":delivery", ids["delivery"]!)
    .replace(":rule_id", ids["rule"]!)
    .replace(/:[a-z_]+/, ids[group] ?? group)
  return at + (queries[name] ?? "").replace("RUN", ids["runs"] ?? "")
}

const ask = (url: string, route: Route, ids: IdsOf, token: string) =>
  Effect.promise(async () => {
    const body = payloads[route.name]
    const response = await fetch(url + pathOf(route, ids), {
      method: route.method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? undefined : { "content-type": "application/json" })
      },
      ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
      // A stream that does not end would show something.
      signal: AbortSignal.timeout(10_000)
    })
    return { status: response.status, text: await response.text() }
  })

/** A UUID holds a short id such as `c-0` once in a few hundred times. */
const isLong = (id: string): boolean => id.length >= 32

/** Without the ids that were asked with, and those that the answer alone has. */
const told = ({ status, text }: { status: number; text: string }, ids: IdsOf) => {
  const without = (left: string, id: string) => left.replaceAll(id, "ID")
  const all = Object.values(ids)
  const left = all
    .filter(isLong)
    .reduce(without, text)
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}/g, "U")
  return { status, text: all.filter((id) => !isLong(id)).reduce(without, left) }
}

describe("ids of another workspace", () => {
  it("are asked of some routes that write", () => {
    assert.isAtLeast(routes.length, 25)
    assert.includeMembers(
      routes.map(({ name }) => name),
      Object.keys(payloads)
    )
  })

  it.live(
    "are to a customer, and to an admin, as ids that nobody has, on every route; and nothing changes",
    () =>
      Effect.gen(function* () {
        const theirs = yield* seeded
        const none = absent(theirs)
        const url = yield* baseUrl
        const reads = routes.filter(
          ({ method, name }) =>
            method === "GET" && name !== "conversations.events" && !name.startsWith("quarantine")
        )
        const own = Effect.forEach(reads, (route) => ask(url, route, theirs, "acme"))
        const before = yield* own
        for (const [i, { status, text }] of before.entries()) {
          assert.strictEqual(status, 200, `${reads[i]!.name} ${text}`)
        }
        for (const token of ["customer", "admin"]) {
          for (const route of routes) {
            const foreign = told(yield* ask(url, route, theirs, token), theirs)
            const unknown = told(yield* ask(url, route, none, token), none)
            assert.deepEqual(foreign, unknown, `${token} ${route.name}`)
            // A conversation that is not there begins with what its workspace's staff says or imports.
            const begins = beginning.includes(route.name) && token === "admin"
            const expected = begins ? [200, 202] : [403, route.name === "memories.undo" ? 409 : 404]
            assert.include(expected, foreign.status, `${token} ${route.name} ${foreign.text}`)
          }
        }
        assert.deepEqual(yield* own, before)
      }).pipe(Effect.provide(service)),
    60_000
  )
})
