/** Who owns a run, and which runs have no living owner. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { eventually } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = RunPorts | TaskStore

const every = 100_000
const hosted = [Samples.newTask().address.agent]
const recoverable = (owner: string) =>
  Effect.flatMap(RunOwnership, (ownership) => ownership.recoverable(owner, hosted, every))
const has = (run: RunId) => (heads: ReadonlyArray<{ readonly run_id: RunId }>) =>
  heads.some((head) => head.run_id === run)

const asks = (): ReadonlyArray<RunEvent> => [Samples.modelTurned(1, 1), Samples.approvalRequested()]

const leaseTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "a run of a living owner is recoverable by that owner alone, until it releases its lease",
    () =>
      Effect.gen(function* () {
        const reader = yield* RunReader
        const ownership = yield* RunOwnership
        const [a, b] = [Samples.unique("a"), Samples.unique("b")]
        yield* ownership.heartbeat(a, 600_000)
        const { run } = yield* Samples.begin({}, [], a)
        assert.strictEqual((yield* reader.head(run)).owner, a)
        assert.isFalse(has(run)(yield* recoverable(b)))
        assert.isTrue(has(run)(yield* recoverable(a)))
        yield* ownership.release(a)
        assert.isUndefined((yield* reader.head(run)).owner)
        assert.isTrue(has(run)(yield* recoverable(b)))
      })
  )

  it.effect("a lease that is not renewed ends", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const a = Samples.unique("a")
      yield* ownership.heartbeat(a, 600_000)
      const { run } = yield* Samples.begin({}, [], a)
      assert.isFalse(has(run)(yield* recoverable("b")))
      yield* ownership.heartbeat(a, 1)
      yield* eventually(recoverable("b"), has(run))
    })
  )
}

const ownerTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("owners are listed while they live, with when they came and were last seen", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const [a, b] = [Samples.unique("a"), Samples.unique("b")]
      const of = (owner: string) =>
        Effect.map(ownership.owners(500), (all) => all.find((each) => each.owner === owner))
      assert.isUndefined(yield* of(a))
      const before = Date.now()
      yield* ownership.heartbeat(a, 600_000)
      const first = yield* of(a)
      const { lease_until = 0, seen_at = 0, since = 0 } = first ?? {}
      // Clocks of the store and of the process may differ a little.
      for (const time of [since, seen_at]) assert.closeTo(time, before, 60_000)
      assert.closeTo(lease_until - seen_at, 600_000, 2)
      assert.isFalse(first?.guarded)
      yield* eventually(
        Effect.andThen(ownership.heartbeat(a, 600_000), of(a)),
        (again) => (again?.seen_at ?? 0) > seen_at
      )
      assert.strictEqual((yield* of(a))?.since, since)
      yield* ownership.heartbeat(b, 1)
      yield* eventually(of(b), (gone) => gone === undefined)
      assert.lengthOf(yield* ownership.owners(1), 1)
      assert.lengthOf(yield* ownership.owners(0), 0)
      yield* ownership.release(a)
      assert.isUndefined(yield* of(a))
    })
  )
}

const recoverableTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "runs without a living owner are recoverable, oldest first, and ended ones are not",
    () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const ownership = yield* RunOwnership
        const task = Samples.newTask()
        yield* journal.create(task.id, 1, Samples.runAccepted(task))
        const claimed = yield* Samples.begin()
        // Besides its approval, another call was in flight when the owner died.
        const asking = yield* Samples.begin({}, [
          Samples.modelTurned(1, 2),
          Samples.approvalRequested()
        ])
        const ended = yield* Samples.finish()
        const found = yield* recoverable("b")
        assert.isTrue(has(task.id)(found))
        assert.isTrue(has(claimed.run)(found))
        assert.isTrue(has(asking.run)(found))
        assert.isFalse(has(ended.run)(found))
        const ours = found.filter((head) => head.tenant === Samples.acme)
        for (let i = 1; i < ours.length; i++) {
          assert.isAtLeast(ours[i]!.created_at, ours[i - 1]!.created_at)
        }
        assert.strictEqual((yield* ownership.recoverable("b", hosted, 1)).length, 1)
      })
  )

  it.effect("runs are recoverable and adopted only by a host of their agent", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const agent = AgentName.make("elsewhere")
      const address = () => ({ agent, key: ConversationId.make(Samples.unique("c")) })
      const moving = yield* Samples.begin({ address: address() })
      const parkable = yield* Samples.begin({ address: address() }, asks())
      assert.isTrue((yield* reader.head(parkable.run)).parkable)
      assert.isFalse(has(moving.run)(yield* recoverable("b")))
      assert.isTrue(has(moving.run)(yield* ownership.recoverable("b", [agent], every)))
      assert.isFalse(has(parkable.run)(yield* ownership.adopt("b", hosted, every)))
      assert.isFalse(has(parkable.run)(yield* ownership.adopt("b", [], every)))
      assert.isTrue(has(parkable.run)(yield* ownership.adopt("b", [agent], every)))
    })
  )

  it.effect("a recoverable run is found behind many of another tenant", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const ownership = yield* RunOwnership
      const agent = AgentName.make("crowded")
      const create = Effect.fnUntraced(function* (tenant: Tenant) {
        const key = ConversationId.make(Samples.unique("c"))
        const task = Samples.newTask({ tenant, address: { agent, key } })
        yield* journal.create(task.id, 1, Samples.runAccepted(task))
        return task.id
      })
      const [a, b] = [Samples.tenant(), Samples.tenant()]
      yield* Effect.replicateEffect(create(a), 30)
      const one = yield* create(b)
      // Runs of the same millisecond come in any order.
      const found = yield* ownership.recoverable("heir", [agent], 3)
      assert.deepStrictEqual(found.map((head) => head.tenant).sort(), [a, a, b].sort())
      assert.isTrue(has(one)(found.slice(0, 2)))
    })
  )
}

const answerableTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("behind a run that waits for a person, the next one is answerable, and no other", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const ownership = yield* RunOwnership
      const address = () => ({ agent: hosted[0]!, key: ConversationId.make(Samples.unique("c")) })
      const create = Effect.fnUntraced(function* (of: ReturnType<typeof address>) {
        const task = Samples.newTask({ address: of, conversation: of.key })
        const { task: accepted } = yield* TaskStore.use((tasks) => tasks.accept(task))
        yield* journal.create(task.id, accepted.ordinal, Samples.runAccepted(task))
        return task.id
      })
      const [asked, working] = [address(), address()]
      const waiting = yield* Samples.begin({ address: asked, conversation: asked.key }, asks())
      yield* Samples.begin({ address: working, conversation: working.key })
      const [next, last, behind] = [
        yield* create(asked),
        yield* create(asked),
        yield* create(working)
      ]
      const found = (agents: ReadonlyArray<AgentName>, of = hosted) =>
        ownership.answerable("heir", agents, of, every)
      const heads = yield* found(hosted)
      assert.isTrue(has(next)(heads))
      for (const other of [waiting.run, last, behind]) assert.isFalse(has(other)(heads))
      assert.isFalse(has(next)(yield* recoverable("heir")))
      assert.isFalse(has(next)(yield* found([])))
      assert.isFalse(has(next)(yield* found(hosted, [])))
      // Claimed and lost, it is answerable still; of a living owner it is not.
      const owner = Samples.unique("owner")
      yield* ownership.heartbeat(owner, 600_000)
      yield* ownership.claim(next, owner)
      assert.isFalse(has(next)(yield* found(hosted)))
      yield* ownership.release(owner)
      assert.isTrue(has(next)(yield* found(hosted)))
    })
  )
}

const restTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "a run that waits only for a person is recoverable by nobody, until it is amended",
    () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const reader = yield* RunReader
        const ownership = yield* RunOwnership
        const a = Samples.unique("a")
        yield* ownership.heartbeat(a, 600_000)
        const question = Samples.approvalRequested()
        const { run } = yield* Samples.begin({}, [Samples.modelTurned(1, 1), question], a)
        assert.isTrue((yield* reader.head(run)).parkable)
        assert.isFalse(has(run)(yield* recoverable(a)))
        assert.isFalse(has(run)(yield* recoverable("b")))
        yield* ownership.release(a)
        assert.isFalse(has(run)(yield* recoverable("b")))
        yield* journal.amend(run, () => ({
          answer: Result.void,
          events: [
            {
              _tag: "ApprovalDecided",
              call: Samples.firstCall,
              approval: question.approval,
              digest: question.digest,
              decision: { _tag: "Approve" },
              by: "ada"
            }
          ]
        }))
        assert.isFalse((yield* reader.head(run)).parkable)
        assert.isTrue(has(run)(yield* recoverable("b")))
      })
  )

  it.effect("a claim of a parkable run leaves it parkable", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const { run } = yield* Samples.begin({}, asks())
      const { head } = yield* ownership.claim(run, "heir")
      assert.deepInclude(head, { parkable: true, status: "awaiting_approval" })
      assert.isTrue((yield* reader.head(run)).parkable)
    })
  )
}

const adoptionTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "parkable runs are adopted only from owners that are gone, once, and nothing is appended",
    () =>
      Effect.gen(function* () {
        const reader = yield* RunReader
        const ownership = yield* RunOwnership
        const [a, b, heir] = [Samples.unique("a"), Samples.unique("b"), Samples.unique("heir")]
        for (const owner of [a, b, heir]) yield* ownership.heartbeat(owner, 600_000)
        const first = yield* Samples.begin({}, asks(), a)
        const second = yield* Samples.begin({}, asks(), a)
        const living = yield* Samples.begin({}, asks(), b)
        const moving = yield* Samples.begin({}, [Samples.modelTurned(1, 1)], a)
        yield* ownership.release(a)
        const before = yield* Samples.snapshot(first.run)
        const adopted = yield* ownership.adopt(heir, hosted, every)
        assert.isTrue(has(first.run)(adopted))
        assert.isTrue(has(second.run)(adopted))
        assert.isFalse(has(living.run)(adopted))
        assert.isFalse(has(moving.run)(adopted))
        for (const head of adopted) assert.deepInclude(head, { owner: heir, parkable: true })
        const after = yield* Samples.snapshot(first.run)
        assert.deepStrictEqual(after, { ...before, head: { ...before.head, owner: heir } })
        assert.strictEqual((yield* reader.head(living.run)).owner, b)
        assert.deepStrictEqual(yield* ownership.adopt(Samples.unique("late"), hosted, every), [])
        // The first process that is woken may still claim it, at its current epoch.
        const { head } = yield* ownership.claim(first.run, b, first.fence.epoch)
        assert.strictEqual(head.owner, b)
      })
  )

  it.effect("adopts at most as many as asked for, oldest first", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const [a, heir] = [Samples.unique("a"), Samples.unique("heir")]
      for (const owner of [a, heir]) yield* ownership.heartbeat(owner, 600_000)
      yield* ownership.adopt(heir, hosted, every)
      const runs: Array<RunId> = []
      for (let i = 0; i < 3; i++) runs.push((yield* Samples.begin({}, asks(), a)).run)
      yield* ownership.release(a)
      const adopted = [...(yield* ownership.adopt(heir, hosted, 2))]
      assert.strictEqual(adopted.length, 2)
      adopted.push(...(yield* ownership.adopt(heir, hosted, 2)))
      assert.deepStrictEqual(adopted.map((head) => head.run_id).sort(), runs.sort())
      for (let i = 1; i < adopted.length; i++) {
        assert.isAtLeast(adopted[i]!.created_at, adopted[i - 1]!.created_at)
      }
    })
  )
}

const orderTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a run is not recoverable before the earlier runs of its address have ended", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const tasks = yield* TaskStore
      const first = yield* Samples.begin()
      const { conversation } = first.task
      const second = yield* tasks.accept(Samples.newTask({ conversation }))
      yield* journal.create(second.task.id, second.task.ordinal, Samples.runAccepted(second.task))
      const before = yield* recoverable("b")
      assert.isTrue(has(first.run)(before))
      assert.isFalse(has(second.task.id)(before))
      yield* journal.append(first.next(Samples.modelTurned(1), Samples.runEnded()))
      assert.isTrue(has(second.task.id)(yield* recoverable("b")))
    })
  )

  it.effect("many claims at once each get their own run, and a stale one is refused alone", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const begun = yield* Effect.forEach(Array.from({ length: 40 }), (_, i) =>
        Samples.begin({}, i % 2 === 0 ? [Samples.modelTurned(1, i % 3)] : asks())
      )
      const claims = yield* Effect.forEach(
        begun,
        ({ fence, run }, i) =>
          Effect.result(ownership.claim(run, `heir-${i}`, i === 7 ? fence.epoch - 1 : fence.epoch)),
        { concurrency: "unbounded" }
      )
      for (const [i, claim] of claims.entries()) {
        const { fence, run } = begun[i]!
        const { entries, head } = yield* Samples.snapshot(run)
        if (i === 7) {
          assert.strictEqual(Result.isFailure(claim) && claim.failure._tag, "FencedOff")
          assert.strictEqual(head.epoch, fence.epoch)
        } else {
          const { epoch, length } = fence
          const last = { _tag: "RunClaimed", epoch: epoch + 1, owner: `heir-${i}` } as const
          assert.deepStrictEqual(Result.getOrThrow(claim), { head, entries })
          assert.deepStrictEqual(entries.at(-1)?.event, last)
          assert.deepInclude(head, { epoch: epoch + 1, length: length + 1, run_id: run })
        }
      }
    })
  )

  it.effect("unfinished runs of an address are listed by ordinal, without the ended ones", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const tasks = yield* TaskStore
      const first = yield* Samples.finish()
      const { address, conversation, tenant } = first.task
      const second = yield* tasks.accept(Samples.newTask({ conversation }))
      const third = yield* tasks.accept(Samples.newTask({ conversation }))
      yield* journal.create(third.task.id, third.task.ordinal, Samples.runAccepted(third.task))
      yield* journal.create(second.task.id, second.task.ordinal, Samples.runAccepted(second.task))
      const heads = yield* reader.unfinished(tenant, address, 10)
      assert.deepStrictEqual(
        heads.map((head) => [head.run_id, head.ordinal]),
        [
          [second.task.id, 2],
          [third.task.id, 3]
        ]
      )
      assert.strictEqual((yield* reader.unfinished(tenant, address, 1))[0]?.run_id, second.task.id)
      const other = Samples.newTask().address
      assert.deepStrictEqual(yield* reader.unfinished(tenant, other, 10), [])
    })
  )
}

export const recoveryTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  leaseTests(it)
  ownerTests(it)
  recoverableTests(it)
  answerableTests(it)
  restTests(it)
  adoptionTests(it)
  orderTests(it)
}
