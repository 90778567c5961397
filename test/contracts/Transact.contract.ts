/** A tool's body that commits together with its event. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber } from "effect"
import type { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import type { ConversationStore } from "../../services/ConversationStore.ts"
import { Outbox } from "../../services/Outbox.ts"
import type { Append } from "../../services/RunJournal.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import type { NewOutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import { cancelRun } from "../../src/run/RunCommand.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"
import * as Samples from "./Samples.ts"

type Needs = RunPorts | TaskStore | ConversationStore | ApprovalRecords | Outbox

const failed: Outcome = {
  _tag: "Failed",
  error: { class: "ToolTerminalError", kind: "internal", message: "the body failed" }
}

/** The append that the runtime makes of the exit of a body: the result of the first call. */
const recorded =
  (begun: Samples.Begun, exits: Array<Exit.Exit<unknown, unknown>> = []) =>
  (exit: Exit.Exit<unknown, unknown>): Pick<Append, "events" | "status"> => {
    exits.push(exit)
    return begun.next(Samples.callSettled(undefined, Exit.isSuccess(exit) ? undefined : failed))
  }

const lastOf = Effect.fnUntraced(function* (begun: Samples.Begun) {
  const reader = yield* RunReader
  const { length } = yield* reader.head(begun.run)
  const last = (yield* reader.read(begun.run, length - 1, 1))[0]!.event
  return { length, outcome: last._tag === "CallSettled" ? last.outcome : undefined }
})

const waitingOf = (message: NewOutboxMessage) =>
  Effect.flatMap(Outbox, (outbox) =>
    outbox.claim({
      owner: Samples.unique("relay"),
      topics: [message.topic],
      limit: 10,
      lease_ms: 60_000
    })
  )

const calling = () => Samples.begin({}, [Samples.modelTurned(1, 1)])

const exclusion = (it: Vitest.MethodsNonLive<Needs>) => {
  it.effect("a command waits for the body, and its events come after the body's event", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const begun = yield* calling()
      const started = Deferred.makeUnsafe<void>()
      const gate = Deferred.makeUnsafe<void>()
      const body = Effect.andThen(Deferred.succeed(started, undefined), Deferred.await(gate))
      const transaction = yield* Effect.forkChild(
        journal.transact(begun.run, begun.fence, body, recorded(begun))
      )
      yield* Deferred.await(started)
      const command = yield* Effect.forkChild(
        journal.amend(begun.run, (state) => cancelRun(state, begun.run, "ada", "enough")),
        { startImmediately: true }
      )
      yield* Effect.sleep("30 millis")
      assert.isUndefined(command.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(transaction)
      yield* Fiber.join(command)
      const tags = (yield* reader.read(begun.run, 3, 10)).map((entry) => entry.event._tag)
      assert.deepStrictEqual(tags, ["CallSettled", "RunStopping", "RunEnded"])
    })
  )

  it.effect("an append that waited for the body is stale after it", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const begun = yield* calling()
      const started = Deferred.makeUnsafe<void>()
      const gate = Deferred.makeUnsafe<void>()
      const body = Effect.andThen(Deferred.succeed(started, undefined), Deferred.await(gate))
      const transaction = yield* Effect.forkChild(
        journal.transact(begun.run, begun.fence, body, recorded(begun))
      )
      yield* Deferred.await(started)
      const append = yield* Effect.forkChild(
        Effect.flip(journal.append(begun.next(Samples.callSettled()))),
        { startImmediately: true }
      )
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(transaction)
      assert.strictEqual((yield* Fiber.join(append))._tag, "StaleAppend")
      assert.strictEqual((yield* lastOf(begun)).length, 4)
    })
  )

  it.effect("an interrupted caller records nothing and frees the run", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const begun = yield* calling()
      const started = Deferred.makeUnsafe<void>()
      const body = Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      const transaction = yield* Effect.forkChild(
        journal.transact(begun.run, begun.fence, body, recorded(begun))
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(transaction)
      assert.strictEqual((yield* reader.head(begun.run)).length, 3)
      yield* journal.append(begun.next(Samples.callSettled()))
      assert.strictEqual((yield* lastOf(begun)).length, 4)
    })
  )
}

