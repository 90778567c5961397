import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Pull, Queue, Scheduler, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { OpenFeed } from "../../services/AgentRuntime.ts"
import { openStream } from "../../services/AgentRuntime.ts"
import { textPull } from "../../layers/http/stream/TextPull.ts"

/** What a test gives and hears. */
const rigged = (
  until: Effect.Effect<void> = Effect.never,
  feed?: Effect.Effect<OpenFeed<string, number>, string, Scope.Scope>
) =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<number, string | Cause.Done>()
    const log: Array<string> = []
    const scope = yield* Scope.make()
    const pull = yield* textPull(
      {
        feed: feed ?? openStream(Stream.fromQueue(queue)),
        first: "first",
        textsOf: (items) =>
          items
            .filter((item) => item >= 0)
            .map(String)
            .values(),
        textOfError: (error) => `error ${error}`,
        beat: "beat",
        beat_ms: 1_000,
        goesOn: Effect.succeed(true),
        until,
        given: (text) => {
          log.push(text)
          return text
        },
        taken: () => void log.push("taken")
      },
      scope
    )
    const next = Effect.map(pull, ([text]) => text)
    const isDone = Pull.catchDone(Effect.as(pull, false), () => Effect.succeed(true))
    return { isDone, log, next, queue, scope }
  })

