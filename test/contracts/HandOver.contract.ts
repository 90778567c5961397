/** Runs that need more of a process than their agent: who hands them over, who recovers them, and where they are listed. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunNews } from "../../services/RunNews.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import { RunList } from "../../services/RunList.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { toolOf, versionOf } from "../../src/run/Needs.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { cancelRun, settleCall } from "../../src/run/RunCommand.ts"
import { eventually } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = RunPorts | RunList | TaskStore

const every = 100_000
const own = Samples.newTask().address.agent
const scan = AgentName.make("scan")
const asks = () => [Samples.modelTurned(1, 1), Samples.approvalRequested()]

const dispatched: RunEvent = {
  _tag: "CallDispatched",
  call: Samples.firstCall,
  key: "key",
  epoch: 1,
  on_loss: "again",
  tool: "shop.refund@1"
}

const has = (run: RunId, heads: ReadonlyArray<{ readonly run_id: RunId }>) =>
  heads.some((head) => head.run_id === run)

const recoverable = (run: RunId, ...hosted: ReadonlyArray<string>) =>
  Effect.map(
    RunOwnership.use((ownership) => ownership.recoverable("heir", hosted, every)),
    (heads) => has(run, heads)
  )

const listed = (tenant: Samples.Begun["task"]["tenant"], ...hosted: ReadonlyArray<string>) =>
  Effect.map(
    RunList.use((runs) => runs.unhosted({ tenant, hosted })),
    (all) =>
      all.map(({ agent, count, tool, version }) => ({
        agent,
        count,
        ...(tool === undefined ? undefined : { tool }),
        ...(version === undefined ? undefined : { version })
      }))
  )

const recoveryTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "a run that is handed over is recovered only by a process that hosts all that it needs",
    () =>
      Effect.gen(function* () {
        const reader = yield* RunReader
        const ownership = yield* RunOwnership
        const owner = Samples.unique("owner")
        yield* ownership.heartbeat(owner, 600_000)
        const { fence, run } = yield* Samples.begin({}, [Samples.modelTurned(1, 1)], owner)
        const before = yield* Samples.snapshot(run)
        const tool = toolOf(scan, "shop.refund@1")
        const needs = [scan, tool]
        assert.isTrue(yield* ownership.handOver(run, fence.epoch, needs))
        const after = yield* Samples.snapshot(run)
        assert.deepStrictEqual(after.entries, before.entries)
        assert.deepStrictEqual(after.head, { ...before.head, owner: undefined, needs })
        assert.isFalse(yield* recoverable(run, own))
        assert.isFalse(yield* recoverable(run, own, scan))
        assert.isFalse(yield* recoverable(run, scan, tool))
        assert.isTrue(yield* recoverable(run, own, scan, tool, "other"))
        const { head } = yield* ownership.claim(run, "heir", fence.epoch)
        assert.isUndefined(head.needs)
        assert.isUndefined((yield* reader.head(run)).needs)
        assert.isTrue(yield* recoverable(run, own))
      })
  )

  it.effect("a parkable run is adopted only by a process that hosts all that it needs", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const version = versionOf(own, { definition: "d", tools: "t" })
      const { fence, run } = yield* Samples.begin({}, asks())
      assert.isTrue(yield* ownership.handOver(run, fence.epoch, [version]))
      assert.isFalse(has(run, yield* ownership.adopt("heir", [own], every)))
      const adopted = yield* ownership.adopt("heir", [own, version], every)
      assert.deepStrictEqual(adopted.find(({ run_id }) => run_id === run)?.needs, [version])
    })
  )

  it.effect("an owner of an older epoch hands nothing over", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const { fence, run } = yield* Samples.begin()
      const { head } = yield* ownership.claim(run, "heir")
      assert.isFalse(yield* ownership.handOver(run, fence.epoch, [scan]))
      assert.isFalse(yield* ownership.handOver(Samples.runId(), 1, [scan]))
      // An owner without a lease is not the owner of a head.
      assert.deepStrictEqual(yield* reader.head(run), { ...head, owner: undefined })
    })
  )
}

const amendmentTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "a run that is handed over wakes its listeners, and one that is cancelled needs no other process",
    () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const reader = yield* RunReader
        const ownership = yield* RunOwnership
        const news = yield* RunNews
        const woken: Array<RunId | undefined> = []
        yield* news.onAmended((run) => void woken.push(run))
        // Its call was dispatched, so the run is not over before the call is reconciled.
        const { fence, run } = yield* Samples.begin({}, [Samples.modelTurned(1, 1), dispatched])
        yield* ownership.handOver(run, fence.epoch, [scan])
        yield* eventually(
          Effect.sync(() => woken.filter((each) => each === run).length),
          (count) => count === 1
        )
        // An amendment that does not stop the run leaves its needs.
        yield* journal.amend(run, () => ({ answer: Result.void, events: [] }))
        assert.isFalse(yield* recoverable(run, own))
        yield* journal.amend(run, (state) => cancelRun(state, run, "ann", "enough"))
        assert.isUndefined((yield* reader.head(run)).needs)
        assert.isTrue(yield* recoverable(run, own))
      }).pipe(Effect.scoped)
  )

  it.effect(
    "a run whose lost call an operator settles no longer needs its tool, but its other needs stay",
    () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const reader = yield* RunReader
        const ownership = yield* RunOwnership
        const { run } = yield* Samples.begin({}, [Samples.modelTurned(1, 1), dispatched])
        const { head } = yield* ownership.claim(run, "heir")
        const version = versionOf(own, { definition: "d", tools: "t" })
        const tool = toolOf(own, "shop.refund@1")
        yield* ownership.handOver(run, head.epoch, [tool, version])
        const settlement = { _tag: "Succeeded", json: "1" } as const
        yield* journal.amend(run, (state, now) =>
          settleCall(state, run, Samples.firstCall, settlement, "olga", now)
        )
        assert.deepStrictEqual((yield* reader.head(run)).needs, [version])
        assert.isFalse(yield* recoverable(run, own))
        assert.isTrue(yield* recoverable(run, own, version))
      })
  )
}

const hostTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("what a run needs beside its agent is listed while no process hosts all of it", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const tenant = Samples.tenant()
      const begun = yield* Effect.replicateEffect(Samples.begin({ tenant }), 2)
      const [first, second] = begun as [Samples.Begun, Samples.Begun]
      const tool = toolOf(own, "shop.refund@1")
      const pins = { definition: "d", tools: "t" }
      yield* ownership.handOver(first.run, first.fence.epoch, [scan])
      yield* ownership.handOver(second.run, second.fence.epoch, [scan, tool, versionOf(own, pins)])
      const all = [
        { agent: own, tool: "shop.refund@1", count: 1 },
        { agent: own, version: "d.t", count: 1 },
        { agent: scan, count: 2 }
      ]
      assert.sameDeepMembers(yield* listed(tenant, own), all)
      const more = [own, scan]
      assert.sameDeepMembers(yield* listed(tenant, ...more), [
        ...all.slice(0, 2),
        { agent: scan, count: 1 }
      ])
      assert.deepStrictEqual(yield* listed(tenant, ...more, tool, versionOf(own, pins)), [])
      assert.deepStrictEqual(yield* listed(Samples.tenant(), own), [])
      // A run whose agent has no host is listed under the agent.
      assert.deepStrictEqual(yield* listed(tenant), [{ agent: own, count: 2 }])
      yield* ownership.claim(first.run, "heir")
      yield* ownership.claim(second.run, "heir")
      assert.deepStrictEqual(yield* listed(tenant, own), [])
    })
  )

  it.effect("a parkable run is adopted behind many of another tenant", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const agent = AgentName.make("crowded-rest")
      const rest = Effect.fnUntraced(function* (tenant: Samples.Begun["task"]["tenant"]) {
        const { key } = Samples.newTask().address
        return (yield* Samples.begin({ tenant, address: { agent, key } }, asks())).run
      })
      const [a, b] = [Samples.tenant(), Samples.tenant()]
      yield* Effect.replicateEffect(rest(a), 20)
      yield* Effect.sleep(2)
      const one = yield* rest(b)
      yield* ownership.heartbeat("heir", 600_000)
      const first = yield* ownership.adopt("heir", [agent], 3)
      // Within one round the older run comes first.
      assert.deepStrictEqual(
        first.map((head) => head.tenant),
        [a, b, a]
      )
      assert.strictEqual(first[1]?.run_id, one)
      assert.strictEqual((yield* ownership.adopt("heir", [agent], every)).length, 18)
    })
  )
}

export const handOverTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  recoveryTests(it)
  amendmentTests(it)
  hostTests(it)
}
