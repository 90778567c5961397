import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, References, Scope } from "effect"
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

const from = (first: number, count: number) => numbers(count).map((n) => first + n)

/** A store that answers each batch when it is told to. */
const gated = Effect.gen(function* () {
  const open: Array<{
    readonly rows: ReadonlyArray<number>
    readonly go: Deferred.Deferred<void>
  }> = []
  const write = yield* GroupCommit.make<Row, number, Refused>({
    commit: (batch) =>
      Effect.suspend(() => {
        const rows = batch.map(({ n }) => n)
        const go = Deferred.makeUnsafe<void>()
        open.push({ rows, go })
        return Effect.as(Deferred.await(go), rows)
      }),
    batch_max: 100,
    batch_size_max: 1_000,
    queue_max: 1_000,
    overflow: () => ({ lost: false, why: "full" })
  })
  yield* Effect.addFinalizer(() =>
    Effect.forEach(open, ({ go }) => Deferred.succeed(go, undefined), { discard: true })
  )
  // Whoever has something to do has done it.
  const turn = Effect.forEach(numbers(8), () => Effect.yieldNow, { discard: true })
  const answered: Array<number> = []
  return {
    /** Batches that are being written, the oldest first. */
    writing: () => open.map(({ rows }) => rows),
    answered,
    send: (rows: ReadonlyArray<Row>) =>
      Effect.andThen(
        Effect.forEach(
          rows,
          (each) => Effect.forkDetach(Effect.map(write(each), (n) => answered.push(n))),
          { discard: true }
        ),
        turn
      ),
    /** Answers the oldest of them, or the one at this place. */
    answer: (place = 0) =>
      Effect.suspend(() => {
        const [batch] = open.splice(place, 1)
        return batch === undefined
          ? Effect.die("nothing is being written")
          : Effect.andThen(Deferred.succeed(batch.go, undefined), turn)
      })
  }
})

it.effect("items that come while a batch is being written wait, and share the next one", () =>
  Effect.gen(function* () {
    const { answer, answered, send, writing } = yield* gated
    yield* send(from(0, 50).map((n) => row(n)))
    assert.deepStrictEqual(writing(), [[0]])
    yield* send(from(50, 50).map((n) => row(n)))
    assert.deepStrictEqual(writing(), [[0]])
    yield* answer()
    assert.deepStrictEqual(writing(), [from(1, 99)])
    yield* answer()
    assert.deepStrictEqual(writing(), [])
    assert.strictEqual(new Set(answered).size, 100)
  })
)

it.effect("a lane that waits keeps its order, and no batch has it twice", () =>
  Effect.gen(function* () {
    const { answer, answered, send, writing } = yield* gated
    const lanes = numbers(48)
    const round = (first: number) => send(lanes.map((lane) => row(first + lane, `run-${lane}`)))
    yield* send([row(0, "run-0")])
    yield* round(1_000)
    yield* round(2_000)
    while (writing().length > 0) {
      assert.strictEqual(writing().length, 1)
      const of = writing()
        .flat()
        .map((n) => n % 1_000)
      assert.strictEqual(new Set(of).size, of.length)
      yield* answer()
    }
    assert.strictEqual(answered.length, 1 + 2 * lanes.length)
    for (const lane of lanes) {
      assert.isBelow(answered.indexOf(1_000 + lane), answered.indexOf(2_000 + lane))
    }
    assert.isBelow(answered.indexOf(0), answered.indexOf(1_000))
  })
)

it.effect("a writer that is interrupted before it writes delays nobody", () =>
  Effect.gen(function* () {
    const write = yield* store().make
    // A fiber yields after so many operations, and is interrupted there: at each place of a write once.
    for (const ops of numbers(64)) {
      const late = Effect.andThen(Effect.void, write(row(ops)))
      const few = Effect.provideService(late, References.MaxOpsBeforeYield, 16 + ops)
      const busy = numbers(16).reduce((then) => Effect.andThen(Effect.void, then), few)
      const fiber = yield* Effect.forkChild(busy, { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* write(row(100 + ops)), 100 + ops)
    }
  })
)
