/**
 * kill -9 after a write was dispatched whose tool can be asked what became of it: before it was sent, and after it was
 * received. Another process asks, and nobody else has to.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Homes from "./Homes.ts"
import * as Judge from "./Judge.ts"
import * as Service from "./Service.ts"

for (const [engine, home] of Homes.both) {
  it.live(
    `kill -9 on ${engine}: a lost write that can be asked for happens once, and its run ends without an operator`,
    () =>
      Effect.gen(function* () {
        const judge = yield* Judge.start
        const options = { store: yield* home, counter: judge.url }
        const first = yield* Service.start({
          ...options,
          holds: [{ point: "dispatched", tag: "not-sent" }]
        })
        yield* judge.hold("received")
        const received = yield* first.send("received", ["told"], ["read"])
        const sent = yield* first.send("not-sent", ["told"], ["read"])
        yield* judge.received("received")
        yield* first.reached("dispatched", "not-sent")
        yield* first.child.kill
        assert.deepStrictEqual(
          [received, sent].map((run) => Judge.of(judge, run).length),
          [1, 0]
        )
        yield* judge.release
        const next = yield* Service.start(options)
        for (const [run, dispatches] of [
          [received, 1],
          [sent, 2]
        ] as const) {
          const entries = yield* Service.ended(next, run)
          Judge.assertComplete(entries, run === sent ? "not-sent" : "received")
          const all = Service.events(entries)
          const dispatched = all.filter((event) => event._tag === "CallDispatched")
          assert.strictEqual(dispatched.length, dispatches)
          assert.isTrue(dispatched.every(({ on_loss }) => on_loss === "ask"))
          const [seen, ...more] = Judge.of(judge, run)
          assert.deepStrictEqual(more, [])
          assert.strictEqual(seen?.key, dispatched[0]!.key)
          assert.isFalse(all.some(({ _tag }) => _tag === "CallUnknown"))
          assert.isFalse(all.some((event) => "by" in event && event._tag === "CallSettled"))
        }
      }).pipe(Effect.scoped),
    60_000
  )
}
