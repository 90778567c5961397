/** A stream as an async iterable. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Stream } from "effect"
import { asyncIterables } from "../../layers/compose/AsyncStream.ts"

const asyncIterable = asyncIterables(Context.empty())

const iterate = <A, E>(stream: Stream.Stream<A, E>) => asyncIterable(stream)[Symbol.asyncIterator]()

/** A stream of these chunks, which counts its pulls and says whether its scope has closed. */
const chunked = (chunks: ReadonlyArray<readonly [number, ...Array<number>]>) => {
  const seen = { pulls: 0, closed: 0 }
  const stream = Stream.fromArrays(...chunks).pipe(
    Stream.chunks,
    Stream.tap(() => Effect.sync(() => void seen.pulls++)),
    Stream.flattenArray,
    Stream.ensuring(Effect.sync(() => void seen.closed++))
  )
  return { seen, stream }
}

/** A stream that waits for ever, and says whether it was interrupted. */
const waiting = () => {
  const seen = { interrupted: false, closed: false }
  const stream = Stream.fromEffect(
    Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (seen.interrupted = true)))
  ).pipe(Stream.ensuring(Effect.sync(() => void (seen.closed = true))))
  return { seen, stream }
}

describe("a stream as an async iterable", () => {
  it("gives its items in order, and then is done", async () => {
    const { seen, stream } = chunked([[1, 2], [3]])
    const got: Array<number> = []
    for await (const each of asyncIterable(stream)) got.push(each)
    assert.deepStrictEqual(got, [1, 2, 3])
    assert.strictEqual(seen.closed, 1)
  })

  it("pulls nothing while items of the last pull are left", async () => {
    const { seen, stream } = chunked([[1, 2], [3]])
    const iterator = iterate(stream)
    await iterator.next()
    await iterator.next()
    assert.strictEqual(seen.pulls, 1)
    await iterator.next()
    assert.strictEqual(seen.pulls, 2)
  })

  it("runs anew for each loop over it", async () => {
    const iterable = asyncIterable(Stream.make(1, 2))
    const got: Array<number> = []
    for await (const each of iterable) got.push(each)
    for await (const each of iterable) got.push(each)
    assert.deepStrictEqual(got, [1, 2, 1, 2])
  })

  it("closes the stream when the loop is left, and gives nothing after that", async () => {
    const { seen, stream } = chunked([[1, 2], [3]])
    const iterator = iterate(stream)
    await iterator.next()
    assert.deepStrictEqual(await iterator.return?.(), { done: true, value: undefined })
    assert.strictEqual(seen.closed, 1)
    assert.deepStrictEqual(await iterator.next(), { done: true, value: undefined })
    assert.strictEqual(seen.pulls, 1)
  })

  it("interrupts what is being pulled when the loop is left", async () => {
    const { seen, stream } = waiting()
    const iterator = iterate(stream)
    const pending = iterator.next()
    await iterator.return?.()
    assert.deepStrictEqual(await pending, { done: true, value: undefined })
    assert.deepStrictEqual(seen, { interrupted: true, closed: true })
  })

  it("gives each item once to calls that do not wait for each other", async () => {
    const gate = Deferred.makeUnsafe<void>()
    const slow = Stream.tap(Stream.rechunk(Stream.make(1, 2, 3), 1), () => Deferred.await(gate))
    const iterator = iterate(slow)
    const calls = [iterator.next(), iterator.next(), iterator.next(), iterator.next()]
    Deferred.doneUnsafe(gate, Exit.void)
    const got = (await Promise.all(calls)).map(({ done, value }) =>
      done === true ? "done" : value
    )
    assert.deepStrictEqual(got, [1, 2, 3, "done"])
  })

  it("rejects with the error of the stream, closes it, and then is done", async () => {
    let closed = 0
    const stream = Stream.concat(Stream.make(1), Stream.fail(new RangeError("no"))).pipe(
      Stream.ensuring(Effect.sync(() => void closed++))
    )
    const iterator = iterate(stream)
    await iterator.next()
    const error = await iterator.next().then(
      () => undefined,
      (thrown: unknown) => thrown
    )
    assert.instanceOf(error, RangeError)
    assert.strictEqual(closed, 1)
    assert.deepStrictEqual(await iterator.next(), { done: true, value: undefined })
  })
})
