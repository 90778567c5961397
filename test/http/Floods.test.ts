/** One tenant, one principal and one client that use more than their share. */
import { connect } from "node:net"
import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Metric } from "effect"
import { HttpServer } from "effect/http"
import { inLongForm } from "../InLongForm.ts"
import type { Who } from "./Service.ts"
import { ask, layerWith, listen, tokenOf } from "./Service.ts"
import { calls, ends, Script } from "./Script.ts"
import { RunId } from "../../src/value/Ids.ts"

const send = (as: Who) => ask("/v1/messages", { as, json: { agent: "spectral", text: "x" } })

const statuses = <A extends { readonly status: number }, E, R>(
  many: ReadonlyArray<Effect.Effect<A, E, R>>
) => Effect.map(Effect.all(many), (answers) => answers.map(({ status }) => status))

const times = <A>(count: number, what: A): ReadonlyArray<A> =>
  Array.from({ length: count }, () => what)

describe("a flood", () => {
  it.live(
    "of messages of one principal is refused with the time to wait, and others are served",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* statuses(times(3, send("carl"))), [202, 202, 202])
        const refused = yield* send("carl")
        assert.strictEqual(refused.status, 429)
        assert.match(refused.headers.get("content-type")!, /^application\/problem\+json/)
        assert.strictEqual(refused.json.type, "urn:troupe:problem:too-many-requests")
        const wait = Number(refused.headers.get("retry-after"))
        assert.isTrue(Number.isInteger(wait) && wait >= 10 && wait <= 20, String(wait))
        assert.strictEqual((yield* send("cora")).status, 202)
        assert.strictEqual((yield* send("otto")).status, 202)
      }).pipe(Effect.provide(layerWith({ messages_principal_per_minute: 3 })))
  )

  it.live(
    "of messages of one tenant is refused for all its principals, and for no other tenant",
    () =>
      Effect.gen(function* () {
        const who = ["carl", "cora", "olga", "admin"] as const
        assert.deepStrictEqual(yield* statuses(who.map(send)), [202, 202, 202, 429])
        assert.deepStrictEqual(yield* statuses(times(3, send("otto"))), [202, 202, 202])
      }).pipe(Effect.provide(layerWith({ messages_tenant_per_minute: 3 })))
  )

  it.live("of requests of any kind is refused for its principal and its tenant", () =>
    Effect.gen(function* () {
      const reads = (as: Who) => ask("/v1/conversations", { as })
      assert.deepStrictEqual(yield* statuses(times(3, reads("vera"))), [200, 200, 429])
      assert.deepStrictEqual(yield* statuses([reads("ada"), reads("olga")]), [200, 429])
      assert.strictEqual((yield* reads("otto")).status, 200)
    }).pipe(
      Effect.provide(layerWith({ requests_principal_per_minute: 2, requests_tenant_per_minute: 3 }))
    )
  )

  it.live("of event streams fills the places of its principal or tenant, and of no other", () =>
    Effect.gen(function* () {
      const { json } = yield* send("olga")
      const other = (yield* send("otto")).json.conversation_id
      const path = `/v1/conversations/${json.conversation_id}/events`
      const first = yield* listen(path, { as: "vera" })
      yield* listen(path, { as: "vera" })
      const third = yield* ask(path, { as: "vera" })
      assert.strictEqual(third.status, 429)
      assert.strictEqual(third.json.type, "urn:troupe:problem:too-many-streams")
      assert.isTrue(Number(third.headers.get("retry-after")) > 0)
      yield* listen(path, { as: "ada" })
      assert.strictEqual((yield* ask(path, { as: "olga" })).status, 429)
      const theirs = yield* listen(`/v1/conversations/${other}/events`, { as: "otto" })
      assert.strictEqual(theirs.response.status, 200)
      yield* first.close
      let again = yield* listen(path, { as: "vera" })
      while (again.response.status === 429) again = yield* listen(path, { as: "vera" })
      assert.strictEqual(again.response.status, 200)
    }).pipe(Effect.provide(layerWith({ streams_principal_max: 2, streams_tenant_max: 3 })))
  )
})

