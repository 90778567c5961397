/** One client that keeps much open at the same time: bodies, files and answers that do not end, and requests behind a stream. */
import { connect } from "node:net"
import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Metric } from "effect"
import { ChannelIngress } from "../../services/ChannelIngress.ts"
import type { IngressHandler } from "../../services/ChannelIngress.ts"
import { port } from "./Raw.ts"
import { ask, layer, layerWith, tokenOf } from "./Service.ts"
import type { Who } from "./Service.ts"

/** A connection on which these lines were sent, and what came back. It is read only where `reads`. */
const opened = Effect.fnUntraced(function* (text: string, reads = true) {
  const at = yield* port
  const seen = { text: "", bytes: 0, isClosed: false }
  const socket: Socket = yield* Effect.acquireRelease(
    Effect.sync(() => connect(at, "127.0.0.1", () => socket.write(text))),
    (each) => Effect.sync(() => each.destroy())
  )
  socket.on("error", () => {})
  socket.on("close", () => (seen.isClosed = true))
  if (reads) {
    socket.on("data", (chunk) => {
      seen.bytes += chunk.length
      seen.text = (seen.text + chunk.toString("latin1")).slice(0, 10_000)
    })
  }
  return { seen, socket }
})

const head = (as: Who, first: string, ...more: ReadonlyArray<string>) =>
  [first, "Host: localhost", `Authorization: Bearer ${tokenOf(as)}`, ...more, "", ""].join("\r\n")

const times = (count: number) => Array.from({ length: count }, (_, i) => i)

const text = "x".repeat(100_000)
const message = { agent: "spectral", text }

