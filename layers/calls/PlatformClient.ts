/**
 * Sends the requests of a runtime's tools to its one platform. An operator chose the host, so it may be private. No redirect is
 * followed. From the answer to a failed request, only the status and the platform's own detail reach a model. Each run has one
 * authorization, which appears only in the request.
 */
import { createHash, X509Certificate } from "node:crypto"
import { Clock, Effect, Redacted, Result, Tracer } from "effect"
import { classifyHttpStatus } from "../../src/error/Classify.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import {
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError,
  ToolUserError
} from "../../src/error/ToolError.ts"
import type { CallRequest } from "../../src/call/CallRequest.ts"
import { isMetadataHost, portOf } from "../../src/network/Address.ts"
import { detailOf } from "../../src/call/ErrorDetail.ts"
import { headerSecrets, withoutSecrets } from "../../src/error/KnownSecrets.ts"
import { bounds_carried, readJson } from "../../src/value/BoundedJson.ts"
import type { Json } from "../../src/value/Canonical.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { baggageOf, spanOf, traceparentOf, TraceState } from "../../src/run/Nesting.ts"
import type { CallContext, CallOfRun } from "../../src/tool/GovernedTool.ts"
import { waitOf } from "../network/HttpAnswers.ts"
import type { FetchError, HttpAnswer, Resolver, Rules } from "./Exchange.ts"
import { admit, answerText, exchange, refuse, systemResolver } from "./Exchange.ts"
import type { CallerOf } from "./OncePerRun.ts"
import { oncePerRun } from "./OncePerRun.ts"

const span_id_digits = 16

/** Derived, so that the platform's work is in the run's trace and a repeated call has the same span; sampled, as it is journaled. */
const ownSpan = ({ call, run, trace_id }: CallOfRun): Tracer.ExternalSpan =>
  Tracer.externalSpan({
    traceId: trace_id,
    spanId: createHash("sha256").update(`${run}:${call}`).digest("hex").slice(0, span_id_digits),
    sampled: true
  })

/** The span in which a call is sent: the current span, from the tracer or from a sender that is not sampled; otherwise the derived one. */
export const spanOfCall = (call: CallOfRun): Effect.Effect<Tracer.AnySpan> =>
  Effect.orElseSucceed(Effect.currentParentSpan, () => ownSpan(call))

type Secret = string | Redacted.Redacted

/** The address of the platform and the authorization of requests to it. */
export interface Callback {
  /** The URL of the platform's gateway, such as `https://app.example.org/api/tools/call`; direct calls go to its origin. */
  readonly endpoint: string
  /**
   * The value of the Authorization header: one value for all runs, or a function that is called once for each run. A run for
   * which it gives undefined makes no calls. Absent = no such header.
   */
  readonly authorization?:
    | Secret
    | ((caller: CallerOf) => Secret | undefined | PromiseLike<Secret | undefined>)
}

export interface ClientOptions {
  readonly callback: Callback
  readonly timeout_ms: number
  /** The resolver of host names. Absent = the system's. */
  readonly resolve?: Resolver | undefined
  readonly ca?: string | undefined
}

/** The call to which a request belongs. */
export type Sender = CallOfRun & Partial<Pick<CallContext, "key" | "nested">>

export interface PlatformClient {
  /** The JSON of the answer, or its text, without the authorization. Fails with what a model may read; `what` begins the message. */
  readonly send: (
    what: string,
    request: CallRequest,
    caller: Sender
  ) => Effect.Effect<Json, ToolError>
}

const response_bytes_max = 4_000_000
const header_value = /^[\t\x20-\x7e]{1,8000}$/

/** The error of a request without an answer. If nothing was sent, its kind is `external`, so that its outcome is not unknown. */
const transportError = (what: string, { reason, unsent }: FetchError): ToolError => {
  const failed = { reason: `CALL_${reason.toUpperCase()}`, message: `${what} failed` }
  if (unsent === true || reason === "unresolved") {
    return new ToolTransientError({ kind: "external", ...failed })
  }
  if (reason === "timeout" || reason === "network") {
    return new ToolTransientError({ kind: reason, ...failed })
  }
  if (reason !== "address") return new ToolTerminalError({ kind: "external", ...failed })
  const message = `${what} was not sent: the platform is at an address that may not be reached`
  return new ToolPolicyError({ kind: "permission", ...failed, message })
}

