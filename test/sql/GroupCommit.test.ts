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

const { share_min } = GroupCommit

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
    overflow: () => ({ lost: false, why: "full" }),
    writers: 2
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

it.effect("a few wait for the batch that is being written, and enough of them do not", () =>
  Effect.gen(function* () {
    const { answer, answered, send, writing } = yield* gated
    yield* send(from(0, share_min).map((n) => row(n)))
    assert.deepStrictEqual(writing(), [[0]])
    yield* send([row(share_min)])
    assert.deepStrictEqual(writing(), [[0], from(1, share_min)])
    // There are two writers.
    yield* send(from(100, 3 * share_min).map((n) => row(n)))
    assert.strictEqual(writing().length, 2)
    yield* answer()
    assert.deepStrictEqual(writing(), [from(1, share_min), from(100, 3 * share_min)])
    yield* answer()
    yield* answer()
    assert.deepStrictEqual(writing(), [])
    assert.strictEqual(new Set(answered).size, 1 + 4 * share_min)
  })
)

it.effect("a crowd that comes while nothing is written is written in halves", () =>
  Effect.gen(function* () {
    const { answer, answered, send, writing } = yield* gated
    const crowd = (first: number, count: number) => send(from(first, count).map((n) => row(n)))
    yield* crowd(0, 3)
    yield* answer()
    assert.deepStrictEqual(writing(), [[1, 2]])
    yield* answer()
    yield* crowd(100, 2 * share_min)
    assert.deepStrictEqual(writing(), [from(100, share_min), from(100 + share_min, share_min)])
    yield* answer()
    yield* answer()
    yield* crowd(200, 2 * share_min - 1)
    assert.deepStrictEqual(writing(), [from(200, 2 * share_min - 1)])
    yield* answer()
    assert.strictEqual(answered.length, 4 * share_min + 2)
  })
)

it.effect("no lane is in two batches that are written at a time, and each keeps its order", () =>
  Effect.gen(function* () {
    const { answer, answered, send, writing } = yield* gated
    const lanes = numbers(2 * share_min)
    const round = (first: number) => send(lanes.map((lane) => row(first + lane, `run-${lane}`)))
    yield* send([row(0, "run-0")])
    yield* round(1_000)
    yield* round(2_000)
    while (writing().length > 0) {
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

for (const [ended, place] of [
  ["who writes alone has ended", 0],
  ["the batch has ended", 1]
] as const) {
  it.effect(`a lane that is being written waits where ${ended} and the other has not`, () =>
    Effect.gen(function* () {
      const { answer, answered, send, writing } = yield* gated
      yield* send([row(0), ...from(1, share_min).map((n) => row(n))])
      assert.strictEqual(writing().length, 2)
      yield* answer(place)
      const before = writing()
      assert.strictEqual(before.length, 1)
      const lane = before.flat()[0]
      yield* send([row(100, `run-${lane}`)])
      assert.deepStrictEqual(writing(), before)
      yield* answer()
      assert.deepStrictEqual(writing(), [[100]])
      yield* answer()
      assert.strictEqual(answered.length, 2 + share_min)
    })
  )
}
