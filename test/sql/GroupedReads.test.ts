/** Reads of concurrent callers share statements, and each caller gets what it would have got alone. */
import { assert } from "@effect/vitest"
import { Effect, Exit, Fiber, Logger, References, Result, Scope } from "effect"
import { SqlClient, Statement } from "effect/sql"
import * as GroupedReads from "../../layers/sql/engine/GroupedReads.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { RunReader } from "../../services/RunReader.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "./Engines.ts"
import { sessionRole } from "./SessionRole.ts"

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

const together = { concurrency: "unbounded" } as const

/** Doubles numbers in the database; `statements` has the numbers of each. */
const doubling = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const statements: Array<ReadonlyArray<number>> = []
  const double = yield* GroupedReads.make({
    sql,
    batch_max: 50,
    read: (keys: ReadonlyArray<number>) =>
      Effect.suspend(() => {
        statements.push(keys)
        return Effect.map(
          sql.unsafe<{ double: number }>(
            `SELECT 2 * k * (1000 - k) / (1000 - k) AS double FROM unnest($1::int4[]) AS u(k)`,
            [keys]
          ),
          (rows) => rows.map((row) => row.double)
        )
      })
  })
  return { double, statements }
})

onEngines("grouped reads", (it) => {
  it.effect("64 callers at once are answered by two statements of at most 50", () =>
    Effect.gen(function* () {
      const { double, statements } = yield* doubling
      const answers = yield* Effect.forEach(numbers(64), double, together)
      assert.deepStrictEqual(
        answers,
        numbers(64).map((n) => 2 * n)
      )
      assert.deepStrictEqual(
        statements.map(({ length }) => length),
        [50, 14]
      )
    })
  )

  it.effect("of four kinds of reads that come at once two are under way at a time", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const under_way = { now: 0, most: 0 }
      const kinds = yield* Effect.forEach(numbers(4), () =>
        GroupedReads.make({
          sql,
          batch_max: 50,
          read: (keys: ReadonlyArray<number>) =>
            Effect.suspend(() => {
              under_way.most = Math.max(under_way.most, ++under_way.now)
              return Effect.as(Effect.andThen(Effect.yieldNow, sql.unsafe(`SELECT 1`)), keys)
            }).pipe(Effect.ensuring(Effect.sync(() => under_way.now--)))
        })
      )
      const answers = yield* Effect.forEach(kinds, (read, n) => read(n), together)
      assert.deepStrictEqual(answers, numbers(4))
      assert.deepStrictEqual(under_way, { now: 0, most: 2 })
    })
  )

  it.effect("reads that are never answered keep no other kind from its answers", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { double } = yield* doubling
      const silent = yield* Effect.forEach(numbers(3), () =>
        GroupedReads.make({ sql, batch_max: 50, read: () => Effect.never })
      )
      const waiting = yield* Effect.forEach(silent, (read, n) =>
        Effect.forkChild(read(n), { startImmediately: true })
      )
      assert.deepStrictEqual(yield* Effect.forEach(numbers(3), double, together), [0, 2, 4])
      assert.isTrue(waiting.every((fiber) => fiber.pollUnsafe() === undefined))
      yield* Fiber.interruptAll(waiting)
      assert.deepStrictEqual(yield* Effect.forEach(numbers(3), double, together), [0, 2, 4])
    })
  )

  it.effect("a read that the database refuses fails alone", () =>
    Effect.gen(function* () {
      const { double } = yield* doubling
      // The database divides by 0 for it.
      const answers = yield* Effect.forEach(
        [1, 1_000, 2],
        (n) => Effect.result(double(n)),
        together
      )
      assert.deepStrictEqual(answers.map(Result.isSuccess), [true, false, true])
    })
  )

  it.effect("a caller that leaves before its statement is not read, and the others are", () =>
    Effect.gen(function* () {
      const { double, statements } = yield* doubling
      const leaving = yield* Effect.forkChild(double(7), { startImmediately: true })
      const staying = yield* Effect.forkChild(double(8), { startImmediately: true })
      yield* Fiber.interrupt(leaving)
      yield* Fiber.join(staying)
      assert.deepStrictEqual(statements, [[8]])
    })
  )

  it.effect("a caller that leaves while it reads for others leaves them their answers", () =>
    Effect.gen(function* () {
      const { double, statements } = yield* doubling
      const reading = yield* Effect.forkChild(double(1), { startImmediately: true })
      const others = yield* Effect.forkChild(Effect.forEach([2, 3], double, together), {
        startImmediately: true
      })
      while (statements.length === 0) yield* Effect.yieldNow
      yield* Fiber.interrupt(reading)
      assert.deepStrictEqual(yield* Fiber.join(others), [4, 6])
      assert.deepStrictEqual(statements[0], [1, 2, 3])
    })
  )

  it.effect("a caller that leaves before it reads leaves the others their answers", () =>
    Effect.gen(function* () {
      const { double } = yield* doubling
      // A fiber yields after so many operations, and is interrupted there: at each place of a read once.
      for (const ops of numbers(64)) {
        const late = Effect.andThen(Effect.void, double(ops))
        const few = Effect.provideService(late, References.MaxOpsBeforeYield, 16 + ops)
        const busy = numbers(16).reduce((then) => Effect.andThen(Effect.void, then), few)
        const fiber = yield* Effect.forkChild(busy, { startImmediately: true })
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(yield* double(ops), 2 * ops)
      }
    })
  )

  it.effect("who reads inside a transaction sees what it has written", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tasks = yield* TaskStore
      const { task } = yield* Samples.begin()
      const within = yield* sql.withTransaction(
        Effect.andThen(
          sql.unsafe(`UPDATE troupe.agent_tasks SET status = 3 WHERE id = $1::uuid`, [task.id]),
          tasks.get(task.id)
        )
      )
      assert.strictEqual(within?.status, "failed")
    })
  )

  it.effect("who asks after the end is interrupted, and waits for nothing", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { double } = yield* Scope.provide(doubling, scope)
      const waiting = yield* Effect.forkChild(double(1), { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isFailure(yield* Fiber.await(waiting)))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(double(2))))
    })
  )
})

