/** One run, several processes: who owns it, and who answers for it when that one is gone. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Homes from "./Homes.ts"
import * as Judge from "./Judge.ts"
import * as Service from "./Service.ts"
import { takeover } from "./Takeover.ts"

it.live(
  "SA-42 a process that slept longer than its lease is refused, and the new owner finishes each run once",
  () =>
    Effect.gen(function* () {
      const judge = yield* Judge.start
      yield* takeover({ store: yield* Homes.database, counter: judge.url }, judge)
    }),
  120_000
)

const parked = Effect.fnUntraced(function* (service: Service.Service) {
  const run = yield* service.send("parked", ["gated"], ["read"])
  const { id } = yield* Service.question(service, run)
  yield* Service.until(service.actors, (all) => all.some((actor) => actor.state === "parked"))
  return { run, id }
})

const endsOnce = Effect.fnUntraced(function* (
  service: Service.Service,
  judge: Judge.Judge,
  run: string
) {
  Judge.assertComplete(yield* Service.ended(service, run), "parked")
  assert.strictEqual(Judge.of(judge, run).length, 1)
})

it.live(
  "ST-04 a run that left a process, which was killed, goes on in the process where the person decided",
  () =>
    Effect.gen(function* () {
      const judge = yield* Judge.start
      const options = { store: yield* Homes.database, counter: judge.url }
      const first = yield* Service.start({ ...options, park_ms: 20 })
      const { id, run } = yield* parked(first)
      // Later, because either's relay may take a task.
      const second = yield* Service.start(options)
      yield* first.child.kill
      yield* second.decide(id)
      yield* endsOnce(second, judge, run)
    }),
  120_000
)

it.live(
  "ST-04 a run that left a process, which was killed, goes on when its directory is opened and the person decides",
  () =>
    Effect.gen(function* () {
      const judge = yield* Judge.start
      const options = { store: yield* Homes.directory, counter: judge.url }
      const first = yield* Service.start({ ...options, park_ms: 20 })
      const { id, run } = yield* parked(first)
      yield* first.child.kill
      const second = yield* Service.start(options)
      yield* second.decide(id)
      yield* endsOnce(second, judge, run)
    }),
  120_000
)

for (const [engine, home] of Homes.both) {
  it.live(
    `SA-42 a service that is told to stop ends its step, and its question waits for the next one (${engine})`,
    () =>
      Effect.gen(function* () {
        const judge = yield* Judge.start
        const options = { store: yield* home, counter: judge.url }
        const first = yield* Service.start(options)
        yield* judge.hold("stepping")
        const stepping = yield* first.send("stepping", ["once"], ["read"])
        const waiting = yield* first.send("waiting", ["gated"], ["read"])
        const { id } = yield* Service.question(first, waiting)
        yield* judge.received("stepping")
        // The relay ends what it has in flight before the actors do, and no run begins a step meanwhile.
        yield* first.hold("send", "delivered")
        yield* first.webhooks("delivered")
        yield* first.reached("send", "delivered")
        yield* first.child.signal("SIGTERM")
        yield* first.child.heard((it) => it.notice === "stopping")
        yield* judge.release
        yield* Service.until(Service.journal(first, stepping), (entries) =>
          Service.events(entries).some((event) => event._tag === "CallSettled")
        )
        yield* first.release("send", "delivered")
        const { code, signal } = yield* first.child.ended
        assert.strictEqual(signal, null, first.child.text())
        assert.strictEqual(code, 143)

        const second = yield* Service.start(options)
        const entries = yield* Service.ended(second, stepping)
        Judge.assertComplete(entries, "stepping")
        // The step's result was written by the one that stopped: before the next one's claim, and never unknown.
        const tags = Service.events(entries).map((event) => event._tag)
        assert.isBelow(tags.indexOf("CallSettled"), tags.lastIndexOf("RunClaimed"))
        assert.notInclude(tags, "CallUnknown")
        const open = yield* Service.journal(second, waiting)
        assert.notInclude(
          Service.events(open).map((event) => event._tag),
          "ApprovalClosed"
        )
        yield* second.decide(id)
        Judge.assertComplete(yield* Service.ended(second, waiting), "waiting")
        for (const run of [stepping, waiting]) assert.strictEqual(Judge.of(judge, run).length, 1)
      }),
    120_000
  )
}

/** Far longer than the test: whatever waits for it does not come about. */
const lease_ms = 600_000

for (const [engine, home] of Homes.both) {
  it.live(
    `SA-42 nobody waits for the leases of a process that was killed: runs and deliveries go on (${engine})`,
    () =>
      Effect.gen(function* () {
        const judge = yield* Judge.start
        const options = {
          store: yield* home,
          counter: judge.url,
          lease_ms,
          relay_ms: lease_ms
        }
        const first = yield* Service.start({
          ...options,
          holds: [
            { point: "model", tag: "moving" },
            { point: "send", tag: "claimed" }
          ]
        })
        const moving = yield* first.send("moving", ["read"])
        yield* first.reached("model", "moving")
        yield* first.webhooks("claimed")
        yield* first.reached("send", "claimed")
        // On a server beside it, as it is killed: on a directory only once it is.
        const shares = "postgres" in options.store
        const beside = shares ? yield* Service.start(options) : undefined
        yield* first.child.kill
        const second = beside ?? (yield* Service.start(options))
        Judge.assertComplete(yield* Service.ended(second, moving), "moving")
        yield* Service.until(second.depth, (depth) => depth === 0)
      }),
    120_000
  )
}

it.live(
  "another process goes on with the run of one that was killed within a second",
  () =>
    Effect.gen(function* () {
      const judge = yield* Judge.start
      const options = { store: yield* Homes.database, counter: judge.url, lease_ms }
      const took: Array<number> = []
      // The quickest counts: the machine does other things, and nobody is judged in a server's first ten seconds.
      for (const tag of ["one", "two", "three", "four"]) {
        const first = yield* Service.start({ ...options, holds: [{ point: "model", tag }] })
        const run = yield* first.send(tag, ["read"])
        yield* first.reached("model", tag)
        const heir = yield* Service.start(options)
        const killed_at = Date.now()
        yield* first.child.kill
        const entries = yield* Service.ended(heir, run)
        Judge.assertComplete(entries, tag)
        const claimed = entries.findLast(({ event }) => event._tag === "RunClaimed")
        took.push(claimed!.at - killed_at)
        yield* heir.stop
        if (Math.min(...took) < 1_000) break
      }
      assert.isBelow(Math.min(...took), 1_000, `${took} ms`)
    }),
  240_000
)

it.live(
  "a living process whose sessions are cut keeps its runs: it locks again before anybody judges it",
  () =>
    Effect.gen(function* () {
      const judge = yield* Judge.start
      const store = yield* Homes.database
      const options = { store, counter: judge.url, lease_ms, relay_ms: lease_ms }
      const holds = [{ point: "model", tag: "moving" }] as const
      const first = yield* Service.start({ ...options, holds })
      const run = yield* first.send("moving", ["read"])
      yield* first.reached("model", "moving")
      const second = yield* Service.start(options)
      const url = "postgres" in store ? store.postgres : ""
      for (let cut = 0; cut < 3; cut++) {
        yield* Homes.cut(url)
        yield* Effect.sleep("2 seconds")
      }
      yield* first.release("model", "moving")
      const entries = yield* Service.ended(second, run)
      Judge.assertComplete(entries, "moving")
      const claims = Service.events(entries).filter(({ _tag }) => _tag === "RunClaimed")
      assert.strictEqual(claims.length, 1)
    }),
  120_000
)
