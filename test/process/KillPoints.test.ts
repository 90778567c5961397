/**
 * kill -9 at each point of a call and of a delivery. One process is held at all points at once, each run or message at its
 * own, and killed; what another process makes of it is looked at run by run.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import type { CallSettled } from "../../src/run/RunEvent.ts"
import * as Homes from "./Homes.ts"
import * as Judge from "./Judge.ts"
import type { Hold, Seen, ToolName } from "./Plan.ts"
import * as Service from "./Service.ts"

const held: ReadonlyArray<Hold> = [
  { point: "begun", tag: "begun" },
  { point: "model", tag: "before-the-answer" },
  { point: "dispatch", tag: "decided" },
  { point: "dispatched", tag: "dispatched" },
  { point: "dispatched", tag: "approved-and-dispatched" },
  { point: "dispatched", tag: "unsent-post" },
  { point: "dispatch", tag: "sole-before" },
  { point: "dispatched", tag: "sole-dispatched" },
  { point: "settle", tag: "answered" },
  { point: "model", tag: "row" },
  { point: "transaction", tag: "row" },
  { point: "committed", tag: "committed-row" },
  { point: "send", tag: "claimed-webhook" },
  { point: "sent", tag: "sent-webhook" }
]

/** The tag of each run with its first tool; a second step follows, so that the run goes on. */
const runs: ReadonlyArray<readonly [tag: string, tool: ToolName]> = [
  ["before-the-answer", "once"],
  ["dispatched", "once"],
  ["received", "once"],
  ["answered", "once"],
  ["keyed", "keyed"],
  ["unsent-post", "posted"],
  ["posted", "posted"],
  ["reposted", "reposted"],
  ["waiting", "gated"],
  ["decided", "gated"],
  ["approved-and-dispatched", "gated"],
  ["committed-row", "row"],
  ["row", "row"]
]

/** Runs whose call holds a key in its tenant: each has its own, by the step at which it is. */
const sole: ReadonlyArray<readonly [tag: string, steps: ReadonlyArray<ReadonlyArray<ToolName>>]> = [
  ["sole-received", [["sole"]]],
  ["sole-dispatched", [["read"], ["sole"]]],
  ["sole-before", [["read"], ["read"], ["sole"]]]
]

/** Whose first effect is received and not answered. */
const at_judge = ["received", "keyed", "posted", "reposted", "sole-received"]

class Aftermath extends Context.Service<
  Aftermath,
  {
    readonly service: Service.Service
    readonly judge: Judge.Judge
    readonly run: (tag: string) => string
    /** The events of each run as they were when the process was killed. */
    readonly before: (tag: string) => Service.Journal
  }
>()("test/process/Aftermath") {}

/** Brings each run to its point, and kills the process. */
const crash = Effect.fnUntraced(function* (options: Service.Options, judge: Judge.Judge) {
  const service = yield* Service.start({ ...options, holds: held })
  for (const tag of at_judge) yield* judge.hold(tag)
  const ids = new Map<string, string>()
  // Its sender is never answered.
  yield* Effect.forkScoped(Effect.ignore(service.send("begun", ["once"], ["read"])))
  for (const [tag, tool] of runs) ids.set(tag, yield* service.send(tag, [tool], ["read"]))
  for (const [tag, steps] of sole) ids.set(tag, yield* service.send(tag, ...steps))
  for (const tag of ["decided", "approved-and-dispatched"]) {
    yield* service.decide((yield* Service.question(service, ids.get(tag)!)).id)
  }
  yield* Service.question(service, ids.get("waiting")!)
  yield* service.webhooks("claimed-webhook", "sent-webhook")
  for (const { point, tag } of held) {
    if (point !== "transaction") yield* service.reached(point, tag)
  }
  for (const tag of at_judge) yield* judge.received(tag)
  // From here on the relay takes nothing: what is written now is never begun or sent by this process.
  yield* service.hold("claim", "relay")
  const accepted = service.sendBehind("before-the-answer", "accepted", ["once"], ["read"])
  ids.set("accepted", yield* accepted)
  yield* service.webhooks("written-webhook")
  yield* service.reached("claim", "relay")
  const before = new Map<string, Service.Journal>()
  for (const [tag, id] of ids) before.set(tag, yield* Service.journal(service, id))
  // The last one, because a transaction that hangs holds the only session of PGlite.
  yield* service.release("model", "row")
  yield* service.reached("transaction", "row")
  yield* service.child.kill
  return { run: (tag: string) => ids.get(tag)!, before: (tag: string) => before.get(tag)! }
})

