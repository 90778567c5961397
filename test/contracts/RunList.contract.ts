/** Lists for operators: the newest runs, and those that wait for a person or a host. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import type { ConversationStore } from "../../services/ConversationStore.ts"
import type { Fence } from "../../services/RunJournal.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { RunQuery, UnknownQuery } from "../../services/RunList.ts"
import { RunList } from "../../services/RunList.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { AgentName, callId, rootFrame } from "../../src/value/Ids.ts"
import type { CallId, RunId, Tenant } from "../../src/value/Ids.ts"
import { cancelRun, settleCall } from "../../src/run/RunCommand.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { isParkable, statusOf } from "../../src/run/RunState.ts"
import { fold } from "../../src/run/RunFold.ts"
import * as Samples from "./Samples.ts"

export type Needs = RunPorts | RunList | TaskStore | ConversationStore | ApprovalRecords

const listed = (tenant: Tenant, more: Partial<RunQuery> = {}) =>
  Effect.map(
    RunList.use((runs) => runs.list({ tenant, limit: 500, ...more })),
    (all) => all.map(({ id }) => id)
  )

const unknown = (tenant: Tenant, runs?: ReadonlyArray<RunId>) =>
  Effect.map(
    RunList.use((list) => list.unknown({ tenant, runs, limit: 500 })),
    (all) => all.map(({ call, run_id, tool }) => [run_id, call, tool] as const)
  )

const first = callId(rootFrame, 1, 0)
const second = callId(rootFrame, 1, 1)

const dispatched = (call: CallId): RunEvent => ({
  _tag: "CallDispatched",
  call,
  key: call,
  epoch: 1,
  on_loss: "unknown"
})
const lost = (call: CallId): RunEvent => ({ _tag: "CallUnknown", call, tool: "replay" })

/** Appends at the current length and epoch, unless the test gives others. */
const append = Effect.fnUntraced(function* (
  run: RunId,
  events: ReadonlyArray<RunEvent>,
  given?: Fence
) {
  const journal = yield* RunJournal
  const reader = yield* RunReader
  const { epoch, length } = yield* reader.head(run)
  const past = (yield* reader.read(run, 0, 100)).map(({ event }) => event)
  const after = fold([...past, ...events])
  const fence = given ?? { epoch, length }
  yield* journal.append({
    run,
    fence,
    events,
    status: statusOf(after),
    parkable: isParkable(after)
  })
})

const accepted = (tenant: Tenant) =>
  Effect.map(
    TaskStore.use((tasks) => tasks.accept(Samples.newTask({ tenant }))),
    ({ task }) => task
  )

/** A run with two calls in flight. */
const sent = (tenant: Tenant) =>
  Samples.begin({ tenant }, [Samples.modelTurned(1, 2), dispatched(first), dispatched(second)])

const unhostedTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("work of agents without a host is listed by agent and tenant until it is over", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const first = yield* accepted(tenant)
      yield* accepted(tenant)
      yield* accepted(Samples.tenant())
      const { agent } = first.address
      const of = (hosted: ReadonlyArray<AgentName>) =>
        RunList.use((runs) => runs.unhosted({ tenant, hosted }))
      const oldest_at = first.created_at
      assert.deepStrictEqual(yield* of([]), [{ tenant, agent, count: 2, oldest_at }])
      assert.deepStrictEqual(yield* of([AgentName.make("another")]), [
        { tenant, agent, count: 2, oldest_at }
      ])
      assert.deepStrictEqual(yield* of([agent]), [])
      const all = yield* RunList.use((runs) => runs.unhosted({ hosted: [] }))
      assert.isAbove(new Set(all.map((each) => each.tenant)).size, 1)
    })
  )
}

const unknownCallTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("an unknown call is listed with its event, until it is settled", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const tenant = Samples.tenant()
      const { run } = yield* sent(tenant)
      assert.deepStrictEqual(yield* unknown(tenant), [])
      yield* append(run, [lost(first), lost(second)])
      const one = [run, first, "replay"] as const
      const two = [run, second, "replay"] as const
      assert.deepStrictEqual(yield* unknown(tenant), [one, two])
      assert.deepStrictEqual(yield* unknown(tenant, [run]), [one, two])
      assert.deepStrictEqual(yield* unknown(tenant, [Samples.runId()]), [])
      assert.deepStrictEqual(yield* unknown(Samples.tenant()), [])
      assert.deepStrictEqual(yield* listed(tenant, { waiting: "unknown" }), [run])
      assert.deepStrictEqual(yield* listed(tenant, { waiting: "approval" }), [])
      const happened = { _tag: "Succeeded", json: "1" } as const
      yield* journal.amend(run, (state, now) =>
        settleCall(state, run, first, happened, "olga", now)
      )
      assert.deepStrictEqual(yield* unknown(tenant), [two])
      const again = { _tag: "RunAgain" } as const
      yield* journal.amend(run, (state, now) => settleCall(state, run, second, again, "olga", now))
      assert.deepStrictEqual(yield* unknown(tenant), [])
      assert.deepStrictEqual(yield* listed(tenant, { waiting: "unknown" }), [])
    })
  )

  it.effect("a run is listed whatever texts its message brings, and hides no other", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const agent = AgentName.make("second")
      const text = "\u0000 \ud800 \udc00 \\u0000 \\\u0000 \\ud800"
      const parts = [{ type: "text" as const, text }]
      const plain = yield* Samples.begin({ tenant })
      const { run, task } = yield* Samples.begin({ tenant, parts, agent })
      assert.deepStrictEqual(task.parts, parts)
      assert.sameMembers(yield* listed(tenant), [plain.run, run])
      assert.deepStrictEqual(yield* listed(tenant, { agent }), [run])
    })
  )

  it.effect("the end of a run removes its unknown calls from the list", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const tenant = Samples.tenant()
      const { run } = yield* sent(tenant)
      yield* append(run, [lost(first)])
      yield* append(run, [
        { _tag: "CallSettled", call: second, outcome: { _tag: "Value", json: "2" } }
      ])
      assert.strictEqual((yield* unknown(tenant)).length, 1)
      yield* journal.amend(run, (state) => cancelRun(state, run, "olga", "enough"))
      assert.deepStrictEqual(yield* unknown(tenant), [])
      assert.deepStrictEqual(yield* listed(tenant, { status: "cancelled" }), [run])
    })
  )
}

const unknownCallListTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a refused append lists nothing", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const { run } = yield* sent(tenant)
      const refused = yield* Effect.exit(append(run, [lost(first)], { epoch: 1, length: 1 }))
      assert.strictEqual(refused._tag, "Failure")
      assert.deepStrictEqual(yield* unknown(tenant), [])
    })
  )

  it.effect("calls of many runs at once are each listed, and counted by tool", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const begun = yield* Effect.forEach([1, 2, 3, 4, 5], () => sent(tenant))
      yield* Effect.forEach(begun, ({ run }) => append(run, [lost(first)]), {
        concurrency: "unbounded"
      })
      const found = yield* unknown(tenant)
      assert.sameMembers(
        found.map(([run]) => run),
        begun.map(({ run }) => run)
      )
      const { unknown: counts } = yield* RunList.use((runs) => runs.standing)
      const count = counts.find(({ tool }) => tool === "replay")
      assert.isAtLeast(count?.calls ?? 0, 5)
    })
  )
}

const standingTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  // Other tests of the store leave runs and questions.
  it.effect("counts what runs, is parked and asks, and says since when", () =>
    Effect.gen(function* () {
      const standing = RunList.use((runs) => runs.standing)
      const before = yield* standing
      const tenant = Samples.tenant()
      yield* Samples.begin({ tenant })
      const { run } = yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 1)])
      yield* append(run, [Samples.approvalRequested()])
      const asked = yield* standing
      assert.strictEqual(asked.running + asked.parked, before.running + before.parked + 2)
      assert.strictEqual(asked.questions, before.questions + 1)
      assert.isAtMost(
        asked.oldest_question_at ?? Infinity,
        before.oldest_question_at ?? Number.MAX_SAFE_INTEGER
      )
      yield* RunJournal.use((journal) =>
        journal.amend(run, (state) => cancelRun(state, run, "ada", "enough"))
      )
      const after = yield* standing
      assert.strictEqual(after.questions, before.questions)
      assert.strictEqual(after.dead_letters, before.dead_letters)
    })
  )
}