describe("bodies that do not end", () => {
  const lines = ["Content-Type: application/json", "Content-Length: 1000000"]
  const begun = (as: Who) => opened(`${head(as, "POST /v1/messages HTTP/1.1", ...lines)}{`)

  it.live("are read up to a number for each principal; others are served, and small ones are", () =>
    Effect.gen(function* () {
      const slow = yield* Effect.all(times(8).map(() => begun("carl")))
      yield* Effect.sleep(100)
      const late = yield* Effect.forkChild(ask("/v1/messages", { as: "carl", json: message }))
      assert.strictEqual((yield* ask("/v1/messages", { as: "cora", json: message })).status, 202)
      const small = { agent: "spectral", text: "small" }
      assert.strictEqual((yield* ask("/v1/messages", { as: "carl", json: small })).status, 202)
      yield* Effect.sleep(100)
      assert.isUndefined(late.pollUnsafe())
      slow[0]!.socket.destroy()
      assert.strictEqual((yield* Fiber.join(late)).status, 202)
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})

describe("bodies without a token that do not end", () => {
  const echo: IngressHandler = ({ body }) => Effect.succeed({ status: 200, body: body.slice(0, 9) })
  const channels = Layer.succeed(ChannelIngress, new Map([["echo", echo]]))
  const path = "/v1/channels/echo"

  it.live("are read up to a number for each channel; small ones are taken beside them", () =>
    Effect.gen(function* () {
      const lines = ["Host: localhost", "Transfer-Encoding: chunked", "", ""]
      const begun = `${[`POST ${path} HTTP/1.1`, ...lines].join("\r\n")}1\r\nx\r\n`
      const slow = yield* Effect.all(times(8).map(() => opened(begun)))
      yield* Effect.sleep(100)
      const late = yield* Effect.forkChild(ask(path, { body: text }))
      assert.strictEqual((yield* ask(path, { body: "small" })).text, "small")
      yield* Effect.sleep(100)
      assert.isUndefined(late.pollUnsafe())
      slow[0]!.socket.destroy()
      assert.strictEqual((yield* Fiber.join(late)).text, "xxxxxxxxx")
    }).pipe(Effect.scoped, Effect.provide(layer.pipe(Layer.provide(channels))))
  )
})

describe("files that do not end", () => {
  const lines = ["Content-Type: image/png", "Transfer-Encoding: chunked"]

  it.live("keep nobody else from uploading, of the same tenant or of another", () =>
    Effect.gen(function* () {
      yield* Effect.all(
        times(10).map(() =>
          opened(`${head("carl", "POST /v1/files HTTP/1.1", ...lines)}1\r\nx\r\n`)
        )
      )
      yield* Effect.sleep(100)
      for (const as of ["cora", "otto"] as const) {
        const headers = { "content-type": "image/png" }
        const { status } = yield* ask("/v1/files", { as, body: "png", headers })
        assert.strictEqual(status, 201, as)
      }
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})

/** A conversation whose page has eight million characters. */
const conversation = Effect.gen(function* () {
  const big = { agent: "spectral", text: "x".repeat(990_000) }
  const { json } = yield* ask("/v1/messages", { as: "olga", json: big })
  const path = `/v1/conversations/${json.conversation_id}`
  for (const _ of times(7)) {
    assert.strictEqual((yield* ask(`${path}/messages`, { as: "olga", json: big })).status, 202)
  }
  return path
})

describe("large pages that are asked for at once", () => {
  const served = Effect.map(ask("/metrics", { as: "ada" }), ({ text }) =>
    Number(/^troupe_http_requests_total\{method="GET",status="200"\} (\d+)$/m.exec(text)?.[1] ?? 0)
  )

  it.live("are made one after the other, and between them others are served", () =>
    Effect.gen(function* () {
      const get = head("vera", `GET ${yield* conversation} HTTP/1.1`)
      const before = yield* served
      const sockets = yield* Effect.all(times(40).map(() => opened("", false)))
      yield* Effect.sleep(100)
      for (const { socket } of sockets) socket.write(get)
      assert.isBelow((yield* served) - before, 30)
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})

describe("answers that are not read", () => {
  it.live("are bounded together: the connection of the oldest is closed", () =>
    Effect.gen(function* () {
      const path = yield* conversation
      const get = head("vera", `GET ${path} HTTP/1.1`)
      const first = yield* opened(get, false)
      yield* Effect.sleep(300)
      const others = []
      for (const _ of times(4)) others.push(yield* opened(get, false))
      yield* Effect.sleep(1_000)
      // What the buffers of both sides hold can still be read.
      const read = { bytes: 0 }
      first.socket.on("data", (chunk) => (read.bytes += chunk.length))
      while (!first.seen.isClosed) yield* Effect.sleep(5)
      assert.isBelow(read.bytes, 7_000_000)
      const last = others.at(-1)!
      const whole = { bytes: 0 }
      last.socket.on("data", (chunk) => (whole.bytes += chunk.length))
      while (whole.bytes < 7_900_000) yield* Effect.sleep(5)
      assert.isFalse(last.seen.isClosed)
      // Who reads is served as before.
      const again = yield* ask(path, { as: "vera" })
      assert.strictEqual(again.json.messages.length, 8)
    }).pipe(Effect.scoped, Effect.provide(layerWith({ unsent_bytes_max: 10_000_000 })))
  )
})

describe("requests behind an event stream of their connection", () => {
  const openStreams = Effect.map(
    Metric.value(
      Metric.gauge("troupe_event_streams_open", {
        description: "Event streams that are open in this process"
      })
    ),
    ({ value }) => value
  )

  it.live("end with the connection", () =>
    Effect.gen(function* () {
      const { json } = yield* ask("/v1/messages", { as: "olga", json: message })
      const get = head("vera", `GET /v1/conversations/${json.conversation_id}/events HTTP/1.1`)
      const before = yield* openStreams
      const { socket } = yield* opened(get.repeat(5))
      while ((yield* openStreams) < before + 5) yield* Effect.sleep(5)
      socket.destroy()
      while ((yield* openStreams) > before) yield* Effect.sleep(5)
    }).pipe(Effect.scoped, Effect.provide(layerWith({ heartbeat_ms: 50 })))
  )
})
