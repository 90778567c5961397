/**
 * Classifies errors that a provider's client throws or streams. Each provider words them differently, and some have a meaning of
 * their own: a filtered prompt, one that is too long, and a call that could not be parsed. The kept text contains the provider's own
 * reason if it gave one, but no address, key or body.
 */
import { APICallError, LoadAPIKeyError, UnsupportedFunctionalityError } from "@ai-sdk/provider"
import { Result } from "effect"
import { truncateUnits } from "../../../src/value/CutText.ts"
import { bounds_carried, readJson } from "../../../src/value/BoundedJson.ts"
import { redacted } from "../../../src/error/KnownSecrets.ts"
import type { ModelErrorKind } from "../../../services/ModelGateway.ts"
import { media_unsupported, ModelError } from "../../../services/ModelGateway.ts"
import { answerRefused } from "./JudgedAnswer.ts"
import { statedRateLimit } from "./RateLimitHeaders.ts"
import type { Turn } from "../../../src/run/RunDecider.ts"

type Kind = typeof ModelErrorKind.Type

const message_max = 500
const retry_after_ms_max = 86_400_000

/** A key such as `x` or `ollama`, for a server that asks for none: it opens nothing, and without it texts would be garbled. */
const isPlaceholder = (secret: string): boolean => /^[a-z_-]{0,7}$/i.test(secret)

/**
 * One line without addresses and keys, at most 500 characters. `secrets` are removed wherever they occur; one under 6 characters
 * only as a word of its own, and placeholders stay.
 */
