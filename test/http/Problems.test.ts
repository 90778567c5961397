import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Answer } from "./Service.ts"
import { ask, baseUrl, layer } from "./Service.ts"

/** A problem document of RFC 9457: its media type and members, without paths or stacks of the server. */
const assertProblem = (answer: Answer, status: number, name: string) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.match(answer.headers.get("content-type") ?? "", /^application\/problem\+json/)
  assert.strictEqual(answer.json.type, `urn:troupe:problem:${name}`)
  assert.strictEqual(answer.json.status, status)
  assert.isNotEmpty(answer.json.title)
  assert.isNotEmpty(answer.json.detail)
  assert.notMatch(answer.text, /\/work\/|node_modules|\.ts:\d|\bat \w+ \(/)
}

const message = { agent: "operations", text: "What is stuck?" }

describe("a problem answer", () => {
  it.live("is 404 for an unknown route, with and without a token", () =>
    Effect.gen(function* () {
      assertProblem(yield* ask("/nowhere"), 404, "no-such-route")
      assertProblem(yield* ask("/v1/nowhere/%zz?x=1", { as: "vera" }), 404, "no-such-route")
    }).pipe(Effect.provide(layer))
  )

  it.live("is 405 with the allowed methods for a method that the path does not have", () =>
    Effect.gen(function* () {
      const answer = yield* ask("/v1/messages", { as: "olga", method: "DELETE" })
      assertProblem(answer, 405, "method-not-allowed")
      assert.strictEqual(answer.headers.get("allow"), "POST")
      const docs = yield* ask("/docs", { method: "PUT" })
      assert.strictEqual(docs.headers.get("allow"), "GET, HEAD")
    }).pipe(Effect.provide(layer))
  )

  it.live("is 401 with a challenge for no token, a wrong one and an empty one", () =>
    Effect.gen(function* () {
      for (const headers of [
        {},
        { authorization: "Bearer nonsense" },
        { authorization: "Bearer " },
        { authorization: "Basic dG9rZW4=" },
        { authorization: `Bearer ${"x".repeat(5_000)}` }
      ]) {
        const answer = yield* ask("/v1/conversations", { headers })
        assertProblem(answer, 401, "unauthorized")
        assert.strictEqual(answer.headers.get("www-authenticate"), 'Bearer realm="troupe"')
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("comes before the body is read where the sender is not authenticated", () =>
    Effect.gen(function* () {
      assertProblem(yield* ask("/v1/messages", { body: "{" }), 401, "unauthorized")
    }).pipe(Effect.provide(layer))
  )

  it.live("is 400 for malformed JSON, an empty body and invalid UTF-8", () =>
    Effect.gen(function* () {
      const malformed = yield* ask("/v1/messages", { as: "olga", body: '{"agent": ' })
      assertProblem(malformed, 400, "malformed-json")
      const empty = yield* ask("/v1/messages", { as: "olga", body: "", method: "POST" })
      assertProblem(empty, 400, "malformed-json")
      const bytes = new Uint8Array([...Buffer.from('{"agent":"operations","text":"'), 0xc3, 0x28])
      const broken = yield* ask("/v1/messages", { as: "olga", body: bytes })
      assertProblem(broken, 400, "broken-utf8")
    }).pipe(Effect.provide(layer))
  )

  it.live("names what is needed for an empty body and for an unknown decision", () =>
    Effect.gen(function* () {
      const id = "00000000-0000-4000-8000-000000000001"
      const send = (path: string, body: string) => ask(path, { as: "olga", body, method: "POST" })
      const cancel = yield* send(`/v1/runs/${id}/cancel`, "")
      assertProblem(cancel, 400, "malformed-json")
      assert.include(cancel.json.detail, "a JSON object with reason is needed")
      const nothing = yield* send(`/v1/approvals/${id}/decision`, "")
      assert.include(nothing.json.detail, "a JSON object with decision is needed")
      for (const body of ['{"decision":"yes"}', "{}", '"approve"']) {
        const wrong = yield* send(`/v1/approvals/${id}/decision`, body)
        assertProblem(wrong, 400, "invalid-request")
        for (const decision of ["approve", "deny", "request_revision", "modify"]) {
          assert.include(wrong.json.errors[0].message, `"${decision}"`)
        }
      }
      const reason = yield* send(`/v1/approvals/${id}/decision`, '{"decision":"deny"}')
      assert.deepStrictEqual(reason.json.errors[0].path, ["payload", "reason"])
    }).pipe(Effect.provide(layer))
  )

  it.live("is 415 for a body of another type or charset", () =>
    Effect.gen(function* () {
      for (const type of ["text/plain", "application/xml", "application/json; charset=latin1"]) {
        const answer = yield* ask("/v1/messages", {
          as: "olga",
          body: JSON.stringify(message),
          headers: { "content-type": type }
        })
        assertProblem(answer, 415, "unsupported-media-type")
      }
      const plain = yield* ask("/v1/messages", {
        as: "olga",
        json: message,
        headers: { "content-type": "application/json; charset=UTF-8" }
      })
      assert.strictEqual(plain.status, 202)
    }).pipe(Effect.provide(layer))
  )

  it.live("names every member of a wrong shape with its path", () =>
    Effect.gen(function* () {
      const answer = yield* ask("/v1/messages", {
        as: "olga",
        json: { agent: "NOT A NAME", more: 1 }
      })
      assertProblem(answer, 400, "invalid-request")
      const paths = answer.json.errors.map((each: { path: Array<string> }) => each.path.join("."))
      assert.sameMembers(paths, ["payload.agent", "payload.text", "payload.more"])
      const params = yield* ask("/v1/runs/not-a-uuid", { as: "vera" })
      assertProblem(params, 400, "invalid-request")
      assert.deepStrictEqual(params.json.errors[0].path, ["params", "id"])
      const query = yield* ask("/v1/conversations?limit=501", { as: "vera" })
      assertProblem(query, 400, "invalid-request")
      assert.deepStrictEqual(query.json.errors[0].path, ["query", "limit"])
      const key = yield* ask("/v1/messages", {
        as: "olga",
        json: message,
        headers: { "idempotency-key": "k".repeat(201) }
      })
      assertProblem(key, 400, "invalid-request")
      assert.deepStrictEqual(key.json.errors[0].path, ["headers", "idempotency-key"])
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "is 413 for a message of 10 MB, with a Content-Length and without, and the service goes on",
    () =>
      Effect.gen(function* () {
        const text = "x".repeat(10_000_000)
        const whole = yield* ask("/v1/messages", { as: "olga", json: { ...message, text } })
        assertProblem(whole, 413, "body-too-large")
        const pieces = new ReadableStream<Uint8Array>({
          start: (controller) => {
            for (let i = 0; i < 10; i++) controller.enqueue(new Uint8Array(1_000_000).fill(120))
            controller.close()
          }
        })
        const piecewise = yield* ask("/v1/messages", { as: "olga", body: pieces })
        assertProblem(piecewise, 413, "body-too-large")
        const over = yield* ask("/v1/messages", {
          as: "olga",
          json: { ...message, text: "x".repeat(1_000_001) }
        })
        assertProblem(over, 413, "message-too-large")
        const most = yield* ask("/v1/messages", {
          as: "olga",
          json: { ...message, text: "x".repeat(1_000_000) }
        })
        assert.strictEqual(most.status, 202)
        assert.strictEqual((yield* ask("/health")).status, 200)
      }).pipe(Effect.provide(layer))
  )

  /** The server's answer to these bytes, until it closes the connection. */
  const raw = (bytes: string) =>
    Effect.flatMap(baseUrl, (url) =>
      Effect.callback<string>((resume) => {
        const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(bytes))
        let received = ""
        socket.on("data", (chunk) => (received += chunk.toString()))
        socket.on("error", () => {})
        socket.on("close", () => resume(Effect.succeed(received)))
      })
    )

  it.live("is 400 with a closed connection for bytes that are not HTTP", () =>
    Effect.gen(function* () {
      const text = yield* raw("NONSENSE\r\n\r\n")
      assert.match(text, /^HTTP\/1\.1 400 /)
      assert.match(text, /\r\nContent-Type: application\/problem\+json\r\n/)
      assert.strictEqual(JSON.parse(text.split("\r\n\r\n")[1]!).status, 400)
    }).pipe(Effect.provide(layer))
  )

  it.live("is 431 for headers beyond the server's bound", () =>
    Effect.gen(function* () {
      const text = yield* raw(`GET /health HTTP/1.1\r\nHost: x\r\nX: ${"y".repeat(40_000)}\r\n\r\n`)
      assert.match(text, /^HTTP\/1\.1 431 /)
      assert.strictEqual(JSON.parse(text.split("\r\n\r\n")[1]!).status, 431)
    }).pipe(Effect.provide(layer))
  )

  it.live("is 404 with the existing agents for an unknown agent", () =>
    Effect.gen(function* () {
      const answer = yield* ask("/v1/messages", {
        as: "olga",
        json: { agent: "nobody", text: "x" }
      })
      assertProblem(answer, 404, "agent-not-found")
      assert.deepStrictEqual(answer.json.available, ["operations", "spectral"])
    }).pipe(Effect.provide(layer))
  )

  it.live("is 404 with a type of its own for each thing that does not exist", () =>
    Effect.gen(function* () {
      const id = "00000000-0000-4000-8000-000000000001"
      for (const [path, name] of [
        ["/v1/conversations/none", "conversation-not-found"],
        ["/v1/conversations/none/events", "conversation-not-found"],
        [`/v1/runs/${id}`, "run-not-found"],
        [`/v1/runs/${id}/events`, "run-not-found"],
        [`/v1/approvals/${id}`, "approval-not-found"],
        [`/v1/dead-letters/${id}`, "dead-letter-not-found"]
      ] as const) {
        assertProblem(yield* ask(path, { as: "vera" }), 404, name)
      }
      for (const action of ["cancel", "settle"] as const) {
        const json =
          action === "cancel" ? { reason: "r" } : { call: "0/1.0", outcome: { failed: "x" } }
        assertProblem(
          yield* ask(`/v1/runs/${id}/${action}`, { as: "olga", json }),
          404,
          "run-not-found"
        )
      }
    }).pipe(Effect.provide(layer))
  )
})
