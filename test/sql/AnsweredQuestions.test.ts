/** A wait for a run whose question was answered, or whose unknown call was settled, before the wait could give it. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { answerOfRun } from "../../layers/compose/promises/Waiting.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import type { RunId } from "../../src/value/Ids.ts"
import * as H from "../runtime/Harness.ts"
import { engines } from "./Engines.ts"

const never_ms = 3_600_000

const paying = H.asks((n) => Effect.succeed(n))

/** A run that looks, which takes until `isSeen`, and then asks so many questions. */
const asking = (questions: number, isSeen: Deferred.Deferred<void>): H.Options => ({
  tools: {
    look: H.reads((n) => Effect.as(Deferred.await(isSeen), n)),
    pay: paying
  },
  script: ({ transcript }) => {
    if (transcript.length === 1) return call("look", { n: 1 })
    if (transcript.length > 3) return text("done")
    return calls(Array.from({ length: questions }, (_, n) => call("pay", { n })))
  },
  config: { watch_ms: never_ms, sweep_ms: never_ms, park_ms: never_ms }
})

/** A process beside the owner of the runs, which reads what is new of them once `isOver`. */
const beside = (options: H.Options, isOver: Deferred.Deferred<void>) =>
  H.withJournal(H.boot(options), ({ read }) => ({
    onCommitted: () => Effect.void,
    recoverable: () => Effect.succeed([]),
    adopt: () => Effect.succeed([]),
    read: (run, from, limit) =>
      Effect.andThen(from === 0 ? Effect.void : Deferred.await(isOver), read(run, from, limit))
  }))

/** Waits for the run, and says when it has read what there is. */
const waiting = (run: RunId, isCaughtUp: Deferred.Deferred<void>) =>
  Effect.gen(function* () {
    const runtime = yield* AgentRuntime
    return yield* Effect.provideService(answerOfRun(run, H.alice), AgentRuntime, {
      ...runtime,
      openFeed: (...of) =>
        Effect.map(runtime.openFeed(...of), (feed) => ({
          takeAvailable: () => feed.takeAvailable(),
          whenAvailable: (callback) => feed.whenAvailable(callback),
          pull: Effect.tap(feed.pull, (items) =>
            items.some(({ _tag }) => _tag === "CaughtUp")
              ? Deferred.succeed(isCaughtUp, undefined)
              : Effect.void
          )
        }))
    })
  })

const decided = (owner: H.Process, run: RunId) =>
  Effect.gen(function* () {
    const { approval } = yield* owner.run(H.question(run))
    yield* owner.run(H.decide(approval, H.approve))
  })

/** Of a call whose outcome is unknown. */
const settled = (owner: H.Process, run: RunId) =>
  Effect.gen(function* () {
    yield* owner.run(H.happened(run, "CallUnknown"))
    const call = (yield* owner.run(H.events(run))).find(({ _tag }) => _tag === "CallUnknown")
    assert(call?._tag === "CallUnknown")
    yield* owner.run(
      AgentRuntime.use((runtime) =>
        runtime.settle(run, call.call, { _tag: "Succeeded", json: "1" }, H.alice)
      )
    )
  })

/** The answer in a process that reads all at once: what the run waited for, that somebody did it, and the run's end. */
const readTogether = Effect.fnUntraced(function* (pay: H.TestTool, moved: typeof decided) {
  const isSeen = Deferred.makeUnsafe<void>()
  const isOver = Deferred.makeUnsafe<void>()
  const before = asking(1, isSeen)
  const options = { ...before, tools: { ...before.tools, pay } }
  const owner = yield* H.boot(options)
  const other = yield* beside(options, isOver)
  const run = yield* owner.run(H.send("hello"))
  yield* owner.run(H.happened(run, "ModelTurned"))
  const wait = yield* Effect.forkScoped(other.run(waiting(run, isSeen)))
  yield* moved(owner, run)
  yield* owner.run(H.ended(run))
  yield* Deferred.succeed(isOver, undefined)
  return yield* Fiber.join(wait)
})

/** The answer to who reads the record of a question while somebody decides on the first of so many. */
const readBeside = Effect.fnUntraced(function* (questions: number) {
  const isSeen = Deferred.makeUnsafe<void>()
  yield* Deferred.succeed(isSeen, undefined)
  const process = yield* H.boot(asking(questions, isSeen))
  return yield* process.run(
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "ApprovalRequested", questions)
      const desk = yield* ApprovalDesk
      const [first, ...others] = yield* H.pending
      const decide = yield* Effect.cached(desk.decide(first!.id, H.approve, H.alice))
      const answer = yield* Effect.provideService(answerOfRun(run, H.alice), ApprovalDesk, {
        ...desk,
        get: (...of) => Effect.andThen(Effect.orDie(decide), desk.get(...of))
      })
      return { answer, others: others.map(({ id }) => id) }
    })
  )
})

describe("a wait for a run whose question is answered before the wait gives it", () => {
  for (const [name, client] of engines) {
    const store = Layer.provideMerge(SqlStores.layer, client)
    const stores = Layer.merge(EphemeralStore.layer, store)

    it.live(`goes on where question and answer are read together (${name})`, () =>
      Effect.gen(function* () {
        const { status } = yield* readTogether(paying, decided)
        assert.strictEqual(status, "complete")
      }).pipe(Effect.scoped, Effect.provide(stores))
    )

    it.live(`goes on where an unknown call and its settlement are read together (${name})`, () =>
      Effect.gen(function* () {
        const lost = H.writes(() => Effect.never, { timeout_ms: 10 })
        const { status } = yield* readTogether(lost, settled)
        assert.strictEqual(status, "complete")
      }).pipe(Effect.scoped, Effect.provide(stores))
    )

    it.live(`goes on where it reads the question's record after the answer (${name})`, () =>
      Effect.gen(function* () {
        const { answer } = yield* readBeside(1)
        assert.strictEqual(answer.status, "complete")
      }).pipe(Effect.scoped, Effect.provide(stores))
    )

    it.live(`gives only those that are open (${name})`, () =>
      Effect.gen(function* () {
        const { answer, others } = yield* readBeside(2)
        assert(answer.status === "awaiting_approval")
        const given = answer.approvals.map(({ id }) => id)
        assert.deepStrictEqual(given, others)
        assert.lengthOf(given, 1)
      }).pipe(Effect.scoped, Effect.provide(stores))
    )
  }
})
