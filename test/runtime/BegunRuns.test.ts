/** Runs that a store begins with their messages: each is claimed once, whatever looks for work meanwhile. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { StoreError } from "../../services/StoreError.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { CallId } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import * as H from "./Harness.ts"

/** Stores that begin a run with its task, as those of SQL do, and answer when `answer` is done. */
const beginning = Effect.fnUntraced(function* (
  options: H.Options,
  answer: (run: RunId) => Effect.Effect<void, StoreError>,
  /** Behind each look for the first unfinished run of an address. */
  looked: Effect.Effect<void> = Effect.void
) {
  const tasks = yield* TaskStore
  const ownership = yield* RunOwnership
  const boot = H.withJournal(H.boot(options), ({ unfinished }) => ({
    unfinished: (...of) => Effect.tap(unfinished(...of), () => looked)
  }))
  return yield* Effect.provideService(boot, TaskStore, {
    ...tasks,
    accept: Effect.fnUntraced(function* (task) {
      const accepted = yield* tasks.accept(task)
      const { begins, owner } = task.claim ?? {}
      if (accepted.held === undefined || begins === undefined || owner === undefined) {
        return accepted
      }
      const { id: run, ordinal } = accepted.task
      const dispatch = { id: task.message_id, claim: owner }
      const begun = yield* Effect.mapError(
        ownership.begin({ run, ordinal, accepted: begins.accepted, dispatch }, begins.owner),
        ({ message }) => new StoreError({ message })
      )
      yield* answer(run)
      return { task: accepted.task, created: true, begun: begun! }
    })
  })
})

const claims = (run: RunId) => Effect.map(H.events(run), (all) => H.count(all, "RunClaimed"))

const sweep_ms = 1_000

describe("a run that began with its message", () => {
  it.effect(
    "is claimed once, also where a sweep finds it before its process knows that it began",
    () =>
      Effect.gen(function* () {
        const begun: Array<RunId> = []
        const answered = yield* Deferred.make<void>()
        const process = yield* beginning(
          { script: () => text("done"), config: { sweep_ms } },
          (run) => (begun.push(run) === 2 ? Deferred.await(answered) : Effect.void)
        )
        // The actor of the address is there already, without a run.
        const first = yield* process.run(H.send("first"))
        yield* process.run(H.ended(first))
        const sending = yield* Effect.forkChild(process.run(H.send("second")))
        yield* TestClock.adjust(2 * sweep_ms)
        assert.strictEqual(begun.length, 2)
        assert.strictEqual(yield* claims(begun[1]!), 1)
        yield* Deferred.succeed(answered, undefined)
        yield* process.run(H.ended(begun[1]!))
        assert.strictEqual(yield* claims(begun[1]!), 1)
        // Nobody was fenced off, so that the actor has stayed.
        const actors = yield* process.run(
          AgentRuntime.use((runtime) => runtime.actors(10, H.tenant))
        )
        assert.deepStrictEqual(
          actors.map(({ restarts, state }) => ({ restarts, state })),
          [{ restarts: 0, state: "idle" }]
        )
        assert.strictEqual(yield* Fiber.join(sending), begun[1])
      }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("is claimed once, also where its actor has found it as it is given to it", () =>
    Effect.gen(function* () {
      const second = yield* Deferred.make<RunId>()
      const answered = yield* Deferred.make<void>()
      const found = yield* Deferred.make<void>()
      let begun = 0
      const process = yield* beginning(
        { script: () => text("done"), config: { sweep_ms } },
        (run) =>
          ++begun === 1
            ? Effect.void
            : Effect.andThen(Deferred.succeed(second, run), Deferred.await(answered)),
        Effect.suspend(() => (begun === 1 ? Effect.void : Deferred.await(found)))
      )
      yield* process.run(Effect.flatMap(H.send("first"), (run) => H.ended(run)))
      const sending = yield* Effect.forkChild(process.run(H.send("second")))
      const run = yield* Deferred.await(second)
      yield* TestClock.adjust(2 * sweep_ms)
      yield* Deferred.succeed(answered, undefined)
      yield* Fiber.join(sending)
      yield* Deferred.succeed(found, undefined)
      yield* process.run(H.ended(run))
      assert.strictEqual(yield* claims(run), 1)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("is found by a later sweep where the answer of its acceptance was lost", () =>
    Effect.gen(function* () {
      const lost = yield* Deferred.make<void, StoreError>()
      const begun: Array<RunId> = []
      const process = yield* beginning(
        { script: () => text("done"), config: { sweep_ms } },
        (run) => {
          begun.push(run)
          return Deferred.await(lost)
        }
      )
      const sending = yield* Effect.forkChild(Effect.flip(process.run(H.send("hello"))))
      yield* TestClock.adjust(2 * sweep_ms)
      assert.strictEqual(H.count(yield* H.events(begun[0]!), "ModelTurned"), 0)
      yield* Deferred.fail(lost, new StoreError({ message: "the connection was lost" }))
      assert.strictEqual((yield* Fiber.join(sending))._tag, "StoreError")
      yield* TestClock.adjust(2 * sweep_ms)
      const all = yield* process.run(H.ended(begun[0]!))
      assert.deepInclude(H.end(all), { status: "complete" })
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect(
    "begins at once where its actor leaves with it, because another process took its run",
    () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const ownership = yield* RunOwnership
        const asked = yield* Deferred.make<void>()
        const waits = Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
        const process = yield* beginning(
          // No sweep finds it.
          { script: [waits, text("done")], config: { sweep_ms: 600_000 } },
          () => Effect.void
        )
        const first = yield* process.run(H.send("first"))
        yield* Deferred.await(asked)
        const { head } = yield* ownership.claim(first, "thief")
        yield* journal.append({
          run: first,
          fence: head,
          events: [Samples.runEnded()],
          status: "complete"
        })
        const second = yield* process.run(H.send("second"))
        const all = yield* process.run(H.ended(second))
        assert.deepInclude(H.end(all), { status: "complete", text: "done" })
      }).pipe(Effect.provide(EphemeralStores.layer))
  )
})

describe("a command on a message whose run has not begun", () => {
  it.effect("says that the store is away, and not that there is no run", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const process = yield* Effect.provideService(
        H.boot({ script: () => Effect.never, config: { drain_ms: 0 } }),
        TaskStore,
        { ...tasks, get: () => Effect.fail(new StoreError({ message: "away" })) }
      )
      yield* process.run(H.send("at work"))
      const run = yield* process.run(H.send("behind it"))
      const cancelled = yield* Effect.flip(process.run(H.cancel(run)))
      const settled = yield* AgentRuntime.use((runtime) =>
        runtime.settle(run, CallId.make("0/1.0"), { _tag: "RunAgain" }, H.alice)
      ).pipe(process.run, Effect.flip)
      for (const { _tag, message } of [cancelled, settled]) {
        assert.deepStrictEqual([_tag, message], ["JournalError", "away"])
      }
    }).pipe(Effect.provide(EphemeralStores.layer))
  )
})
