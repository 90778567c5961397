/** Many runs of a process that is gone, taken up by the next one. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const runs = 12
const per_turn = 3

/** The number of the event loop's turn, until the scope closes. */
const turns = Effect.acquireRelease(
  Effect.sync(() => {
    const turn = { now: 0, isOver: false }
    const next = () => {
      turn.now++
      if (!turn.isOver) setImmediate(next)
    }
    setImmediate(next)
    return turn
  }),
  (turn) => Effect.sync(() => void (turn.isOver = true))
)

it.live("runs of a process that is gone are taken up a few in each turn of the event loop", () =>
  Effect.gen(function* () {
    const gone = yield* H.boot({ script: () => Effect.never, config: { drain_ms: 0 } })
    const conversations = Array.from({ length: runs }, (_, n) => `c-${n}`)
    const sent = yield* Effect.forEach(conversations, (each) => gone.run(H.send("hello", each)))
    for (const [n, run] of sent.entries()) {
      yield* gone.run(H.happened(run, "RunClaimed", 1, conversations[n]))
    }
    yield* gone.stop
    const turn = yield* turns
    const claimed = new Map<number, number>()
    const next = yield* H.withJournal(
      H.boot({ script: () => text("done"), config: { loops_per_turn: per_turn } }),
      (journal) => ({
        claim: (...args) =>
          Effect.suspend(() => {
            claimed.set(turn.now, (claimed.get(turn.now) ?? 0) + 1)
            return journal.claim(...args)
          })
      })
    )
    for (const [n, run] of sent.entries()) {
      const all = yield* next.run(H.ended(run, conversations[n]))
      assert.deepInclude(H.end(all), { status: "complete", text: "done" })
    }
    const counts = [...claimed.values()]
    assert.strictEqual(
      counts.reduce((sum, each) => sum + each, 0),
      runs
    )
    assert.isAtMost(Math.max(...counts), per_turn)
  }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
)
