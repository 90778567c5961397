import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import * as GroupCommit from "../../layers/sql/journal/GroupCommit.ts"

interface Row extends GroupCommit.Item {
  readonly n: number
}

interface Refused extends GroupCommit.CommitError {
  readonly why: string
}

const row = (n: number, lane = `run-${n}`, size = 1): Row => ({ n, lane, size })

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

/** A store that answers with the row's number, refuses what `fault` names, and yields as a database does. */
const store = (
  fault: (batch: ReadonlyArray<Row>) => Refused | undefined = () => undefined,
  bounds: Partial<GroupCommit.Options<Row, number, Refused>> = {}
) => {
  const batches: Array<ReadonlyArray<number>> = []
  const options: GroupCommit.Options<Row, number, Refused> = {
    commit: (batch) =>
      Effect.andThen(Effect.yieldNow, () => {
        batches.push(batch.map(({ n }) => n))
        const refused = fault(batch)
        return refused === undefined
          ? Effect.succeed(batch.map(({ n }) => n))
          : Effect.fail(refused)
      }),
    batch_max: 100,
    batch_size_max: 1_000,
    queue_max: 1_000,
    overflow: () => ({ lost: false, why: "full" }),
    ...bounds
  }
  return { batches, make: GroupCommit.make(options) }
}

it.effect("a committer that gathers writes the first with those that come at the same moment", () =>
  Effect.gen(function* () {
    const { batches, make } = store(undefined, { gathers: true })
    const write = yield* make
    const all = Effect.forEach(numbers(64), (n) => write(row(n)), { concurrency: "unbounded" })
    assert.deepStrictEqual(yield* all, numbers(64))
    // The committer has nothing left, and waits.
    const idle = Effect.forEach(numbers(5), () => Effect.yieldNow, { discard: true })
    yield* idle
    assert.deepStrictEqual(yield* all, numbers(64))
    yield* idle
    assert.strictEqual(yield* write(row(64)), 64)
    assert.deepStrictEqual(batches, [numbers(64), numbers(64), [64]])
  })
)

it.effect(
  "a crowd that was answered together writes again together, and who is alone at once",
  () =>
    Effect.gen(function* () {
      const { batches, make } = store()
      const write = yield* make
      const all = (...rows: ReadonlyArray<number>) =>
        Effect.andThen(
          Effect.forEach(rows, (n) => write(row(n)), { concurrency: "unbounded" }),
          // The committer has nothing left, and waits.
          Effect.forEach(numbers(5), () => Effect.yieldNow, { discard: true })
        )
      yield* all(...numbers(64))
      yield* all(...numbers(64))
      yield* all(64)
      yield* all(65, 66)
      assert.deepStrictEqual(batches, [[0], numbers(64).slice(1), numbers(64), [64], [65], [66]])
    })
)

it.effect("concurrent writers share a batch, and each gets its own answer", () =>
  Effect.gen(function* () {
    const { batches, make } = store()
    const write = yield* make
    const answers = yield* Effect.forEach(numbers(64), (n) => write(row(n)), {
      concurrency: "unbounded"
    })
    assert.deepStrictEqual(answers, numbers(64))
    assert.deepStrictEqual(batches, [[0], numbers(64).slice(1)])
  })
)

it.effect("writes of one lane never share a batch and keep their order", () =>
  Effect.gen(function* () {
    const { batches, make } = store()
    const write = yield* make
    yield* Effect.forEach(numbers(12), (n) => write(row(n, `run-${n % 2}`)), {
      concurrency: "unbounded"
    })
    for (const batch of batches)
      assert.strictEqual(new Set(batch.map((n) => n % 2)).size, batch.length)
    const order = batches.flat()
    for (const parity of [0, 1]) {
      const lane = order.filter((n) => n % 2 === parity)
      assert.deepStrictEqual(
        lane,
        numbers(12).filter((n) => n % 2 === parity)
      )
    }
  })
)

