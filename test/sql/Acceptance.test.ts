/** Acceptance of many messages at once: one statement for many, each with an answer of its own. */
import type { Vitest } from "@effect/vitest"
import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import { TaskStore } from "../../services/TaskStore.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { AgentName } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import type { Needs } from "./Engines.ts"
import { onEngines } from "./Engines.ts"
import * as Statements from "./Statements.ts"
import { inLongForm } from "../InLongForm.ts"

const accept = (task: NewTask) => Effect.flatMap(TaskStore, (tasks) => tasks.accept(task))

const together = { concurrency: "unbounded" } as const

const answers = (it: Vitest.MethodsNonLive<Needs>) => {
  it.effect("each of many at once gets its own answer, and no refusal fails another", () =>
    Effect.gen(function* () {
      const busy = yield* Samples.begin({ reject_when_busy: true })
      const key = Samples.unique("key")
      const known = Samples.newTask({ idempotency_key: key })
      yield* accept(known)
      const fresh = () => ({ id: Samples.runId(), message_id: Samples.messageId() })
      const wanted: ReadonlyArray<readonly [NewTask, string]> = [
        [Samples.newTask(), "created"],
        [{ ...known, ...fresh() }, "known"],
        [Samples.newTask({ idempotency_key: key }), "IdempotencyConflict"],
        [Samples.newTask({ waiting_max: 0 }), "MailboxFull"],
        [
          Samples.newTask({ conversation: busy.task.conversation, reject_when_busy: true }),
          "AgentBusy"
        ],
        [
          Samples.newTask({
            address: { agent: AgentName.make("spectral"), key: known.conversation }
          }),
          "AddressConflict"
        ],
        // Its id is taken, which fails the statement and not the messages beside it.
        [Samples.newTask({ id: known.id }), "StoreError"],
        [Samples.newTask({ idempotency_key: Samples.unique("key") }), "created"],
        [Samples.newTask(), "created"]
      ]
      // The first goes at once, alone, so that the others share what follows.
      const results = yield* Effect.forEach(
        [Samples.newTask(), ...wanted.map(([task]) => task)],
        (task) => Effect.result(accept(task)),
        together
      )
      assert.deepStrictEqual(
        results.slice(1).map((result) =>
          Result.match(result, {
            onFailure: ({ _tag }) => _tag,
            onSuccess: ({ created }) => (created ? "created" : "known")
          })
        ),
        wanted.map(([, answer]) => answer)
      )
    })
  )

  it.effect("an acceptance inside a transaction is made with it or not at all", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tasks = yield* TaskStore
      const task = Samples.newTask()
      const both = Effect.andThen(accept(task), Effect.fail("no"))
      yield* Effect.exit(sql.withTransaction(both))
      assert.isUndefined(yield* tasks.get(task.id))
      // One that is refused leaves the transaction as it was.
      const refused = Samples.newTask({ waiting_max: 0 })
      yield* sql.withTransaction(
        Effect.gen(function* () {
          assert.strictEqual((yield* Effect.flip(accept(refused)))._tag, "MailboxFull")
          const taken = Samples.newTask({ id: (yield* accept(task)).task.id })
          assert.strictEqual((yield* Effect.flip(accept(taken)))._tag, "StoreError")
        })
      )
      assert.isDefined(yield* tasks.get(task.id))
    })
  )
}

onEngines("acceptance", answers)

const counted = Statements.make()

layer(
  Layer.provide(Layer.provideMerge(SqlStores.layer, EmbeddedPostgres.layer), counted.layer).pipe(
    Layer.provideMerge(counted.layer)
  ),
  { excludeTestServices: true, timeout: "2 minutes" }
)("the statements of an acceptance (PostgreSQL)", (it) => {
  it.effect("one message is one statement, and so are messages of 100 conversations at once", () =>
    Effect.gen(function* () {
      yield* accept(Samples.newTask())
      counted.reset()
      yield* accept(Samples.newTask({ idempotency_key: Samples.unique("key") }))
      assert.strictEqual(counted.sent.length, 1, counted.sent.join("\n"))
      assert.strictEqual(counted.commits, 1)
      counted.reset()
      const tasks = Array.from({ length: 100 }, () => Samples.newTask())
      yield* Effect.forEach(tasks, accept, together)
      assert.strictEqual(counted.sent.length, 1, counted.sent.join("\n"))
    })
  )
})

