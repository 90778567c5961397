/**
 * A connection that is lost within a transaction is a store that is away, for every port that has one: never a defect,
 * which would be a bug of ours and a 500 over HTTP.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import { inTransaction } from "../../layers/sql/engine/SqlFailure.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"

/** Whoever writes the table loses the connection in the middle of the transaction, as when the server goes. */
const losing = <A, E, R>(table: string, when: string, use: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe(`CREATE OR REPLACE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $body$
      BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(5); RETURN NULL; END $body$`)
    yield* sql.unsafe(
      `CREATE TRIGGER lose AFTER ${when} ON troupe.${table} EXECUTE FUNCTION lose()`
    )
    return yield* Effect.ensuring(
      use,
      Effect.ignoreCause(
        Effect.eventually(sql.unsafe(`DROP TRIGGER lose ON troupe.${table}`)).pipe(
          Effect.timeout("10 seconds")
        )
      )
    )
  })

const assertAway = <A, E extends { readonly _tag: string }>(
  exit: Exit.Exit<A, E>,
  tag: "StoreError" | "JournalError"
) => {
  assert.isTrue(Exit.isFailure(exit))
  if (Exit.isSuccess(exit)) return
  assert.deepStrictEqual(
    exit.cause.reasons.map((reason) =>
      reason._tag === "Fail" ? reason.error._tag : `${reason._tag} ${String(exit.cause)}`
    ),
    [tag]
  )
}

describe("a connection that is lost within a transaction", () => {
  layer(Layer.provideMerge(SqlStores.layer, EmbeddedPostgres.layer), {
    excludeTestServices: true,
    timeout: "2 minutes"
  })((it) => {
    it.effect("accepting a task fails as a store that is away", () =>
      Effect.gen(function* () {
        const tasks = yield* TaskStore
        const task = Samples.newTask()
        const accept = Effect.exit(tasks.accept(task))
        assertAway(yield* losing("agent_tasks", "INSERT", accept), "StoreError")
        assert.isUndefined(yield* tasks.get(task.id))
        assert.isTrue((yield* tasks.accept(task)).created)
      })
    )

    it.effect("enqueueing and replaying messages do", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const replayer = yield* OutboxReplayer
        const message = Samples.outboxMessage()
        const enqueue = Effect.exit(outbox.enqueue([message]))
        assertAway(yield* losing("outbox_keys", "INSERT", enqueue), "StoreError")
        yield* outbox.enqueue([message])
        yield* outbox.claim({ owner: "a", topics: [message.topic], limit: 1, lease_ms: 60_000 })
        yield* outbox.failed(message.id, "a", "no", undefined)
        const { id: event_id, tenant } = message
        const replay = Effect.exit(replayer.replay({ event_id, tenant, reason: "r", by: "ann" }))
        assertAway(yield* losing("dead_letters", "UPDATE", replay), "StoreError")
      })
    )

    it.effect("amending a run, and a body in its transaction, fail as a journal that is away", () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const reader = yield* RunReader
        const { fence, run } = yield* Samples.begin()
        const turned = Samples.modelTurned(1)
        const amend = journal.amend(run, () => ({ answer: Result.void, events: [turned] }))
        assertAway(yield* losing("run_pairs", "INSERT", Effect.exit(amend)), "JournalError")
        const transact = journal.transact(run, fence, Effect.void, () => ({
          events: [turned],
          status: "processing"
        }))
        assertAway(yield* losing("run_pairs", "INSERT", Effect.exit(transact)), "JournalError")
        assert.strictEqual((yield* reader.head(run)).length, fence.length)
        yield* transact
      })
    )

    it.effect("a bug in a transaction stays a defect, with and without the connection", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const bug = new Error("a bug")
        const lose = Effect.ignoreCause(sql`SELECT pg_terminate_backend(pg_backend_pid())`)
        for (const before of [Effect.void, lose]) {
          const exit = yield* Effect.exit(
            inTransaction(sql)(Effect.andThen(before, Effect.die(bug)))
          )
          assert.isTrue(Exit.isFailure(exit))
          if (Exit.isFailure(exit)) assert.strictEqual(Cause.squash(exit.cause), bug)
        }
        const refused = inTransaction(sql)(Effect.orDie(sql`SELECT 1 / 0`))
        const exit = yield* Effect.exit(refused)
        assert.isTrue(
          Exit.isFailure(exit) && exit.cause.reasons.every(({ _tag }) => _tag === "Die")
        )
      })
    )
  })
})