const statusError = (
  what: string,
  { headers, status }: HttpAnswer,
  detail: string | null,
  now: number
): ToolError => {
  const { class: as, kind } = classifyHttpStatus(status)
  const message = `${what} failed: HTTP ${status}${detail === null ? "" : `: ${detail}`}`
  const fields = { kind, reason: `HTTP_${status}`, message }
  switch (as) {
    case "ToolUserError":
      return new ToolUserError(fields)
    case "ToolPolicyError":
      return new ToolPolicyError(fields)
    case "ToolTransientError":
      return new ToolTransientError({ ...fields, ...waitOf(headers["retry-after"], now) })
    case "ToolTerminalError":
      return new ToolTerminalError(fields)
  }
}

const valueOfText = (text: string): Json => {
  const read = readJson(text, bounds_carried)
  return Result.isSuccess(read) ? read.success : text
}

/** The header's value for a run; undefined = the run makes no calls, null = no header is sent. */
type Authorization = Redacted.Redacted | null | undefined

interface Authorizer {
  readonly authorize: (caller: CallerOf) => Effect.Effect<Authorization, ToolError>
  /** Asks for another value in place of this one, which the platform refused; undefined = there is no other. */
  readonly renewed: (
    caller: CallerOf,
    refused: Authorization
  ) => Effect.Effect<Redacted.Redacted | undefined>
}

const noAuthorization = (): ToolError =>
  new ToolPolicyError({
    kind: "permission",
    reason: "NO_AUTHORIZATION",
    message: "this run has no authorization for calls to the platform, and nothing was sent"
  })

const redacted = (secret: Secret): Redacted.Redacted =>
  Redacted.isRedacted(secret) ? secret : Redacted.make(secret)

const unchanging = (value: Authorization): Authorizer => ({
  authorize: () => Effect.succeed(value),
  renewed: () => Effect.succeed(undefined)
})

const authorizer = ({ authorization }: Callback, timeout_ms: number): Authorizer => {
  if (authorization === undefined) return unchanging(null)
  if (typeof authorization !== "function") return unchanging(redacted(authorization))
  const authorize = oncePerRun(
    timeout_ms,
    async (caller) => {
      const secret = await authorization(caller)
      return secret === undefined ? undefined : redacted(secret)
    },
    noAuthorization
  )
  const valueOf = (secret: Authorization) =>
    secret === null || secret === undefined ? undefined : Redacted.value(secret)
  return {
    authorize,
    renewed: (caller, refused) =>
      Effect.suspend(() => {
        authorize.forget(caller)
        return Effect.map(
          Effect.orElseSucceed(authorize(caller), () => undefined),
          (other) => (valueOf(other) === valueOf(refused) ? undefined : other)
        )
      })
  }
}

const endpoint_units_max = 2_000

/** The field of a callback that cannot work, and what is wrong with it; undefined = there is none. */
export const callbackFault = (
  { authorization, endpoint }: Callback,
  ca: string | undefined
): readonly [field: string, problem: string] | undefined => {
  const url = endpoint.length > endpoint_units_max ? null : URL.parse(endpoint)
  const isPlain = url !== null && url.username === "" && url.password === "" && url.hash === ""
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    return [
      "callback.endpoint",
      `it is no http or https URL of at most ${endpoint_units_max} characters without a user and a fragment`
    ]
  }
  if (isMetadataHost(url)) {
    return ["callback.endpoint", "it is a cloud's metadata service, which no call may reach"]
  }
  if (authorization !== undefined && typeof authorization !== "function") {
    if (!header_value.test(Redacted.value(redacted(authorization)))) {
      return [
        "callback.authorization",
        "no header can have it: give 1 to 8000 characters of ASCII in one line"
      ]
    }
  }
  const isRead = ca === undefined || Result.isSuccess(Result.try(() => new X509Certificate(ca)))
  return isRead ? undefined : ["ca", "it is no certificate in PEM"]
}

