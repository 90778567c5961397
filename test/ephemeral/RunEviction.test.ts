/** What a store in memory keeps of more runs than it has room for. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { CostLedger } from "../../services/CostLedger.ts"
import { ChannelBindings } from "../../services/ChannelBindings.ts"
import { EventInbox } from "../../services/EventInbox.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { EphemeralStore, tenantKey } from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { chapters_max } from "../../src/conversation/CompactionPlan.ts"
import type { BindingTarget } from "../../src/conversation/ChannelBinding.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import * as H from "../runtime/Harness.ts"

const address = (id: string) => ({
  agent: Samples.operations,
  key: ConversationId.make(id)
})

/** So many runs of one step that have ended, in conversations of these ids, in turn. */
const finish = Effect.fnUntraced(function* (
  count: number,
  id: (n: number) => string,
  given: Partial<NewTask> = {}
) {
  const runs: Array<RunId> = []
  for (let n = 0; n < count; n++) {
    const { run } = yield* Samples.finish({ address: address(id(n)), ...given })
    runs.push(run)
  }
  return runs
})

/** More than are kept, of other conversations. */
const crowd = (name: string) =>
  EphemeralStore.use(({ retention: { more_max, runs_max } }) =>
    finish(runs_max + more_max, (n) => `${name}-${n}`)
  )

/** The store with these bounds: ten thousand runs take a second. */
const bounded = (runs_max: number, more_max: number) =>
  EphemeralStore.use((store) =>
    Effect.sync(() => {
      Object.assign(store.retention, { runs_max, more_max })
      return store
    })
  )
const small = bounded(300, 20)

const seen = (run: RunId) =>
  Effect.gen(function* () {
    const task = yield* TaskStore.use((tasks) => tasks.get(run))
    const entries = yield* RunReader.use((reader) => reader.read(run, 0, 10))
    assert.strictEqual(task === undefined, entries.length === 0)
    return task !== undefined
  })

const messages = (id: string) =>
  ConversationStore.use((conversations) =>
    conversations.messages(Samples.acme, ConversationId.make(id), -1, 500)
  )

const tasksOf = (id: string) =>
  TaskStore.use((tasks) => tasks.ofConversation(Samples.acme, ConversationId.make(id), 0, 500))

