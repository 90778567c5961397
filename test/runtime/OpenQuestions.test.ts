import { assert, describe, it } from "@effect/vitest"
import { NodeCrypto } from "@effect/platform-node"
import { Deferred, Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as LocalApprovalDesk from "../../layers/runtime/approval/LocalApprovalDesk.ts"
import {
  awaitDecision,
  completeQuestion,
  dropQuestions,
  matchState,
  openQuestion,
  OpenQuestions,
  questionsOf
} from "../../layers/runtime/approval/OpenQuestions.ts"
import * as Questions from "../../layers/runtime/approval/OpenQuestions.ts"
import { ApprovalId, RunId } from "../../src/value/Ids.ts"
import { fold } from "../../src/run/RunFold.ts"
import * as NoAgents from "../contracts/NoAgents.ts"
import * as Samples from "../contracts/Samples.ts"
import * as H from "./Harness.ts"
import * as WholeJournal from "../contracts/WholeJournal.ts"

const run = RunId.make("00000000-0000-4000-8000-000000000001")
const first = ApprovalId.make("00000000-0000-4000-8000-00000000000a")
const second = ApprovalId.make("00000000-0000-4000-8000-00000000000b")

describe("the Deferreds of open questions", () => {
  it.effect("complete with the decision, and are removed", () =>
    Effect.gen(function* () {
      const questions = yield* OpenQuestions
      openQuestion(questions, run, first)
      const waiting = yield* Effect.forkChild(awaitDecision(questions, run), {
        startImmediately: true
      })
      completeQuestion(questions, run, first, H.deny)
      assert.deepEqual(yield* Fiber.join(waiting), H.deny)
      assert.strictEqual(questions.size, 0)
    }).pipe(Effect.provide(Questions.layer))
  )

  it.effect("are awaited together, and the others stay open when one is decided", () =>
    Effect.gen(function* () {
      const questions = yield* OpenQuestions
      openQuestion(questions, run, first)
      openQuestion(questions, run, second)
      const waiting = yield* Effect.forkChild(awaitDecision(questions, run), {
        startImmediately: true
      })
      completeQuestion(questions, run, second, H.approve)
      assert.deepEqual(yield* Fiber.join(waiting), H.approve)
      assert.deepEqual(
        questionsOf(questions, run).map(({ approval }) => approval),
        [first]
      )
    }).pipe(Effect.provide(Questions.layer))
  )

  it.effect("fail with the reason of a wait that ended without a decision", () =>
    Effect.gen(function* () {
      const questions = yield* OpenQuestions
      openQuestion(questions, run, first)
      const waiting = yield* Effect.forkChild(Effect.flip(awaitDecision(questions, run)), {
        startImmediately: true
      })
      dropQuestions(questions, run, "parked")
      assert.strictEqual(yield* Fiber.join(waiting), "parked")
      assert.strictEqual(questions.size, 0)
      // A decision that comes now is nobody's here: it is in the journal.
      completeQuestion(questions, run, first, H.approve)
    }).pipe(Effect.provide(Questions.layer))
  )

  it.effect("are made once a question, also where it is opened again", () =>
    Effect.gen(function* () {
      const questions = yield* OpenQuestions
      openQuestion(questions, run, first)
      const held = questionsOf(questions, run)[0]
      openQuestion(questions, run, first)
      assert.strictEqual(questionsOf(questions, run).length, 1)
      assert.strictEqual(questionsOf(questions, run)[0], held)
    }).pipe(Effect.provide(Questions.layer))
  )

  it.effect("match the questions of the run's state", () =>
    Effect.gen(function* () {
      const questions = yield* OpenQuestions
      const { entries, run: asking } = yield* Effect.gen(function* () {
        const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
        yield* (yield* RunJournal).append(
          begun.next(Samples.approvalRequested(Samples.firstCall, { approval: second }))
        )
        return { run: begun.run, entries: yield* (yield* RunReader).read(begun.run, 0, 100) }
      }).pipe(Effect.provide(EphemeralStores.layer))
      openQuestion(questions, asking, first)
      const answered = questionsOf(questions, asking)[0]!.decision
      matchState(questions, asking, fold(entries.map(({ event }) => event)))
      assert.deepEqual(
        questionsOf(questions, asking).map(({ approval }) => approval),
        [second]
      )
      assert.deepEqual(
        yield* Effect.result(Deferred.await(answered)),
        Result.fail("amended" as const)
      )
    }).pipe(Effect.provide(Questions.layer))
  )
})

const withDesk = Effect.provide(
  LocalApprovalDesk.layer.pipe(
    Layer.provideMerge(Questions.layer),
    Layer.provide(NoAgents.layer),
    Layer.provideMerge(Layer.merge(EphemeralStores.layer, NodeCrypto.layerDigest))
  )
)

/** A run that asks, of which nothing is in the process but its `Deferred`. */
const asking = Effect.gen(function* () {
  const tenant = Samples.tenant()
  const begun = yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 1)])
  const request = Samples.approvalRequested(Samples.firstCall)
  yield* (yield* RunJournal).append(begun.next(request))
  const questions = yield* OpenQuestions
  openQuestion(questions, begun.run, request.approval)
  const { decision } = questionsOf(questions, begun.run)[0]!
  return { ...begun, tenant, id: request.approval, decision }
})

