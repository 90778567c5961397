/** The client before services that break off, lie, redirect and flood, and with input that would lead it elsewhere. */
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, assert, describe, it, vi } from "vitest"
import type { ClientOptions, TroupeError } from "troupe/client"
import { createClient } from "troupe/client"

const token = "token-of-olga-1234567890"
const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

/** A server that answers each request with the next of these; the last one stays. */
const server = async (
  ...answers: ReadonlyArray<(response: ServerResponse, asked: Asked) => void>
) => {
  const asked: Array<Asked> = []
  const made = createServer((request, response) => {
    const pieces: Array<Buffer> = []
    request.on("data", (piece: Buffer) => pieces.push(piece))
    request.on("end", () => {
      const { headers, method = "", url = "" } = request
      const now = { method, url, headers, body: Buffer.concat(pieces).toString() }
      asked.push(now)
      answers[Math.min(asked.length, answers.length) - 1]!(response, now)
    })
  })
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve))
  closers.push(
    () =>
      new Promise((resolve) => {
        made.close(() => resolve())
        made.closeAllConnections()
      })
  )
  const url = `http://127.0.0.1:${(made.address() as AddressInfo).port}`
  const client = (more: Partial<ClientOptions> = {}) => createClient({ url, token, ...more })
  return { asked, url, client }
}

const json =
  (value: unknown, status = 200, headers = {}) =>
  (response: ServerResponse) => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(typeof value === "string" ? value : JSON.stringify(value))
  }
const page = (status: number) => (response: ServerResponse) => {
  response.writeHead(status, { "content-type": "text/html" })
  response.end("<html><h1>Bad gateway</h1></html>")
}
const problem = (status: number, name: string, headers = {}) =>
  json({ type: `urn:troupe:problem:${name}`, title: "T", detail: "D.", status }, status, headers)
const cut = (response: ServerResponse) => response.destroy()
const events =
  (text: string, isEnded = true) =>
  (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(`retry: 1000\n: here\n\n${text}`)
    if (isEnded) response.end()
  }

const refusal = (promise: Promise<unknown>): Promise<TroupeError> =>
  promise.then(
    (value) => assert.fail(`it was not refused: ${String(value)}`),
    (error: TroupeError) => error
  )

const first = async <A>(items: AsyncIterable<A>, count: number): Promise<Array<A>> => {
  const found: Array<A> = []
  for await (const item of items) if (found.push(item) === count) return found
  return found
}

const event = (id: string, tag = "RunAccepted", run = "r") =>
  `id: ${id}\nevent: x\ndata: ${JSON.stringify({ run_id: run, seq: 0, at: 1, event: { _tag: tag } })}\n\n`
const accepted = json({ run_id: "r", conversation_id: "c", ordinal: 1 }, 202)

