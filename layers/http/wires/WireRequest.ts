/**
 * What every wire does with a request: who sends it, from which page, what it says. A wire is a door to operations: it gives nobody a
 * right, and of what a client sends count its newest message, its answers to open questions, and names.
 */
import { isUtf8 } from "node:buffer"
import { ByteSize, Effect, Redacted, Result, Schema } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Principal } from "../../../src/principal/Principal.ts"
import { rightRefusal } from "../../../src/principal/Rights.ts"
import type { RightName } from "../../../src/principal/Rights.ts"
import type { Problem } from "../../../src/operation/Problem.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import type { WrongMember } from "../../../src/wire/WireShapes.ts"
import type { ConversationId } from "../../../src/value/Ids.ts"
import { AgentName } from "../../../src/value/Ids.ts"
import { Unauthorized } from "../../../services/Credentials.ts"
import { makeCaller } from "../boundary/Caller.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import { Limits } from "../boundary/Limits.ts"
import { invalidRequest } from "../boundary/Parameters.ts"
import { linkBase } from "../boundary/MountPath.ts"
import { anyProblemOf, forbidden, respond } from "../boundary/Problems.ts"
import { isSmallBody } from "../boundary/RequestAdmission.ts"
import { makeLog } from "../boundary/StoreFaults.ts"

/** The most bytes of a body: clients send their whole history, of which the last message counts. */
export const wire_bytes_max = 16_000_000

/** A request to a wire, by somebody whose token is known. */
export interface WireCall {
  readonly by: Principal
  readonly token: Redacted.Redacted
  readonly request: HttpServerRequest.HttpServerRequest
  readonly params: Readonly<Record<string, string | undefined>>
  /** The path of the API, as the client sees it; empty for the root. */
  readonly base: string
  /** The URL of the API. */
  readonly here: string
}

export type WireAnswer<R> = (
  call: WireCall
) => Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, R>

/** A route of a wire. `right`: without it nobody is answered, whatever is asked. */
export interface WireRoute<R> {
  readonly method: "GET" | "POST"
  readonly path: `/${string}`
  readonly right: RightName
  readonly answer: WireAnswer<R>
  /** The answer to who has no token. Absent = 401. */
  readonly open?: (
    call: Omit<WireCall, "by" | "token">
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, R>
  /** The answer to a request that is refused, in the wire's own form; `here`: the URL of the API. Absent = a problem. */
  readonly refused?: (problem: Problem, here: string) => HttpServerResponse.HttpServerResponse
}

/** What a wire tells everybody, without a token. */
export interface OpenRoute {
  readonly method: "GET"
  readonly path: `/${string}`
  /** `here`: the URL of the API. */
  readonly tell: (here: string, settings: HttpSettings) => HttpServerResponse.HttpServerResponse
}

const foreignPage = forbidden(
  "This page's origin is none that may call from a browser: see the setting `origins`."
)

/** The origin of the page that calls: allowed, none, or one that may not. A page of this service's own host may. */
const originOf = (
  { headers }: HttpServerRequest.HttpServerRequest,
  origins: ReadonlyArray<string>
): Result.Result<string | undefined, Problem<403>> => {
  const origin = headers["origin"]
  if (origin === undefined || origins.includes(origin)) return Result.succeed(origin)
  const host = Result.try(() => new URL(origin).host)
  return Result.isSuccess(host) && host.success === headers["host"]
    ? Result.succeed(undefined)
    : Result.fail(foreignPage)
}

/** What a page of another origin may read of the answer, and send. */
const forPages = (origin: string) => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers": "retry-after, www-authenticate, x-correlation-id",
  vary: "origin"
})
const preflight = {
  "access-control-allow-methods": "GET, POST",
  "access-control-allow-headers":
    "a2a-extensions, a2a-version, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, on-behalf-of, traceparent, tracestate, user-agent",
  "access-control-max-age": "600"
}

const bearer = (request: HttpServerRequest.HttpServerRequest): Redacted.Redacted =>
  Redacted.make(/^Bearer +(\S+)$/i.exec(request.headers["authorization"] ?? "")?.[1] ?? "")

/** The URL of the API. A proxy may have changed the scheme, which only the settings know. */
const urlOf = (
  request: HttpServerRequest.HttpServerRequest,
  { base_path, public_url }: Pick<HttpSettings, "base_path" | "public_url">
): string => {
  const { headers, source } = request
  const origin =
    source instanceof Request ? new URL(source.url).origin : `http://${headers["host"]}`
  return public_url ?? origin + linkBase(request, base_path)
}