describe("the texts of an event stream", () => {
  it.effect("are the first, then each of those that are there, before what comes later", () =>
    Effect.gen(function* () {
      const { log, next, queue } = yield* rigged()
      yield* Queue.offerAll(queue, [1, 2])
      assert.deepStrictEqual([yield* next, yield* next, yield* next], ["first", "1", "2"])
      const waiting = yield* Effect.forkChild(next)
      yield* Effect.yieldNow
      assert.isUndefined(waiting.pollUnsafe())
      yield* Queue.offer(queue, 3)
      assert.strictEqual(yield* Fiber.join(waiting), "3")
      assert.deepStrictEqual(log, ["taken", "first", "taken", "1", "taken", "2", "taken", "3"])
    })
  )

  it.effect("have a beat between them while nothing comes, and lose nothing by it", () =>
    Effect.gen(function* () {
      const { next, queue } = yield* rigged()
      yield* next
      const waiting = yield* Effect.forkChild(next)
      yield* TestClock.adjust(1_000)
      assert.strictEqual(yield* Fiber.join(waiting), "beat")
      yield* Queue.offer(queue, 1)
      assert.strictEqual(yield* next, "1")
    })
  )

  it.effect("have one beat, however long nobody pulls, and it waits for what is there", () =>
    Effect.gen(function* () {
      const { next, queue } = yield* rigged()
      yield* Queue.offerAll(queue, [1, 2])
      assert.deepStrictEqual([yield* next, yield* next], ["first", "1"])
      yield* TestClock.adjust(3_000)
      assert.deepStrictEqual([yield* next, yield* next], ["2", "beat"])
      yield* Queue.offer(queue, 3)
      assert.strictEqual(yield* next, "3")
    })
  )

  it.effect("end when the feed does, with the text of its error where it failed", () =>
    Effect.gen(function* () {
      const ended = yield* rigged()
      yield* Queue.end(ended.queue)
      assert.strictEqual(yield* ended.next, "first")
      assert.isTrue(yield* ended.isDone)
      const failed = yield* rigged()
      yield* Queue.fail(failed.queue, "away")
      assert.deepStrictEqual([yield* failed.next, yield* failed.next], ["first", "error away"])
      assert.isTrue(yield* failed.isDone)
    })
  )

  it.effect("break off at a defect of the feed", () =>
    Effect.gen(function* () {
      const { next } = yield* rigged(Effect.never, openStream(Stream.die("broken")))
      yield* next
      const exit = yield* Effect.exit(next)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    })
  )

  it.effect("end when they are to, also while they wait for the feed", () =>
    Effect.gen(function* () {
      const over = yield* Deferred.make<void>()
      const { isDone, next } = yield* rigged(Deferred.await(over))
      yield* next
      const waiting = yield* Effect.forkChild(isDone)
      yield* Effect.yieldNow
      assert.isUndefined(waiting.pollUnsafe())
      yield* Deferred.succeed(over, undefined)
      assert.isTrue(yield* Fiber.join(waiting))
    })
  )

  it.effect("end when they are to, also where nothing of the feed is shown", () =>
    Effect.gen(function* () {
      const over = yield* Deferred.make<void>()
      const { isDone, next } = yield* rigged(
        Deferred.await(over),
        openStream(Stream.fromEffectRepeat(Effect.succeed(-1)))
      )
      yield* next
      const waiting = yield* Effect.forkChild(isDone)
      yield* Effect.yieldNow
      yield* Deferred.succeed(over, undefined)
      assert.isTrue(yield* Fiber.join(waiting))
    })
  )

  /** Of a feed that is pulled, and of one that calls. */
  for (const [how, feedOf] of [
    ["pulled", (queue: Queue.Queue<number>) => openStream(Stream.fromQueue(queue))],
    [
      "called",
      (queue: Queue.Queue<number>) => {
        const take = (): readonly [number] | undefined => {
          const taken = Queue.takeUnsafe(queue)
          return taken !== undefined && Exit.isSuccess(taken) ? [taken.value] : undefined
        }
        return Effect.map(Effect.context<never>(), (context): OpenFeed<string, number> => ({
          pull: Effect.succeed([0]),
          takeAvailable: () => take() ?? "wait",
          whenAvailable: (callback) => {
            Effect.runForkWith(context)(Queue.peek(queue)).addObserver(callback)
          }
        }))
      }
    ]
  ] as const) {
    it.effect(
      `come whenever a feed that is ${how} gives something, wherever who pulls is paused`,
      () =>
        Effect.gen(function* () {
          for (let ops = 3; ops < 12; ops++) {
            for (let turns = 0; turns < 10; turns++) {
              const queue = yield* Queue.unbounded<number>()
              const { next } = yield* rigged(Effect.never, feedOf(queue))
              yield* next
              // The first pull, which opens it, has an item.
              if (how === "called") yield* next
              const waiting = yield* Effect.forkChild(next).pipe(
                Effect.provideService(Scheduler.MaxOpsBeforeYield, ops)
              )
              for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
              yield* Queue.offer(queue, 1)
              for (let turn = 0; turn < 50; turn++) yield* Effect.yieldNow
              assert.deepStrictEqual(waiting.pollUnsafe(), Exit.succeed("1"), `${ops} ${turns}`)
            }
          }
        })
    )
  }

  it.effect("close with their scope the pull of the feed that goes on, and then the feed", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const note = (text: string) => Effect.sync(() => void log.push(text))
      const reading = Effect.onInterrupt(Effect.never, () => note("interrupted"))
      let taken = 0
      const feed: OpenFeed<string, number> = {
        pull: reading,
        takeAvailable: () => (taken++, "pull"),
        whenAvailable: (callback) => callback()
      }
      const open = Effect.acquireRelease(Effect.succeed(feed), () => note("closed"))
      const { next, scope } = yield* rigged(Effect.never, open)
      yield* next
      const waiting = yield* Effect.forkChild(next)
      yield* Effect.yieldNow
      yield* TestClock.adjust(1_000)
      assert.strictEqual(yield* Fiber.join(waiting), "beat")
      const again = yield* Effect.forkChild(next)
      yield* Effect.yieldNow
      yield* Fiber.interrupt(again)
      assert.deepStrictEqual(log, [])
      // It does one thing at a time, and it is being pulled.
      assert.strictEqual(taken, 0)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(log, ["interrupted", "closed"])
    })
  )

  it.effect("take what is here without a pull, and are called while they wait", () =>
    Effect.gen(function* () {
      const here: Array<readonly [number, ...Array<number>]> = [[2, 3]]
      const seen = { pulls: 0, waits: 0 }
      let due: (() => void) | undefined
      const feed = Effect.succeed<OpenFeed<string, number>>({
        pull: Effect.sync(() => {
          seen.pulls++
          return [1] as const
        }),
        takeAvailable: () => here.shift() ?? "wait",
        whenAvailable: (callback) => {
          seen.waits++
          due = callback
        }
      })
      const { next } = yield* rigged(Effect.never, feed)
      const got = [yield* next, yield* next, yield* next, yield* next]
      assert.deepStrictEqual(got, ["first", "1", "2", "3"])
      const waiting = yield* Effect.forkChild(next)
      yield* Effect.yieldNow
      assert.isUndefined(waiting.pollUnsafe())
      // Called for nothing.
      due?.()
      yield* Effect.yieldNow
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust(1_000)
      assert.strictEqual(yield* Fiber.join(waiting), "beat")
      here.push([4])
      // Nobody waits.
      due?.()
      assert.strictEqual(yield* next, "4")
      const again = yield* Effect.forkChild(next)
      yield* Effect.yieldNow
      here.push([5])
      due?.()
      assert.strictEqual(yield* Fiber.join(again), "5")
      assert.deepStrictEqual(seen, { pulls: 1, waits: 3 })
    })
  )

  it.effect("begin with the error of a feed that cannot be opened", () =>
    Effect.gen(function* () {
      const { isDone, next } = yield* rigged(Effect.never, Effect.fail("closed"))
      assert.deepStrictEqual([yield* next, yield* next], ["first", "error closed"])
      assert.isTrue(yield* isDone)
    })
  )
})