const calls = (it: Vitest.MethodsNonLive<Needs>) => {
  standingTests(it)
  unhostedTests(it)
  unknownCallTests(it)
  unknownCallListTests(it)
}

const matchingTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("the ids of open runs come newest first, without those that are over", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const runs = yield* RunList
      const matching = (more: Partial<RunQuery> = {}) =>
        runs.matching({ tenant, limit: 10_001, status: "open", ...more })
      const going = (yield* Samples.begin({ tenant })).run
      const asking = (yield* Samples.begin({ tenant }, [
        Samples.modelTurned(1, 1),
        Samples.approvalRequested()
      ])).run
      const fresh = (yield* accepted(tenant)).id
      const over = (yield* Samples.begin({ tenant })).run
      yield* RunJournal.use((journal) =>
        journal.amend(over, (state) => cancelRun(state, over, "olga", "enough"))
      )
      yield* accepted(Samples.tenant())
      const all = yield* matching()
      assert.sameMembers([...all], [going, asking, fresh])
      const listed_ids = yield* listed(tenant)
      assert.deepStrictEqual(
        all,
        listed_ids.filter((id) => id !== over)
      )
      assert.deepStrictEqual(yield* matching({ limit: 1 }), all.slice(0, 1))
      assert.deepStrictEqual(yield* matching({ after: all[0] }), all.slice(1))
      assert.deepStrictEqual(yield* matching({ status: "awaiting_approval" }), [asking])
      assert.deepStrictEqual(yield* matching({ waiting: "approval" }), [asking])
      assert.deepStrictEqual(yield* matching({ agent: AgentName.make("nobody") }), [])
      assert.deepStrictEqual(yield* listed(tenant, { status: "open" }), [...all])
    })
  )

  it.effect("unknown calls are found by tool, agent and time, and behind one that is settled", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const runs = yield* RunList
      const tenant = Samples.tenant()
      const { run, task } = yield* sent(tenant)
      yield* append(run, [lost(first), { ...lost(second), tool: 'pay "it"' } as RunEvent])
      const all = yield* runs.unknown({ tenant, limit: 10 })
      const [before, behind] = [all[0]!, all[1]!]
      const found = (more: Partial<UnknownQuery>) =>
        Effect.map(runs.unknown({ tenant, limit: 10, ...more }), (calls) =>
          calls.map(({ call }) => call)
        )
      assert.deepStrictEqual(yield* found({ tool: 'pay "it"' }), [second])
      assert.deepStrictEqual(yield* found({ tool: "pay" }), [])
      assert.deepStrictEqual(yield* found({ agent: task.address.agent }), [first, second])
      assert.deepStrictEqual(yield* found({ agent: AgentName.make("nobody") }), [])
      assert.deepStrictEqual(yield* found({ since_to: before.since }), [])
      assert.deepStrictEqual(yield* found({ since_to: before.since + 1 }), [first, second])
      assert.deepStrictEqual(yield* found({ after: before }), [second])
      assert.deepStrictEqual(yield* found({ after: behind }), [])
      const happened = { _tag: "Succeeded", json: "1" } as const
      yield* journal.amend(run, (state, now) =>
        settleCall(state, run, first, happened, "olga", now)
      )
      assert.deepStrictEqual(yield* found({ after: before }), [second])
      assert.deepStrictEqual(yield* found({ after: { ...before, since: before.since - 1 } }), [
        second
      ])
    })
  )
}

const listTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("lists the runs of a tenant, newest first, page by page", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const runs: Array<RunId> = []
      for (let n = 0; n < 5; n++) runs.unshift((yield* accepted(tenant)).id)
      yield* accepted(Samples.tenant())
      const all = yield* listed(tenant)
      assert.sameMembers([...all], runs)
      const paged: Array<RunId> = []
      for (let after: RunId | undefined; ;) {
        const page = yield* listed(tenant, { limit: 2, after })
        paged.push(...page)
        if (page.length < 2) break
        after = page.at(-1)!
      }
      assert.deepStrictEqual(paged, [...all])
      const times = (yield* RunList.use((list) => list.list({ tenant, limit: 10 }))).map(
        ({ created_at }) => created_at
      )
      assert.deepStrictEqual(
        times,
        [...times].sort((a, b) => b - a)
      )
      assert.deepStrictEqual(yield* listed(tenant, { after: Samples.runId() }), [])
      const foreign = (yield* accepted(Samples.tenant())).id
      assert.deepStrictEqual(yield* listed(tenant, { after: foreign }), [])
    })
  )
}

const filterTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a task keeps the span in which it was sent, if there is one", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const span_id = "00f067aa0ba902b7"
      const trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
      const traced = Samples.newTask({ trace_id, span_id })
      const bare = Samples.newTask({ trace_id })
      const unwanted = Samples.newTask({ trace_id, span_id, sampled: false })
      yield* tasks.accept(unwanted)
      assert.isFalse((yield* tasks.get(unwanted.id))?.sampled)
      yield* tasks.accept(traced)
      yield* tasks.accept(bare)
      const kept = yield* tasks.get(traced.id)
      assert.deepStrictEqual([kept?.trace_id, kept?.span_id], [trace_id, span_id])
      const other = yield* tasks.get(bare.id)
      assert.strictEqual(other?.trace_id, trace_id)
      assert.notProperty(other, "span_id")
    })
  )

  it.effect("lists by the time of the message", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const answer_schema = { type: "object" }
      const first = Samples.newTask({ tenant, answer_schema })
      const { created_at, id } = (yield* TaskStore.use((tasks) => tasks.accept(first))).task
      yield* Effect.sleep(5)
      const second = yield* accepted(tenant)
      const later = second.created_at
      assert.isAbove(later, created_at)
      const both = [second.id, id]
      for (const [created_from, created_to, found] of [
        [created_at, later + 1, both],
        [created_at + 1, later + 1, [second.id]],
        [created_at, later, [id]],
        [undefined, later, [id]],
        [later, undefined, [second.id]],
        [later + 1, undefined, []],
        [0, 8_640_000_000_000_000, both]
      ] as const) {
        assert.deepStrictEqual(yield* listed(tenant, { created_from, created_to }), [...found])
      }
      const page = yield* listed(tenant, { created_to: later + 1, after: second.id })
      assert.deepStrictEqual(page, [id])
      assert.deepStrictEqual(yield* listed(tenant, { created_to: later, status: "pending" }), [id])
    })
  )

  it.effect("lists a run by each agent that had its conversation, and names the last one", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const [billing, office] = [AgentName.make("billing"), AgentName.make("office")]
      const handing = (from: AgentName, to: AgentName, index = 0): RunEvent => ({
        _tag: "HandedOff",
        call: callId(rootFrame, 1, index),
        from,
        to
      })
      const turn = Samples.modelTurned(1, 2)
      const { operations } = Samples
      const first = yield* Samples.begin({ tenant }, [turn, handing(operations, billing)])
      const on = [handing(operations, billing), handing(billing, office, 1)]
      const second = yield* Samples.begin({ tenant }, [turn, ...on])
      const back = [handing(operations, billing), handing(billing, operations, 1)]
      const third = yield* Samples.begin({ tenant }, [turn, ...back])
      const kept = yield* Samples.begin({ tenant }, [turn])
      yield* Samples.begin({}, [turn, handing(operations, billing)])
      const of = (agent: AgentName, more?: Partial<RunQuery>) =>
        Effect.map(listed(tenant, { agent, ...more }), (runs) => runs.toSorted())
      const all = [first.run, second.run, third.run]
      assert.deepStrictEqual(yield* of(billing), all.toSorted())
      assert.deepStrictEqual(yield* of(billing, { status: "processing" }), all.toSorted())
      assert.deepStrictEqual(yield* of(billing, { status: "complete" }), [])
      assert.deepStrictEqual(yield* of(office), [second.run])
      assert.deepStrictEqual(yield* of(operations), [...all, kept.run].toSorted())
      assert.deepStrictEqual(yield* of(AgentName.make("bill")), [])
      const items = yield* RunList.use((runs) => runs.list({ tenant, limit: 10 }))
      const handed = new Map(items.map(({ handed_to, id }) => [id, handed_to]))
      assert.deepStrictEqual(
        [...all, kept.run].map((run) => handed.get(run)),
        [billing, office, undefined, undefined]
      )
    })
  )

  it.effect("lists by agent, by status and by what a run waits for", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const waiting = yield* Samples.begin({ tenant }, [
        Samples.modelTurned(1, 1),
        Samples.approvalRequested()
      ])
      const going = yield* Samples.begin({ tenant }, [])
      const fresh = (yield* accepted(tenant)).id
      assert.deepStrictEqual(yield* listed(tenant, { waiting: "approval" }), [waiting.run])
      assert.deepStrictEqual(yield* listed(tenant, { status: "awaiting_approval" }), [waiting.run])
      assert.deepStrictEqual(yield* listed(tenant, { status: "processing" }), [going.run])
      assert.deepStrictEqual(yield* listed(tenant, { status: "pending" }), [fresh])
      assert.deepStrictEqual(yield* listed(tenant, { status: "complete" }), [])
      assert.deepStrictEqual(yield* listed(tenant, { agent: AgentName.make("nobody") }), [])
      assert.strictEqual((yield* listed(tenant, { agent: Samples.operations })).length, 3)
      // A message for the agent that got the conversation of another.
      const billing = AgentName.make("billing")
      const next = Samples.newTask({ tenant, agent: billing, answer_schema: { type: "object" } })
      const { id, trace_id } = (yield* TaskStore.use((tasks) => tasks.accept(next))).task
      assert.deepStrictEqual(yield* listed(tenant, { agent: billing }), [id])
      assert.strictEqual((yield* listed(tenant, { agent: Samples.operations })).length, 3)
      const [item] = yield* RunList.use((runs) => runs.list({ tenant, agent: billing, limit: 1 }))
      assert.deepStrictEqual([item?.agent, item?.trace_id], [billing, trace_id])
    })
  )
}

const openTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("runs that are not over are given with their owner and age, of one tenant", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const open = (limit = 1_001) => RunList.use((runs) => runs.open(tenant, limit))
      assert.deepStrictEqual(yield* open(), [])
      const owner = Samples.unique("owner")
      const going = yield* Samples.begin({ tenant }, [], owner)
      const waiting = yield* Samples.begin(
        { tenant },
        [Samples.modelTurned(1, 1), Samples.approvalRequested()],
        owner
      )
      yield* Samples.begin({ tenant: Samples.tenant() }, [], owner)
      // It has not begun, and waits in the outbox.
      yield* accepted(tenant)
      const accepted_at = (run: RunId) =>
        RunReader.use((reader) => Effect.map(reader.head(run), ({ created_at }) => created_at))
      const created_at = yield* accepted_at(going.run)
      assert.sameDeepMembers(
        [...(yield* open())],
        [
          { owner, status: "processing", created_at },
          { owner, status: "awaiting_approval", created_at: yield* accepted_at(waiting.run) }
        ]
      )
      assert.lengthOf(yield* open(1), 1)
      assert.lengthOf(yield* open(0), 0)
      yield* Samples.end(going)
      const [left, ...none] = yield* open()
      assert.deepStrictEqual([left?.status, none], ["awaiting_approval", []])
    })
  )
}

export const runListTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  calls(it)
  matchingTests(it)
  listTests(it)
  filterTests(it)
  openTests(it)
}
