/**
 * How a provider's errors are classified, and which part of their text is shown.
 */
import { APICallError } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import {
  errorOfEvent,
  errorOfThrown,
  retryAfterMs,
  safeSentence
} from "../../layers/model/wire/ProviderError.ts"

const key = "my-own-key-0001"
const redaction = { secrets: [key, "models.internal:8080"], keyed: true }

const answer = (statusCode: number, responseBody: string, responseHeaders = {}) =>
  new APICallError({
    message: "the client's own words, with https://models.internal:8080/v1",
    url: "https://models.internal:8080/v1",
    requestBodyValues: { secret: true },
    statusCode,
    responseBody,
    responseHeaders
  })

describe("ProviderError", () => {
  it("finds the reason in each provider's form of an error", () => {
    for (const body of [
      '{"error":{"message":"too big"}}',
      '[{"error":{"message":"too big"}}]',
      '{"error":"too big"}',
      '{"message":"too big"}',
      '{"detail":"too big"}',
      '{"detail":[{"loc":["body"],"msg":"too big"}]}'
    ]) {
      const failure = errorOfThrown(answer(422, body), redaction, 0)
      assert.deepStrictEqual([failure.kind, failure.message], ["refused", "422: too big"])
    }
    assert.strictEqual(
      errorOfThrown(answer(400, "<html>"), redaction, 0).message,
      "the provider answered 400"
    )
  })

  it("recognises an invalid key although the status is that of a bad request", () => {
    const details = [
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }
    ]
    const body = {
      error: { code: 400, message: `bad ${key}`, status: "INVALID_ARGUMENT", details }
    }
    const failure = errorOfThrown(answer(400, JSON.stringify(body)), redaction, 0)
    assert.strictEqual(failure.kind, "configuration")
    assert.notInclude(failure.message, "bad")
  })

  it("leaves out addresses, keys and control characters, and cuts at 500 characters", () => {
    const text = safeSentence(
      `no\n\u0000route to models.internal:8080 (10.1.2.3:443, https://x.test/a?k=1) for ${key}, sk-abcdef0123456789, Bearer abc.def`,
      redaction.secrets
    )
    assert.strictEqual(
      text,
      "no route to [hidden] ([address], [address]) for [hidden], [hidden], [hidden]"
    )
    assert.strictEqual(safeSentence("x".repeat(9_000), []).length, 500)
  })

  it("reads a wait in ms, in seconds and as a date, from 0 to one day", () => {
    const now = Date.UTC(2026, 0, 1, 0, 0, 0)
    const of = (headers: Record<string, string>) => retryAfterMs(headers, now)
    assert.strictEqual(of({ "retry-after": "2", "retry-after-ms": "1200" }), 1_200)
    assert.strictEqual(of({ "retry-after": "1.5" }), 1_500)
    assert.strictEqual(of({ "retry-after": "Thu, 01 Jan 2026 00:00:07 GMT" }), 7_000)
    assert.strictEqual(of({ "retry-after": "Thu, 01 Jan 2015 00:00:07 GMT" }), 0)
    assert.strictEqual(of({ "retry-after": "-5" }), 0)
    assert.strictEqual(of({ "retry-after": "999999999" }), 86_400_000)
    assert.isUndefined(of({ "retry-after": "soon" }))
    assert.isUndefined(of({}))
  })

  it("classifies an event by its numeric code, else by its name, else as transient", () => {
    const kindOf = (event: unknown) => errorOfEvent(event, redaction, 0).kind
    assert.strictEqual(kindOf({ message: "x", code: 400 }), "refused")
    assert.strictEqual(kindOf({ message: "x", code: "503" }), "transient")
    assert.strictEqual(kindOf({ message: "x", type: "invalid_request_error" }), "refused")
    assert.strictEqual(kindOf({ message: "x", type: "rate_limit_error" }), "transient")
    assert.strictEqual(kindOf({ message: "x", code: "insufficient_quota" }), "refused")
    assert.strictEqual(kindOf({ message: "x", type: "authentication_error" }), "configuration")
    assert.strictEqual(kindOf("overloaded"), "transient")
    assert.strictEqual(kindOf(undefined), "transient")
    assert.strictEqual(kindOf(new TypeError("terminated")), "transient")
  })

  it("shows at most the system code of a thrown error, and nothing of its text and causes", () => {
    const cause = Object.assign(new Error(`connect to ${key}`), { code: "ECONNRESET" })
    const failure = errorOfThrown(new TypeError(`terminated ${key}`, { cause }), redaction, 0)
    assert.strictEqual(failure.kind, "transient")
    assert.strictEqual(
      failure.message,
      "the provider's answer broke off or could not be read (ECONNRESET)"
    )
    assert.notInclude(JSON.stringify(failure), key)
  })

  it("recognises each provider's message that the prompt is too long, and no other message", () => {
    const reasonOf = (status: number, error: Record<string, unknown>) =>
      errorOfThrown(answer(status, JSON.stringify({ error })), redaction, 0).reason
    for (const [error, status] of [
      [{ code: "context_length_exceeded", message: "x" }, 400],
      [{ message: "This model's maximum context length is 8192 tokens." }, 400],
      [{ message: "Your input exceeds the context window of this model." }, 400],
      [
        {
          type: "invalid_request_error",
          message: "prompt is too long: 210000 tokens > 200000 maximum"
        },
        400
      ],
      [
        {
          code: 400,
          status: "INVALID_ARGUMENT",
          message:
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
        },
        400
      ],
      [
        {
          type: "exceed_context_size_error",
          message: "the request exceeds the available context size"
        },
        400
      ]
    ] as const) {
      assert.strictEqual(reasonOf(status, error), "context_length", JSON.stringify(error))
    }
    assert.strictEqual(
      errorOfEvent({ message: "x", code: "context_length_exceeded" }, redaction, 0).reason,
      "context_length"
    )
    assert.isUndefined(reasonOf(400, { message: "temperature is too long a word" }))
    assert.isUndefined(reasonOf(500, { message: "prompt is too long" }))
    assert.isUndefined(reasonOf(401, { message: "prompt is too long" }))
  })
})
