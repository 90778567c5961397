/** Messages that begin in the process that accepted them: at once, and elsewhere where it could not begin them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as ClaimedDispatches from "../../layers/runtime/actor/ClaimedDispatches.ts"
import { Outbox } from "../../services/Outbox.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { StoreError } from "../../services/StoreError.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { RunId as Id } from "../../src/value/Ids.ts"
import * as H from "./Harness.ts"

const lease_ms = 60_000
const options: H.Options = {
  script: () => text("done"),
  config: { lease_ms, sweep_ms: 1_000, drain_ms: 0 }
}

/** Its relay delivers nothing. */
const withoutRelay = Effect.fnUntraced(function* (options: H.Options) {
  const outbox = yield* Outbox
  return yield* Effect.provideService(H.boot(options), Outbox, {
    ...outbox,
    claim: () => Effect.succeed([])
  })
})

/** Accepts messages and never begins one, as if it died in between. Its store takes a while to answer. */
const stuck = Effect.fnUntraced(function* () {
  const outbox = yield* Outbox
  const boot = H.withJournal(H.boot(options), () => ({ begin: () => Effect.never }))
  return yield* Effect.provideService(boot, Outbox, {
    ...outbox,
    release: (owners) =>
      Effect.andThen(Effect.repeat(Effect.yieldNow, { times: 20 }), outbox.release(owners))
  })
})

const statusOf = (run: RunId) =>
  Effect.map(
    TaskStore.use((tasks) => tasks.get(run)),
    (task) => task?.status
  )

const ranOnce = Effect.fnUntraced(function* (run: RunId) {
  const all = yield* H.events(run)
  assert.deepInclude(H.end(all), { status: "complete", text: "done" })
  assert.strictEqual(H.count(all, "RunClaimed"), 1)
  assert.strictEqual(yield* Outbox.use((outbox) => outbox.depth), 0)
})

describe("a message that its process holds", () => {
  it.effect("begins at once, without a relay, and so does the next one of its conversation", () =>
    Effect.gen(function* () {
      const process = yield* withoutRelay(options)
      for (let i = 0; i < 3; i++) {
        const run = yield* process.run(H.send("hello"))
        yield* process.run(H.ended(run))
        yield* ranOnce(run)
      }
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("is delivered to another process when the claim of a dead one ends", () =>
    Effect.gen(function* () {
      const dead = yield* stuck()
      const run = yield* dead.run(H.send("hello"))
      const heir = yield* H.boot(options)
      yield* TestClock.adjust(lease_ms / 2)
      assert.strictEqual(yield* statusOf(run), "pending")
      yield* TestClock.adjust(lease_ms)
      yield* heir.run(H.ended(run))
      yield* ranOnce(run)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("is given back by a stop, and begins in another process at once", () =>
    Effect.gen(function* () {
      const gone = yield* stuck()
      const run = yield* gone.run(H.send("hello"))
      const heir = yield* H.boot(options)
      yield* gone.stop
      yield* TestClock.adjust(1_000)
      yield* heir.run(H.ended(run))
      yield* ranOnce(run)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("is given back where the answer of its acceptance was lost", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      let accepted: RunId | undefined
      const process = yield* Effect.provideService(H.boot(options), TaskStore, {
        ...tasks,
        accept: (task) =>
          Effect.andThen(
            tasks.accept(task),
            Effect.suspend(() => {
              accepted = task.id
              return Effect.fail(new StoreError({ message: "the connection was lost" }))
            })
          )
      })
      assert.strictEqual((yield* Effect.flip(process.run(H.send("hello"))))._tag, "StoreError")
      yield* TestClock.adjust(1_000)
      yield* ranOnce(Id.make(accepted ?? ""))
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("is left to the run that a cancel began first", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      let begins = 0
      const process = yield* H.withJournal(H.boot(options), ({ begin }) => ({
        // The cancel comes while the process begins the run.
        begin: (beginning, owner) =>
          Effect.suspend(() =>
            begins++ > 0
              ? begin(beginning, owner)
              : Effect.andThen(
                  journal.create(beginning.run, beginning.ordinal, beginning.accepted),
                  begin(beginning, owner)
                )
          )
      }))
      const run = yield* process.run(H.send("hello"))
      yield* process.run(H.ended(run))
      yield* ranOnce(run)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("is not held any more where it could not be given back within its lease", () =>
    Effect.gen(function* () {
      let releases = 0
      const outbox = Outbox.of({
        ...(yield* Outbox),
        release: () =>
          Effect.suspend(() => {
            releases++
            return Effect.fail(new StoreError({ message: "away" }))
          })
      })
      const held = ClaimedDispatches.make(outbox, "process", 1_000, () => false)
      const { owner } = held.claim()
      yield* H.asTimePasses(held.giveBack(owner))
      const tries = releases
      assert.isAbove(tries, 1)
      yield* H.asTimePasses(held.giveBackAll)
      assert.strictEqual(releases, tries)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )
})
