/** What the statement and the committer promise together, on both engines. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Cause, Effect, Exit, Random } from "effect"
import { SqlClient } from "effect/sql"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunNews } from "../../services/RunNews.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import type { Needs } from "./Engines.ts"
import { onEngines } from "./Engines.ts"
import { isFull } from "../Long.ts"

/** A run without a task, claimed. */
const claimed = Effect.fnUntraced(function* (owner = "a") {
  const journal = yield* RunJournal
  const ownership = yield* RunOwnership
  const task = Samples.newTask()
  yield* journal.create(task.id, 1, Samples.runAccepted(task))
  const { head } = yield* ownership.claim(task.id, owner)
  return { run: task.id, fence: { epoch: head.epoch, length: head.length } }
})

const all = { concurrency: "unbounded" } as const

/** Every event has its place, and the head counts them. */
const assertWhole = Effect.fnUntraced(function* (run: RunId) {
  const reader = yield* RunReader
  const entries = yield* reader.read(run, 0, 10_000)
  assert.deepStrictEqual(
    entries.map(({ seq }) => seq),
    entries.map((_, index) => index)
  )
  assert.strictEqual((yield* reader.head(run)).length, entries.length)
  return entries
})

const concurrent = (it: Vitest.MethodsNonLive<Needs>) => {
  it.effect("the answers of runs of one conversation that end at once have a place each", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const sql = yield* SqlClient.SqlClient
      const { address, conversation, tenant } = Samples.newTask()
      const of = { address, conversation, tenant }
      const begun = yield* Effect.forEach([1, 2, 3, 4], () => Samples.begin(of))
      // The first is written alone, and the others together.
      yield* Effect.forEach(begun, ({ next }) => journal.append(next(Samples.runEnded())), all)
      const rows = yield* sql.unsafe<{
        readonly seq: number
        readonly run_id: string
        readonly by: string
      }>(
        `SELECT m.seq, m.run_id::text AS run_id, m.xmin::text AS by FROM troupe.conversation_messages m
         WHERE m.tenant = $1::text AND m.conversation = $2::text AND m.role = 'assistant' ORDER BY m.seq`,
        [tenant, conversation]
      )
      assert.deepStrictEqual(
        rows.map(({ seq }) => seq),
        [4, 5, 6, 7]
      )
      assert.deepStrictEqual(
        new Set(rows.map(({ run_id }) => run_id)),
        new Set(begun.map(({ run }) => run))
      )
      // A batch that the database refuses is halved until each is alone.
      assert.strictEqual(new Set(rows.map(({ by }) => by)).size, 2)
    })
  )

  it.effect("64 runs that append at once keep every event once and in order", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const runs = yield* Effect.forEach(Array.from({ length: 64 }), () => claimed())
      yield* Effect.forEach(
        runs,
        ({ fence, run }, i) =>
          Effect.gen(function* () {
            for (let step = 1; step <= 20; step++) {
              yield* journal.append({
                run,
                fence: { ...fence, length: fence.length + step - 1 },
                events: [Samples.modelTurned(step, 0, undefined, `${i}/${step}`)],
                status: "processing"
              })
            }
          }),
        all
      )
      for (const [i, { run }] of runs.entries()) {
        const texts = (yield* assertWhole(run)).flatMap(({ event }) =>
          event._tag === "ModelTurned" ? [event.text] : []
        )
        assert.deepStrictEqual(
          texts,
          Array.from({ length: 20 }, (_, step) => `${i}/${step + 1}`)
        )
      }
    })
  )

  it.effect("of two writers a run each append is written once, and stale ones fail alone", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const runs = yield* Effect.forEach(Array.from({ length: 32 }), () => claimed())
      let stale = 0
      let written = 0
      const writer = ({ fence, run }: (typeof runs)[number], text: string) =>
        Effect.gen(function* () {
          let length = fence.length
          for (let step = 0; step < 15; step++) {
            // Every tenth is sent behind a length that is certainly wrong.
            const wrong = (yield* Random.next) < 0.1
            const exit = yield* Effect.result(
              journal.append({
                run,
                fence: { epoch: fence.epoch, length: wrong ? length + 1_000 : length },
                events: [Samples.modelTurned(1, 0, undefined, text)],
                status: "processing"
              })
            )
            if (exit._tag === "Success") {
              written++
              length++
            } else {
              assert.strictEqual(exit.failure._tag, "StaleAppend")
              stale++
              length = (yield* reader.head(run)).length
            }
          }
        })
      yield* Effect.forEach(
        runs.flatMap((run) => [writer(run, "a"), writer(run, "b")]),
        (effect) => effect,
        all
      )
      assert.isAbove(stale, 0)
      let events = 0
      for (const { run } of runs) events += (yield* assertWhole(run)).length - 2
      assert.strictEqual(events, written)
    })
  )

  it.effect("an append that the database refuses fails alone among 64", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const runs = yield* Effect.forEach(Array.from({ length: 63 }), () => claimed())
      const append = (run: RunId, fence: (typeof runs)[number]["fence"]) =>
        Effect.exit(
          journal.append({ run, fence, events: [Samples.modelTurned(1)], status: "processing" })
        )
      const exits = yield* Effect.forEach(
        [
          ...runs.slice(0, 40),
          { run: "no-uuid" as RunId, fence: runs[0]!.fence },
          ...runs.slice(40)
        ],
        ({ fence, run }) => append(run, fence),
        all
      )
      const failed = exits.flatMap((exit, i) => (Exit.isFailure(exit) ? [i] : []))
      assert.deepStrictEqual(failed, [40])
      const error = Cause.findErrorOption((exits[40] as Exit.Failure<void, unknown>).cause)
      assert.deepInclude(error._tag === "Some" ? error.value : undefined, {
        _tag: "JournalError",
        lost: false
      })
      for (const { run } of runs) yield* assertWhole(run)
    })
  )

  it.effect("a zombie is refused under load, whenever its run is claimed", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const ownership = yield* RunOwnership
      const runs = yield* Effect.forEach(Array.from({ length: 32 }), () => claimed("zombie"))
      const work = ({ fence, run }: (typeof runs)[number]) =>
        Effect.gen(function* () {
          for (let length = fence.length; ; length++) {
            yield* journal.append({
              run,
              fence: { epoch: fence.epoch, length },
              events: [Samples.modelTurned(1)],
              status: "processing"
            })
          }
        })
      const steal = ({ run }: (typeof runs)[number]) =>
        Effect.andThen(
          Effect.flatMap(Random.nextIntBetween(0, 60), (ms) => Effect.sleep(ms)),
          ownership.claim(run, "heir")
        )
      const [ends] = yield* Effect.all(
        [
          Effect.forEach(runs, (run) => Effect.flip(work(run)), all),
          Effect.forEach(runs, steal, all)
        ],
        all
      )
      assert.isTrue(ends.every((error) => error._tag === "FencedOff"))
      for (const { run } of runs) {
        const last = (yield* assertWhole(run)).at(-1)!.event
        assert.deepStrictEqual(last, { _tag: "RunClaimed", epoch: 2, owner: "heir" })
      }
    })
  )
}

