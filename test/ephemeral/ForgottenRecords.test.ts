/** What a store in memory keeps of dead letters, queued calls and other records, of which there may be many more than runs. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { AuthorizationRecords } from "../../services/AuthorizationRecords.ts"
import { EventInbox } from "../../services/EventInbox.ts"
import { IdempotencyKeys } from "../../services/IdempotencyKeys.ts"
import { McpPins } from "../../services/McpPins.ts"
import { Notices } from "../../services/Notices.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import { dispatched_topic, TaskStore } from "../../services/TaskStore.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { EphemeralStore } from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { AuthorizationId, callId, ConversationId, rootFrame, Tenant } from "../../src/value/Ids.ts"
import type { WorkspaceAgentAuthorization } from "../../src/permission/Authorization.ts"
import * as Samples from "../contracts/Samples.ts"

const kept_max = 10_000
const more_max = 500

const times = (count: number) => Array.from({ length: count }, (_, n) => n)

/** So many dead letters of a topic, in pieces that a claim takes. */
const die = Effect.fnUntraced(function* (count: number, topic: string) {
  const outbox = yield* Outbox
  const ids: Array<string> = []
  for (let left = count; left > 0; left -= 500) {
    const messages = times(Math.min(left, 500)).map(() => Samples.outboxMessage({ topic }))
    yield* outbox.enqueue(messages)
    ids.push(...messages.map(({ id }) => id))
    yield* fail(topic)
  }
  return ids
})

const fail = Effect.fnUntraced(function* (topic: string) {
  const outbox = yield* Outbox
  const claimed = yield* outbox.claim({ owner: "a", topics: [topic], limit: 500, lease_ms: 1 })
  for (const { id } of claimed) yield* outbox.failed(id, "a", "refused", undefined)
})

