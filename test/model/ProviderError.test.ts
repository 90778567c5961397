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

/** As LM Studio, Amazon's models and Groq say it. */
const too_long = [
  "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
  "The number of tokens to keep from the initial prompt is greater than the context length.",
  "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)",
  "Reached context length of 4096 tokens with model (arch:qwen2) that does not currently support mid-generation context overflow.",
  "Input is too long for requested model.",
  "Too many input tokens. Max input tokens: 8192, request input token count: 9279",
  "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.",
  "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
  "too many tokens: total number of tokens in the prompt cannot exceed 4000",
  "Malformed input request: expected maxLength: 50000, actual: 52611, please reformat your input and try again.",
  "Please reduce the length of the messages or completion.",
  "Please reduce the length of the prompt"
]

/** Groq's with 413, OpenAI's with 429: a minute has less room than the request needs, however long one waits. */
const too_large = [
  "Request too large for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.",
  "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully."
]

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

  it("garbles no text for a short key, and hides one with digits as a word of its own", () => {
    const text = "ollama asks at most 4 tasks: max tokens exceeded for model sk, key hunt2"
    for (const secret of ["", "x", "sk", "EMPTY", "ollama", "none", "no-key"]) {
      assert.strictEqual(safeSentence(text, [secret]), text)
    }
    assert.strictEqual(
      safeSentence("4 of 14: hunt2, hunt24", ["4", "hunt2"]),
      "[hidden] of 14: [hidden], hunt24"
    )
    assert.strictEqual(safeSentence("bad hunter42x", ["hunter42"]), "bad [hidden]x")
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

  it("shows at most the system code of a thrown error, or its name, and nothing of its text and causes", () => {
    const cause = Object.assign(new Error(`connect to ${key}`), { code: "ECONNRESET" })
    const failure = errorOfThrown(new TypeError(`terminated ${key}`, { cause }), redaction, 0)
    assert.strictEqual(failure.kind, "transient")
    assert.strictEqual(
      failure.message,
      "the provider's answer broke off or could not be read (ECONNRESET)"
    )
    assert.notInclude(JSON.stringify(failure), key)
    const said = (error: unknown) =>
      errorOfThrown(error, redaction, 0).message.replace(/^.* could not be read/, "")
    const thrown = new Error(key, { cause: new RangeError(key, { cause: new Error(key) }) })
    assert.strictEqual(said(thrown), " (RangeError)")
    assert.strictEqual(said(new Error(key)), "")
    for (const name of [key, "", 7, "a".repeat(100)]) {
      assert.strictEqual(said(Object.assign(new Error("x"), { name })), "")
    }
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
    for (const message of too_long) {
      assert.strictEqual(reasonOf(400, { message }), "context_length", message)
      const event = errorOfEvent({ error: { message } }, redaction, 0)
      assert.deepInclude(event, { kind: "refused", reason: "context_length" }, message)
    }
    assert.isUndefined(reasonOf(400, { message: "temperature is too long a word" }))
    for (const message of too_large) {
      for (const status of [413, 429]) {
        const body = { error: { message, type: "tokens", code: "rate_limit_exceeded" } }
        const failure = errorOfThrown(answer(status, JSON.stringify(body)), redaction, 0)
        assert.deepInclude(failure, { kind: "refused", reason: "context_length" })
      }
    }
    const limited =
      "Rate limit reached for model `m` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443."
    assert.isUndefined(reasonOf(429, { message: limited, code: "rate_limit_exceeded" }))
    assert.isUndefined(reasonOf(500, { message: "prompt is too long" }))
    assert.isUndefined(reasonOf(401, { message: "prompt is too long" }))
  })
})
