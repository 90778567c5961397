import type { Vitest } from "@effect/vitest"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import type { FoldState } from "../../src/run/RunState.ts"
import { fold } from "../../src/run/RunFold.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import type { Needs } from "./Engines.ts"
import { onEngines } from "./Engines.ts"

const text = (run: Samples.Begun["run"]) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ payload: string }>`SELECT payload FROM troupe.run_events WHERE run_id = ${run}::uuid`,
      (rows) => rows.reduce((size, { payload }) => size + payload.length, 0)
    )
  )

const claims = (it: Vitest.MethodsNonLive<Needs>) => {
  it.effect("a run whose events are too many for one row is claimed with all of them", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const said = Array.from({ length: 6 }, (_, step) =>
        Samples.modelTurned(step + 1, 0, undefined, "ü".repeat(200_000))
      )
      const { run } = yield* Samples.begin({}, said)
      assert.isAbove(yield* text(run), 1_000_000)
      const claim = yield* ownership.claim(run, "heir")
      assert.deepStrictEqual(claim, yield* Samples.snapshot(run))
    })
  )

  it.effect(
    "a run of large results is claimed and amended without them, in the state of its journal",
    () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const reader = yield* RunReader
        const ownership = yield* RunOwnership
        const json = JSON.stringify("a & b <|im_start|> ".repeat(30_000))
        const results = Array.from({ length: 4 }, (_, index) =>
          Samples.callSettled(callId(rootFrame, 1, index), { _tag: "Value", json })
        )
        const { run } = yield* Samples.begin({}, [Samples.modelTurned(1, 4), ...results])
        const transcriptOf = (state: FoldState) =>
          JSON.stringify(state.frames.get(rootFrame)?.transcript)
        const { entries } = yield* ownership.claim(run, "heir")
        const whole = yield* reader.read(run, 0, 100)
        assert.isAbove(JSON.stringify(whole).length, 4 * json.length)
        assert.isBelow(JSON.stringify(entries).length, json.length)
        const folded = transcriptOf(fold(whole.map(({ event }) => event)))
        assert.strictEqual(transcriptOf(fold(entries.map(({ event }) => event))), folded)
        const amended = yield* journal.amend(run, (state) => ({
          events: [],
          answer: Result.succeed(transcriptOf(state))
        }))
        assert.strictEqual(amended, folded)
      })
  )

  it.effect("an event that cannot be read is named, and the claims beside it stand", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ownership = yield* RunOwnership
      const begun = yield* Effect.forEach(Array.from({ length: 8 }), () => Samples.begin())
      const spoilt = begun[3]!.run
      yield* sql`UPDATE troupe.run_events SET payload = '{"_tag' WHERE run_id = ${spoilt}::uuid AND seq = 0`
      const results = yield* Effect.forEach(
        begun,
        ({ run }) => Effect.result(ownership.claim(run, "heir")),
        { concurrency: "unbounded" }
      )
      const failed = results.flatMap((each, i) =>
        Result.isFailure(each) ? [[i, each.failure]] : []
      )
      assert.strictEqual(failed.length, 1)
      assert.strictEqual(failed[0]![0], 3)
      assert.deepInclude(failed[0]![1], {
        _tag: "RunQuarantined",
        run_id: spoilt,
        seq: 0,
        reason: "unreadable"
      })
    })
  )

  it.effect("a claim inside a transaction is made with it or not at all", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const { run } = yield* Samples.begin()
      const before = yield* Samples.snapshot(run)
      const claim = ownership.claim(run, "heir")
      yield* Effect.exit(sql.withTransaction(Effect.andThen(claim, Effect.fail("no"))))
      assert.deepStrictEqual(yield* Samples.snapshot(run), before)
      yield* sql.withTransaction(claim)
      assert.strictEqual((yield* reader.head(run)).epoch, before.head.epoch + 1)
    })
  )
}

onEngines("claims", claims)

describe("claims of two processes (PostgreSQL)", () => {
  it.live("a locked run keeps no other from its claim, and its own then tells all", () =>
    Effect.gen(function* () {
      const url = Redacted.make(yield* EmbeddedPostgres.migrated)
      const build = Layer.build(
        Layer.fresh(Layer.provideMerge(SqlStores.layer, Postgres.layer({ url })))
      )
      const [one, two] = [yield* build, yield* build]
      const begun = yield* Effect.provide(
        Effect.forEach(Array.from({ length: 8 }), () => Samples.begin()),
        one
      )
      const { fence, run: held } = begun[0]!
      const locked = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const body = Effect.andThen(Deferred.succeed(locked, undefined), Deferred.await(release))
      const holding = yield* Effect.forkChild(
        Effect.flatMap(RunJournal, (journal) =>
          journal.transact(held, fence, body, (exit) => ({
            events: [Samples.modelTurned(1, 0, undefined, Exit.isSuccess(exit) ? "wrote" : "")],
            status: "processing"
          }))
        ).pipe(Effect.provide(two))
      )
      yield* Deferred.await(locked)
      const ownership = yield* Effect.provide(RunOwnership, one)
      const waiting = yield* Effect.forkChild(ownership.claim(held, "heir"))
      yield* Effect.forEach(begun.slice(1), ({ run }) => ownership.claim(run, "heir"), {
        concurrency: "unbounded"
      })
      assert.isUndefined(waiting.pollUnsafe())
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(holding)
      const claim = yield* Fiber.join(waiting)
      assert.deepInclude(claim.entries.at(-2)?.event, { _tag: "ModelTurned", text: "wrote" })
      assert.strictEqual(claim.entries.length, claim.head.length)
    }).pipe(Effect.scoped)
  )
})