it.effect("a batch is bounded by its items and by its size, and a great item goes alone", () =>
  Effect.gen(function* () {
    const { batches, make } = store(undefined, { batch_max: 3, batch_size_max: 10 })
    const write = yield* make
    const rows = [...numbers(7).map((n) => row(n)), row(7, "great", 50), row(8), row(9)]
    yield* Effect.forEach(rows, write, { concurrency: "unbounded" })
    assert.deepStrictEqual(batches, [[0], [1, 2, 3], [4, 5, 6], [7], [8, 9]])
  })
)

it.effect("one poison write among 64 fails alone, in fewer commits than one by one", () =>
  Effect.gen(function* () {
    const poison = (batch: ReadonlyArray<Row>) =>
      batch.some(({ n }) => n === 40) ? { lost: false, why: "poison" } : undefined
    const { batches, make } = store(poison)
    const write = yield* make
    const exits = yield* Effect.forEach(numbers(64), (n) => Effect.exit(write(row(n))), {
      concurrency: "unbounded"
    })
    assert.deepStrictEqual(
      exits.flatMap((exit, n) => (Exit.isFailure(exit) ? [n] : [])),
      [40]
    )
    assert.isAtMost(batches.length, 14)
  })
)

it.effect("a batch of unknown outcome fails whole and is not sent again", () =>
  Effect.gen(function* () {
    const { batches, make } = store((batch) =>
      batch.length > 1 ? { lost: true, why: "gone" } : undefined
    )
    const write = yield* make
    const exits = yield* Effect.forEach(numbers(10), (n) => Effect.exit(write(row(n))), {
      concurrency: "unbounded"
    })
    assert.strictEqual(exits.filter(Exit.isFailure).length, 9)
    assert.strictEqual(batches.length, 2)
  })
)

it.effect("a full queue refuses, and takes again when it has room", () =>
  Effect.gen(function* () {
    const { make } = store(undefined, { queue_max: 2 })
    const write = yield* make
    const exits = yield* Effect.forEach(numbers(5), (n) => Effect.exit(write(row(n))), {
      concurrency: "unbounded"
    })
    assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, true, false, false])
    assert.strictEqual(yield* write(row(9)), 9)
  })
)

it.effect("an interrupted writer withdraws what waits and is not answered by a later batch", () =>
  Effect.gen(function* () {
    const gate = Deferred.makeUnsafe<void>()
    const written: Array<number> = []
    const write = yield* GroupCommit.make<Row, number, Refused>({
      commit: (batch) =>
        Effect.as(
          Effect.andThen(
            Deferred.await(gate),
            Effect.sync(() => written.push(...batch.map(({ n }) => n)))
          ),
          batch.map(({ n }) => n)
        ),
      batch_max: 10,
      batch_size_max: 10,
      queue_max: 10,
      overflow: () => ({ lost: false, why: "full" })
    })
    const first = yield* Effect.forkChild(write(row(1)), { startImmediately: true })
    const second = yield* Effect.forkChild(write(row(2)), { startImmediately: true })
    const third = yield* Effect.forkChild(write(row(3)), { startImmediately: true })
    yield* Fiber.interrupt(second)
    yield* Deferred.succeed(gate, undefined)
    yield* Fiber.join(first)
    yield* Fiber.join(third)
    assert.deepStrictEqual(written, [1, 3])
  })
)

it.effect("closing interrupts those that wait", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const gate = Deferred.makeUnsafe<void>()
    const write = yield* Scope.provide(
      GroupCommit.make<Row, number, Refused>({
        commit: (batch) =>
          Effect.as(
            Deferred.await(gate),
            batch.map(({ n }) => n)
          ),
        batch_max: 1,
        batch_size_max: 10,
        queue_max: 10,
        overflow: () => ({ lost: false, why: "full" })
      }),
      scope
    )
    const first = yield* Effect.forkChild(write(row(1)), { startImmediately: true })
    const waiting = yield* Effect.forkChild(write(row(2)), { startImmediately: true })
    yield* Scope.close(scope, Exit.void)
    assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(waiting)))
    yield* Deferred.succeed(gate, undefined)
    assert.strictEqual(yield* Fiber.join(first), 1)
    assert.isTrue(Exit.hasInterrupts(yield* Effect.exit(write(row(3)))))
  })
)
