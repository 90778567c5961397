/** A dispatch that takes longer to be durable than its call's key holds: another call may hold the key by then. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const script: Script = ({ transcript }) =>
  transcript.at(-1)?.role === "tool" ? text("done") : call("t", { n: 1 })

const idempotency = { key: "order-{n}", scope: "tenant", holds_ms: 1_000 } as const

/** Sends the call of c-1 from a process that is lost before it has an answer. */
const sentBefore = Effect.fnUntraced(function* (options: H.Options) {
  const lost = yield* H.boot(options)
  const run = yield* lost.run(H.send("first"))
  yield* lost.run(H.happened(run, "CallDispatched"))
  yield* TestClock.adjust(20)
  yield* lost.stop
  return run
})

/**
 * The dispatch of c-1 is durable, and its process does not hear of that before a call of c-2 has taken the key and is done. Gives
 * the events of both runs, and how often the body began.
 */
const overtaken = Effect.fnUntraced(
  function* (how: { readonly isSentBefore?: true; readonly reconcile?: true }) {
    let bodies = 0
    const begin = Effect.suspend(() =>
      ++bodies === 1 && how.isSentBefore === true ? Effect.never : Effect.succeed("done")
    )
    const options: H.Options = {
      tools: { t: H.writes(() => begin, { idempotency, timeout_ms: 30_000 }) },
      script,
      spied: (tool) =>
        how.reconcile === undefined
          ? tool
          : {
              ...tool,
              spec: { ...tool.spec, idempotent: false, reconcile: true },
              reconcile: () => Effect.succeed({ _tag: "NotHappened" })
            }
    }
    const before = how.isSentBefore === true ? yield* sentBefore(options) : undefined
    const durable = Deferred.makeUnsafe<void>()
    const heard = Deferred.makeUnsafe<void>()
    const process = yield* H.withJournal(H.boot(options), ({ transact }) => ({
      transact: (...given) =>
        Effect.tap(transact(...given), () =>
          Deferred.doneUnsafe(durable, Effect.void) ? Deferred.await(heard) : Effect.void
        )
    }))
    const run = before ?? (yield* process.run(H.send("first")))
    yield* Deferred.await(durable)
    yield* TestClock.adjust(1_000)
    const other = yield* process.run(
      Effect.flatMap(H.send("second", "c-2"), (id) => H.ended(id, "c-2"))
    )
    yield* Deferred.succeed(heard, undefined)
    yield* process.run(H.until(({ _tag }) => _tag === "CallSettled" || _tag === "CallUnknown"))
    return { other, own: yield* process.run(H.events(run)), bodies }
  },
  H.asTimePasses,
  Effect.scoped,
  Effect.provide(EphemeralStores.layer)
)

describe("a key whose time is over before its dispatch is known to be durable", () => {
  for (const [title, how, outcome] of [
    ["a write: it is not done", {}, { "error.reason": "NOT_DONE" }],
    [
      "a write whose tool can be asked: it has the other call's result",
      { reconcile: true },
      { _tag: "Value", json: '"done"' }
    ]
  ] as const) {
    it.effect(`does not begin the body of ${title}`, () =>
      Effect.gen(function* () {
        const { bodies, other, own } = yield* overtaken(how)
        assert.deepNestedInclude(H.outcome(other), { _tag: "Value", json: '"done"' })
        assert.deepNestedInclude(H.outcome(own), outcome)
        assert.strictEqual(bodies, 1)
      })
    )
  }

  it.effect("leaves a write unknown that an earlier process had sent", () =>
    Effect.gen(function* () {
      const { bodies, other, own } = yield* overtaken({ isSentBefore: true })
      assert.deepNestedInclude(H.outcome(other), { _tag: "Value", json: '"done"' })
      assert.strictEqual(H.count(own, "CallUnknown"), 1)
      assert.strictEqual(bodies, 2)
    })
  )
})
