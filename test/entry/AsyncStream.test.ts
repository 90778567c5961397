/** Streams and open feeds as async iterables. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Stream } from "effect"
import { asyncIterables } from "../../layers/compose/promises/AsyncStream.ts"
import type { OpenFeed } from "../../services/AgentRuntime.ts"

const { ofFeed, ofStream: asyncIterable } = asyncIterables(Effect.runFork)

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

/** A feed of what is put into it, which counts how often it is pulled. `true` is a page that only `pull` reads. */
const feedOf = () => {
  const pages: Array<ReadonlyArray<number> | Error | true | "end"> = []
  const seen = { pulls: 0, waits: 0, closed: 0 }
  let due: (() => void) | undefined
  const pull = Effect.suspend((): Effect.Effect<readonly [number], Error | Cause.Done<void>> => {
    seen.pulls++
    const page = pages.shift()
    if (page === "end") return Cause.done()
    if (page instanceof Error) return Effect.fail(page)
    return page === undefined || page === true
      ? Effect.succeed([-1] as const)
      : Effect.succeed(page as readonly [number])
  })
  const feed = {
    pull,
    takeAvailable: () => {
      const [page] = pages
      if (page === undefined) return "wait" as const
      if (typeof page === "string" || page === true || page instanceof Error) return "pull" as const
      pages.shift()
      return page as readonly [number]
    },
    whenAvailable: (callback: () => void) => {
      seen.waits++
      due = callback
    }
  }
  const open = Effect.acquireRelease(Effect.succeed(feed), () =>
    Effect.sync(() => {
      seen.closed++
      due = undefined
    })
  )
  return {
    seen,
    iterator: ofFeed(open)[Symbol.asyncIterator](),
    put: (...more: typeof pages) => {
      pages.push(...more)
      const call = due
      due = undefined
      call?.()
    }
  }
}

describe("an open feed as an async iterable", () => {
  it("is pulled once to be opened, and then takes what is here without a fiber", async () => {
    const { iterator, put, seen } = feedOf()
    put([1, 2])
    assert.deepStrictEqual(await iterator.next(), { done: false, value: 1 })
    assert.deepStrictEqual(await iterator.next(), { done: false, value: 2 })
    put([3])
    assert.deepStrictEqual(await iterator.next(), { done: false, value: 3 })
    const waiting = iterator.next()
    put([4, 5])
    assert.deepStrictEqual(await waiting, { done: false, value: 4 })
    assert.deepStrictEqual(await iterator.next(), { done: false, value: 5 })
    assert.deepStrictEqual(seen, { pulls: 1, waits: 1, closed: 0 })
  })

  it("pulls what only a pull can tell, also after a wait", async () => {
    const { iterator, put, seen } = feedOf()
    put([1], true)
    assert.strictEqual((await iterator.next()).value, 1)
    assert.strictEqual((await iterator.next()).value, -1)
    const waiting = iterator.next()
    put(true)
    assert.strictEqual((await waiting).value, -1)
    assert.deepStrictEqual(seen, { pulls: 3, waits: 1, closed: 0 })
  })

  it("waits again where it was called for nothing", async () => {
    const { iterator, put, seen } = feedOf()
    put([1])
    await iterator.next()
    const waiting = iterator.next()
    put()
    put([2])
    assert.strictEqual((await waiting).value, 2)
    assert.deepStrictEqual(seen, { pulls: 1, waits: 2, closed: 0 })
  })

  it("is done where it ends, and rejects where it fails, after a wait too", async () => {
    const ended = feedOf()
    ended.put([1])
    await ended.iterator.next()
    const last = ended.iterator.next()
    ended.put("end")
    assert.deepStrictEqual(await last, { done: true, value: undefined })
    assert.strictEqual(ended.seen.closed, 1)
    const failed = feedOf()
    failed.put([1])
    await failed.iterator.next()
    const rejected = failed.iterator.next().then(
      () => undefined,
      (thrown: unknown) => thrown
    )
    failed.put(new RangeError("no"))
    assert.instanceOf(await rejected, RangeError)
    assert.strictEqual(failed.seen.closed, 1)
    assert.deepStrictEqual(await failed.iterator.next(), { done: true, value: undefined })
  })

  it("is done while it waits when the loop is left, and closes", async () => {
    const { iterator, put, seen } = feedOf()
    put([1])
    await iterator.next()
    const waiting = iterator.next()
    assert.deepStrictEqual(await iterator.return?.(), { done: true, value: undefined })
    assert.deepStrictEqual(await waiting, { done: true, value: undefined })
    assert.strictEqual(seen.closed, 1)
    put([2])
    assert.deepStrictEqual(await iterator.next(), { done: true, value: undefined })
    assert.strictEqual(seen.pulls, 1)
  })

  it("gives each item once to calls that do not wait for each other", async () => {
    const { iterator, put } = feedOf()
    put([1])
    const calls = [iterator.next(), iterator.next(), iterator.next()]
    await calls[0]
    put([2])
    await calls[1]
    put([3])
    const got = (await Promise.all(calls)).map(({ value }) => value)
    assert.deepStrictEqual(got, [1, 2, 3])
  })

  it("rejects with a defect of what is here, and throws nothing at who calls it", async () => {
    let isBroken = false
    let due: (() => void) | undefined
    const broken = () => {
      const iterator = ofFeed(
        Effect.succeed<OpenFeed<never, number>>({
          pull: Effect.succeed([1] as const),
          takeAvailable: () => {
            if (isBroken) throw new RangeError("broken")
            return "wait"
          },
          whenAvailable: (callback) => void (due = callback)
        })
      )[Symbol.asyncIterator]()
      isBroken = false
      return iterator
    }
    const called = broken()
    await called.next()
    const waiting = called.next().then(
      () => undefined,
      (thrown: unknown) => thrown
    )
    isBroken = true
    assert.doesNotThrow(() => due?.())
    assert.instanceOf(await waiting, RangeError)
    assert.deepStrictEqual(await called.next(), { done: true, value: undefined })
    const asked = broken()
    await asked.next()
    isBroken = true
    const rejected = await asked.next().then(
      () => undefined,
      (thrown: unknown) => thrown
    )
    assert.instanceOf(rejected, RangeError)
  })
})