describe("a client that does not read its stream", () => {
  const openStreams = Effect.map(
    Metric.value(
      Metric.gauge("troupe_event_streams_open", {
        description: "Event streams that are open in this process"
      })
    ),
    ({ value }) => value
  )

  /** The events of a conversation that are more than the socket buffers of both sides hold. */
  const long = Effect.gen(function* () {
    const script = yield* Script
    const { json } = yield* send("olga")
    const said = { run: RunId.make(json.run_id), conversation: json.conversation_id as string }
    const turn = { ...calls("look", { n: 1 }), text: "x".repeat(4_000_000) }
    for (let step = 0; step < 4; step++) yield* script.turn(said.run, turn)
    yield* ends(said)
    return `/v1/conversations/${said.conversation}/events`
  })

  /** Takes the first bytes and no others. */
  const unreading = Effect.fnUntraced(function* (path: string) {
    const { address } = yield* HttpServer.HttpServer
    const port = "port" in address ? address.port : 0
    const begun = yield* Deferred.make<void>()
    const closed = yield* Deferred.make<number>()
    const socket: Socket = yield* Effect.sync(() => {
      let read = 0
      const opened = connect(port, "127.0.0.1", () =>
        opened.write(
          `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${tokenOf("vera")}\r\n\r\n`
        )
      )
      opened.on("data", (chunk) => {
        read += chunk.length
        if (read !== chunk.length) return
        opened.pause()
        Deferred.doneUnsafe(begun, Effect.void)
      })
      opened.on("close", () => Deferred.doneUnsafe(closed, Effect.succeed(read)))
      opened.on("error", () => {})
      return opened
    })
    return { begun, closed, socket }
  })

  it.live("is cut off where the bound of unread bytes is reached, the oldest stream first", () =>
    Effect.gen(function* () {
      const path = yield* long
      const first = yield* unreading(path)
      while ((yield* openStreams) === 0) yield* Effect.sleep(5)
      yield* Effect.sleep(200)
      const second = yield* unreading(path)
      // Its connection is ended from the other side: what was sent before can still be read.
      yield* Deferred.await(second.begun)
      while ((yield* openStreams) > 1) yield* Effect.sleep(5)
      yield* Effect.sync(() => first.socket.resume())
      assert.isBelow(yield* Deferred.await(first.closed), 16_000_000)
      assert.isFalse(second.socket.destroyed)
      // A client that reads is not cut off.
      const whole = yield* listen(path, { as: "vera" })
      const seen = []
      while (seen.at(-1)?.event !== "run_ended") seen.push(yield* whole.next)
      assert.strictEqual(seen.filter(({ event }) => event === "model_turned").length, 5)
      yield* Effect.sync(() => second.socket.destroy())
    }).pipe(Effect.provide(layerWith({ unread_units_max: 5_000_000, heartbeat_ms: 50 })))
  )

  inLongForm("is cut off, frees its place, and gets every event later by its cursor", () =>
    Effect.gen(function* () {
      const path = yield* long
      const { closed, socket } = yield* unreading(path)
      while ((yield* openStreams) === 0) yield* Effect.sleep(5)
      while ((yield* openStreams) > 0) yield* Effect.sleep(20)
      socket.resume()
      assert.isBelow(yield* Deferred.await(closed), 16_000_000)
      const whole = yield* listen(path, { as: "vera" })
      const seen = []
      while (seen.at(-1)?.event !== "run_ended") seen.push(yield* whole.next)
      assert.strictEqual(seen.filter(({ event }) => event === "model_turned").length, 5)
      // Client and server share this process: a loop that is held for the whole time looks like a client that reads nothing.
    }).pipe(Effect.provide(layerWith({ heartbeat_ms: 50 }, { stall_ms: 8_000 })))
  )
})
