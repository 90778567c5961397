import { AsyncLocalStorage } from "node:async_hooks"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Scheduler } from "effect"
import type { Scope } from "effect"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import type { Steps } from "../../layers/runtime/fiber/Coroutine.ts"
import { Coroutine } from "../../layers/runtime/fiber/Coroutine.ts"
import * as LoopScheduler from "../../layers/runtime/fiber/LoopScheduler.ts"
import { PlainCoroutine } from "./PlainCoroutine.ts"

const fork = Effect.runForkWith(Context.empty() as Context.Context<AgentMemory>)

const driven = Effect.fnUntraced(function* <A, E>(steps: () => Steps<A, E>) {
  return new Coroutine(steps(), fork, yield* LoopScheduler.make(8))
})

/** What both answers have. */
type Driven<A, E> = Pick<Coroutine<A, E>, "resumeSoon" | "run" | "wake">

/** The fast one of the runtime, and one in Effect's own terms that says what it means. */
const answers: ReadonlyArray<
  readonly [
    name: string,
    drive: <A, E>(steps: () => Steps<A, E>) => Effect.Effect<Driven<A, E>, never, Scope.Scope>
  ]
> = [
  ["a coroutine", driven],
  ["a coroutine of plain Effect", (steps) => Effect.sync(() => new PlainCoroutine(steps()))]
]

/** Makes fibers yield when it is told to; what they left is run by hand. */
class Halting implements Scheduler.Scheduler {
  readonly executionMode = "async"
  readonly #tasks: Array<() => void> = []
  halts = false
  readonly shouldYield = () => this.halts
  readonly makeDispatcher = (): Scheduler.SchedulerDispatcher => ({
    scheduleTask: (task) => void this.#tasks.push(task),
    flush: () => {}
  })

  run() {
    this.halts = false
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) task()
  }
}

/** A coroutine whose fiber was woken from outside, and has yielded before it did anything. */
const halted = Effect.fnUntraced(function* <A>(steps: () => Steps<A, never>) {
  const coroutine = yield* driven(steps)
  const scheduler = new Halting()
  const forkThere = Effect.runForkWith(Context.make(Scheduler.Scheduler, scheduler))
  const fiber = forkThere(coroutine.run())
  scheduler.run()
  scheduler.halts = true
  coroutine.wake()
  return { coroutine, fiber, scheduler }
})

describe.each(answers)("%s, at its end", (_, drive) => {
  it.live(
    "calls the function for its end once, however it ends, and after what it waited for",
    () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const atEnd = (name: string) => () => void log.push(name)
        const done = yield* drive(function* (): Steps<void, never> {
          return Exit.void
        })
        yield* done.run(atEnd("done"))
        const failing = yield* drive(function* (): Steps<never, string> {
          yield* Exit.fail("away")
          throw new Error("not reached")
        })
        yield* Effect.flip(failing.run(atEnd("failed")))
        const asleep = yield* drive(function* (): Steps<never, never> {
          for (;;) yield
        })
        yield* Fiber.interrupt(
          yield* Effect.forkChild(asleep.run(atEnd("asleep")), { startImmediately: true })
        )
        const waits = yield* drive(function* (): Steps<never, never> {
          yield* Effect.onInterrupt(Effect.never, () => Effect.sync(() => log.push("released")))
          throw new Error("not reached")
        })
        yield* Fiber.interrupt(
          yield* Effect.forkChild(waits.run(atEnd("waited")), { startImmediately: true })
        )
        assert.deepStrictEqual(log, ["done", "failed", "asleep", "released", "waited"])
      })
  )
})