const ambient = (it: Vitest.MethodsNonLive<Needs>) => {
  it.effect("an append inside a transaction is written with it or not at all", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const journal = yield* RunJournal
      const { fence, run } = yield* claimed()
      const append = journal.append({
        run,
        fence,
        events: [Samples.modelTurned(1)],
        status: "processing"
      })
      yield* Effect.exit(sql.withTransaction(Effect.andThen(append, Effect.fail("no"))))
      assert.strictEqual((yield* assertWhole(run)).length, 2)
      const stale = journal.append({
        run,
        fence: { ...fence, length: 9 },
        events: [Samples.modelTurned(1)],
        status: "processing"
      })
      // A refusal in between leaves the transaction usable.
      yield* sql.withTransaction(Effect.andThen(Effect.flip(stale), append))
      assert.strictEqual((yield* assertWhole(run)).length, 3)
    })
  )

  it.effect("a listener hears of an append inside a transaction once that is committed", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const journal = yield* RunJournal
        const ownership = yield* RunOwnership
        const news = yield* RunNews
        const { fence, run } = yield* claimed()
        const told: Array<number> = []
        yield* news.onCommitted({
          accepts: (each) => each === run,
          onCommitted: ({ from }) => void told.push(from)
        })
        const events = [Samples.modelTurned(1)]
        const append = journal.append({ run, fence, events, status: "processing" })
        yield* Effect.exit(sql.withTransaction(Effect.andThen(append, Effect.fail("no"))))
        // A savepoint that is rolled back inside a transaction that is committed.
        yield* sql.withTransaction(
          Effect.exit(sql.withTransaction(Effect.andThen(append, Effect.fail("no"))))
        )
        yield* Effect.exit(
          sql.withTransaction(Effect.andThen(ownership.claim(run, "b"), Effect.fail("no")))
        )
        assert.deepStrictEqual(told, [])
        yield* sql.withTransaction(
          Effect.andThen(
            append,
            Effect.sync(() => assert.deepStrictEqual(told, []))
          )
        )
        assert.deepStrictEqual(told, [2])
      })
    )
  )

  it.effect("nothing follows the end of a run", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const { fence, run } = yield* claimed()
      yield* journal.append({ run, fence, events: [Samples.runEnded()], status: "complete" })
      const more = journal.append({
        run,
        fence: { ...fence, length: fence.length + 1 },
        events: [Samples.modelTurned(1)],
        status: "processing"
      })
      assert.strictEqual((yield* Effect.flip(more))._tag, "JournalError")
      assert.strictEqual((yield* assertWhole(run)).length, 3)
    })
  )

  if (isFull) {
    it.effect("bodies that write, fail, die and hang among appends of 32 runs block nobody", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const journal = yield* RunJournal
        yield* sql.unsafe(`CREATE TABLE side_effects (run uuid NOT NULL, step int4 NOT NULL)`)
        const runs = yield* Effect.forEach(Array.from({ length: 32 }), () => claimed())
        const events = (exit: Exit.Exit<unknown, unknown>) => ({
          events: [Samples.modelTurned(1, 0, undefined, Exit.isSuccess(exit) ? "wrote" : "undone")],
          status: "processing" as const
        })
        const body = (run: RunId, step: number, kind: number) => {
          const write = sql`INSERT INTO side_effects ${sql.insert({ run, step })}`
          switch (kind) {
            case 0:
              return Effect.andThen(write, Effect.fail("failed"))
            case 1:
              return Effect.andThen(write, Effect.die("died"))
            case 2:
              return Effect.andThen(write, sql`SELECT 1/0`)
            default:
              return write
          }
        }
        yield* Effect.forEach(
          runs,
          ({ fence, run }, i) =>
            Effect.gen(function* () {
              for (let step = 0; step < 10; step++) {
                const at = { ...fence, length: fence.length + step }
                const plain = { run, fence: at, ...events(Exit.fail("plain")) }
                if ((i + step) % 3 !== 0) yield* journal.append(plain)
                else if (i === 0 && step === 3) {
                  yield* journal.transact(
                    run,
                    at,
                    Effect.andThen(body(run, step, 9), Effect.never),
                    events
                  )
                } else yield* journal.transact(run, at, body(run, step, (i + step) % 5), events)
              }
            }),
          all
        )
        let wrote = 0
        for (const { run } of runs) {
          const entries = yield* assertWhole(run)
          assert.strictEqual(entries.length, 12)
          wrote += entries.filter(
            ({ event }) => event._tag === "ModelTurned" && event.text === "wrote"
          ).length
        }
        const [side] = yield* sql<{ n: number }>`SELECT count(*)::int4 AS n FROM side_effects`
        assert.isAbove(wrote, 0)
        assert.strictEqual(side?.n, wrote)
      })
    )
  }
}

onEngines("appends", (it) => {
  concurrent(it)
  ambient(it)
})