describe("ApprovalDesk.decide", () => {
  for (const said of [H.approve, H.deny]) {
    it.effect(`completes the Deferred of the question with what was decided: ${said._tag}`, () =>
      withDesk(
        Effect.gen(function* () {
          const { decision, id, run, tenant } = yield* asking
          const desk = yield* ApprovalDesk
          yield* desk.decide(id, said, H.person("bob", ["approver"], tenant))
          assert.isTrue(yield* Deferred.isDone(decision))
          assert.deepEqual(yield* Deferred.await(decision), said)
          const entries = yield* (yield* RunReader).read(run, 0, 100)
          assert.isTrue(entries.some(({ event }) => event._tag === "ApprovalDecided"))
        })
      )
    )
  }

  it.effect("leaves the Deferred open where the decision is refused", () =>
    withDesk(
      Effect.gen(function* () {
        const { decision, id, tenant } = yield* asking
        const desk = yield* ApprovalDesk
        const refused = yield* Effect.result(
          desk.decide(id, H.approve, H.person("eve", ["customer"], tenant))
        )
        assert.isTrue(Result.isFailure(refused))
        assert.isFalse(yield* Deferred.isDone(decision))
      })
    )
  )
})

/** The turn of a run that has no results yet, and then an answer. */
const once =
  (turn: ReturnType<typeof text>): H.Options["script"] =>
  ({ transcript }) =>
    transcript.at(-1)?.role === "tool" ? text("done") : turn

const options: H.Options = {
  script: once(call("change", { n: 1 })),
  tools: { change: H.asks((n) => Effect.succeed(n)) },
  config: { park_ms: 3_600_000, sweep_ms: 3_600_000, lease_ms: 86_400_000 }
}

const actor = Effect.map(
  AgentRuntime.use((runtime) => runtime.actors(1)),
  ([first]) => first?.state
)

/** Whatever goes on in this process has come to its waits. */
const settle = Effect.repeat(Effect.yieldNow, { times: 200 })

/** The journal, which counts reads of a run's rest, and with `deaf` delivers no wakeups. */
const watched = (journal: WholeJournal.WholeJournal, deaf: boolean) => {
  const reads: Array<number> = []
  const service: WholeJournal.WholeJournal = {
    ...journal,
    read: (id, from, limit) => {
      reads.push(from)
      return journal.read(id, from, limit)
    },
    ...(deaf ? { onAmended: () => Effect.void } : undefined)
  }
  return { reads, service }
}