describe("a request of a client", () => {
  it("is sent again with the same key where its answer was lost, and once more than that is not", async () => {
    const { asked, client } = await server(cut, page(502), accepted)
    assert.deepStrictEqual(await client().send({ agent: "a", text: "hi" }), {
      run: "r",
      conversation: "c",
      ordinal: 1
    })
    assert.lengthOf(asked, 3)
    assert.match(asked[0]!.headers["idempotency-key"] as string, /^[0-9a-f]{32}$/)
    assert.lengthOf(new Set(asked.map(({ headers }) => headers["idempotency-key"])), 1)
    assert.lengthOf(new Set(asked.map(({ body }) => body)), 1)
    await client().send({ agent: "a", text: "hi" })
    assert.notStrictEqual(
      asked[3]!.headers["idempotency-key"],
      asked[0]!.headers["idempotency-key"]
    )
  })

  it("gives up after its retries, and says how often it was sent", async () => {
    const { asked, client } = await server(cut)
    const error = await refusal(client({ retries_max: 1 }).runs())
    assert.include(error, {
      _tag: "ConnectionLost",
      retryable: true,
      attempts: 2,
      status: undefined
    })
    assert.lengthOf(asked, 2)
    const none = await refusal(
      createClient({ url: "http://127.0.0.1:1", token, retries_max: 0 }).runs()
    )
    assert.include(none, { _tag: "ConnectionLost", attempts: 1 })
  })

  it("waits as long as it is asked to, unless that is too long", async () => {
    const short = await server(
      problem(429, "too-many-requests", { "retry-after": "1" }),
      json({ items: [] })
    )
    const timers = vi.spyOn(globalThis, "setTimeout")
    await short.client().runs()
    const waits = timers.mock.calls.map(([, wait_ms = 0]) => wait_ms)
    timers.mockRestore()
    assert.lengthOf(
      waits.filter((wait_ms) => wait_ms >= 1_000 && wait_ms < 2_000),
      1
    )
    const long = await server(problem(503, "shutting-down", { "retry-after": "3600" }))
    assert.include(await refusal(long.client().runs()), {
      _tag: "ShuttingDown",
      retryable: true,
      retry_after_ms: 3_600_000,
      attempts: 1
    })
    const date = new Date(Date.now() + 7_200_000).toUTCString()
    const dated = await server(problem(503, "shutting-down", { "retry-after": date }))
    assert.isAbove((await refusal(dated.client().runs())).retry_after_ms!, 7_000_000)
  })

  it("is not sent again where it would be done again, unless it was refused for its number", async () => {
    const token_input = { name: "ci", roles: ["viewer"] }
    const lost = await server(cut)
    assert.include(await refusal(lost.client().createToken(token_input)), { attempts: 1 })
    assert.lengthOf(lost.asked, 1)
    const many = await server(problem(429, "too-many-requests"), json({ token: "t" }, 201))
    await many.client().createToken(token_input)
    assert.lengthOf(many.asked, 2)
    const forked = await server(cut, json({ id: "f" }, 201))
    await forked.client().fork("r", { step: "0/1" })
    const keys = forked.asked.map(
      ({ body }) => (JSON.parse(body) as { idempotency_key: string }).idempotency_key
    )
    assert.match(keys[0]!, /^[0-9a-f]{32}$/)
    assert.strictEqual(keys[0], keys[1])
  })

  it("says of a settled question how often the decision was sent", async () => {
    const { client } = await server(cut, problem(409, "approval-settled"))
    const error = await refusal(client().decide("q", { decision: "approve" }))
    assert.include(error, { _tag: "ApprovalSettled", attempts: 2, retryable: false })
  })

  it("takes no page of a proxy for an answer", async () => {
    const good = await server(page(200))
    assert.include(await refusal(good.client().runs()), {
      _tag: "UnreadableAnswer",
      retryable: false
    })
    const bad = await server(page(502))
    const error = await refusal(bad.client({ retries_max: 0 }).runs())
    assert.include(error, { _tag: "UnreadableAnswer", status: 502, retryable: true })
    assert.notInclude(error.message, "<")
    const other = await server(json({}))
    const sent = await refusal(other.client().send({ agent: "a", text: "hi" }))
    assert.strictEqual(sent._tag, "UnreadableAnswer")
    for (const [status, body] of [
      [500, "{"],
      [400, "[]"],
      [404, '{"type":"urn:troupe:problem:x"}'],
      [403, '{"type":7,"detail":"x","status":403}'],
      [418, "null"]
    ] as const) {
      const { client } = await server(json(body, status))
      assert.include(await refusal(client().runs()), {
        _tag: "UnreadableAnswer",
        status,
        retryable: false
      })
    }
  })

  it("follows no redirect, so that nobody else gets its token", async () => {
    const other = await server(json({ items: [] }))
    for (const status of [301, 302, 303, 307, 308]) {
      const { client } = await server((response) => {
        response.writeHead(status, { location: `${other.url}/v1/runs` })
        response.end()
      })
      assert.include(await refusal(client().runs()), { _tag: "Redirected", retryable: false })
      assert.include(await refusal(client().send({ agent: "a", text: "hi" })), {
        _tag: "Redirected"
      })
      assert.include(await refusal(first(client().watch("c"), 1)), { _tag: "Redirected" })
    }
    assert.lengthOf(other.asked, 0)
  })

  it("is bounded: by its time, by silence, and by the size of the answer", async () => {
    const mute = await server(() => {})
    const late = await refusal(mute.client({ timeout_ms: 30, retries_max: 0 }).runs())
    assert.include(late, { _tag: "TimedOut", retryable: true })
    const own = await refusal(mute.client({ retries_max: 0 }).runs({}, { timeout_ms: 30 }))
    assert.strictEqual(own._tag, "TimedOut")
    const half = await server((response) => {
      response.writeHead(200, { "content-type": "application/json" })
      response.write('{"items":')
    })
    const quiet = await refusal(half.client({ silence_ms: 30, retries_max: 0 }).runs())
    assert.strictEqual(quiet._tag, "TimedOut")
    const huge = await server(json(" ".repeat(100_000)))
    const large = await refusal(huge.client({ answer_bytes_max: 99_999 }).runs())
    assert.include(large, { _tag: "AnswerTooLarge", retryable: false })
  })

  it("is refused before it is sent where it would go elsewhere", async () => {
    const { asked, client } = await server(json({}))
    for (const id of ["", ".", "..", "\ud800", 7, undefined, null]) {
      const error = await refusal(client().run(id as string))
      assert.include(error, { _tag: "InvalidInput" }, String(id))
      assert.include(await refusal(first(client().watch(id as string), 1)), {
        _tag: "InvalidInput"
      })
    }
    const cyclic: Record<string, unknown> = { text: "x" }
    cyclic["self"] = cyclic
    for (const refused of [
      client().send(cyclic as never),
      client().send(null as never),
      client().runs([] as never),
      client({ token: "" }).runs(),
      client({ token: "a b" }).runs(),
      client({ token: "a\r\nx-evil: 1" }).runs(),
      client({ token: () => undefined as never }).runs(),
      client({ headers: { "a b": "c" } }).runs(),
      client().runs({}, { timeout_ms: -1 }),
      first(client().stream({ run: "r", conversation: "c", after: "../x" }), 2)
    ]) {
      assert.strictEqual((await refusal(refused))._tag, "InvalidInput")
    }
    for (const url of [
      "",
      "/agents",
      "ftp://x",
      "javascript:x",
      "http://u:p@x",
      "http://x?a",
      "http://x#a"
    ]) {
      assert.throws(() => client({ url }), /^url: /)
    }
    assert.lengthOf(asked, 0)
    await client().run("a/b?c#d")
    await client({ headers: { Authorization: "Bearer other" } }).runs({ agent: "a&b=c" })
    assert.deepStrictEqual(
      asked.map(({ url }) => url),
      ["/v1/runs/a%2Fb%3Fc%23d", "/v1/runs?agent=a%26b%3Dc"]
    )
    assert.strictEqual(asked[1]!.headers.authorization, `Bearer ${token}`)
  })
})

