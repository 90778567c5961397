/** Runs that the process begins which accepted their tasks: created and claimed in one append, with the dispatch removed. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Outbox } from "../../services/Outbox.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import { dispatched_topic, TaskStore } from "../../services/TaskStore.ts"
import { statusOf } from "../../src/run/RunState.ts"
import { fold } from "../../src/run/RunFold.ts"
import { eventually } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = Outbox | RunPorts | TaskStore

/** A task of an idle address, accepted and held by a claim of `owner`. */
const held = Effect.fnUntraced(function* (owner: string, given: Partial<NewTask> = {}) {
  const claim = { owner: `${owner}.${Samples.unique("n")}`, lease_ms: 600_000 }
  const task = Samples.newTask({ ...given, claim })
  const accepted = yield* TaskStore.use((tasks) => tasks.accept(task))
  assert.isTrue(accepted.held)
  const beginning = {
    run: task.id,
    ordinal: accepted.task.ordinal,
    accepted: Samples.runAccepted(task),
    dispatch: { id: task.message_id, claim: claim.owner }
  }
  return { task, beginning }
})

const living = Effect.gen(function* () {
  const owner = Samples.unique("owner")
  yield* RunOwnership.use((ownership) => ownership.heartbeat(owner, 600_000))
  return owner
})

/** Is a dispatch of this task there, and free? It is claimed then. */
const isFree = (task: NewTask) =>
  Outbox.use((outbox) =>
    Effect.map(
      outbox.claim({
        owner: Samples.unique("relay"),
        topics: [dispatched_topic],
        agents: [task.address.agent],
        limit: 500,
        lease_ms: 600_000
      }),
      (messages) => messages.some(({ id }) => id === task.message_id)
    )
  )

const writing = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a run is begun as its journal then has it, and its task is at work", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const tasks = yield* TaskStore
      const outbox = yield* Outbox
      const owner = yield* living
      const { beginning, task } = yield* held(owner)
      const begun = yield* ownership.begin(beginning, owner)
      assert.deepStrictEqual(begun, yield* Samples.snapshot(task.id))
      assert.deepInclude(begun?.head, { owner, epoch: 1, length: 2, status: "processing" })
      assert.deepStrictEqual(
        begun?.entries.map(({ event }) => event),
        [beginning.accepted, { _tag: "RunClaimed", epoch: 1, owner }]
      )
      assert.strictEqual((yield* tasks.get(task.id))?.status, "processing")
      assert.isFalse(yield* outbox.delivered(task.message_id, beginning.dispatch.claim))
      // Its owner appends next, and it is the first of its address.
      const events = [Samples.modelTurned(1), Samples.runEnded()]
      yield* journal.append({
        run: task.id,
        fence: { epoch: 1, length: 2 },
        events,
        status: statusOf(fold([...(begun?.entries ?? []).map(({ event }) => event), ...events]))
      })
      assert.strictEqual((yield* tasks.get(task.id))?.status, "complete")
      assert.deepStrictEqual(yield* reader.unfinished(task.tenant, task.address, 1), [])
    })
  )

  it.effect("the message behind the dispatch is due once the run is begun", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const outbox = yield* Outbox
      const { beginning, task } = yield* held("owner")
      const behind = Samples.newTask({ conversation: task.conversation })
      yield* TaskStore.use((tasks) => tasks.accept(behind))
      assert.isFalse(yield* isFree(behind))
      let woken = 0
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* outbox.onWritten(() => void woken++)
          yield* ownership.begin(beginning, "owner")
          yield* eventually(
            Effect.sync(() => woken),
            (times) => times > 0
          )
        })
      )
      assert.isTrue(yield* isFree(behind))
    })
  )

  it.effect("30 runs of as many addresses are begun at once", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const owner = yield* living
      const all = yield* Effect.forEach(Array.from({ length: 30 }), () => held(owner), {
        concurrency: "unbounded"
      })
      const claims = yield* Effect.forEach(
        all,
        ({ beginning }) => ownership.begin(beginning, owner),
        { concurrency: "unbounded" }
      )
      for (const [i, claim] of claims.entries()) {
        assert.deepStrictEqual(claim, yield* Samples.snapshot(all[i]!.task.id))
      }
    })
  )
}

const refusing = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a run whose dispatch another claim holds is not begun, and nothing changes", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const outbox = yield* Outbox
      const tasks = yield* TaskStore
      const { beginning, task } = yield* held("owner")
      const { claim } = beginning.dispatch
      yield* outbox.release([claim])
      assert.isUndefined(yield* ownership.begin(beginning, "owner"))
      assert.isTrue(yield* isFree(task))
      // Now a relay holds it.
      assert.isUndefined(yield* ownership.begin(beginning, "owner"))
      assert.strictEqual((yield* Effect.flip(reader.head(task.id)))._tag, "RunNotFound")
      assert.strictEqual((yield* tasks.get(task.id))?.status, "pending")
    })
  )

  it.effect("a run that a command began is left as it is, and its dispatch is removed", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const ownership = yield* RunOwnership
      const outbox = yield* Outbox
      const { beginning, task } = yield* held("owner")
      yield* journal.create(task.id, 1, beginning.accepted)
      const before = yield* Samples.snapshot(task.id)
      assert.isUndefined(yield* ownership.begin(beginning, "owner"))
      assert.deepStrictEqual(yield* Samples.snapshot(task.id), before)
      assert.isFalse(yield* outbox.delivered(task.message_id, beginning.dispatch.claim))
      assert.isFalse(yield* isFree(task))
    })
  )

  it.effect("of 10 beginnings of one run at once, one begins it", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const { beginning, task } = yield* held("owner")
      const claims = yield* Effect.forEach(
        Array.from({ length: 10 }),
        () => ownership.begin(beginning, "owner"),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        claims.filter((claim) => claim !== undefined),
        1
      )
      assert.strictEqual((yield* reader.head(task.id)).length, 2)
    })
  )
}

export const beginTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  writing(it)
  refusing(it)
}