/** How the routes of wires are answered: errors become problems, and pages of allowed origins may read them. */
export const makeAnswering = Effect.gen(function* () {
  const callerOf = yield* makeCaller
  const settings = yield* HttpSettings
  const { base_path, origins } = settings
  const log = makeLog()

  const hereOf = (request: HttpServerRequest.HttpServerRequest) => urlOf(request, settings)

  const answered = Effect.fnUntraced(function* <R>(
    { answer, open, right }: WireRoute<R>,
    request: HttpServerRequest.HttpServerRequest
  ) {
    const token = bearer(request)
    const params = yield* HttpRouter.params
    const call = { request, params, base: linkBase(request, base_path), here: hereOf(request) }
    if (Redacted.value(token) === "") {
      return yield* open === undefined ? new Unauthorized() : open(call)
    }
    const by = yield* callerOf(request, token)
    const refusal = rightRefusal(by, right)
    if (refusal !== undefined) return yield* Effect.fail(refusal)
    return yield* answer({ ...call, by, token })
  })

  const refusedBy = <R>(
    { refused = respond }: WireRoute<R>,
    request: HttpServerRequest.HttpServerRequest
  ) =>
    Effect.fnUntraced(function* (error: unknown) {
      const problem = anyProblemOf(error)
      if (problem === undefined) return yield* Effect.die(error)
      yield* log(problem)
      return refused(problem, hereOf(request))
    })

  const readable = (
    origin: string | undefined,
    response: HttpServerResponse.HttpServerResponse
  ): HttpServerResponse.HttpServerResponse =>
    origin === undefined ? response : HttpServerResponse.setHeaders(response, forPages(origin))

  return {
    of: <R>(route: WireRoute<R>) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const refused = refusedBy(route, request)
        const origin = originOf(request, origins)
        if (Result.isFailure(origin)) return yield* refused(origin.failure)
        return readable(origin.success, yield* Effect.catch(answered(route, request), refused))
      }),
    open: ({ tell }: OpenRoute) =>
      Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
        const origin = originOf(request, origins)
        return Result.isFailure(origin)
          ? respond(origin.failure)
          : readable(origin.success, tell(hereOf(request), settings))
      }),
    /** What a browser asks before it sends a page's request. */
    preflight: Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
      const origin = originOf(request, origins)
      if (Result.isFailure(origin)) return respond(origin.failure)
      return readable(origin.success, HttpServerResponse.empty({ status: 204, headers: preflight }))
    })
  }
})

const unsupported = makeProblem(
  415,
  "unsupported-media-type",
  "Unsupported media type",
  "Send the body as application/json in UTF-8, without a Content-Encoding."
)
const malformed = makeProblem(
  400,
  "malformed-json",
  "Malformed JSON",
  "The body is no JSON object."
)
const tooLargeFor = (bytes_max: number) =>
  makeProblem(
    413,
    "body-too-large",
    "The body is too large",
    `A body has at most ${bytes_max} bytes.`
  )
const unreadable = makeProblem(
  400,
  "unreadable-body",
  "The body could not be read",
  "The connection ended before the body did."
)

export const missing = makeProblem(
  404,
  "no-such-chat",
  "There is nothing here",
  "The address names no agent or conversation that the caller may use."
)

/** The agent that the address names. */
export const agentIn = ({ params }: Pick<WireCall, "params">) =>
  Effect.mapError(Schema.decodeUnknownEffect(AgentName)(params["agent"]), () => missing)

/** The address of a conversation's file by its digest, within the API or as a URL (`base`: `here` of the call). */
export const filesOf =
  (call: WireCall, conversation: ConversationId, base = call.base) =>
  (digest: string) =>
    `${base}/v1/conversations/${conversation}/files/${digest}`

/** The problem of a member of the body. */
export const wrongMember = ({ isUntaken, message, path }: WrongMember): Problem<400> => {
  const errors = [{ path: ["body", ...path], message }]
  return isUntaken
    ? makeProblem(400, "unsupported-parameter", "Agents do not take this", message, { errors })
    : invalidRequest(errors)
}

const decoder = new TextDecoder()

/** Reads the text of a body. Fails with 400, 413 and 415. */
export const readBody = Effect.fnUntraced(function* <A, E>(
  { by, request }: WireCall,
  of: (text: string) => Effect.Effect<A, E>,
  bytes_max = wire_bytes_max
) {
  const limits = yield* Limits
  const {
    "content-encoding": encoding,
    "content-length": length,
    "content-type": type = ""
  } = request.headers
  if (!/^application\/json\s*(?:;|$)/i.test(type) || encoding !== undefined) {
    return yield* Effect.fail(unsupported)
  }
  const tooLarge = tooLargeFor(bytes_max)
  if (Number(length ?? 0) > bytes_max) return yield* Effect.fail(tooLarge)
  const read = Effect.gen(function* () {
    const bytes = yield* Effect.mapError(request.arrayBuffer, ({ reason }) =>
      reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
        ? tooLarge
        : unreadable
    )
    return isUtf8(bytes) ? yield* of(decoder.decode(bytes)) : yield* Effect.fail(malformed)
  }).pipe(Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(bytes_max)))
  return yield* isSmallBody(request) ? read : limits.page(by, read)
})

/**
 * The members of a body. Only its size is bounded here: what counts of it is decoded by whoever takes it, and the rest is dropped. Fails
 * with 400, 413 and 415.
 */
export const bodyOf = (call: WireCall) =>
  readBody(call, (text) => {
    const body = Result.getOrUndefined(Result.try((): unknown => JSON.parse(text)))
    return typeof body === "object" && body !== null && !Array.isArray(body)
      ? Effect.succeed(body as Readonly<Record<string, unknown>>)
      : Effect.fail(malformed)
  })