it.effect(
  "of more than 10,500 ended runs the newest 10,000 are kept, with their conversations",
  () =>
    Effect.gen(function* () {
      const store = yield* EphemeralStore
      const { more_max, runs_max } = store.retention
      assert.deepInclude(store.retention, { runs_max: 10_000, more_max: 500 })
      const runs = yield* finish(runs_max + more_max, (n) => `c-${n}`)
      assert.isTrue(yield* seen(runs[0]!))
      runs.push(...(yield* finish(1, () => "last")))
      assert.strictEqual(store.runs.size, runs_max)
      assert.strictEqual(store.tasks.size, runs_max)
      assert.strictEqual(store.conversations.size, runs_max)
      assert.strictEqual(store.conversationsOf.get(Samples.acme)?.length, runs_max)
      assert.strictEqual(store.byLastEnd.size, runs_max)
      assert.isFalse(yield* seen(runs[more_max]!))
      assert.isTrue(yield* seen(runs[more_max + 1]!))
      const gone = yield* Effect.flip(RunReader.use((reader) => reader.head(runs[0]!)))
      assert.strictEqual(gone._tag, "RunNotFound")
    }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect(
  "of ended runs that are too large together the newest are kept, and open ones refuse the next",
  () =>
    Effect.gen(function* () {
      const store = yield* EphemeralStore
      Object.assign(store.retention, { units_max: 1_000_000 })
      const message = "x".repeat(100_000)
      const runs = yield* finish(40, (n) => `c-${n}`, { message })
      assert.isAtMost(store.units, 1_000_000)
      assert.isAtLeast(store.runs.size, 5)
      assert.isFalse(yield* seen(runs[0]!))
      assert.isTrue(yield* seen(runs.at(-1)!))
      const begin = (n: number) => Samples.begin({ address: address(`open-${n}`), message })
      for (let n = 0; store.units <= 2_000_000; n++) yield* begin(n)
      const refused = yield* Effect.flip(
        TaskStore.use((tasks) => tasks.accept(Samples.newTask({ address: address("next") })))
      )
      assert.strictEqual(refused._tag, "StoreError")
    }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("a run that is forgotten leaves no question, file, cost or idempotency key", () =>
  Effect.gen(function* () {
    const store = yield* small
    const key = "once"
    const bytes = new Uint8Array(10)
    const label = { digest: "f".repeat(64), media_type: "image/png" }
    const approval = Samples.approvalRequested()
    const begun = yield* Samples.begin({ address: address("old"), idempotency_key: key }, [
      {
        ...Samples.modelTurned(1, 1),
        cost: {
          _tag: "Priced",
          agent: Samples.operations,
          prices: "p",
          currency: "USD",
          amount: "0.5"
        }
      },
      approval
    ])
    const holder = {
      run: begun.run,
      conversation: ConversationId.make("old"),
      as: "message"
    } as const
    yield* BlobStore.use((blobs) => blobs.put(Samples.acme, label, bytes, holder, 100))
    const held = BlobStore.use((blobs) => blobs.read(Samples.acme, label.digest, 0, 10))
    const costs = CostLedger.use((ledger) =>
      ledger.totals({ tenant: Samples.acme, by: "run", run_id: begun.run, limit: 10 })
    )
    // As long as the question is open, the run stays.
    yield* crowd("a")
    assert.isTrue(yield* seen(begun.run))
    const cancelled = Samples.runEnded({ status: "cancelled", reason: "cancelled" })
    yield* RunJournal.use((journal) =>
      journal.append(
        begun.next(
          {
            _tag: "ApprovalClosed",
            call: Samples.firstCall,
            approval: approval.approval,
            how: "cancelled"
          },
          Samples.callSettled(Samples.firstCall, { _tag: "Cancelled" }),
          cancelled
        )
      )
    )
    assert.strictEqual((yield* costs)[0]?.amounts[0]?.amount, "0.5")
    assert.strictEqual((yield* held)?.length, 10)
    yield* crowd("b")
    assert.isFalse(yield* seen(begun.run))
    assert.isUndefined(yield* ApprovalRecords.use((all) => all.get(approval.approval)))
    assert.isUndefined(yield* held)
    assert.deepStrictEqual(yield* costs, [])
    assert.strictEqual(store.costs.get(Samples.acme)?.size ?? 0, 0)
    assert.strictEqual(store.accepted.size, 0)
    const again = yield* TaskStore.use((tasks) =>
      tasks.accept(Samples.newTask({ address: address("new"), idempotency_key: key }))
    )
    assert.isTrue(again.created)
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("one long conversation keeps its newest runs, and their numbers and messages", () =>
  Effect.gen(function* () {
    const { more_max, runs_max } = (yield* small).retention
    const total = runs_max + more_max + 1
    const runs = yield* finish(total, () => "long")
    const dropped = total - runs_max
    assert.deepStrictEqual((yield* tasksOf("long")).map(({ ordinal }) => ordinal).slice(0, 2), [
      dropped + 1,
      dropped + 2
    ])
    const [first] = yield* messages("long")
    assert.strictEqual(first?.seq, 2 * dropped)
    assert.strictEqual(first?.run_id, runs[dropped])
    const before = yield* TaskStore.use((tasks) =>
      tasks.endedBefore(Samples.acme, ConversationId.make("long"), total, 3)
    )
    assert.deepStrictEqual(
      before.map(({ id }) => id),
      runs.slice(-4, -1).toReversed()
    )
    const page = yield* ConversationStore.use((conversations) =>
      conversations.messages(Samples.acme, ConversationId.make("long"), 2 * total - 3, 10)
    )
    assert.deepStrictEqual(
      page.map(({ seq }) => seq),
      [2 * total - 2, 2 * total - 1]
    )
    const [next] = yield* finish(1, () => "long")
    const task = yield* TaskStore.use((tasks) => tasks.get(next!))
    assert.strictEqual(task?.ordinal, total + 1)
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("an open run keeps what its prompt reads, and nothing before it", () =>
  Effect.gen(function* () {
    yield* small
    const past = yield* finish(chapters_max + 10, () => "open")
    const open = yield* Samples.begin({ address: address("open") })
    yield* crowd("a")
    yield* crowd("b")
    assert.isTrue(yield* seen(open.run))
    const read = yield* tasksOf("open")
    assert.deepStrictEqual(
      read.map(({ id }) => id),
      [...past.slice(-chapters_max - 1), open.run]
    )
    yield* Samples.end(open)
    yield* crowd("c")
    assert.deepStrictEqual(yield* tasksOf("open"), [])
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("runs of unknown outcome or in quarantine are kept, and do not keep others", () =>
  Effect.gen(function* () {
    const store = yield* bounded(1_500, 100)
    const { more_max, runs_max } = store.retention
    const kept = yield* finish(2, (n) => `kept-${n}`)
    const [unknown, spoilt] = kept
    store.unknown.set(unknown!, new Map())
    const stored = store.runs.get(spoilt!)!
    stored.quarantined = { why: { _tag: "RunQuarantined" } as never, at: 0 }
    // More conversations that cannot go than are looked at together.
    const waiting = yield* finish(1_200, (n) => `waiting-${n}`)
    for (const run of waiting) store.unknown.set(run, new Map())
    yield* crowd("a")
    yield* crowd("b")
    assert.isTrue(store.tasks.has(spoilt!))
    for (const run of [unknown!, ...waiting]) assert.isTrue(yield* seen(run))
    assert.isAtMost(store.runs.size, runs_max + more_max)
    for (const run of waiting) store.unknown.delete(run)
    yield* crowd("c")
    for (const run of waiting) assert.isFalse(yield* seen(run))
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("a conversation that is spoken to again stays, and quieter ones go before it", () =>
  Effect.gen(function* () {
    const { more_max, runs_max } = (yield* small).retention
    const [first] = yield* finish(1, () => "again")
    const [quiet] = yield* finish(1, () => "quiet")
    yield* finish(runs_max - 10, (n) => `a-${n}`)
    const [second] = yield* finish(1, () => "again")
    yield* finish(more_max + 10, (n) => `b-${n}`)
    assert.isFalse(yield* seen(quiet!))
    assert.isTrue(yield* seen(first!))
    assert.isTrue(yield* seen(second!))
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("where nothing else can go, the run that has just ended stays", () =>
  Effect.gen(function* () {
    const store = yield* small
    const { more_max, runs_max } = store.retention
    const kept = yield* finish(runs_max + more_max, (n) => `kept-${n % 10}`)
    for (const run of kept) store.unknown.set(run, new Map())
    const [last] = yield* finish(1, () => "last")
    assert.isTrue(yield* seen(last!))
    assert.strictEqual(store.runs.size, runs_max + more_max + 1)
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("a question that is open after the end of its run keeps it", () =>
  Effect.gen(function* () {
    yield* small
    const approval = Samples.approvalRequested()
    const begun = yield* Samples.begin({ address: address("asked") }, [
      Samples.modelTurned(1, 1),
      approval
    ])
    const end = begun.next(Samples.runEnded({ status: "failed", reason: "model_failed" }))
    yield* RunJournal.use((journal) => journal.append({ ...end, status: "failed" }))
    yield* crowd("a")
    yield* crowd("b")
    assert.isTrue(yield* seen(begun.run))
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("an event begins a conversation that was forgotten anew, with its channels", () =>
  Effect.gen(function* () {
    const store = yield* small
    const key = tenantKey(Samples.acme, "told")
    const task = (): NewTask => Samples.newTask({ address: address("told") })
    const targets = [{ channel: "slack", address: "C1", recipient: "ada" } as BindingTarget]
    const told = (id: string, of: NewTask) =>
      EventInbox.use((inbox) =>
        inbox.accept({ tenant: Samples.acme, source: "shop", id, digest: id }, of, targets)
      )
    const bound = ChannelBindings.use((all) => all.of(Samples.acme, ConversationId.make("told")))
    const first = task()
    yield* told("1", first)
    assert.lengthOf(yield* bound, 1)
    const journal = yield* RunJournal
    const ownership = yield* RunOwnership
    yield* journal.create(first.id, 1, Samples.runAccepted(first))
    const { head } = yield* ownership.claim(first.id, "owner")
    yield* journal.append({
      run: first.id,
      fence: head,
      events: [Samples.modelTurned(1), Samples.runEnded()],
      status: "complete"
    })
    yield* crowd("a")
    assert.isUndefined(store.conversations.get(key))
    assert.lengthOf(yield* bound, 0)
    yield* told("2", task())
    assert.lengthOf(yield* bound, 1)
    assert.strictEqual(store.conversations.get(key)?.tasks[0]?.task.ordinal, 2)
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("an erasure finds the number of a conversation that was forgotten", () =>
  Effect.gen(function* () {
    const store = yield* small
    yield* finish(1, () => "maria@example.org:1")
    yield* crowd("a")
    const named = () => [...store.counted.keys()].filter((name) => name.includes("maria"))
    assert.strictEqual(named().length, 1)
    yield* SubjectErasure.use((erasure) =>
      erasure.erase({ tenant: Samples.acme, subject: "maria@example.org", by: "ada" })
    )
    assert.deepStrictEqual(named(), [])
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.live(
  "a conversation that was forgotten is spoken to again, and whoever watched it sees that",
  () =>
    Effect.gen(function* () {
      yield* small
      const first = yield* H.send("hello", "back")
      yield* H.ended(first, "back")
      const runtime = yield* AgentRuntime
      const watched = yield* runtime
        .watch(ConversationId.make("back"), { ordinal: 1, seq: 1_000 }, H.alice)
        .pipe(
          Stream.filter((item) => item._tag === "Event" && item.entry.event._tag === "RunEnded"),
          Stream.take(1),
          Stream.runDrain,
          Effect.forkChild({ startImmediately: true })
        )
      yield* crowd("a")
      assert.isFalse(yield* seen(first))
      const again = yield* H.send("hello again", "back")
      yield* H.ended(again, "back")
      yield* Fiber.join(watched)
      const task = yield* TaskStore.use((tasks) => tasks.get(again))
      assert.strictEqual(task?.ordinal, 2)
      const store = yield* EphemeralStore
      assert.isFalse(store.counted.has(tenantKey(H.tenant, "back")))
    }).pipe(Effect.provide(H.layer({ script: () => text("done") })))
)