const ends: ReadonlyArray<readonly [string, Effect.Effect<never, string>]> = [
  ["fails", Effect.fail("no")],
  ["dies", Effect.die(new Error("a bug"))],
  ["interrupts itself", Effect.interrupt]
]

const commitTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a body and its event are both written", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const outbox = yield* Outbox
      const begun = yield* calling()
      const message = Samples.outboxMessage()
      const exits: Array<Exit.Exit<unknown, unknown>> = []
      const body = Effect.as(outbox.enqueue([message]), 42)
      yield* journal.transact(begun.run, begun.fence, body, recorded(begun, exits))
      assert.deepStrictEqual(exits, [Exit.succeed(42)])
      const { length, outcome } = yield* lastOf(begun)
      assert.strictEqual(length, 4)
      assert.strictEqual(outcome?._tag, "Value")
      assert.strictEqual((yield* reader.head(begun.run)).status, "processing")
      assert.deepStrictEqual(
        (yield* waitingOf(message)).map((waiting) => waiting.id),
        [message.id]
      )
    })
  )

  it.effect("a stale or fenced-off writer is refused before its body runs", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const begun = yield* calling()
      let ran = false
      const body = Effect.sync(() => {
        ran = true
      })
      const { epoch, length } = begun.fence
      const stale = { epoch, length: length - 1 }
      const fenced = { epoch: epoch - 1, length }
      const refused = (fence: typeof stale) =>
        Effect.flip(journal.transact(begun.run, fence, body, recorded(begun)))
      assert.strictEqual((yield* refused(stale))._tag, "StaleAppend")
      assert.strictEqual((yield* refused(fenced))._tag, "FencedOff")
      assert.isFalse(ran)
      assert.strictEqual((yield* reader.head(begun.run)).length, 3)
    })
  )
}

export interface Options {
  /** Whether a body's own writes are rolled back when it fails: false for a store without transactions. */
  readonly rolls_back: boolean
}

const outcomeTests = (it: Vitest.MethodsNonLive<Needs>, options: Options): void => {
  for (const [name, end] of ends) {
    const undone = options.rolls_back ? ", and what it wrote is undone" : ""
    it.effect(`a body that ${name} is recorded${undone}`, () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const outbox = yield* Outbox
        const begun = yield* calling()
        const message = Samples.outboxMessage()
        const exits: Array<Exit.Exit<unknown, unknown>> = []
        const body = Effect.andThen(outbox.enqueue([message]), end)
        yield* journal.transact(begun.run, begun.fence, body, recorded(begun, exits))
        assert.deepStrictEqual(exits.map(Exit.isFailure), [true])
        const { length, outcome } = yield* lastOf(begun)
        assert.strictEqual(length, 4)
        assert.strictEqual(outcome?._tag, "Failed")
        const waiting = yield* waitingOf(message)
        assert.strictEqual(waiting.length, options.rolls_back ? 0 : 1)
      })
    )
  }

  it.effect("a body that hangs is interrupted after 5 s, and recorded", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const begun = yield* calling()
      const exits: Array<Exit.Exit<unknown, unknown>> = []
      let interrupted = false
      const body = Effect.onInterrupt(Effect.never, () =>
        Effect.sync(() => {
          interrupted = true
        })
      )
      yield* journal.transact(begun.run, begun.fence, body, recorded(begun, exits))
      assert.isTrue(interrupted)
      assert.isTrue(exits.every((exit) => Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)))
      assert.strictEqual(exits.length, 1)
      assert.strictEqual((yield* lastOf(begun)).outcome?._tag, "Failed")
    })
  )
}

export const transactTests = (it: Vitest.MethodsNonLive<Needs>, options: Options): void => {
  commitTests(it)
  outcomeTests(it, options)
  exclusion(it)
}