describe("a run that waits in its actor's fiber", () => {
  it.effect("continues by the Deferred alone, without a notice of the journal", () =>
    Effect.gen(function* () {
      const { service } = watched(yield* WholeJournal.journal, true)
      const process = yield* Effect.provide(H.boot(options), WholeJournal.context(service))
      const run = yield* process.run(H.send("change it"))
      const { approval } = yield* process.run(H.question(run))
      yield* settle
      yield* process.run(H.decide(approval, H.approve))
      const all = yield* process.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "complete" })
      assert.strictEqual(H.count(all, "RunClaimed"), 1)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect(
    "reads a decision of its own desk once, and first sees what another process decided",
    () =>
      Effect.gen(function* () {
        for (const [who, reads_expected] of [
          ["own", 1],
          ["other", 2]
        ] as const) {
          const { reads, service } = watched(yield* WholeJournal.journal, false)
          const process = yield* Effect.provide(H.boot(options), WholeJournal.context(service))
          const run = yield* process.run(H.send("change it", who))
          const { approval } = yield* process.run(H.question(run, 1, who))
          const length = (yield* H.events(run)).length
          yield* settle
          const other = yield* H.boot(options)
          reads.length = 0
          yield* (who === "own" ? process : other).run(H.decide(approval, H.approve))
          const all = yield* process.run(H.ended(run, who))
          assert.deepInclude(H.end(all), { status: "complete" })
          assert.strictEqual(H.count(all, "RunClaimed"), 1)
          assert.deepEqual(
            reads.filter((from) => from === length),
            Array.from({ length: reads_expected }, () => length),
            who
          )
          yield* other.stop
          yield* process.stop
        }
      }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("is parked after `park_ms`, and reads a decision after that in the journal", () =>
    Effect.gen(function* () {
      const process = yield* H.boot({ ...options, config: { ...options.config, park_ms: 1_000 } })
      const run = yield* process.run(H.send("change it"))
      const { approval } = yield* process.run(H.question(run))
      yield* settle
      yield* TestClock.adjust(1_001)
      assert.strictEqual(yield* process.run(actor), "parked")
      yield* process.run(H.decide(approval, H.approve))
      const all = yield* process.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "complete" })
      // It was taken up again, from its journal.
      assert.strictEqual(H.count(all, "RunClaimed"), 2)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect(
    "has a Deferred from the moment that its question is durable, until it ends or another takes it",
    () =>
      Effect.gen(function* () {
        const going: H.Options = {
          ...options,
          script: once(calls([call("change", { n: 1 }), call("look", { n: 2 })])),
          tools: {
            ...options.tools,
            look: H.reads(() => Effect.never)
          }
        }
        for (const who of ["own", "other"] as const) {
          const process = yield* H.boot(going)
          const run = yield* process.run(H.send("change it", who))
          const { approval } = yield* process.run(H.question(run, 1, who))
          yield* settle
          const held = process.run(
            OpenQuestions.useSync((questions) =>
              questionsOf(questions, run).map((each) => each.approval)
            )
          )
          // Its other call still runs, and nobody awaits the Deferred yet.
          assert.deepEqual(yield* held, [approval])
          if (who === "other") yield* (yield* RunOwnership).claim(run, "another process")
          yield* process.run(H.cancel(run))
          yield* settle
          assert.deepEqual(yield* held, [], who)
          yield* process.stop
        }
      }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("keeps no Deferred once it is parked, has ended or its process has stopped", () =>
    Effect.gen(function* () {
      for (const how of ["parked", "ended", "stopped"] as const) {
        const process = yield* H.boot({ ...options, config: { ...options.config, park_ms: 1_000 } })
        const run = yield* process.run(H.send("change it", how))
        const { approval } = yield* process.run(H.question(run, 1, how))
        yield* settle
        const questions = yield* process.run(OpenQuestions)
        assert.strictEqual(questions.size, 1)
        if (how === "parked") yield* TestClock.adjust(1_001)
        else if (how === "ended") yield* process.run(H.decide(approval, H.approve))
        else yield* process.stop
        yield* settle
        assert.strictEqual(questions.size, 0, how)
        yield* process.stop
      }
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("ends when it is cancelled, by this process or another", () =>
    Effect.gen(function* () {
      for (const who of ["own", "other"] as const) {
        const process = yield* H.boot(options)
        const run = yield* process.run(H.send("change it", who))
        yield* process.run(H.question(run, 1, who))
        yield* settle
        const other = yield* H.boot(options)
        yield* (who === "own" ? process : other).run(H.cancel(run))
        const all = yield* process.run(H.ended(run, who))
        assert.deepInclude(H.end(all), { status: "cancelled" })
        assert.strictEqual(H.count(all, "RunClaimed"), 1)
        // The actor is free for the next message.
        const next = yield* process.run(H.send("change it", who))
        yield* process.run(H.question(next, 1, who))
        yield* other.stop
        yield* process.stop
      }
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("continues with the first of several decisions, and with each of the others", () =>
    Effect.gen(function* () {
      const done: Array<number> = []
      const several: H.Options = {
        ...options,
        script: once(calls([call("change", { n: 1 }), call("change", { n: 2 })])),
        tools: { change: H.asks((n) => Effect.sync(() => void done.push(n)).pipe(Effect.as(n))) }
      }
      const { service } = watched(yield* WholeJournal.journal, true)
      const process = yield* Effect.provide(H.boot(several), WholeJournal.context(service))
      const run = yield* process.run(H.send("change them"))
      yield* process.run(H.question(run, 2))
      const [one, two] = (yield* H.events(run)).filter(({ _tag }) => _tag === "ApprovalRequested")
      assert.isDefined(two)
      yield* settle
      yield* process.run(H.decide((two as { approval: ApprovalId }).approval, H.approve))
      yield* process.run(H.happened(run, "CallSettled"))
      assert.deepEqual(done, [2])
      yield* settle
      yield* process.run(H.decide((one as { approval: ApprovalId }).approval, H.approve))
      const all = yield* process.run(H.ended(run))
      assert.deepEqual(done, [2, 1])
      assert.strictEqual(H.count(all, "RunClaimed"), 1)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )
})