describe("a stream of a client", () => {
  it("goes on from its cursor where it was cut off, within an event too", async () => {
    const { asked, client } = await server(
      events(`${event("1.0")}id: 1.1\nevent: x\nda`),
      (response) => {
        events(event("1.1"), false)(response)
        setTimeout(() => response.destroy(), 20)
      },
      cut,
      page(503),
      events(event("1.2", "RunEnded"))
    )
    const found = await first(client().watch("c"), 3)
    assert.deepStrictEqual(
      found.map((item) => item.type === "event" && item.cursor),
      ["1.0", "1.1", "1.2"]
    )
    assert.deepStrictEqual(
      asked.map(({ url }) => new URL(url, "http://x").searchParams.get("after")),
      ["0", "1.0", "1.1", "1.1", "1.1"]
    )
  }, 20_000)

  it("gives up where it goes on no more, and tells a fault of the service", async () => {
    const { asked, client } = await server(events(""))
    const error = await refusal(first(client({ retries_max: 2 }).watch("c"), 1))
    assert.include(error, { _tag: "ConnectionLost", attempts: 3 })
    assert.lengthOf(asked, 3)
    const fault = await server(
      events(
        `id: 4.9\nevent: error\ndata: ${JSON.stringify({ type: "urn:troupe:problem:run-quarantined", status: 409, title: "T", detail: "D." })}\n\n`
      )
    )
    assert.include(await refusal(first(fault.client().watch("c"), 1)), {
      _tag: "RunQuarantined",
      cursor: "4.9"
    })
    const away = await server(
      events(
        `event: error\ndata: ${JSON.stringify({ type: "urn:troupe:problem:store-unavailable", status: 503, title: "T", detail: "D." })}\n\n`
      ),
      events(event("1.0"))
    )
    assert.lengthOf(await first(away.client().watch("c"), 1), 1)
  })

  it("ends with a refused token, unless there is another", async () => {
    const { client } = await server(events(event("1.0")), problem(401, "unauthorized"))
    assert.include(await refusal(first(client().watch("c"), 2)), {
      _tag: "Unauthorized",
      status: 401
    })
    const given = ["one", "two", "three"]
    const renewed = await server(
      events(event("1.0")),
      problem(401, "unauthorized"),
      events(event("1.1"))
    )
    const items = renewed.client({ token: () => given.shift()! }).watch("c")
    assert.lengthOf(await first(items, 2), 2)
    assert.deepStrictEqual(
      renewed.asked.map(({ headers }) => headers.authorization),
      ["Bearer one", "Bearer two", "Bearer three"]
    )
  })

  it("takes nothing for events that is none", async () => {
    for (const answer of [
      page(200),
      json({}),
      events("data: <html>\n\n"),
      events("event: error\ndata: x\n\n"),
      events("data: 7\n\n")
    ]) {
      const { client } = await server(answer)
      const error = await refusal(first(client().watch("c"), 1))
      assert.include(error, { _tag: "UnreadableAnswer", retryable: false })
    }
    // Those of a later service, and forms that its own writer does not use.
    const { client } = await server(
      events(`event: news\ndata: {"a":1}\n\n: beat\r\n\r\n${event("1.0").replaceAll("\n", "\r\n")}`)
    )
    assert.include((await first(client().watch("c"), 1))[0], { type: "event", cursor: "1.0" })
  })

  it("reads a large event in many pieces, in characters that are cut, and refuses one beyond its bound", async () => {
    const text = "é€😀".repeat(300_000)
    const data = { run_id: "r", seq: 0, at: 1, event: { _tag: "ModelTurned", text } }
    const { client } = await server(events(`id: 1.0\ndata: ${JSON.stringify(data)}\n\n`))
    const [item] = await first(client().watch("c"), 1)
    assert(item?.type === "event" && item.event._tag === "ModelTurned")
    assert.isTrue(item.event.text === text)
    const endless = await server((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      const piece = `data: ${"x".repeat(1_000_000)}${"\n"}`
      const more = () => {
        while (!response.destroyed && response.write(piece));
        response.once("drain", more)
      }
      more()
    })
    const error = await refusal(first(endless.client().watch("c"), 1))
    assert.include(error, { _tag: "AnswerTooLarge", retryable: false })
  })

  it("is silent for no longer than it may be, and waits for a slow reader without end", async () => {
    const { asked, client } = await server(
      events(event("1.0"), false),
      events(event("1.1") + event("1.2"), false)
    )
    const seen: Array<string> = []
    for await (const item of client({ silence_ms: 50 }).watch("c")) {
      if (item.type === "event") seen.push(item.cursor)
      if (seen.length === 2) await new Promise((resolve) => setTimeout(resolve, 200))
      if (seen.length === 3) break
    }
    assert.deepStrictEqual(seen, ["1.0", "1.1", "1.2"])
    assert.lengthOf(asked, 2)
  })

  it("ends at once by its signal while it waits: for an answer, an event, or the next try", async () => {
    for (const [answer, has] of [
      [() => {}, false],
      [events(event("1.0"), false), true],
      [cut, false],
      [problem(503, "shutting-down", { "retry-after": "20" }), false]
    ] as const) {
      const { asked, client } = await server(answer)
      const control = new AbortController()
      const reason = new Error("enough")
      const items = client().watch("c", undefined, { signal: control.signal })
      const loop = items[Symbol.asyncIterator]()
      if (has) await loop.next()
      const next = refusal(loop.next())
      while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
      await new Promise((resolve) => setTimeout(resolve, 20))
      control.abort(reason)
      assert.strictEqual((await next) as unknown, reason)
    }
  })

  it("closes its connection where the loop is left", async () => {
    let closed = (): void => {}
    const isClosed = new Promise<void>((resolve) => (closed = resolve))
    const { client } = await server((response) => {
      response.on("close", () => closed())
      events(event("1.0"), false)(response)
    })
    await first(client().watch("c"), 1)
    await isClosed
  })
})