const deadlocks = (url: Redacted.Redacted) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{
        n: number
      }>`SELECT deadlocks::int4 AS n FROM pg_stat_database WHERE datname = current_database()`,
      (rows) => rows[0]?.n
    )
  ).pipe(Effect.provide(Layer.fresh(Postgres.layer({ url }))))

describe("acceptances of two processes (PostgreSQL)", () => {
  inLongForm(
    "batches of the same conversations in opposite orders never wait for each other in a ring",
    () =>
      Effect.gen(function* () {
        const url = Redacted.make(yield* EmbeddedPostgres.migrated)
        const rounds = 15
        yield* Effect.gen(function* () {
          const build = Layer.build(
            Layer.fresh(Layer.provideMerge(SqlStores.layer, Postgres.layer({ url })))
          )
          const [one, two] = [yield* build, yield* build]
          const known = Array.from({ length: 40 }, () => Samples.newTask())
          yield* Effect.provide(Effect.forEach(known, accept, together), one)
          for (let round = 0; round < rounds; round++) {
            // Half of the conversations are known, the other half are made by both at once.
            const made = Array.from({ length: 40 }, () => Samples.newTask())
            const again = [...known, ...made].map(({ conversation }) => conversation)
            const all = (conversations: typeof again) =>
              Effect.forEach(
                conversations,
                (conversation) => accept(Samples.newTask({ conversation })),
                together
              )
            yield* Effect.all(
              [Effect.provide(all(again), one), Effect.provide(all(again.toReversed()), two)],
              together
            )
          }
          const tasks = yield* Effect.provide(TaskStore, one)
          for (const { conversation, tenant } of known) {
            const stored = yield* tasks.ofConversation(tenant, conversation, 0, 500)
            assert.deepStrictEqual(
              stored.map(({ ordinal }) => ordinal),
              Array.from({ length: 1 + 2 * rounds }, (_, i) => i + 1)
            )
          }
        }).pipe(Effect.scoped)
        // The sessions have ended, and have told what they know.
        assert.strictEqual(yield* deadlocks(url), 0)
      }).pipe(Effect.scoped)
  )

  it.live("a conversation that another transaction holds keeps no other message waiting", () =>
    Effect.gen(function* () {
      const url = Redacted.make(yield* EmbeddedPostgres.migrated)
      const build = Layer.build(
        Layer.fresh(Layer.provideMerge(SqlStores.layer, Postgres.layer({ url })))
      )
      const [one, two] = [yield* build, yield* build]
      const { conversation } = Samples.newTask()
      const key = Samples.unique("key")
      const next = () => Samples.newTask({ conversation })
      yield* Effect.provide(accept(next()), one)
      const locked = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const holding = yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* accept(next())
            yield* accept(Samples.newTask({ idempotency_key: key }))
            yield* Deferred.succeed(locked, undefined)
            yield* Deferred.await(release)
          })
        )
      }).pipe(Effect.provide(two), Effect.forkChild)
      yield* Deferred.await(locked)
      const waiting = yield* Effect.forkChild(Effect.provide(accept(next()), one))
      const same = Samples.newTask({ idempotency_key: key })
      const keyed = yield* Effect.forkChild(Effect.exit(Effect.provide(accept(same), one)))
      yield* Effect.provide(
        Effect.forEach(
          Array.from({ length: 20 }, () => Samples.newTask()),
          accept,
          together
        ),
        one
      )
      assert.isUndefined(waiting.pollUnsafe())
      assert.isUndefined(keyed.pollUnsafe())
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(holding)
      assert.strictEqual((yield* Fiber.join(waiting)).task.ordinal, 3)
      const conflict = yield* Fiber.join(keyed)
      assert.isTrue(Exit.isFailure(conflict))
    }).pipe(Effect.scoped)
  )
})
