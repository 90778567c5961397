/** Runs that begin with their tasks, in the statement that accepts them. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Outbox } from "../../services/Outbox.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import { dispatched_topic, TaskStore } from "../../services/TaskStore.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "./Engines.ts"

/** A task whose run may begin for a new owner, which lives. */
const wanted = Effect.fnUntraced(function* (given: Partial<NewTask> = {}) {
  const owner = Samples.unique("owner")
  yield* RunOwnership.use((ownership) => ownership.heartbeat(owner, 600_000))
  const task = Samples.newTask(given)
  const accepted = Samples.runAccepted(task)
  const claim = { owner: `${owner}.1`, lease_ms: 600_000, begins: { owner, accepted } }
  return { owner, accepted, task: { ...task, claim } satisfies NewTask }
})

const accept = (task: NewTask) => TaskStore.use((tasks) => tasks.accept(task))

/** The dispatches that a relay finds for the agent. */
const dispatched = Effect.flatMap(Outbox, (outbox) =>
  Effect.map(
    outbox.claim({
      owner: Samples.unique("relay"),
      topics: [dispatched_topic],
      agents: [Samples.operations],
      limit: 500,
      lease_ms: 600_000
    }),
    (messages) => messages.map(({ id }) => id)
  )
)

onEngines("a run that begins with its task", (it) => {
  it.effect("is claimed as its journal has it, and nothing is left to be delivered", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const outbox = yield* Outbox
      const depth = yield* outbox.depth
      const { accepted, owner, task } = yield* wanted()
      const { begun, created, held, task: stored } = yield* accept(task)
      assert.isTrue(created)
      assert.isUndefined(held)
      assert.deepStrictEqual(begun, yield* Samples.snapshot(task.id))
      assert.deepInclude(begun?.head, { owner, epoch: 1, length: 2, status: "processing" })
      assert.deepStrictEqual(
        begun?.entries.map(({ event }) => event),
        [accepted, { _tag: "RunClaimed", epoch: 1, owner }]
      )
      assert.strictEqual(stored.status, "processing")
      assert.deepStrictEqual(stored, yield* TaskStore.use(({ get }) => get(task.id)))
      assert.strictEqual(yield* outbox.depth, depth)
      yield* journal.append({
        run: task.id,
        fence: { epoch: 1, length: 2 },
        events: [Samples.modelTurned(1), Samples.runEnded()],
        status: "complete"
      })
      assert.deepStrictEqual(yield* reader.unfinished(task.tenant, task.address, 1), [])
    })
  )

  it.effect("is taken up by another owner once its own is gone", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const { owner, task } = yield* wanted()
      yield* accept(task)
      const found = ownership.recoverable("another", [task.address.agent], 1_000)
      const ids = Effect.map(found, (heads) => heads.map(({ run_id }) => run_id))
      assert.notInclude(yield* ids, task.id)
      yield* ownership.release(owner)
      assert.include(yield* ids, task.id)
    })
  )

  it.effect("is the only one of its address: later messages wait for a relay, in order", () =>
    Effect.gen(function* () {
      const first = yield* wanted()
      const { conversation } = first.task
      const second = yield* wanted({ conversation, address: first.task.address })
      const third = yield* wanted({ conversation, address: first.task.address })
      assert.isDefined((yield* accept(first.task)).begun)
      for (const [index, { task }] of [second, third].entries()) {
        const { begun, held, task: stored } = yield* accept(task)
        assert.isUndefined(begun)
        assert.isUndefined(held)
        assert.strictEqual(stored.ordinal, index + 2)
        assert.strictEqual(stored.status, "pending")
      }
      const found = yield* dispatched
      assert.include(found, second.task.message_id)
      assert.notInclude(found, first.task.message_id)
      assert.notInclude(found, third.task.message_id)
    })
  )

  it.effect("of 20 messages to one conversation at once, one begins and 19 are dispatched", () =>
    Effect.gen(function* () {
      const conversation = ConversationId.make(Samples.unique("c"))
      const depth = yield* Outbox.use((outbox) => outbox.depth)
      const all = yield* Effect.forEach(Array.from({ length: 20 }), () => wanted({ conversation }))
      const accepted = yield* Effect.forEach(all, ({ task }) => accept(task), {
        concurrency: "unbounded"
      })
      const begun = accepted.filter((each) => each.begun !== undefined)
      assert.strictEqual(begun.length, 1)
      assert.strictEqual(begun[0]?.task.ordinal, 1)
      assert.strictEqual(new Set(accepted.map(({ task }) => task.ordinal)).size, 20)
      assert.strictEqual(yield* Outbox.use((outbox) => outbox.depth), depth + 19)
    })
  )

  it.effect("is not begun again by the same idempotency key", () =>
    Effect.gen(function* () {
      const { task } = yield* wanted({ idempotency_key: Samples.unique("key") })
      const again = { ...task, id: Samples.runId(), message_id: Samples.messageId() }
      assert.isDefined((yield* accept(task)).begun)
      const known = yield* accept(again)
      assert.isFalse(known.created)
      assert.isUndefined(known.begun)
      assert.strictEqual(known.task.id, task.id)
      assert.isUndefined(yield* TaskStore.use(({ get }) => get(again.id)))
    })
  )

  it.effect("is held, and not begun, where the address is not that of its conversation", () =>
    Effect.gen(function* () {
      const key = ConversationId.make(Samples.unique("key"))
      const { task } = yield* wanted({
        conversation: ConversationId.make(Samples.unique("c")),
        address: { agent: Samples.operations, key }
      })
      const { begun, held } = yield* accept(task)
      assert.isUndefined(begun)
      assert.isTrue(held)
    })
  )

  it.effect(
    "shares its statement with messages that are refused, known or for busy addresses",
    () =>
      Effect.gen(function* () {
        const busy = yield* wanted()
        const known = yield* wanted({ idempotency_key: Samples.unique("key") })
        yield* accept(busy.task)
        yield* accept(known.task)
        const { conversation } = busy.task
        const repeat = { ...known.task, id: Samples.runId(), message_id: Samples.messageId() }
        const [fresh, full, queued, same, other] = yield* Effect.all(
          [
            Effect.flatMap(wanted(), ({ task }) => accept(task)),
            Effect.flatMap(wanted({ conversation, waiting_max: 1 }), ({ task }) =>
              Effect.flip(accept(task))
            ),
            Effect.flatMap(wanted({ conversation }), ({ task }) => accept(task)),
            accept(repeat),
            Effect.flip(accept({ ...repeat, message: "another" }))
          ],
          { concurrency: "unbounded" }
        )
        assert.isDefined(fresh.begun)
        assert.strictEqual(full._tag, "MailboxFull")
        assert.strictEqual(queued.task.ordinal, 2)
        assert.strictEqual(same.task.id, known.task.id)
        assert.strictEqual(other._tag, "IdempotencyConflict")
      })
  )
})