describe.each(answers)("%s, in its steps", (_, drive) => {
  it.live("takes an Effect that is done at once, and waits for any other", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const later = Deferred.makeUnsafe<string>()
      const coroutine = yield* drive(function* (): Steps<number, never> {
        seen.push(yield* Exit.succeed("done"))
        seen.push(yield* Effect.sync(() => "ran"))
        seen.push(yield* Deferred.await(later))
        return Exit.succeed(seen.length)
      })
      const fiber = yield* Effect.forkChild(coroutine.run(), { startImmediately: true })
      assert.deepStrictEqual(seen, ["done", "ran"])
      assert.isUndefined(fiber.pollUnsafe())
      yield* Deferred.succeed(later, "came")
      assert.strictEqual(yield* Fiber.join(fiber), 3)
      assert.deepStrictEqual(seen, ["done", "ran", "came"])
    })
  )

  it.live(
    "ends with the failure of an Effect that it waits for, and with a defect of its own code",
    () =>
      Effect.gen(function* () {
        const failing = yield* drive(function* (): Steps<never, string> {
          yield* Effect.andThen(Effect.yieldNow, Effect.fail("away"))
          throw new Error("not reached")
        })
        assert.strictEqual(yield* Effect.flip(failing.run()), "away")
        const broken = yield* drive(function* (): Steps<never, never> {
          yield
          throw new Error("broken")
        })
        const fiber = yield* Effect.forkChild(broken.run(), { startImmediately: true })
        broken.wake()
        const exit = yield* Fiber.await(fiber)
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      })
  )
})

describe.each(answers)("%s, asleep and interrupted", (_, drive) => {
  it.live("sleeps until it is woken, and never goes on after an interruption", () =>
    Effect.gen(function* () {
      let wakes = 0
      const coroutine = yield* drive(function* (): Steps<never, never> {
        for (;;) {
          yield
          wakes++
        }
      })
      const fiber = yield* Effect.forkChild(coroutine.run(), { startImmediately: true })
      assert.strictEqual(wakes, 0)
      coroutine.wake()
      coroutine.resumeSoon()
      assert.strictEqual(wakes, 2)
      yield* Fiber.interrupt(fiber)
      coroutine.wake()
      coroutine.resumeSoon()
      assert.strictEqual(wakes, 2)
    })
  )

  it.live("starts nothing more after its own code has interrupted the fiber that runs it", () =>
    Effect.gen(function* () {
      let begun = 0
      let stop = () => {}
      const coroutine = yield* drive(function* (): Steps<never, never> {
        yield
        stop()
        for (;;) yield* Effect.sync(() => begun++)
      })
      const fiber = yield* Effect.forkChild(coroutine.run(), { startImmediately: true })
      stop = () => fiber.interruptUnsafe()
      coroutine.resumeSoon()
      yield* Fiber.await(fiber)
      assert.strictEqual(begun, 0)
    })
  )
})

describe.each(answers)("%s, with the fiber that runs it", (_, drive) => {
  it.live("interrupts the Effect that it waits for, and waits for its end", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const coroutine = yield* drive(function* (): Steps<never, never> {
        yield* Effect.onInterrupt(Effect.never, () =>
          Effect.andThen(
            Effect.sleep(5),
            Effect.sync(() => ended.push("released"))
          )
        )
        throw new Error("not reached")
      })
      const fiber = yield* Effect.forkChild(coroutine.run(), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(ended, ["released"])
    })
  )

  it.live("goes on in the asynchronous context of the fiber that runs it, whoever wakes it", () =>
    Effect.gen(function* () {
      const storage = new AsyncLocalStorage<string>()
      const seen: Array<string | undefined> = []
      const coroutine = yield* drive(function* (): Steps<void, never> {
        yield
        seen.push(storage.getStore())
        seen.push(yield* Effect.promise(() => Promise.resolve(storage.getStore())))
        return Exit.void
      })
      const run = storage.run("actor", () => Effect.runPromise(coroutine.run()))
      storage.run("approver", () => coroutine.wake())
      yield* Effect.promise(() => run)
      assert.deepStrictEqual(seen, ["actor", "actor"])
    })
  )
})

