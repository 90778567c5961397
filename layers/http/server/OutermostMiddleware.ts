/**
 * The outermost middleware: failures that no endpoint handled become problems, and every response gets its headers.
 */
import { METHODS } from "node:http"
import { Cause, Effect, Metric, Result } from "effect"
import type { Layer, Types } from "effect"
import {
  HttpRouter,
  HttpServer,
  HttpServerError,
  HttpServerRequest,
  HttpServerResponse
} from "effect/http"
import { inTraceOf } from "../../../src/run/Nesting.ts"
import { totalMetric } from "../../../src/value/Telemetry.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import {
  exceptionFrom,
  unreadableException as unreadableError
} from "../../../src/error/Exception.ts"
import { apiWith } from "../../service/AddedApi.ts"
import { AddedGroups } from "../../service/AddedGroups.ts"
import { AddedPages } from "../boundary/AddedPages.ts"
import { respond } from "../boundary/Problems.ts"
import { finderOf } from "../boundary/Routes.ts"
import { wireRoutes } from "../wires/Wires.ts"
import { refusalOf } from "../boundary/RequestAdmission.ts"
import { contentPolicy, makeHostCheck, withCorrelation, newCorrelation } from "./Edge.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import { CorrelationId } from "../boundary/StoreFaults.ts"
import { countUnsent, makeUnread } from "../stream/UnreadBytes.ts"

const fault = respond(
  makeProblem(
    500,
    "internal-fault",
    "Internal fault",
    "This is a bug of the service. It is in its log, under this correlation_id."
  )
)

const unreadable = respond(
  makeProblem(
    400,
    "unreadable-request",
    "The request could not be read",
    "Its path, query or body is broken."
  )
)

/** A defect for the log. It is redacted, because it may quote the request or a store's text. */
const exceptionLines = (cause: Cause.Cause<unknown>): Record<string, string> => {
  const { message, stacktrace, type } = Result.getOrElse(
    Result.try(() => exceptionFrom(cause)),
    () => unreadableError
  )
  return {
    "exception.type": type,
    "exception.message": message,
    "exception.stacktrace": stacktrace
  }
}

/**
 * The response to a failure. An interrupted request has no response, because the client or the server is gone. A defect is
 * logged, and its text is not sent.
 */
const answer = (
  cause: Cause.Cause<unknown>,
  correlation_id: string
): Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled> => {
  if (Cause.hasInterruptsOnly(cause)) {
    return Effect.failCause(cause as Cause.Cause<Types.unhandled>)
  }
  const error = Cause.squash(cause)
  if (HttpServerResponse.isHttpServerResponse(error)) return Effect.succeed(error)
  if (HttpServerError.isHttpServerError(error) && error.reason._tag === "RequestParseError") {
    return Effect.succeed(unreadable)
  }
  return Effect.as(
    Effect.annotateLogs(Effect.logError("a request met a defect"), {
      correlation_id,
      ...exceptionLines(cause)
    }),
    fault
  )
}

const requests = totalMetric("troupe_http_requests_total", "Requests, by method and status")

const methods: ReadonlySet<string> = new Set(METHODS)

/**
 * The counters, so that each looks up its series only once. Web requests may have any method; methods that Node does not know
 * share one counter.
 */
const counters = new Map<string, Metric.Metric<number, unknown>>()

const counterOf = (sent: string, status: number): Metric.Metric<number, unknown> => {
  const method = methods.has(sent) ? sent : "_OTHER"
  const key = `${status} ${method}`
  const known = counters.get(key)
  if (known !== undefined) return known
  const counter = Metric.withAttributes(requests, { method, status: String(status) })
  counters.set(key, counter)
  return counter
}

/** What a page says itself, because it is shown to people. */
const own = ["cache-control", "referrer-policy"] as const

/**
 * Adds the headers that every response has. No response may be cached, because the next client may have to see something else; a page
 * knows better.
 */
const dress = (
  response: HttpServerResponse.HttpServerResponse,
  correlation_id: string
): HttpServerResponse.HttpServerResponse => {
  const { status } = response
  const headers: Record<string, string> = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    // That of a page with scripts is made of its text.
    "content-security-policy":
      response.headers["content-security-policy"] ?? contentPolicy(response),
    "x-correlation-id": correlation_id
  }
  for (const name of own) {
    const said = response.headers[name]
    if (said !== undefined) headers[name] = said
  }
  // A 401 has to name the authentication scheme (RFC 9110, section 11.6.1). A wire may say more.
  if (status === 401 && response.headers["www-authenticate"] === undefined) {
    headers["www-authenticate"] = 'Bearer realm="troupe"'
  }
  // A channel decides itself how long its servers have to wait.
  if ((status === 429 || status === 503) && response.headers["retry-after"] === undefined) {
    headers["retry-after"] = "1"
  }
  return HttpServerResponse.setHeaders(withCorrelation(response, correlation_id), headers)
}

/** The id of the request's trace, if there is one, by which its spans can be found. */
const correlation = Effect.withFiber(({ cache: { span } }) =>
  Effect.succeed(span?._tag === "Span" ? span.traceId : newCorrelation())
)

/** They continue the caller's trace also where this process has no tracer, so that a later process with one uses it. */
const traceHeadersOf = ({ headers }: HttpServerRequest.HttpServerRequest) => ({
  traceparent: headers["traceparent"],
  tracestate: headers["tracestate"]
})

/** Begins the counters of faults at 0, so that the first one after a start is an increase. */
const beginCounters = Effect.forEach(
  ["GET", "POST"],
  (method) =>
    Effect.forEach([500, 503], (status) => Metric.update(counterOf(method, status), 0), {
      discard: true
    }),
  { discard: true }
)

const outermost = Effect.gen(function* () {
  yield* beginCounters
  const { base_path, hosts, unsent_bytes_max, wires } = yield* HttpSettings
  const { address } = yield* HttpServer.HttpServer
  const misdirected = makeHostCheck(address, hosts)
  const unsent = makeUnread(unsent_bytes_max)
  const { open, preflights, routes } = wireRoutes(wires)
  const added = [...(yield* AddedPages), ...routes, ...open, ...preflights]
  const routesAt = finderOf(apiWith(yield* AddedGroups), added)
  return (httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled>) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const correlation_id = yield* correlation
      const problem = misdirected(request)
      const refusal =
        problem === undefined ? refusalOf(request, base_path, routesAt) : respond(problem)
      const response = yield* refusal === undefined
        ? inTraceOf(traceHeadersOf(request))(httpEffect).pipe(
            Effect.catchCause((cause) => answer(cause, correlation_id)),
            Effect.provideService(CorrelationId, correlation_id)
          )
        : Effect.succeed(refusal)
      yield* Metric.update(counterOf(request.method, response.status), 1)
      countUnsent(unsent, request, response)
      return dress(response, correlation_id)
    })
})

/** The middleware around every route of the router, and around requests that match no route. */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter | HttpServer.HttpServer> =
  HttpRouter.middleware(outermost, { global: true })

/** The middleware around the routes that it is provided to. */
export const ofRoutes = HttpRouter.middleware(outermost).layer