export const safeSentence = (text: string, secrets: ReadonlyArray<string>): string => {
  const known = secrets.filter((secret) => !isPlaceholder(secret))
  // Cut first, so that a huge body costs nothing; again after, because a replacement may be longer.
  const safe = redacted(truncateUnits(text, message_max * 4), known)
    .replaceAll("[secret]", "[hidden]")
    .replace(/[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]*/gi, "[address]")
    .replace(/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, "[address]")
    .replace(/\bBearer\s+\S+/gi, "[hidden]")
    .replace(/\b(?:sk|pk|rk|key|gsk|xai|AIza)[-_]?[A-Za-z0-9*_-]{8,}[^\s"',;]*/g, "[hidden]")
    // oxlint-disable-next-line no-control-regex -- a provider's text may hold them, a log line must not
    .replace(/[\u0000-\u0020\u007f-\u009f\u2028\u2029]+/g, " ")
    .trim()
  return truncateUnits(safe, message_max)
}

const record = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined

const parsed = (text: string | undefined): unknown => {
  if (text === undefined || text.length > 1_000_000) return undefined
  return Result.getOrUndefined(readJson(text, bounds_carried))
}

/** Amazon's `{throttlingException: {...}}` as an error of that type; undefined for any other object. */
export const exceptionIn = (event: unknown): Record<string, unknown> | undefined => {
  for (const [type, held] of Object.entries(record(event) ?? {})) {
    const error = /^[a-z]+Exception$/i.test(type) ? record(held) : undefined
    if (error !== undefined) return { message: error["originalMessage"], ...error, type }
  }
  return undefined
}

/** The reason is in `{error: {...}}`, `[{error: {...}}]`, `{response: {error}}`, `{error: "..."}`, `{message}` or `{detail}`. */
const errorObject = (body: unknown): Record<string, unknown> => {
  const outer = record(Array.isArray(body) ? body[0] : body)
  const exception = exceptionIn(outer)
  if (exception !== undefined) return exception
  const inner = outer?.["error"] ?? record(outer?.["response"])?.["error"]
  if (typeof inner === "string") return { ...outer, message: inner }
  return record(inner) ?? outer ?? {}
}

const reasonOf = (error: Record<string, unknown>): string => {
  for (const key of ["message", "detail", "error_description", "title"]) {
    const value = error[key]
    if (typeof value === "string" && value !== "") return value
    // A list of what is wrong with the request, each with a message of its own.
    const listed = Array.isArray(value) ? record(value[0])?.["msg"] : undefined
    if (typeof listed === "string") return listed
  }
  return ""
}

/** Kinds of errors by the provider's own names for them, the first that matches. */
const kinds: ReadonlyArray<readonly [RegExp, Kind | undefined]> = [
  [/insufficient_quota|service_?quota|billing|credit/i, "refused"],
  [
    /rate_limit|throttl|overload|server_error|internal|time_?out|deadline|unavailable|exhausted/i,
    "transient"
  ],
  [
    /api_?key|authentication|unauthenticated|permission|forbidden|not_?found|access_?denied|signature|token_?exception|unrecognized_?client/i,
    "configuration"
  ],
  // The type of an event of Anthropic's that could not be read, and no name of an error.
  [/^content_block_/i, undefined],
  [
    /invalid|validation|unsupported|content_|context_length|policy|too_large|tool_use_failed/i,
    "refused"
  ]
]

const kindOfName = (name: string): Kind | undefined => kinds.find(([form]) => form.test(name))?.[1]

const kindOfStatus = (status: number): Kind => {
  if (status === 401 || status === 403 || status === 404 || (status >= 300 && status < 400))
    return "configuration"
  // 424 is Amazon's for a failure of the model itself.
  if ([408, 409, 424, 425, 429].includes(status) || status >= 500) return "transient"
  return status >= 400 ? "refused" : "transient"
}

const detailsOf = (error: Record<string, unknown>): ReadonlyArray<Record<string, unknown>> => {
  const details = error["details"]
  return Array.isArray(details) ? details.slice(0, 20).map((each) => record(each) ?? {}) : []
}

const names = (error: Record<string, unknown>): ReadonlyArray<string> =>
  [
    ...detailsOf(error).map((detail) => detail["reason"]),
    error["code"],
    error["type"],
    error["status"]
  ].filter((name) => typeof name === "string")

/** `Retry-After` in seconds or as an HTTP date, or `retry-after-ms`; undefined if there is none. `now` in ms. */
export const retryAfterMs = (
  headers: Readonly<Record<string, string>> | undefined,
  now: number
): number | undefined => {
  const exact = Number(headers?.["retry-after-ms"])
  if (headers?.["retry-after-ms"] !== undefined && Number.isFinite(exact)) return clamp(exact)
  const text = headers?.["retry-after"]
  if (text === undefined || text.trim() === "") return undefined
  const seconds = Number(text)
  if (Number.isFinite(seconds)) return clamp(seconds * 1_000)
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : clamp(date - now)
}

/** The `retryDelay` of Google's RetryInfo, such as `18.5s`, in ms. */
const retryInfoMs = (error: Record<string, unknown>): number | undefined => {
  for (const detail of detailsOf(error)) {
    const delay = detail["retryDelay"]
    const seconds = typeof delay === "string" ? /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(delay) : null
    if (seconds !== null) return clamp(Number(seconds[1]) * 1_000)
  }
  return undefined
}

/** The time in ms until an exhausted limit is reset, by the headers that say so. */
const limitResetMs = (
  headers: Readonly<Record<string, string>> | undefined,
  now: number
): number | undefined => {
  const limit = headers === undefined ? undefined : statedRateLimit(headers, now)
  const waits = [
    limit?.requests_left === 0 ? limit.requests_reset_ms : undefined,
    limit?.tokens_left === 0 ? limit.tokens_reset_ms : undefined
  ].filter((ms) => ms !== undefined)
  return waits.length === 0 ? undefined : Math.max(...waits)
}

const clamp = (ms: number): number => Math.min(Math.max(0, Math.ceil(ms)), retry_after_ms_max)

const keyMissing = (status: number | undefined, keyed: boolean): string => {
  const sentence = keyed
    ? "the provider refused the key or what it may use"
    : "the provider asks for a key and none is configured"
  return status === undefined ? sentence : `${sentence} (${status})`
}

const unknownModel = "the provider does not know the model or the address"

const withReason = (sentence: string, reason: string): string =>
  truncateUnits(reason === "" ? sentence : `${sentence}: ${reason}`, message_max)

export interface Redaction {
  readonly secrets: ReadonlyArray<string>
  readonly keyed: boolean
}

/** Whether an error concerns the key. Some providers use status 400 for that. */
const aboutKey = (status: number, body: Record<string, unknown>): boolean =>
  status === 401 ||
  status === 403 ||
  (status === 400 && names(body).some((name) => /api_?key/i.test(name)))

const named = (kind: Kind, body: Record<string, unknown>, reason: string) =>
  kind === "refused" ? ownReason(body, names(body), reason) : {}

const ofAnswer = (
  error: InstanceType<typeof APICallError>,
  status: number,
  redaction: Redaction,
  now: number
): ModelError => {
  // A client's own form of the error leaves out what it does not know.
  const body = errorObject(parsed(error.responseBody) ?? error.data)
  const filtered = isFiltered(body, names(body))
  if (!filtered && aboutKey(status, body)) {
    // A provider's text about a key likes to show parts of it.
    return new ModelError({
      kind: "configuration",
      message: keyMissing(status, redaction.keyed)
    })
  }
  if (status >= 300 && status < 400) {
    return new ModelError({
      kind: "configuration",
      message: `the endpoint redirects (${status}), and a key is not sent to another address`
    })
  }
  const exhausted = names(body).some((name) => /insufficient_quota/i.test(name))
  const reason = safeSentence(withGeneration(body, reasonOf(body)), redaction.secrets)
  // Asked again later, the same request would be as large.
  const isLarge = status === 429 && isTooLong([], reason)
  const kind = exhausted || filtered || isLarge ? "refused" : kindOfStatus(status)
  const after =
    retryAfterMs(error.responseHeaders, now) ??
    retryInfoMs(body) ??
    limitResetMs(error.responseHeaders, now)
  return new ModelError({
    kind,
    message: messageOf(status, reason),
    ...named(kind, body, reason),
    ...(kind === "transient" && after !== undefined ? { retry_after_ms: after } : undefined)
  })
}

const messageOf = (status: number, reason: string): string => {
  if (status === 404) return withReason(`${unknownModel} (404)`, reason)
  return reason === ""
    ? `the provider answered ${status}`
    : truncateUnits(`${status}: ${reason}`, message_max)
}

/** The first system code (`ECONNREFUSED`, `UND_ERR_SOCKET`) in a chain of causes. */
const systemCode = (error: unknown): string | undefined => {
  let current = record(error)
  for (let depth = 0; current !== undefined && depth < 8; depth++) {
    const code = current["code"]
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{1,40}$/.test(code)) return code
    current = record(current["cause"])
  }
  return undefined
}

/** What kind of error it is: the innermost name that says so. */
const nameOf = (error: unknown): string | undefined => {
  let found: string | undefined
  let current = error
  for (let depth = 0; current instanceof Error && depth < 8; depth++) {
    const { name } = current
    if (name !== "Error" && /^[A-Z][A-Za-z0-9_]{1,60}$/.test(name)) found = name
    current = current.cause
  }
  return found
}

/** Classifies what a client threw before or during a stream. `now` is in ms since 1970. */
export const errorOfThrown = (error: unknown, redaction: Redaction, now: number): ModelError => {
  const refused = answerRefused(error)
  if (refused !== undefined) {
    const message = `the provider's answer is refused: ${refused.message}`
    return new ModelError({ kind: "refused", message })
  }
  if (APICallError.isInstance(error)) {
    // The status is the client's guess where it made the error from an event of an answer that began well.
    if (record(error.data)?.["sequence_number"] !== undefined) {
      return errorOfEvent(error.data, redaction, now)
    }
    const status = error.statusCode
    if (status !== undefined && status >= 200 && status < 300) {
      const body = record(parsed(error.responseBody))
      if ((body?.["error"] ?? null) !== null) return errorOfEvent(body, redaction, now)
    }
    if (status !== undefined && (status < 200 || status >= 300)) {
      return ofAnswer(error, status, redaction, now)
    }
    if (status === undefined) {
      return new ModelError({
        kind: "transient",
        message: `the provider could not be reached (${systemCode(error) ?? "no answer"})`
      })
    }
  }
  if (UnsupportedFunctionalityError.isInstance(error)) {
    const isMedia = /file|image|audio|video|media|document|pdf/i.test(error.functionality)
    return new ModelError({
      kind: "configuration",
      ...(isMedia ? { reason: media_unsupported } : undefined),
      message: `the model's client has no form for this: ${safeSentence(error.functionality, redaction.secrets)}`
    })
  }
  if (LoadAPIKeyError.isInstance(error)) {
    return new ModelError({ kind: "configuration", message: "no key is configured" })
  }
  const code = systemCode(error) ?? nameOf(error)
  return new ModelError({
    kind: "transient",
    message: `the provider's answer broke off or could not be read${code === undefined ? "" : ` (${code})`}`
  })
}

/** Unwraps the event, or the unrecognised value, inside the error that a client made of it. */
const heldBy = (event: unknown): unknown => {
  const outer = record(event)
  const held = outer?.["data"] ?? (event instanceof Error ? outer?.["value"] : undefined)
  return record(held) === undefined ? undefined : held
}

/** Classifies an error event inside an answer that began normally: by its numeric code, else by its name, else as transient. */
export const errorOfEvent = (event: unknown, redaction: Redaction, now: number): ModelError => {
  const held = heldBy(event)
  if (held !== undefined) return errorOfEvent(held, redaction, now)
  if (event instanceof Error) return errorOfThrown(event, redaction, now)
  const error = errorObject(event)
  const code = Number(error["code"] ?? error["status"] ?? error["originalStatusCode"])
  const status = Number.isInteger(code) && code >= 400 && code <= 599 ? code : undefined
  const byName = names(error)
    .map(kindOfName)
    .find((kind) => kind !== undefined)
  const text = typeof event === "string" ? event : withGeneration(error, reasonOf(error))
  const reason = safeSentence(text, redaction.secrets)
  const unnamed = byName === undefined && status === undefined
  const kind =
    isFiltered(error, names(error)) || (unnamed && isTooLong([], reason))
      ? "refused"
      : (byName ?? (status === undefined ? "transient" : kindOfStatus(status)))
  if (kind === "configuration") {
    const missing = status === 404 || names(error).some((name) => /not_?found/i.test(name))
    return new ModelError({
      kind,
      message: missing ? withReason(unknownModel, reason) : keyMissing(status, redaction.keyed)
    })
  }
  const after = retryInfoMs(error)
  return new ModelError({
    kind,
    message: withReason("the provider broke off its answer", reason),
    ...named(kind, error, reason),
    ...(kind === "transient" && after !== undefined ? { retry_after_ms: after } : undefined)
  })
}

/** Documented by OpenAI, Anthropic, Amazon, Google, Mistral, Groq, vLLM, llama.cpp and LM Studio. */
const codes =
  /^(context_length_exceeded|exceed_context_size_error|model_max_prompt_tokens_exceeded)$/i

const words: ReadonlyArray<RegExp> = [
  /(prompt|input) is too long/i,
  /maximum context length/i,
  /exceeds? (the )?(model's )?(available )?context (window|size|limit|length)/i,
  /input token count .{0,40}exceeds the maximum number of tokens/i,
  /too (long|large) for (the )?model.{0,60}context/i,
  /reduce the length of the (messages|prompt)/i,
  /(keep|truncate|tokens to keep from) the (first \d+|initial prompt|prompt)\b.{0,60}context/i,
  /(cannot truncate prompt|reached context length|load the model with a larger context)/i,
  /too many (input )?tokens\b.{0,60}(max|cannot exceed)/i,
  /number of input tokens exceeds|exceeds? (the )?context limit/i,
  /expected maxLength: \d+, actual: \d+/i,
  // A request that no minute has room for.
  /request too large for .{0,200}tokens per min/i
]

/** Whether an error says that the prompt is too long. `names` are the provider's codes, `text` is its reason. */
export const isTooLong = (names: ReadonlyArray<unknown>, text: string): boolean =>
  names.some((name) => typeof name === "string" && codes.test(name)) ||
  words.some((each) => each.test(text))

type Entry = Readonly<Record<string, unknown>>

const filterNames =
  /^(content_filter|content_policy_violation|ResponsibleAIPolicyViolation|moderation_blocked|data_inspection_failed)$/i

/** Whether a moderation refused the prompt. OpenRouter says who flagged it, and why, in the error's metadata. */
const isModerated = (error: Entry): boolean => {
  const metadata = record(error["metadata"]) ?? {}
  return "flagged_input" in metadata || Array.isArray(metadata["reasons"])
}

/** Whether the prompt was filtered. `names` are the provider's codes. */
const isFiltered = (error: Entry, names: ReadonlyArray<string>): boolean =>
  isModerated(error) ||
  [...names, record(error["innererror"])?.["code"]].some(
    (name) => typeof name === "string" && filterNames.test(name)
  )

const isUseFailed = (names: ReadonlyArray<string>): boolean =>
  names.some((name) => /^tool_use_failed$/i.test(name))

const ownReason = (
  error: Entry,
  names: ReadonlyArray<string>,
  text: string
): { readonly reason?: string } => {
  if (isUseFailed(names)) return { reason: "tool_use_failed" }
  if (isFiltered(error, names)) return { reason: "content_filter" }
  return isTooLong(names, text) ? { reason: "context_length" } : {}
}

/** The provider's message about a call that it could not parse, with the text that the model wrote. */
const withGeneration = (error: Entry, text: string): string => {
  const written = error["failed_generation"]
  return typeof written === "string" && written !== "" ? `${text} ${written}` : text
}

/** A call whose arguments stopped the client. */
export const unreadableArguments = (text: string): ModelError =>
  new ModelError({
    kind: "refused",
    reason: "tool_use_failed",
    message: `the arguments of a call were not JSON: ${text}`
  })

export const isUnreadableCall = (error: ModelError): boolean => error.reason === "tool_use_failed"

/** A turn with a malformed call. The model gets the error as its result and is asked again, within the bound on mistakes. */
export const unreadableTurn = (error: ModelError, model: string): Turn => ({
  text: "",
  calls: [],
  finish: "other",
  finish_raw: "tool_use_failed",
  unreadable: error.message,
  model
})