describe("the coroutine of the runtime, between fibers and turns", () => {
  it.live("interrupts an Effect that has interrupted the fiber that runs it", () =>
    Effect.gen(function* () {
      let stop = () => {}
      const left: Array<string> = []
      const coroutine = yield* driven(function* (): Steps<never, never> {
        yield
        yield* Effect.andThen(
          Effect.sync(() => stop()),
          Effect.onInterrupt(Effect.sleep(10), () => Effect.sync(() => left.push("interrupted")))
        )
        left.push("went on")
        throw new Error("not reached")
      })
      const fiber = yield* Effect.forkChild(coroutine.run(), { startImmediately: true })
      stop = () => fiber.interruptUnsafe()
      coroutine.resumeSoon()
      yield* Fiber.await(fiber)
      yield* Effect.sleep(20)
      assert.deepStrictEqual(left, ["interrupted"])
    })
  )

  it.live("ends where it is resumed between a wake and the fiber that the wake continues", () =>
    Effect.gen(function* () {
      const { coroutine, fiber, scheduler } = yield* halted(function* (): Steps<string, never> {
        yield
        return Exit.succeed("the end")
      })
      coroutine.resumeSoon()
      scheduler.run()
      assert.deepStrictEqual(fiber.pollUnsafe(), Exit.succeed("the end"))
    })
  )

  it.live(
    "does nothing more where it is interrupted between a wake and the fiber that the wake continues",
    () =>
      Effect.gen(function* () {
        let went = 0
        const { coroutine, fiber, scheduler } = yield* halted(function* (): Steps<never, never> {
          for (;;) {
            yield
            went++
          }
        })
        fiber.interruptUnsafe()
        scheduler.run()
        coroutine.resumeSoon()
        coroutine.wake()
        scheduler.run()
        assert.isDefined(fiber.pollUnsafe())
        assert.strictEqual(went, 0)
      })
  )

  for (const how of ["wake", "resumeSoon"] as const) {
    it.live(`is continued by ${how} between its first sleep and the wait of its fiber`, () =>
      Effect.gen(function* () {
        const scheduler = new Halting()
        const coroutine = yield* driven(function* (): Steps<string, never> {
          scheduler.halts = true
          yield
          return Exit.succeed("the end")
        })
        const forkThere = Effect.runForkWith(Context.make(Scheduler.Scheduler, scheduler))
        const fiber = forkThere(coroutine.run())
        coroutine[how]()
        assert.isUndefined(fiber.pollUnsafe())
        scheduler.run()
        assert.deepStrictEqual(fiber.pollUnsafe(), Exit.succeed("the end"))
      })
    )
  }

  it.live("leaves turns of the event loop to others where many wait for the same Effect", () =>
    Effect.gen(function* () {
      const answer = Deferred.makeUnsafe<number>()
      const scheduler = yield* LoopScheduler.make(2)
      const came: Array<number> = []
      const drives = [1, 2, 3].map(
        (n) =>
          new Coroutine(
            (function* (): Steps<void, never> {
              came.push(n + (yield* Deferred.await(answer)))
              return Exit.void
            })(),
            fork,
            scheduler
          )
      )
      const all = yield* Effect.forkChild(
        Effect.all(
          drives.map((drive) => drive.run()),
          { concurrency: "unbounded" }
        ),
        { startImmediately: true }
      )
      Deferred.doneUnsafe(answer, Exit.succeed(10))
      assert.deepStrictEqual(came, [11, 12])
      yield* Fiber.join(all)
      assert.deepStrictEqual(came, [11, 12, 13])
    })
  )

  it.live("retains nothing of earlier wakes", () =>
    Effect.gen(function* () {
      const coroutine = yield* driven(function* (): Steps<never, never> {
        for (;;) yield
      })
      const fiber = yield* Effect.forkChild(coroutine.run(), { startImmediately: true })
      // What a fiber has to come back to, where Effect keeps it.
      const { _stack } = fiber as unknown as { readonly _stack: ReadonlyArray<unknown> }
      const depth = _stack.length
      for (let n = 0; n < 100; n++) coroutine.wake()
      assert.strictEqual(_stack.length, depth)
      yield* Fiber.interrupt(fiber)
    })
  )
})
