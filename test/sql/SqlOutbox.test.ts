import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as MergedDeliveryHandlers from "../../layers/runtime/relay/MergedDeliveryHandlers.ts"
import * as OutboxRelay from "../../layers/runtime/relay/OutboxRelay.ts"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as TenantReads from "../../layers/sql/engine/TenantReads.ts"
import * as SqlOutbox from "../../layers/sql/outbox/SqlOutbox.ts"
import * as SqlOutboxReader from "../../layers/sql/outbox/SqlOutboxReader.ts"
import * as SqlOutboxReplayer from "../../layers/sql/outbox/SqlOutboxReplayer.ts"
import { DeliveryFailed } from "../../services/DeliveryHandlers.ts"
import type { DeliveryHandler } from "../../services/DeliveryHandlers.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import type { OutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import { onEngines } from "./Engines.ts"
import { inLongForm } from "../InLongForm.ts"
import { isFull } from "../Long.ts"

const outboxes = Layer.mergeAll(
  SqlOutbox.layer,
  SqlOutboxReader.layer,
  SqlOutboxReplayer.layer
).pipe(Layer.provide(TenantReads.layer), Layer.provideMerge(Migrations.layer))

const claimAll = (owner: string, lease_ms = 600_000) =>
  Effect.flatMap(Outbox, (outbox) => outbox.claim({ owner, topics: ["t"], limit: 500, lease_ms }))

const written = (given: Partial<OutboxMessage> = {}) =>
  Samples.outboxMessage({ topic: "t", key: "k", ...given })

const relay = (handler: DeliveryHandler, over: Partial<OutboxRelay.RelayConfig> = {}) =>
  Layer.build(OutboxRelay.layer).pipe(
    Effect.provide(MergedDeliveryHandlers.layer(Effect.succeed([["t", handler] as const]))),
    Effect.provideService(OutboxRelay.RelayConfig, {
      concurrency: 8,
      timeout_ms: 5_000,
      lease_margin_ms: 5_000,
      sweep_ms: 60_000,
      attempts_max: 3,
      backoff_initial_ms: 20,
      stop_ms: 1_000,
      ...over
    })
  )