onEngines("what principals read at once", (it) => {
  it.effect("is read by one statement for each tenant, in its role", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const tenants = [Samples.tenant(), Samples.tenant()]
      const begun = yield* Effect.forEach(numbers(32), (n) =>
        Samples.begin({ tenant: tenants[n % 2]! })
      )
      const sent: Array<string> = []
      const noting = Effect.provideService(Statement.CurrentTransformer, (statement, sql) =>
        Effect.orDie(
          Effect.map(sessionRole(sql), (role) => {
            sent.push(`${role}: ${statement.compile()[0]}`)
            return statement
          })
        )
      )
      const answers = yield* noting(
        Effect.forEach(begun, ({ run, task }) => tasks.read(task.tenant, run), together)
      )
      assert.deepStrictEqual(
        answers.map((task) => task?.id),
        begun.map(({ run }) => run)
      )
      const reads = sent.filter((text) => text.includes("FROM troupe.agent_tasks"))
      assert.lengthOf(reads, tenants.length)
      for (const read of reads) assert.match(read, /^troupe_tenant_/)
    })
  )
})

onEngines("what watchers and actors read at once", (it) => {
  const begun = Effect.forEach(numbers(20), () => Samples.begin())

  it.effect("is for each caller what it would have got alone", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const tasks = yield* TaskStore
      const conversations = yield* ConversationStore
      const runs = yield* begun
      const read = Effect.fnUntraced(function* ({ run, task }: (typeof runs)[number]) {
        const { address, conversation, tenant } = task
        return {
          task: yield* tasks.get(run),
          listed: yield* tasks.ofConversation(tenant, conversation, 0, 100),
          none: yield* tasks.ofConversation(tenant, conversation, 1, 100),
          home: yield* conversations.get(tenant, conversation),
          first: yield* reader.read(run, 0, 1),
          page: yield* reader.read(run, 0, 16),
          behind: yield* reader.read(run, 1, 16),
          unfinished: yield* reader.unfinished(tenant, address, 1)
        }
      })
      const atOnce = yield* Effect.forEach(runs, read, together)
      for (const [index, begun] of runs.entries()) {
        const { run, task } = begun
        const alone = yield* read(begun)
        assert.deepStrictEqual(atOnce[index], alone)
        assert.strictEqual(alone.task?.id, run)
        assert.deepStrictEqual(
          alone.listed.map(({ id }) => id),
          [run]
        )
        assert.deepStrictEqual(alone.none, [])
        assert.strictEqual(alone.home?.id, task.conversation)
        assert.strictEqual(alone.first.length, 1)
        assert.isAbove(alone.page.length, 1)
        assert.deepStrictEqual(alone.behind, alone.page.slice(1))
        assert.deepStrictEqual(alone.page, yield* reader.read(run, 0, 10_000))
        assert.deepStrictEqual(
          alone.unfinished.map(({ run_id }) => run_id),
          [run]
        )
      }
    })
  )

  it.effect("hides no run behind one whose event cannot be read", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const reader = yield* RunReader
      const [spoilt, gap, ...others] = yield* begun
      assert.isDefined(spoilt)
      assert.isDefined(gap)
      yield* sql.unsafe(
        `UPDATE troupe.run_events SET payload = '{"_tag":"Unheard"}' WHERE run_id = $1::uuid AND seq = 1`,
        [spoilt.run]
      )
      yield* sql.unsafe(`DELETE FROM troupe.run_events WHERE run_id = $1::uuid AND seq = 0`, [
        gap.run
      ])
      const read = (run: (typeof others)[number]["run"]) => Effect.result(reader.read(run, 0, 16))
      const [first, second, ...rest] = yield* Effect.forEach(
        [spoilt, gap, ...others],
        ({ run }) => read(run),
        together
      )
      assert.deepInclude(Result.getOrUndefined(Result.flip(first ?? Result.succeed([]))), {
        _tag: "RunQuarantined",
        reason: "unknown_event",
        seq: 1
      })
      assert.deepInclude(Result.getOrUndefined(Result.flip(second ?? Result.succeed([]))), {
        _tag: "RunQuarantined",
        reason: "gap",
        seq: 0
      })
      for (const each of rest) assert.isTrue(Result.isSuccess(each))
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect(
    "is read alone where it is long: many tasks, and more bytes than a statement shares",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const reader = yield* RunReader
        const tasks = yield* TaskStore
        const { run, task } = yield* Samples.begin()
        const { conversation, tenant } = task
        for (const _ of numbers(4)) yield* Samples.begin({ conversation, address: task.address })
        const listed = yield* tasks.ofConversation(tenant, conversation, 0, 100)
        assert.deepStrictEqual(
          listed.map(({ ordinal }) => ordinal),
          [1, 2, 3, 4, 5]
        )
        assert.strictEqual((yield* tasks.ofConversation(tenant, conversation, 0, 2)).length, 2)
        yield* sql.unsafe(
          `UPDATE troupe.run_events SET payload = replace(payload, '"message":"', '"message":"' || repeat('x', 200000))
         WHERE run_id = $1::uuid AND seq = 0`,
          [run]
        )
        const [long] = yield* reader.read(run, 0, 16)
        assert.isTrue(long?.event._tag === "RunAccepted" && long.event.message.length > 200_000)
      })
  )
})