it.effect("of dead letters the newest 10,000 are kept; the settled ones go first", () =>
  Effect.gen(function* () {
    const { dead } = yield* EphemeralStore
    const ids = yield* die(kept_max + more_max, "hook")
    assert.strictEqual(dead.size, kept_max + more_max)
    const replayer = yield* OutboxReplayer
    const settled = ids.slice(5_000, 5_400)
    for (const id of settled) {
      const event_id = dead.get(id)!.message.id
      const of = { tenant: dead.get(id)!.letter.tenant, event_id, by: "ada", reason: "seen" }
      yield* replayer.discard(of)
    }
    yield* die(1, "hook")
    assert.strictEqual(dead.size, kept_max)
    assert.isFalse(settled.some((id) => dead.has(id)))
    // 10,501 less 400 that were settled: the 101 oldest went with them.
    assert.isFalse(dead.has(ids[100]!))
    assert.isTrue(dead.has(ids[101]!))
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("the dead dispatch of a task that has not begun is kept, however old", () =>
  Effect.gen(function* () {
    const { dead } = yield* EphemeralStore
    const task = Samples.newTask()
    yield* TaskStore.use((tasks) => tasks.accept(task))
    const outbox = yield* Outbox
    const routes = { topics: [dispatched_topic], agents: [task.address.agent] }
    yield* outbox.claim({ owner: "a", ...routes, limit: 1, lease_ms: 1 })
    yield* outbox.failed(task.message_id, "a", "refused", undefined)
    yield* die(2 * (kept_max + more_max), "hook")
    assert.isTrue(dead.has(task.message_id))
    assert.isAtMost(dead.size, kept_max + more_max)
  }).pipe(Effect.provide(EphemeralStores.layer))
)

/** So many calls that a worker took and could not bring to an end; some are discarded. */
const callsThatDie = Effect.fnUntraced(function* (name: string, count: number, discarded: number) {
  const queue = yield* ToolQueue
  for (let from = 0; from < count; from += 500) {
    for (const n of times(Math.min(500, count - from))) {
      const message = { id: `${name}-${from + n}`, tool: "slow@1", tenant: Samples.acme }
      yield* queue.send({ ...message, payload: {} as never, expires_at: 1e15 })
    }
    const claim = { owner: "w", tools: ["slow@1"], limit: 500, lease_ms: 1 }
    for (const { id } of yield* queue.claim(claim)) yield* queue.failed(id, "w", "lost", undefined)
  }
  for (const n of times(discarded)) yield* queue.discard(`${name}-${n + 100}`)
})

it.effect("of queued calls the newest 10,000 are kept; what is over goes before what is dead", () =>
  Effect.gen(function* () {
    const queue = yield* ToolQueue
    yield* callsThatDie("a", kept_max + more_max, 400)
    const here = (n: number) => Effect.map(queue.status(`a-${n}`), (found) => found !== undefined)
    assert.isTrue(yield* here(0))
    yield* callsThatDie("b", 1, 0)
    for (const n of [100, 499]) assert.isFalse(yield* here(n))
    // 10,501 less the 400 that were over: 101 of those that are dead went with them, 100 of them before those.
    for (const n of [0, 99, 500]) assert.isFalse(yield* here(n))
    assert.isTrue(yield* here(501))
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("of a person's notices the newest 10,000 are kept", () =>
  Effect.gen(function* () {
    const notices = yield* Notices
    const conversation = ConversationId.make("c-1")
    const agent = Samples.operations
    const content = { kind: "answer", conversation, agent, text: "told" } as const
    const recipients = [{ recipient: "ada", messages: [], digest: [] }]
    const tell = (n: number) =>
      notices.record({ tenant: Samples.acme, about: `${n}`, content, recipients })
    for (const n of times(kept_max + 1)) yield* tell(n)
    // Whoever was told is told it once, unless it was forgotten.
    assert.strictEqual(yield* tell(1), 0)
    assert.strictEqual(yield* tell(0), 1)
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("of events that came in the newest 100,000 are remembered", () =>
  Effect.gen(function* () {
    const inbox = yield* EventInbox
    const event = (n: number) =>
      ({ tenant: Samples.acme, source: "shop", id: `${n}`, digest: `${n}` }) as const
    for (const n of times(100_001)) yield* inbox.remember(event(n))
    assert.isUndefined(yield* inbox.known(event(0)))
    assert.isDefined(yield* inbox.known(event(1)))
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("of authorisations that are not in force the newest 1,000 are kept", () =>
  Effect.gen(function* () {
    const records = yield* AuthorizationRecords
    const tenant = Samples.acme
    const grant = (n: number): WorkspaceAgentAuthorization => ({
      id: AuthorizationId.make(`00000000-0000-4000-8000-${String(n).padStart(12, "0")}`),
      tenant,
      agent: Samples.operations,
      action: "pay",
      tool_key: "shop/pay@1",
      tool_digest: "d",
      granted_by: "ada",
      granted_at: n,
      expires_at: 1e12,
      uses: 0
    })
    // Each takes the place of the one before.
    for (const n of times(1_002)) yield* records.add(grant(n))
    const gone = yield* Effect.flip(records.get(tenant, grant(0).id))
    assert.strictEqual(gone._tag, "AuthorizationNotFound")
    assert.strictEqual((yield* records.get(tenant, grant(1).id)).revoked_at, 2)
    assert.isUndefined((yield* records.get(tenant, grant(1_001).id)).revoked_at)
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("of changes of MCP pins the newest 10,000 are kept", () =>
  Effect.gen(function* () {
    const pins = yield* McpPins
    const accept = (server: string, count: number) =>
      pins.accept(
        times(count).map((n) => ({
          pin: {
            server,
            tool: `tool-${n}`,
            hash: "a".repeat(64),
            definition: { name: `tool-${n}`, inputSchema: { type: "object" } },
            accepted_by: "olga",
            accepted_at: n,
            how: "operator" as const
          },
          replaces: null
        }))
      )
    yield* accept("first", 1)
    yield* accept("second", kept_max - 1)
    assert.lengthOf(yield* pins.history("first", 10), 1)
    yield* accept("third", 1)
    assert.lengthOf(yield* pins.history("first", 10), 0)
    assert.lengthOf(yield* pins.history("third", 10), 1)
    assert.lengthOf(yield* pins.of("first"), 1)
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("costs and lists of a tenant go with its last run", () =>
  Effect.gen(function* () {
    const store = yield* EphemeralStore
    Object.assign(store.retention, { runs_max: 10, more_max: 1 })
    const run = (tenant: Tenant, n: number) =>
      Samples.finish({
        tenant,
        address: { agent: Samples.operations, key: ConversationId.make(`c-${n}`) }
      })
    const gone = Tenant.make("gone")
    yield* run(gone, 0)
    store.costs.set(gone, new Map([[[...store.runs.keys()][0]!, []]]))
    for (const n of times(12)) yield* run(Samples.acme, n)
    assert.isFalse(store.costs.has(gone))
    assert.isFalse(store.conversationsOf.has(gone))
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("of keys that hold 100,000 are kept, and no further one is taken until one expires", () =>
  Effect.gen(function* () {
    const keys = yield* IdempotencyKeys
    const run = Samples.runId()
    const take = (n: number, at = 0) =>
      keys.reserve({
        tenant: Samples.acme,
        key: `${n}`,
        run: run,
        call: callId(rootFrame, 1, n),
        seq: 1,
        asked: "asked",
        at,
        expires_at: n === 0 ? 1_000 : 2_000
      })
    for (const n of times(100_000)) assert.isTrue(yield* take(n))
    const refused = yield* Effect.flip(take(100_000))
    assert.strictEqual(refused.message, "100000 keys are held")
    assert.isUndefined(yield* keys.find(Samples.acme, "100000", 0))
    assert.isTrue(yield* take(100_000, 1_000))
    assert.isUndefined(yield* keys.find(Samples.acme, "0", 0))
    assert.isDefined(yield* keys.find(Samples.acme, "1", 1_000))
  }).pipe(Effect.provide(EphemeralStores.layer))
)