const headersOf = (
  { body, content_type = "application/json", headers, method }: CallRequest,
  authorization: Redacted.Redacted | null,
  { key, nested }: Sender,
  span: Tracer.AnySpan,
  tracestate: string | undefined
): Result.Result<Readonly<Record<string, string>>, ToolError> => {
  const secret = authorization === null ? undefined : Redacted.value(authorization)
  if (secret !== undefined && !header_value.test(secret)) return Result.fail(noAuthorization())
  const traceparent = traceparentOf(span)
  return Result.succeed({
    "user-agent": "troupe",
    accept: "application/json, text/plain;q=0.9, */*;q=0.1",
    // A catalogue entry may say what it accepts, and as whom it calls.
    ...Object.fromEntries(
      Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
    ),
    "accept-encoding": "gzip, br",
    ...(body === undefined
      ? undefined
      : {
          "content-type": content_type,
          "content-length": String(Buffer.byteLength(body))
        }),
    ...(secret === undefined ? undefined : { authorization: secret }),
    ...(key === undefined || method === "GET" ? undefined : { "idempotency-key": key }),
    // A tool worker may not know the trace of the run.
    ...(spanOf(traceparent) === undefined ? undefined : defined({ traceparent, tracestate })),
    // If the platform sends a message to an agent because of this request, the message carries this on to its run (`nestingOf`).
    ...(nested === undefined ? undefined : { baggage: baggageOf(nested.nesting) })
  })
}

/** The value of a 2xx answer, unless its body is longer than the bound or has an unsupported encoding. */
const readAnswer = Effect.fnUntraced(function* (
  what: string,
  endpoint: string,
  answer: HttpAnswer,
  secrets: ReadonlyArray<string>
): Effect.fn.Return<Json, ToolError> {
  const { body, encoded, headers, status, truncated } = answer
  const text = encoded ? "" : answerText(body, headers["content-type"] ?? "")
  if (status < 200 || status > 299) {
    const now = yield* Clock.currentTimeMillis
    return yield* statusError(what, answer, detailOf(text, secrets, endpoint), now)
  }
  if (!truncated && !encoded) return withoutSecrets(valueOfText(text), secrets)
  const problem = truncated
    ? `the answer has more than ${response_bytes_max} bytes`
    : "the answer has an encoding that is not supported"
  return yield* new ToolTerminalError({
    kind: "external",
    reason: "CALL_ANSWER",
    message: `${what} was answered with HTTP ${status}, but ${problem}`
  })
})

export const make = ({
  ca,
  callback,
  resolve = systemResolver,
  timeout_ms
}: ClientOptions): PlatformClient => {
  const { authorize, renewed } = authorizer(callback, timeout_ms)
  const endpoint = new URL(callback.endpoint)
  const rules: Rules = {
    hosts: [endpoint.hostname.replace(/\.$/, "")],
    ports: [portOf(endpoint)],
    allow: [],
    named: true,
    resolve
  }
  // The endpoint's query counts as a secret, because it may have a credential and a platform may quote the URL. A short one does
  // not, because removing it would garble texts.
  const query = endpoint.search.length < 6 ? [] : [endpoint.search]
  const reading = { bytes_max: response_bytes_max, takesEncoded: true }
  const exchanged = Effect.fnUntraced(function* (
    request: CallRequest,
    headers: Readonly<Record<string, string>>
  ) {
    const admitted = yield* admit(request.url.href, rules)
    return yield* exchange(
      admitted,
      { method: request.method, headers, body: request.body },
      reading,
      ca
    )
  })
  /** Sends the request with this authorization; gives the answer, and what must not be shown of it. */
  const sent = Effect.fnUntraced(function* (
    what: string,
    request: CallRequest,
    caller: Sender,
    authorization: Redacted.Redacted | null
  ) {
    const span = yield* spanOfCall(caller)
    const headers = yield* Effect.fromResult(
      headersOf(request, authorization, caller, span, yield* TraceState)
    )
    const answer = yield* Effect.timeoutOrElse(exchanged(request, headers), {
      duration: request.timeout_ms ?? timeout_ms,
      orElse: () => Effect.fail(refuse("timeout", "the platform did not answer in time"))
    }).pipe(Effect.mapError((error) => transportError(what, error)))
    const secrets = authorization === null ? [] : headerSecrets(Redacted.value(authorization))
    return { answer, secrets: [...secrets, ...query] }
  })
  return {
    send: Effect.fnUntraced(function* (what, request, caller) {
      const authorization = yield* authorize(caller)
      if (authorization === undefined) return yield* noAuthorization()
      const first = yield* sent(what, request, caller, authorization)
      // An authorization may expire while a run waits for a person. A request that was refused for it has done nothing.
      const other = first.answer.status === 401 ? yield* renewed(caller, authorization) : undefined
      const { answer, secrets } =
        other === undefined ? first : yield* sent(what, request, caller, other)
      return yield* readAnswer(what, callback.endpoint, answer, secrets)
    })
  }
}
