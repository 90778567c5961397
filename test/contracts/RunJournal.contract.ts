/** The journal of runs: who may write, what is written, and what is read. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Clock, Effect, Result } from "effect"
import type { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import type { ConversationStore } from "../../services/ConversationStore.ts"
import type { Outbox } from "../../services/Outbox.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunQuarantine } from "../../services/RunQuarantine.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import { amendTests } from "./Amend.contract.ts"
import { committedTests } from "./Committed.contract.ts"
import { contract } from "./Contract.ts"
import { projectionTests } from "./Projection.contract.ts"
import { recoveryTests } from "./Recovery.contract.ts"
import * as Samples from "./Samples.ts"
import { transactTests } from "./Transact.contract.ts"
import type { Options } from "./Transact.contract.ts"

export type Needs = RunPorts | TaskStore | ConversationStore | ApprovalRecords | Outbox

const creationTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("creates a run once and does not change one that exists", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const task = Samples.newTask()
      assert.isTrue(yield* journal.create(task.id, 1, Samples.runAccepted(task)))
      const again = Samples.runAccepted({ ...task, message: "another" })
      assert.isFalse(yield* journal.create(task.id, 2, again))
      const { entries, head } = yield* Samples.snapshot(task.id)
      assert.deepStrictEqual(
        entries.map(({ event, seq }) => ({ event, seq })),
        [{ event: Samples.runAccepted(task), seq: 0 }]
      )
      const { created_at, owner, ...rest } = head
      assert.isAbove(created_at, 0)
      assert.isUndefined(owner)
      assert.deepStrictEqual(rest, {
        run_id: task.id,
        tenant: task.tenant,
        address: task.address,
        conversation: task.conversation,
        ordinal: 1,
        status: "pending",
        epoch: 0,
        length: 1,
        parkable: false
      })
    })
  )
}

const claimTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a claim increments the epoch and returns every entry so far", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const { run } = yield* Samples.begin({}, [Samples.modelTurned(1, 1)], "a")
      const { entries, head } = yield* ownership.claim(run, "b")
      assert.strictEqual(head.epoch, 2)
      assert.strictEqual(head.length, 4)
      assert.strictEqual(head.status, "processing")
      assert.deepStrictEqual(
        entries.map((entry) => entry.event._tag),
        ["RunAccepted", "RunClaimed", "ModelTurned", "RunClaimed"]
      )
      assert.deepStrictEqual(entries.at(-1)!.event, { _tag: "RunClaimed", epoch: 2, owner: "b" })
    })
  )

  it.effect("a claim of a run that waits for a person leaves it waiting", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const { run } = yield* Samples.begin({}, [
        Samples.modelTurned(1, 1),
        Samples.approvalRequested()
      ])
      assert.strictEqual((yield* ownership.claim(run, "b")).head.status, "awaiting_approval")
    })
  )
}

const timeTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "an append has the time that its writer gives, and the journal's where there is none",
    () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const reader = yield* RunReader
        const { fence, run } = yield* Samples.begin()
        const append = { run, events: [Samples.modelTurned(1, 1)], status: "processing" } as const
        yield* journal.append({ ...append, fence, at: 1_700_000_000_123 })
        const before = yield* Clock.currentTimeMillis
        const next = { ...fence, length: fence.length + 1 }
        yield* journal.append({ ...append, fence: next, events: [Samples.modelTurned(2, 1)] })
        const [given, own] = (yield* reader.read(run, fence.length, 10)).map(({ at }) => at)
        assert.strictEqual(given, 1_700_000_000_123)
        assert.isAtLeast(own!, before)
      })
  )
}

const concurrentClaimTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("16 claims at once get 16 epochs", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const { run } = yield* Samples.begin()
      const claims = yield* Effect.forEach(
        Array.from({ length: 16 }, (_, i) => `owner-${i}`),
        (owner) => ownership.claim(run, owner),
        { concurrency: "unbounded" }
      )
      const epochs = claims.map((claim) => claim.head.epoch).sort((a, b) => a - b)
      assert.deepStrictEqual(
        epochs,
        Array.from({ length: 16 }, (_, i) => i + 2)
      )
    })
  )

  it.effect("of 16 claims at once that saw the same epoch, one takes the run", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const { run } = yield* Samples.begin()
      const { epoch } = yield* reader.head(run)
      const claims = yield* Effect.forEach(
        Array.from({ length: 16 }, (_, i) => `owner-${i}`),
        (owner) => Effect.result(ownership.claim(run, owner, epoch)),
        { concurrency: "unbounded" }
      )
      const refused = claims.flatMap((each) => (Result.isFailure(each) ? [each.failure._tag] : []))
      assert.deepStrictEqual(
        refused,
        Array.from({ length: 15 }, () => "FencedOff")
      )
      assert.strictEqual((yield* reader.head(run)).epoch, epoch + 1)
      const entries = yield* reader.read(run, 0, 100)
      assert.strictEqual(entries.filter(({ event }) => event._tag === "RunClaimed").length, 2)
    })
  )

  it.effect("a claim refuses a run that has ended, and an unknown one", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const { run } = yield* Samples.finish()
      const before = yield* Samples.snapshot(run)
      assert.strictEqual((yield* Effect.flip(ownership.claim(run, "b")))._tag, "RunIsOver")
      assert.deepStrictEqual(yield* Samples.snapshot(run), before)
      const unknown = Samples.runId()
      assert.strictEqual((yield* Effect.flip(ownership.claim(unknown, "b")))._tag, "RunNotFound")
      assert.strictEqual((yield* Effect.flip(reader.head(unknown)))._tag, "RunNotFound")
    })
  )
}

const ownership = (it: Vitest.MethodsNonLive<Needs>) => {
  creationTests(it)
  claimTests(it)
  timeTests(it)
  concurrentClaimTests(it)
}

const fenceTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("refuses an append of an older epoch and changes nothing", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const ownership = yield* RunOwnership
      const begun = yield* Samples.begin()
      yield* ownership.claim(begun.run, "another")
      const before = yield* Samples.snapshot(begun.run)
      const append = begun.next(Samples.modelTurned(1))
      assert.strictEqual((yield* Effect.flip(journal.append(append)))._tag, "FencedOff")
      const length = { ...append, fence: { epoch: 1, length: 3 } }
      assert.strictEqual((yield* Effect.flip(journal.append(length)))._tag, "FencedOff")
      assert.deepStrictEqual(yield* Samples.snapshot(begun.run), before)
    })
  )

  it.effect("refuses a stale append and changes nothing", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const begun = yield* Samples.begin()
      const append = begun.next(Samples.modelTurned(1))
      yield* journal.append(append)
      const before = yield* Samples.snapshot(begun.run)
      for (const length of [1, 2, 4]) {
        const stale = { ...append, fence: { epoch: 1, length } }
        assert.strictEqual((yield* Effect.flip(journal.append(stale)))._tag, "StaleAppend")
      }
      assert.deepStrictEqual(yield* Samples.snapshot(begun.run), before)
    })
  )
}

const readTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("events keep their content and get a seq without a gap", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const events = [Samples.modelTurned(1, 3), Samples.approvalRequested(), Samples.callSettled()]
      const begun = yield* Samples.begin({}, events)
      yield* journal.append(begun.next(Samples.callSettled(), Samples.runEnded()))
      const { entries, head } = yield* Samples.snapshot(begun.run)
      assert.deepStrictEqual(
        entries.map((entry) => entry.seq),
        [0, 1, 2, 3, 4, 5, 6]
      )
      assert.strictEqual(head.length, 7)
      assert.deepStrictEqual(
        entries.slice(2).map((entry) => entry.event),
        [...events, Samples.callSettled(), Samples.runEnded()]
      )
      for (let i = 1; i < entries.length; i++) assert.isAtLeast(entries[i]!.at, entries[i - 1]!.at)
    })
  )

  it.effect("reads pages, an empty one at the end and for an unknown run", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const { run } = yield* Samples.begin({}, [Samples.modelTurned(1, 1), Samples.callSettled()])
      const seqs = (from: number, limit: number) =>
        Effect.map(reader.read(run, from, limit), (page) => page.map((entry) => entry.seq))
      assert.deepStrictEqual(yield* seqs(0, 2), [0, 1])
      assert.deepStrictEqual(yield* seqs(2, 2), [2, 3])
      assert.deepStrictEqual(yield* seqs(3, 50_000), [3])
      assert.deepStrictEqual(yield* seqs(4, 2), [])
      assert.deepStrictEqual(yield* reader.read(Samples.runId(), 0, 10), [])
    })
  )

  it.effect("reads the same pages for the run's tenant, and none for another one", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const quarantine = yield* RunQuarantine
      const { run, task } = yield* Samples.begin({ tenant: Samples.tenant() }, [
        Samples.modelTurned(1, 1),
        Samples.callSettled()
      ])
      for (const [from, limit] of [
        [0, 2],
        [3, 50_000],
        [4, 2],
        [-1, 3]
      ] as const) {
        const page = yield* reader.read(run, from, limit)
        assert.deepStrictEqual(yield* reader.readFor(task.tenant, run, from, limit), page)
        assert.deepStrictEqual(yield* reader.readFor(Samples.tenant(), run, from, limit), [])
      }
      assert.deepStrictEqual(yield* reader.readFor(task.tenant, Samples.runId(), 0, 10), [])
      const raw = yield* quarantine.raw(task.tenant, run, 1, 2)
      assert.isFalse(raw.quarantined)
      assert.deepStrictEqual(
        raw.events.map(({ seq, type }) => [seq, type]),
        [
          [1, "RunClaimed"],
          [2, "ModelTurned"]
        ]
      )
      assert.deepStrictEqual(yield* quarantine.raw(task.tenant, run, 0, 0), {
        quarantined: false,
        events: []
      })
      const foreign = yield* Effect.flip(quarantine.raw(Samples.tenant(), run, 0, 10))
      assert.strictEqual(foreign._tag, "RunNotFound")
    })
  )
}

const concurrentAppendTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("of 16 appends with the same fence one is written", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const begun = yield* Samples.begin()
      const results = yield* Effect.forEach(
        Array.from({ length: 16 }, (_, i) => i),
        (i) =>
          Effect.result(
            journal.append(begun.next(Samples.modelTurned(1, 0, undefined, `answer ${i}`)))
          ),
        { concurrency: "unbounded" }
      )
      const won = results.flatMap((result, i) => (Result.isSuccess(result) ? [i] : []))
      assert.strictEqual(won.length, 1)
      for (const result of results) {
        if (Result.isFailure(result)) assert.strictEqual(result.failure._tag, "StaleAppend")
      }
      const { entries } = yield* Samples.snapshot(begun.run)
      assert.strictEqual(entries.length, 3)
      const last = entries[2]!.event
      assert.strictEqual(last._tag === "ModelTurned" ? last.text : "", `answer ${won[0]}`)
    })
  )

  it.effect("of 64 runs that append at once only the stale ones fail", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const runs = yield* Effect.forEach(
        Array.from({ length: 64 }, (_, i) => i),
        () => Samples.begin(),
        { concurrency: 16 }
      )
      const results = yield* Effect.forEach(
        runs,
        (begun, i) => {
          const append = begun.next(Samples.modelTurned(1))
          const fence = { ...append.fence, length: append.fence.length + (i % 10 === 3 ? 1 : 0) }
          return Effect.result(journal.append({ ...append, fence }))
        },
        { concurrency: "unbounded" }
      )
      for (const [i, begun] of runs.entries()) {
        const stale = i % 10 === 3
        assert.strictEqual(Result.isFailure(results[i]!), stale, `run ${i}`)
        assert.strictEqual((yield* reader.head(begun.run)).length, stale ? 2 : 3)
      }
    })
  )
}

const appends = (it: Vitest.MethodsNonLive<Needs>) => {
  fenceTests(it)
  readTests(it)
  concurrentAppendTests(it)
}

export const runJournalTests = (it: Vitest.MethodsNonLive<Needs>, options: Options): void => {
  ownership(it)
  appends(it)
  amendTests(it)
  recoveryTests(it)
  projectionTests(it)
  transactTests(it, options)
  committedTests(it)
}

export const runJournalContract = (options: Options) =>
  contract<Needs>("RunJournal", (it) => runJournalTests(it, options))