const aftermath = (home: Homes.Home) =>
  Layer.effect(
    Aftermath,
    Effect.gen(function* () {
      const judge = yield* Judge.start
      const options = { store: yield* home, counter: judge.url }
      const { before, run } = yield* crash(options, judge)
      yield* judge.release
      return { before, run, judge, service: yield* Service.start(options) }
    })
  )

/** Every request had the key of the one call. */
const assertOneKey = (seen: ReadonlyArray<Seen>) => {
  const [key, ...more] = new Set(seen.map((each) => each.key))
  assert.match(key ?? "", /^[0-9a-f]{64}$/)
  assert.lengthOf(more, 0)
}

const reasonOf = ({ outcome }: CallSettled): string | undefined =>
  outcome._tag === "Failed" ? outcome.error.reason : outcome._tag

const tagsOf = (entries: Service.Journal) => Service.events(entries).map((event) => event._tag)

for (const [engine, home] of Homes.some) {
  layer(aftermath(home), { excludeTestServices: true, timeout: "2 minutes" })(
    `kill -9 on ${engine}`,
    (it) => {
      /** The run to its end: what was journaled stands, the end is one, and the effect happened once. */
      const ends = Effect.fnUntraced(function* (tag: string, effects = 1) {
        const { before, judge, run, service } = yield* Aftermath
        const entries = yield* Service.ended(service, run(tag))
        Judge.assertComplete(entries, tag)
        assert.deepStrictEqual(entries.slice(0, before(tag).length), before(tag))
        assert.strictEqual(Judge.of(judge, run(tag)).length, effects)
        return tagsOf(entries)
      })

      it.effect("SA-42 before the model answers: the turn is asked for again", () =>
        Effect.gen(function* () {
          const { before } = yield* Aftermath
          assert.notInclude(tagsOf(before("before-the-answer")), "ModelTurned")
          yield* ends("before-the-answer")
        })
      )

      it.effect(
        "after a write was dispatched and received: it is unknown, and never sent again",
        () =>
          Effect.gen(function* () {
            const { judge, run, service } = yield* Aftermath
            const call = yield* Service.unknown(service, run("received"))
            assert.notInclude(tagsOf(yield* Service.journal(service, run("received"))), "RunEnded")
            assert.strictEqual(Judge.of(judge, run("received")).length, 1)
            yield* service.settle(run("received"), call, { _tag: "Succeeded", json: "true" })
            yield* ends("received")
          })
      )

      it.effect(
        "after a write was dispatched and not begun: it is unknown, and runs when a person says so",
        () =>
          Effect.gen(function* () {
            const { judge, run, service } = yield* Aftermath
            const call = yield* Service.unknown(service, run("dispatched"))
            assert.strictEqual(Judge.of(judge, run("dispatched")).length, 0)
            yield* service.settle(run("dispatched"), call, { _tag: "RunAgain" })
            yield* ends("dispatched")
          })
      )

      it.effect(
        "after a write was answered and not journaled: it is unknown, and a person may settle it as failed",
        () =>
          Effect.gen(function* () {
            const { run, service } = yield* Aftermath
            const call = yield* Service.unknown(service, run("answered"))
            yield* service.settle(run("answered"), call, { _tag: "Failed", message: "we saw it" })
            yield* ends("answered")
          })
      )

      /** Another run with the same wish, to its end: what its call came to, and how often anybody had the effect. */
      const repeated = Effect.fnUntraced(function* (tag: string, again: string) {
        const { judge, service } = yield* Aftermath
        const steps = sole.find(([name]) => name === tag)![1]
        const other = yield* service.send(again, ...steps)
        const events = Service.events(yield* Service.ended(service, other))
        const settled = events.findLast((event) => event._tag === "CallSettled")!
        assert.notInclude(
          events.map(({ _tag }) => _tag),
          "CallDispatched"
        )
        assert.deepStrictEqual(Judge.of(judge, other), [])
        return settled
      })

      it.effect(
        "after a call that holds a key was received: no other run repeats it, and each gets what a person says of it",
        () =>
          Effect.gen(function* () {
            const { judge, run, service } = yield* Aftermath
            const tag = "sole-received"
            const call = yield* Service.unknown(service, run(tag))
            const refused = yield* repeated(tag, "sole-received-2")
            assert.strictEqual(reasonOf(refused), "KEY_OUTCOME_UNKNOWN")
            yield* service.settle(run(tag), call, { _tag: "Succeeded", json: "true" })
            yield* ends(tag)
            const given = yield* repeated(tag, "sole-received-3")
            assert.deepStrictEqual(given.outcome, { _tag: "Value", json: "true" })
            assert.strictEqual(given.repeats?.run, run(tag))
            assert.lengthOf(Judge.of(judge, run(tag)), 1)
          })
      )

      it.effect(
        "after a call that holds a key was dispatched and not begun: no other run begins it",
        () =>
          Effect.gen(function* () {
            const { judge, run, service } = yield* Aftermath
            const tag = "sole-dispatched"
            const call = yield* Service.unknown(service, run(tag))
            assert.strictEqual(
              reasonOf(yield* repeated(tag, "sole-dispatched-2")),
              "KEY_OUTCOME_UNKNOWN"
            )
            assert.deepStrictEqual(Judge.of(judge, run(tag)), [])
            yield* service.settle(run(tag), call, { _tag: "RunAgain" })
            yield* ends(tag)
            assert.strictEqual((yield* repeated(tag, "sole-dispatched-3")).repeats?.run, run(tag))
          })
      )

      it.effect(
        "before a call that is to hold a key was dispatched: it holds it after all, once",
        () =>
          Effect.gen(function* () {
            const { run } = yield* Aftermath
            yield* ends("sole-before")
            assert.strictEqual(
              (yield* repeated("sole-before", "sole-before-2")).repeats?.run,
              run("sole-before")
            )
          })
      )

      it.effect(
        "after an idempotent write was received: it is sent again with the same key, and nobody is asked",
        () =>
          Effect.gen(function* () {
            const { judge, run } = yield* Aftermath
            const tags = yield* ends("keyed", 2)
            assert.notInclude(tags, "CallUnknown")
            const keys = Judge.of(judge, run("keyed")).map(({ key }) => key)
            assert.strictEqual(new Set(keys).size, 1)
          })
      )

      it.effect(
        "after a direct POST was received: it is unknown, and sent again by a person's word alone, with the same key",
        () =>
          Effect.gen(function* () {
            const { judge, run, service } = yield* Aftermath
            const call = yield* Service.unknown(service, run("posted"))
            assert.strictEqual(Judge.of(judge, run("posted")).length, 1)
            yield* service.settle(run("posted"), call, { _tag: "RunAgain" })
            yield* ends("posted", 2)
            assertOneKey(Judge.of(judge, run("posted")))
          })
      )

      it.effect(
        "before a direct POST was sent: it is unknown, and sent once when a person says so",
        () =>
          Effect.gen(function* () {
            const { judge, run, service } = yield* Aftermath
            const call = yield* Service.unknown(service, run("unsent-post"))
            assert.strictEqual(Judge.of(judge, run("unsent-post")).length, 0)
            yield* service.settle(run("unsent-post"), call, { _tag: "RunAgain" })
            yield* ends("unsent-post")
            assertOneKey(Judge.of(judge, run("unsent-post")))
          })
      )

      it.effect(
        "after an idempotent direct POST was received: it is sent again with the same key, and nobody is asked",
        () =>
          Effect.gen(function* () {
            const { judge, run } = yield* Aftermath
            const tags = yield* ends("reposted", 2)
            assert.notInclude(tags, "CallUnknown")
            assertOneKey(Judge.of(judge, run("reposted")))
          })
      )

      it.effect("ST-04 while an approval waits: it waits on, and the answer resumes that run", () =>
        Effect.gen(function* () {
          const { judge, run, service } = yield* Aftermath
          const { id } = yield* Service.question(service, run("waiting"))
          assert.strictEqual(Judge.of(judge, run("waiting")).length, 0)
          yield* service.decide(id)
          const tags = yield* ends("waiting")
          assert.strictEqual(tags.filter((tag) => tag === "ApprovalRequested").length, 1)
          const again = yield* Effect.flip(service.decide(id))
          assert.strictEqual(again.reason, "ApprovalSettled")
        })
      )

      it.effect(
        "between decision and execution: the decision stands, and nobody is asked again",
        () =>
          Effect.gen(function* () {
            const { before } = yield* Aftermath
            assert.strictEqual(tagsOf(before("decided")).at(-1), "ApprovalDecided")
            const tags = yield* ends("decided")
            assert.strictEqual(tags.filter((tag) => tag === "ApprovalRequested").length, 1)
          })
      )

      it.effect(
        "after an approved write was dispatched: the decision is used up, and running again asks again",
        () =>
          Effect.gen(function* () {
            const { judge, run: of, service } = yield* Aftermath
            const run = of("approved-and-dispatched")
            const call = yield* Service.unknown(service, run)
            yield* service.settle(run, call, { _tag: "RunAgain" })
            const { id } = yield* Service.question(service, run)
            assert.strictEqual(Judge.of(judge, run).length, 0)
            yield* service.decide(id, "bob")
            const tags = yield* ends("approved-and-dispatched")
            assert.strictEqual(tags.filter((tag) => tag === "ApprovalRequested").length, 2)
          })
      )

      it.effect("SA-41 inside a transactional call: its write is undone, and done once", () =>
        Effect.gen(function* () {
          const { run, service } = yield* Aftermath
          yield* ends("row", 0)
          const rows = yield* service.rows
          assert.strictEqual(rows.filter((row) => row.run === run("row")).length, 1)
        })
      )

      it.effect(
        "SA-41 after a transactional call committed: its write and its event are there, once",
        () =>
          Effect.gen(function* () {
            const { before, run, service } = yield* Aftermath
            assert.include(tagsOf(before("committed-row")), "CallSettled")
            yield* ends("committed-row", 0)
            const rows = yield* service.rows
            assert.strictEqual(rows.filter((row) => row.run === run("committed-row")).length, 1)
          })
      )

      it.effect("SA-42 after its run began, its sender unanswered: the run goes on", () =>
        Effect.gen(function* () {
          const { judge, service } = yield* Aftermath
          // The same key finds it.
          const run = yield* service.send("begun", ["once"], ["read"])
          const entries = yield* Service.ended(service, run)
          Judge.assertComplete(entries, "begun")
          assert.deepStrictEqual(tagsOf(entries).slice(0, 3), [
            "RunAccepted",
            "RunClaimed",
            "RunClaimed"
          ])
          assert.strictEqual(Judge.of(judge, run).length, 1)
        })
      )

      it.effect(
        "SA-43 between the outbox write and its dispatch: the accepted task is delivered once",
        () =>
          Effect.gen(function* () {
            const { before, run, service } = yield* Aftermath
            assert.deepStrictEqual(before("accepted"), [])
            yield* ends("accepted")
            // The same key names the same task, which is not begun again.
            const again = service.sendBehind("before-the-answer", "accepted", ["once"], ["read"])
            assert.strictEqual(yield* again, run("accepted"))
          })
      )

      it.effect(
        "SA-43 between the outbox write and the send: a message goes out, at least once under one id",
        () =>
          Effect.gen(function* () {
            const { judge, service } = yield* Aftermath
            yield* Service.until(service.depth, (depth) => depth === 0)
            const ids = (tag: string) =>
              judge.seen().flatMap((each) => (each.tag === tag ? [each.key] : []))
            assert.strictEqual(ids("written-webhook").length, 1)
            assert.strictEqual(ids("claimed-webhook").length, 1)
            assert.strictEqual(ids("sent-webhook").length, 2)
            assert.strictEqual(new Set(ids("sent-webhook")).size, 1)
          })
      )
    }
  )
}