/** The engine's database is shared by the tests of a block: each begins with nothing that waits. */
const emptied = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM troupe.outbox`
  yield* sql`DELETE FROM troupe.outbox_keys`
})

onEngines("SqlOutbox", (it) => {
  it.effect("a message commits or vanishes with the transaction it was written in", () =>
    Effect.gen(function* () {
      yield* emptied
      const sql = yield* SqlClient.SqlClient
      const outbox = yield* Outbox
      let woken = 0
      yield* outbox.onWritten(() => void woken++)
      yield* sql
        .withTransaction(
          Effect.andThen(outbox.enqueue([written(), written({ key: "l" })]), Effect.fail("undo"))
        )
        .pipe(Effect.flip)
      assert.strictEqual(yield* outbox.depth, 0)
      assert.isUndefined(yield* outbox.nextDueAt({ topics: ["t"] }))
      const kept = written()
      yield* sql.withTransaction(outbox.enqueue([kept]))
      yield* eventually(
        Effect.sync(() => woken),
        (n) => n > 0
      )
      assert.strictEqual(woken, 1, "the one that was undone woke no listener")
      assert.deepStrictEqual(
        (yield* claimAll("a")).map((m) => m.id),
        [kept.id]
      )
      const left = yield* sql`SELECT key FROM troupe.outbox_keys`
      assert.strictEqual(left.length, 1)
    })
  )

  it.effect("a replay vanishes with the transaction it was made in", () =>
    Effect.gen(function* () {
      yield* emptied
      const sql = yield* SqlClient.SqlClient
      const outbox = yield* Outbox
      const reader = yield* OutboxReader
      const replayer = yield* OutboxReplayer
      const message = written()
      yield* outbox.enqueue([message])
      yield* claimAll("a")
      yield* outbox.failed(message.id, "a", "no", undefined)
      const replay = replayer.replay({
        tenant: message.tenant,
        event_id: message.id,
        reason: "nul \u0000 and half \ud83d",
        by: "ann"
      })
      yield* Effect.flip(sql.withTransaction(Effect.andThen(replay, Effect.fail("undo"))))
      assert.strictEqual((yield* reader.deadLetter(message.tenant, message.id)).status, "dead")
      assert.strictEqual(yield* outbox.depth, 0)
      yield* sql.withTransaction(replay)
      const letter = yield* reader.deadLetter(message.tenant, message.id)
      assert.strictEqual(letter.resolved_reason, "nul \u0000 and half \ud83d")
      const [again] = yield* claimAll("b")
      assert.isTrue(again?.replayed)
      yield* outbox.failed(message.id, "b", "no again", undefined)
      assert.deepStrictEqual(
        (yield* reader.deadLetter(message.tenant, message.id)).failures.map((f) => f.error),
        ["no", "no again"]
      )
      assert.strictEqual((yield* sql`SELECT key FROM troupe.outbox_keys`).length, 0)
    })
  )

  if (isFull) {
    it.effect("a claim reads what it takes, and not the thousands that wait", () =>
      Effect.gen(function* () {
        yield* emptied
        const sql = yield* SqlClient.SqlClient
        const outbox = yield* Outbox
        const many = (tenant: string, agent: string, n: number) =>
          outbox.enqueue(
            Array.from({ length: n }, (_, i) =>
              written({
                tenant: Tenant.make(tenant),
                agent: AgentName.make(agent),
                key: `${agent}${i}`
              })
            )
          )
        for (let i = 0; i < 4; i++) yield* many(`crowd${i}`, "absent", 2_000)
        yield* many("busy", "here", 5_000)
        for (let i = 0; i < 20; i++) yield* many(`small${i}`, "here", 1)
        const read = Effect.map(
          sql<{ readonly n: number }>`
          SELECT (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int4 AS n
          FROM pg_stat_xact_user_tables WHERE relname = 'outbox_keys' AND schemaname = 'troupe'`,
          ([row]) => row?.n ?? 0
        )
        const claim = { owner: "a", topics: ["t"], agents: [AgentName.make("here")], limit: 16 }
        yield* sql.withTransaction(
          Effect.gen(function* () {
            const before = yield* read
            const claimed = yield* outbox.claim({ ...claim, lease_ms: 60_000 })
            assert.strictEqual(new Set(claimed.map(({ tenant }) => tenant)).size, 16)
            assert.isBelow((yield* read) - before, 16 * 8)
          })
        )
      })
    )
  }

  it.effect("keeps the newest hundred failures of a message", () =>
    Effect.gen(function* () {
      yield* emptied
      const outbox = yield* Outbox
      const reader = yield* OutboxReader
      const message = written()
      yield* outbox.enqueue([message])
      for (let i = 1; i <= 103; i++) {
        yield* claimAll("a")
        yield* outbox.failed(message.id, "a", `no ${i}`, i === 103 ? undefined : 0)
      }
      const { failures } = yield* reader.deadLetter(message.tenant, message.id)
      assert.strictEqual(failures.length, 100)
      assert.deepStrictEqual(
        [failures[0]?.error, failures[99]?.error, failures[99]?.attempt],
        ["no 4", "no 103", 103]
      )
    })
  )

  it.effect(
    "the end of a question may be claimed as soon as it is told, not a part of a ms later",
    () =>
      Effect.gen(function* () {
        yield* emptied
        const sql = yield* SqlClient.SqlClient
        const run = crypto.randomUUID()
        yield* sql`INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, created_at)
        VALUES (${run}::text::uuid, 'acme', 'clerk', 'k', 'c', 1, 0)`
        yield* sql`INSERT INTO troupe.approvals (id, tenant, run_id, status, payload)
        VALUES (${run}::text::uuid, 'acme', ${run}::text::uuid, 1, '{}')`
        yield* sql`INSERT INTO troupe.question_posts (tenant, approval, channel, address, recipient, post, at)
        VALUES ('acme', ${run}::text::uuid, '""', '""', '""', '""', 0)`
        // In one statement, so that the clock is read again at once. A time that was rounded would be ahead of it every other time.
        yield* sql.unsafe(`DO $$ DECLARE told int; BEGIN
        FOR i IN 1..50 LOOP
          UPDATE troupe.approvals SET status = 0 WHERE id = '${run}';
          UPDATE troupe.approvals SET status = 3 WHERE id = '${run}';
          IF (SELECT max(o.created_at) > extract(epoch FROM clock_timestamp()) * 1000 FROM troupe.outbox o) THEN
            RAISE 'round % is told ahead of its time', i;
          END IF;
        END LOOP;
        SELECT count(*) INTO told FROM troupe.outbox WHERE topic = 'conversation.settled';
        IF told <> 50 THEN RAISE '% were told', told; END IF;
      END $$`)
        yield* sql`DELETE FROM troupe.approvals WHERE id = ${run}::text::uuid`
        yield* emptied
      })
  )

  it.effect("the relay is woken by a message, tries it again, and lets it die", () =>
    Effect.gen(function* () {
      yield* emptied
      const outbox = yield* Outbox
      const reader = yield* OutboxReader
      const seen: Array<OutboxMessage> = []
      yield* relay((message) => {
        seen.push(message)
        return message.key === "bad"
          ? Effect.fail(new DeliveryFailed({ message: "https://host/x said 503" }))
          : Effect.void
      })
      const bad = written({ key: "bad" })
      yield* outbox.enqueue([bad, written(), written()])
      yield* eventually(outbox.depth, (depth) => depth === 0)
      assert.deepStrictEqual(seen.map((m) => m.key).sort(), ["bad", "bad", "bad", "k", "k"])
      const letter = yield* reader.deadLetter(bad.tenant, bad.id)
      assert.deepStrictEqual(
        letter.failures.map((failure) => failure.error),
        ["[address] said 503", "[address] said 503", "[address] said 503"]
      )
    })
  )
})

/** Two runtimes on one database, each with a pool of its own. */
const twoProcesses = Effect.gen(function* () {
  const url = Redacted.make(yield* EmbeddedPostgres.migrated)
  const build = Layer.build(
    Layer.fresh(outboxes.pipe(Layer.provideMerge(Layer.fresh(Postgres.layer({ url })))))
  )
  return [yield* build, yield* build] as const
})

describe("SqlOutbox in two processes on one PostgreSQL", () => {
  inLongForm("two relays deliver each message once, in order per key", () =>
    Effect.gen(function* () {
      const [one, two] = yield* twoProcesses
      const got = new Map<string, Array<string>>()
      const running = new Set<string>()
      let overlaps = 0
      const handler: DeliveryHandler = (message) =>
        Effect.gen(function* () {
          if (running.has(message.key)) overlaps++
          running.add(message.key)
          yield* Effect.sleep(1)
          got.set(message.key, [...(got.get(message.key) ?? []), message.id])
          running.delete(message.key)
        })
      yield* Effect.provide(relay(handler), one)
      yield* Effect.provide(relay(handler), two)
      const sent = new Map<string, Array<string>>()
      const writers = Array.from({ length: 8 }, (_, w) =>
        Effect.gen(function* () {
          const outbox = yield* Outbox
          for (let i = 0; i < 40; i++) {
            const message = written({ key: `${w}.${i % 3}` })
            sent.set(message.key, [...(sent.get(message.key) ?? []), message.id])
            yield* outbox.enqueue([message])
          }
        }).pipe(Effect.provide(w % 2 === 0 ? one : two))
      )
      yield* Effect.all(writers, { concurrency: "unbounded" })
      const depth = Effect.flatMap(Outbox, (outbox) => outbox.depth).pipe(Effect.provide(one))
      yield* eventually(depth, (n) => n === 0)
      assert.strictEqual(overlaps, 0)
      assert.deepStrictEqual([...got].sort(), [...sent].sort())
    })
  )

  it.live(
    "leases that end under load lose no message, stick no key and end each message once",
    () =>
      Effect.gen(function* () {
        const [one, two] = yield* twoProcesses
        const messages = Array.from({ length: 120 }, (_, i) => written({ key: `k${i % 6}` }))
        const outbox = yield* Effect.provide(Outbox, one)
        yield* outbox.enqueue(messages)
        const ended: Array<string> = []
        const worker = (context: typeof one, owner: string) =>
          Effect.gen(function* () {
            const outbox = yield* Outbox
            for (let n = 0; (yield* outbox.depth) > 0; n++) {
              const name = `${owner}.${n}`
              // A lease of a millisecond has nearly always passed before the outcome is written.
              const lease_ms = n % 2 === 0 ? 1 : 50
              const claimed = yield* outbox.claim({
                owner: name,
                topics: ["t"],
                limit: 3,
                lease_ms
              })
              yield* Effect.forEach(
                claimed,
                (message) =>
                  Effect.gen(function* () {
                    if (n % 5 === 4) return yield* outbox.failed(message.id, name, "no", 0)
                    const held = yield* outbox.delivered(message.id, name)
                    if (held) ended.push(message.id)
                    return held
                  }),
                { concurrency: "unbounded" }
              )
            }
          }).pipe(Effect.provide(context))
        yield* Effect.all(
          Array.from({ length: 8 }, (_, i) => worker(i % 2 === 0 ? one : two, `w${i}`)),
          { concurrency: "unbounded" }
        ).pipe(Effect.timeout("20 seconds"))
        assert.strictEqual(ended.length, messages.length)
        assert.strictEqual(new Set(ended).size, messages.length)
        const sql = yield* Effect.provide(SqlClient.SqlClient, one)
        assert.strictEqual((yield* sql`SELECT key FROM troupe.outbox_keys`).length, 0)
        // In the order of their keys, whoever ended them.
        const place = new Map(messages.map((message, i) => [message.id as string, i]))
        for (let k = 0; k < 6; k++) {
          const ofKey = ended.map((id) => place.get(id)!).filter((i) => i % 6 === k)
          assert.deepStrictEqual(
            ofKey,
            [...ofKey].sort((a, b) => a - b)
          )
        }
      })
  )

  it.live("a claim skips a key that an open transaction holds, and does not wait for it", () =>
    Effect.gen(function* () {
      const [one, two] = yield* twoProcesses
      const locked = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const outbox = yield* Effect.provide(Outbox, one)
      const free = written({ key: "free" })
      yield* outbox.enqueue([written({ key: "held" }), free])
      const scope = yield* Scope.make()
      const holding = yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const mine = yield* Outbox
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* mine.enqueue([written({ key: "held" })])
            yield* Deferred.succeed(locked, undefined)
            yield* Deferred.await(release)
          })
        )
      }).pipe(Effect.provide(two), Effect.forkIn(scope))
      yield* Deferred.await(locked)
      const claimed = yield* outbox.claim({
        owner: "a",
        topics: ["t"],
        limit: 10,
        lease_ms: 60_000
      })
      assert.deepStrictEqual(
        claimed.map((m) => m.id),
        [free.id]
      )
      yield* Deferred.succeed(release, undefined)
      yield* eventually(
        Effect.sync(() => holding.pollUnsafe()),
        (exit) => exit !== undefined
      )
      const rest = yield* outbox.claim({ owner: "a", topics: ["t"], limit: 10, lease_ms: 60_000 })
      assert.deepStrictEqual(
        rest.map((m) => m.key),
        ["held"]
      )
      yield* Scope.close(scope, Exit.void)
    })
  )
})
