/**
 * Refuses ambiguous requests before they are routed: more than one spelling of a path, more than one value of a single
 * header, or a body on a route that takes none. A proxy and this service could read such a request differently.
 */
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { truncateUnits } from "../../../src/value/CutText.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { linkBase, sentPath } from "./MountPath.ts"
import { invalidRequest, issuesIn } from "./Parameters.ts"
import { respond } from "./Problems.ts"
import type { RouteFinder } from "./Routes.ts"
import { docs_path, methodsOf, routeFor } from "./Routes.ts"

/** Headers with a single value: when one is repeated, readers differ in which value they take. */
const single: ReadonlySet<string> = new Set([
  "authorization",
  "content-encoding",
  "content-length",
  "content-type",
  "host",
  "idempotency-key",
  "last-event-id",
  "traceparent",
  "transfer-encoding"
])

/** Finds a header of a single value that was repeated; undefined = none. A server without raw headers has joined the values. */
const repeated = ({ source }: HttpServerRequest.HttpServerRequest): string | undefined => {
  if (!("rawHeaders" in source) || !Array.isArray(source.rawHeaders)) return undefined
  const seen = new Set<string>()
  for (let i = 0; i < source.rawHeaders.length; i += 2) {
    const name = String(source.rawHeaders[i]).toLowerCase()
    // The `ce-` headers identify an event and its type, so they must not be repeated either.
    if (!single.has(name) && !name.startsWith("ce-")) continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

/** Whether the request has a body (RFC 9112, section 6.3). */
export const hasBody = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

/**
 * Whether the coding is one that Node decodes. Node leaves other codings to the reader of the body, which would read it
 * undecoded.
 */
const isChunked = (coding: string): boolean => /^\s*chunked\s*$/i.test(coding)

/** The refusal of an unknown transfer coding: it is not known where the next request begins. */
const unknownCoding = () =>
  HttpServerResponse.setHeader(
    respond(
      makeProblem(
        501,
        "unknown-transfer-coding",
        "The body is in a transfer coding that nobody here reads",
        "Send it as it is, with its length or chunked."
      )
    ),
    "connection",
    "close"
  )

/** A body of at most this many bytes needs no share of the bodies that are read at the same time. */
const small_bytes = 65_536

/** Whether the request declares a small body. */
export const isSmallBody = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["transfer-encoding"] === undefined &&
  Number(headers["content-length"] ?? 0) <= small_bytes

const noRoute = (path: string, base: string) =>
  respond(
    makeProblem(
      404,
      "no-such-route",
      "There is nothing here",
      `See ${base}${docs_path} for what there is. A path has one spelling: lower case, no slash more than it needs.`,
      { instance: truncateUnits(base + path, 200).toWellFormed() }
    )
  )

const noMethod = (methods: ReadonlyArray<string>) => {
  const allow = methods.join(", ")
  const problem = makeProblem(
    405,
    "method-not-allowed",
    "Method not allowed",
    `This takes ${allow}.`
  )
  return HttpServerResponse.setHeader(respond(problem), "allow", allow)
}

/** Why the request is refused; undefined = it is routed. */
export const refusalOf = (
  request: HttpServerRequest.HttpServerRequest,
  base_path: string,
  routesAt: RouteFinder
): HttpServerResponse.HttpServerResponse | undefined => {
  if ("httpVersionMajor" in request.source && request.source.httpVersionMajor === 0) {
    return respond(
      makeProblem(400, "unreadable-request", "The request could not be read", "It is not HTTP/1.1.")
    )
  }
  const twice = repeated(request)
  if (twice !== undefined) {
    return respond(
      makeProblem(
        400,
        "repeated-header",
        "A header comes more than once",
        `Send ${twice} once: of two, one reader takes the first and another one the second.`
      )
    )
  }
  const coding = request.headers["transfer-encoding"]
  if (coding !== undefined && !isChunked(coding)) return unknownCoding()
  const path = sentPath(request, base_path)
  const found = routesAt(path)
  if (found.length === 0) return noRoute(path, linkBase(request, base_path))
  const route = routeFor(found, request.method)
  if (route === undefined) return noMethod(methodsOf(found))
  if (!route.takesBody && hasBody(request)) {
    return respond(
      makeProblem(400, "unread-body", "Nobody reads this body", "Send none: this route takes none.")
    )
  }
  const issues = route.guarded ? [] : issuesIn(request.url, route.parameters)
  return issues.length === 0 ? undefined : respond(invalidRequest(issues))
}
