import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { RunId } from "../../src/value/Ids.ts"
import type { Who } from "./Service.ts"
import * as H from "../runtime/Harness.ts"
import { asks, calls, ends, proposed, Script, turns } from "./Script.ts"
import { ask, layer, layerWith, listen } from "./Service.ts"

const say = Effect.fnUntraced(function* (
  text: string,
  conversation?: string,
  as: Who = "olga",
  agent = "operations"
) {
  const path =
    conversation === undefined ? "/v1/messages" : `/v1/conversations/${conversation}/messages`
  const answer = yield* ask(path, { as, json: { agent, text } })
  assert.strictEqual(answer.status, 202, answer.text)
  return {
    run: RunId.make(answer.json.run_id),
    conversation: answer.json.conversation_id as string
  }
})

const ids = (events: ReadonlyArray<{ id: string | undefined }>) => events.map(({ id }) => id)

describe("an event stream", () => {
  it.live("begins at event 0, names its events, and sends a comment at once", () =>
    Effect.gen(function* () {
      const said = yield* say("one")
      const { conversation, run } = said
      const stream = yield* listen(`/v1/conversations/${conversation}/events`, { as: "vera" })
      assert.strictEqual(stream.response.status, 200)
      assert.match(stream.response.headers.get("content-type")!, /^text\/event-stream/)
      assert.strictEqual(stream.response.headers.get("cache-control"), "no-store")
      const first = yield* stream.take(2)
      assert.deepStrictEqual(ids(first), ["1.0", "1.1"])
      assert.deepStrictEqual(
        first.map(({ event }) => event),
        ["run_accepted", "run_claimed"]
      )
      assert.strictEqual(first[0]!.data.run_id, run)
      assert.strictEqual(first[0]!.data.seq, 0)
      assert.isNumber(first[0]!.data.at)
      assert.strictEqual(first[0]!.data.event.message, "one")
      yield* ends(said)
      assert.deepStrictEqual(
        (yield* stream.take(2)).map(({ event }) => event),
        ["model_turned", "run_ended"]
      )
    }).pipe(Effect.provide(layer))
  )

  it.live("of a conversation without events answers at once", () =>
    Effect.gen(function* () {
      const { conversation } = yield* say("one")
      const stream = yield* listen(`/v1/conversations/${conversation}/events?after=1.1`, {
        as: "vera"
      })
      assert.strictEqual(stream.response.status, 200)
    }).pipe(Effect.provide(layer))
  )

  it.live("resumes after any event by Last-Event-ID, without a gap or a duplicate", () =>
    Effect.gen(function* () {
      const first = yield* say("one")
      const { conversation } = first
      yield* ends(first)
      yield* ends(yield* say("two", conversation))
      const path = `/v1/conversations/${conversation}/events`
      const all = ["1.0", "1.1", "1.2", "1.3", "2.0", "2.1", "2.2", "2.3"]
      for (let seen = 0; seen < all.length; seen++) {
        const id = seen === 0 ? "0" : all[seen - 1]!
        const header = yield* listen(path, { as: "vera", headers: { "last-event-id": id } })
        assert.deepStrictEqual(ids(yield* header.take(all.length - seen)), all.slice(seen))
        yield* header.close
        const query = yield* listen(`${path}?after=${id}`, { as: "vera" })
        assert.deepStrictEqual(ids(yield* query.take(all.length - seen)), all.slice(seen))
        yield* query.close
      }
      // The header is the newer of the two: a browser sends it when it reconnects to its first address.
      const both = yield* listen(`${path}?after=0`, {
        as: "vera",
        headers: { "last-event-id": "2.2" }
      })
      assert.strictEqual((yield* both.next).id, "2.3")
    }).pipe(Effect.provide(layer))
  )

  it.live("has the events that were journaled while its client was disconnected", () =>
    Effect.gen(function* () {
      const said = yield* say("one")
      const { conversation, run } = said
      const path = `/v1/conversations/${conversation}/events`
      const before = yield* listen(path, { as: "vera" })
      const seen = ids(yield* before.take(2))
      yield* before.close
      yield* asks(said)
      const after = yield* listen(path, { as: "vera", headers: { "last-event-id": seen[1]! } })
      assert.deepStrictEqual(ids(yield* after.take(2)), ["1.2", "1.3"])
      // A disconnect cancels nothing.
      const status = yield* ask(`/v1/runs/${run}`, { as: "vera" })
      assert.strictEqual(status.json.status, "awaiting_approval")
    }).pipe(Effect.provide(layer))
  )

  it.live("with a cursor in a run that its conversation has not had is answered with 400", () =>
    Effect.gen(function* () {
      const said = yield* say("one")
      yield* ends(said)
      const path = `/v1/conversations/${said.conversation}/events`
      for (const id of ["2.0", "9.0", "999999999.999999999"]) {
        for (const asked of [
          yield* ask(path, { as: "vera", headers: { "last-event-id": id } }),
          yield* ask(`${path}?after=${id}`, { as: "vera" })
        ]) {
          assert.strictEqual(asked.status, 400, id)
          assert.strictEqual(asked.json.type, "urn:troupe:problem:cursor-ahead")
        }
      }
      const stream = yield* listen(`${path}?after=1.3`, { as: "vera" })
      yield* ends(yield* say("two", said.conversation))
      assert.deepStrictEqual(ids(yield* stream.take(2)), ["2.0", "2.1"])
    }).pipe(Effect.provide(layer))
  )

  it.live("with a malformed cursor is answered with 400", () =>
    Effect.gen(function* () {
      const { conversation } = yield* say("one")
      for (const id of ["x", "1", "1.", ".1", "1.2.3", "-1.0", "1.1e3", "01.1", "9999999999.1"]) {
        const path = `/v1/conversations/${conversation}/events`
        const answer = yield* ask(path, { as: "vera", headers: { "last-event-id": id } })
        assert.strictEqual(answer.status, 400, id)
        assert.strictEqual(answer.json.type, "urn:troupe:problem:bad-cursor")
        assert.strictEqual((yield* ask(`${path}?after=${id}`, { as: "vera" })).status, 400, id)
      }
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "ST-03 has only the events and deltas of its own conversation, in order, while another one runs",
    () =>
      Effect.gen(function* () {
        const script = yield* Script
        const a = yield* say("to a")
        const b = yield* say("to b")
        const one = yield* listen(`/v1/conversations/${a.conversation}/events`, { as: "vera" })
        const two = yield* listen(`/v1/conversations/${b.conversation}/events`, { as: "vera" })
        const begun = yield* Effect.all([one.take(2), two.take(2)])
        const piece = (text: string) => ({ kind: "text", text, offset: 0 }) as const
        yield* script.piece(a.run, piece("for a"))
        yield* script.piece(b.run, piece("for b"))
        const approval = yield* asks(a)
        const seenA = [...begun[0], ...(yield* one.take(3))]
        yield* script.turn(b.run, calls("scan", { n: 1 }))
        const seenB = [...begun[1]]
        while (seenB.at(-1)?.data.kind !== "output") seenB.push(yield* two.next)
        yield* script.release(b.run)
        yield* ends(b)
        while (seenB.at(-1)?.event !== "run_ended") seenB.push(yield* two.next)
        assert.strictEqual(seenA.at(-1)?.event, "approval_requested")
        yield* ask(`/v1/approvals/${approval}/decision`, {
          as: "ada",
          json: { decision: "approve" }
        })
        yield* ends(a)
        while (seenA.at(-1)?.event !== "run_ended") seenA.push(yield* one.next)
        const journaled = (seen: typeof seenA) => seen.filter(({ event }) => event !== "delta")
        for (const [{ run }, seen] of [
          [a, seenA],
          [b, seenB]
        ] as const) {
          const all = (yield* H.events(run)).map((_, seq) => `1.${seq}`)
          assert.deepStrictEqual(ids(journaled(seen)), all)
        }
        assert.isTrue(seenA.every(({ data }) => data.run_id === a.run))
        assert.isTrue(seenB.every(({ data }) => data.run_id === b.run))
        const texts = (seen: typeof seenA) =>
          seen.filter(({ event }) => event === "delta").map(({ data }) => data.text)
        assert.deepStrictEqual(texts(seenA), ["for a"])
        assert.deepStrictEqual(texts(seenB), ["for b", '{"rows":1}'])
      }).pipe(Effect.provide(layer))
  )

  it.live("has deltas without an id, so that no cursor names one", () =>
    Effect.gen(function* () {
      const script = yield* Script
      const { conversation, run } = yield* say("one")
      const stream = yield* listen(`/v1/conversations/${conversation}/events`, { as: "vera" })
      yield* stream.take(2)
      yield* script.piece(run, { kind: "text", text: "line\nline", offset: 0 })
      const delta = yield* stream.next
      assert.strictEqual(delta.id, undefined)
      assert.strictEqual(delta.event, "delta")
      assert.deepStrictEqual(delta.data, {
        turn: "0/1",
        offset: 0,
        kind: "text",
        text: "line\nline",
        run_id: run
      })
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "has a call's preliminary output as a delta with the call's id, except for customers",
    () =>
      Effect.gen(function* () {
        const staff = yield* say("one")
        const stream = yield* listen(`/v1/conversations/${staff.conversation}/events`, {
          as: "vera"
        })
        yield* stream.take(2)
        const script = yield* Script
        yield* script.turn(staff.run, calls("scan", { n: 7 }))
        let delta = yield* stream.next
        while (delta.event !== "delta") delta = yield* stream.next
        assert.deepStrictEqual([delta.id, delta.event], [undefined, "delta"])
        assert.deepStrictEqual(delta.data, {
          turn: "0/1",
          kind: "output",
          call: "0/1.0",
          text: '{"rows":7}',
          run_id: staff.run
        })
        const theirs = yield* say("two", undefined, "carl", "spectral")
        const events = `/v1/conversations/${theirs.conversation}/events`
        const shown = yield* listen(events, { as: "carl" })
        const beside = yield* listen(events, { as: "vera" })
        yield* Effect.all([shown.take(1), beside.take(1)])
        yield* script.turn(theirs.run, calls("scan", { n: 7 }))
        while ((yield* beside.next).data.kind !== "output");
        yield* script.release(theirs.run)
        yield* script.piece(theirs.run, { kind: "text", text: "Done.", offset: 0 })
        while ((yield* beside.next).data.kind !== "text");
        yield* ends(theirs)
        const seen = []
        while (seen.at(-1)?.event !== "run_ended") seen.push(yield* shown.next)
        const deltas = seen.filter(({ event }) => event === "delta")
        assert.deepStrictEqual(
          deltas.map(({ data }) => [data.kind, data.text]),
          [["text", "Done."]]
        )
      }).pipe(Effect.provide(layer))
  )

  it.live(
    "ST-21 has no reasoning, no arguments and no text of an internal fault for a customer",
    () =>
      Effect.gen(function* () {
        const said = yield* say("one", undefined, "carl", "spectral")
        const { conversation } = said
        const secret = "a thought of the model"
        const stream = yield* listen(`/v1/conversations/${conversation}/events`, { as: "carl" })
        const looking = { ...proposed, calls: calls("look", { n: -1 }).calls }
        yield* turns(said, looking, "CallSettled")
        yield* ends(said)
        const seen = []
        while (seen.at(-1)?.event !== "run_ended") seen.push(yield* stream.next)
        const text = JSON.stringify(seen)
        assert.notInclude(text, secret)
        assert.notInclude(text, "a signature of the model")
        assert.notInclude(text, "a provider:a model")
        assert.notInclude(text, "row 7 of table t")
        assert.notInclude(text, "a model that a tool called")
        assert.include(text, "internal fault")
        const staff = yield* listen(`/v1/conversations/${conversation}/events`, { as: "vera" })
        const all = []
        while (all.at(-1)?.event !== "run_ended") all.push(yield* staff.next)
        const whole = JSON.stringify(all)
        assert.include(whole, secret)
        assert.include(whole, "row 7 of table t")
        assert.include(whole, "a model that a tool called")
      }).pipe(Effect.provide(layer))
  )

  it.live("is refused beyond the number that may be open at once, until another one closes", () =>
    Effect.gen(function* () {
      const { conversation } = yield* say("one")
      const path = `/v1/conversations/${conversation}/events`
      const first = yield* listen(path, { as: "vera" })
      const second = yield* ask(path, { as: "vera" })
      assert.strictEqual(second.status, 503)
      assert.strictEqual(second.json.type, "urn:troupe:problem:too-many-streams")
      assert.strictEqual(second.headers.get("retry-after"), "1")
      yield* first.take(2)
      yield* first.close
      let third = yield* listen(path, { as: "vera" })
      while (third.response.status === 503) third = yield* listen(path, { as: "vera" })
      assert.strictEqual(third.response.status, 200)
    }).pipe(Effect.provide(layerWith({ streams_max: 1, heartbeat_ms: 10 })))
  )

  it.live("sends comments while nothing happens", () =>
    Effect.gen(function* () {
      const { conversation } = yield* say("one")
      const stream = yield* listen(`/v1/conversations/${conversation}/events?after=1.9`, {
        as: "vera"
      })
      const comments = yield* stream.comments(4)
      assert.include(comments, ": caught up")
      assert.strictEqual(comments.filter((each) => each === ": alive").length, 3)
    }).pipe(Effect.provide(layerWith({ heartbeat_ms: 10 })))
  )

  it.live("ends after a whole event when the service stops", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(layer, scope)
      const stream = yield* Effect.gen(function* () {
        const { conversation } = yield* say("one")
        return yield* listen(`/v1/conversations/${conversation}/events`, { as: "vera" })
      }).pipe(Effect.provideContext(context))
      yield* stream.take(2)
      yield* Scope.close(scope, Exit.void)
      // A comment may be joined to the last event; no event is cut.
      assert.match(yield* stream.rest, /^(?:: [^\n]*\n\n)?$/)
    })
  )
})
