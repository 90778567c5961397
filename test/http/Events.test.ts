import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import { HttpSettings } from "../../layers/http/HttpSettings.ts"
import { ApprovalId, RunId } from "../../src/Ids.ts"
import type { Who } from "./Service.ts"
import { answered, asked, ended, proposed, Script } from "./ScriptedRuntime.ts"
import { ask, layer, listen } from "./Service.ts"

const approval = ApprovalId.make("11111111-1111-4111-8111-111111111111")

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

describe("event streams", () => {
  it.live("begin at event 0, are named, and say at once that they are there", () =>
    Effect.gen(function* () {
      const script = yield* Script
      const { conversation, run } = yield* say("one")
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
      yield* script.append(run, [answered, ended])
      assert.deepStrictEqual(
        (yield* stream.take(2)).map(({ event }) => event),
        ["model_turned", "run_ended"]
      )
    }).pipe(Effect.provide(layer))
  )

  it.live("a stream of a conversation where nothing happens answers at once", () =>
    Effect.gen(function* () {
      const { conversation } = yield* say("one")
      const stream = yield* listen(`/v1/conversations/${conversation}/events?after=1.99`, {
        as: "vera"
      })
      assert.strictEqual(stream.response.status, 200)
    }).pipe(Effect.provide(layer))
  )

  it.live("resume with Last-Event-ID behind any event, without a gap and without a duplicate", () =>
    Effect.gen(function* () {
      const script = yield* Script
      const { conversation, run } = yield* say("one")
      yield* script.append(run, [answered, ended])
      const second = yield* say("two", conversation)
      yield* script.append(second.run, [answered, ended])
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
      // The header is the newer of the two: a browser sends it when it reconnects to the address it was given.
      const both = yield* listen(`${path}?after=0`, {
        as: "vera",
        headers: { "last-event-id": "2.2" }
      })
      assert.strictEqual((yield* both.next).id, "2.3")
    }).pipe(Effect.provide(layer))
  )

  it.live("events that come while a client is away are there when it is back", () =>
    Effect.gen(function* () {
      const script = yield* Script
      const { conversation, run } = yield* say("one")
      const path = `/v1/conversations/${conversation}/events`
      const before = yield* listen(path, { as: "vera" })
      const seen = ids(yield* before.take(2))
      yield* before.close
      yield* Deferred.await(script.left)
      yield* script.append(run, [proposed, asked(approval)])
      const after = yield* listen(path, { as: "vera", headers: { "last-event-id": seen[1]! } })
      assert.deepStrictEqual(ids(yield* after.take(2)), ["1.2", "1.3"])
      // The disconnect cancelled nothing.
      const status = yield* ask(`/v1/runs/${run}`, { as: "vera" })
      assert.strictEqual(status.json.status, "awaiting_approval")
    }).pipe(Effect.provide(layer))
  )

  it.live("a malformed cursor is a 400 problem", () =>
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
    "ST-03 two conversations at the same time each show only their own events, in order",
    () =>
      Effect.gen(function* () {
        const script = yield* Script
        const a = yield* say("to a")
        const b = yield* say("to b")
        const one = yield* listen(`/v1/conversations/${a.conversation}/events`, { as: "vera" })
        const two = yield* listen(`/v1/conversations/${b.conversation}/events`, { as: "vera" })
        yield* script.append(a.run, [proposed])
        yield* script.append(b.run, [answered])
        yield* script.append(a.run, [asked(approval)])
        yield* script.append(b.run, [ended])
        const seenA = yield* one.take(4)
        const seenB = yield* two.take(4)
        assert.deepStrictEqual(ids(seenA), ["1.0", "1.1", "1.2", "1.3"])
        assert.deepStrictEqual(ids(seenB), ["1.0", "1.1", "1.2", "1.3"])
        assert.isTrue(seenA.every(({ data }) => data.run_id === a.run))
        assert.isTrue(seenB.every(({ data }) => data.run_id === b.run))
        assert.strictEqual(seenA[3]!.event, "approval_requested")
        assert.strictEqual(seenB[3]!.event, "run_ended")
      }).pipe(Effect.provide(layer))
  )

  it.live("pieces of a turn in progress carry no id, so that a cursor never names one", () =>
    Effect.gen(function* () {
      const script = yield* Script
      const { conversation, run } = yield* say("one")
      const stream = yield* listen(`/v1/conversations/${conversation}/events`, { as: "vera" })
      yield* stream.take(2)
      const place = { _tag: "Delta", run, ordinal: 1, frame: "0", step: 1, offset: 0 } as const
      yield* script.delta({ ...place, kind: "text", text: "line\nline" } as never)
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
    "what a call shows before it ends comes as a delta with its id, and not to customers",
    () =>
      Effect.gen(function* () {
        const script = yield* Script
        const output = { _tag: "Output", ordinal: 1, frame: "0", step: 1, call: "0/1.0" } as const
        const staff = yield* say("one")
        const stream = yield* listen(`/v1/conversations/${staff.conversation}/events`, {
          as: "vera"
        })
        yield* stream.take(2)
        yield* script.delta({ ...output, run: staff.run, text: '{"rows":7}' } as never)
        const delta = yield* stream.next
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
        yield* shown.take(2)
        yield* script.delta({ ...output, run: theirs.run, text: '{"rows":7}' } as never)
        const place = { run: theirs.run, ordinal: 1, frame: "0", step: 1, offset: 0 }
        yield* script.delta({ _tag: "Delta", ...place, kind: "text", text: "hi" } as never)
        assert.strictEqual((yield* shown.next).data.kind, "text")
      }).pipe(Effect.provide(layer))
  )

  it.live(
    "ST-21 a customer reads neither reasoning nor arguments nor the text of an internal fault",
    () =>
      Effect.gen(function* () {
        const script = yield* Script
        const { conversation, run } = yield* say("one", undefined, "carl", "spectral")
        const secret = "a thought of the model"
        const stream = yield* listen(`/v1/conversations/${conversation}/events`, { as: "carl" })
        yield* script.append(run, [
          proposed,
          {
            _tag: "CallSettled",
            call: "0/1.0",
            outcome: {
              _tag: "Failed",
              error: { class: "ToolTerminalError", kind: "internal", message: "row 7 of table t" }
            },
            spent: { tool: "look", uses: [{ model: "a model that a tool called" }] }
          } as never
        ])
        const seen = yield* stream.take(4)
        const text = JSON.stringify(seen)
        assert.notInclude(text, secret)
        assert.notInclude(text, "a signature of the model")
        assert.notInclude(text, "a provider:a model")
        assert.notInclude(text, "row 7 of table t")
        assert.notInclude(text, "a model that a tool called")
        assert.include(text, "internal fault")
        const staff = yield* listen(`/v1/conversations/${conversation}/events`, { as: "vera" })
        const whole = JSON.stringify(yield* staff.take(4))
        assert.include(whole, secret)
        assert.include(whole, "row 7 of table t")
        assert.include(whole, "a model that a tool called")
      }).pipe(Effect.provide(layer))
  )

  it.live(
    "the streams that may be open at the same time are bounded, and a closed one makes room",
    () =>
      Effect.gen(function* () {
        const script = yield* Script
        const { conversation } = yield* say("one")
        const path = `/v1/conversations/${conversation}/events`
        const first = yield* listen(path, { as: "vera" })
        const second = yield* ask(path, { as: "vera" })
        assert.strictEqual(second.status, 503)
        assert.strictEqual(second.json.type, "urn:troupe:problem:too-many-streams")
        assert.strictEqual(second.headers.get("retry-after"), "1")
        yield* first.take(2)
        yield* first.close
        yield* Deferred.await(script.left)
        let third = yield* listen(path, { as: "vera" })
        while (third.response.status === 503) third = yield* listen(path, { as: "vera" })
        assert.strictEqual(third.response.status, 200)
      }).pipe(
        Effect.provide(
          layer.pipe(
            Layer.provide(
              Layer.succeed(HttpSettings, {
                body_bytes_max: 1_000,
                streams_max: 1,
                heartbeat_ms: 10
              })
            )
          )
        )
      )
  )

  it.live("an idle stream shows signs of life", () =>
    Effect.gen(function* () {
      const { conversation } = yield* say("one")
      const stream = yield* listen(`/v1/conversations/${conversation}/events?after=1.9`, {
        as: "vera"
      })
      assert.deepStrictEqual(yield* stream.comments(3), [": alive", ": alive", ": alive"])
    }).pipe(
      Effect.provide(
        layer.pipe(
          Layer.provide(
            Layer.succeed(HttpSettings, {
              body_bytes_max: 1_000,
              streams_max: 10,
              heartbeat_ms: 10
            })
          )
        )
      )
    )
  )

  it.live("a service that stops ends its streams, with nothing cut in the middle", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(layer, scope)
      const stream = yield* Effect.gen(function* () {
        const { conversation } = yield* say("one")
        return yield* listen(`/v1/conversations/${conversation}/events`, { as: "vera" })
      }).pipe(Effect.provideContext(context))
      yield* stream.take(2)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* stream.rest, "")
    })
  )
})
