/**
 * The path under which an application mounts the API, such as `/agents`. Routers differ: Express and Hono's `mount` remove it
 * from the URL, Fastify and Next.js keep it. The API supports both, and its links contain the path in either case.
 */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { isMountPath } from "./PathShape.ts"

/** The part of a request target after its authority (RFC 9112, section 3.2.2). */
const behindAuthority = (target: string): string => target.replace(/^https?:\/\/[^/?#]*/i, "")

/** The URL as the client sent it, if a router that shortened it has stored it (Express, Connect). */
const kept = ({ source }: HttpServerRequest.HttpServerRequest): string | undefined =>
  "originalUrl" in source && typeof source.originalUrl === "string"
    ? behindAuthority(source.originalUrl)
    : undefined

/** The URL of a request as the routes expect it: without the base, if the client sent that. */
const withoutBase = (
  request: HttpServerRequest.HttpServerRequest,
  url: string,
  base: string
): string => {
  if (base === "") return url
  const whole = kept(request) ?? url
  return whole.startsWith(`${base}/`) ? whole.slice(base.length) : url
}

/** The path as it was sent, before anything decodes or normalises it, without the base. */
export const sentPath = (request: HttpServerRequest.HttpServerRequest, base: string): string => {
  const { source, url } = request
  const target = "url" in source && typeof source.url === "string" ? source.url : url
  const [path = ""] = withoutBase(request, behindAuthority(target), base).split("?", 1)
  return path
}

/** The beginning of the paths in links: the base of the settings, or the path that a router reports as removed. */
export const linkBase = (request: HttpServerRequest.HttpServerRequest, base: string): string => {
  if (base !== "") return base
  const whole = kept(request)
  if (whole === undefined || !whole.endsWith(request.url)) return ""
  const taken = whole.slice(0, whole.length - request.url.length)
  // The client may have chosen a part of it, if the router's path has a parameter.
  return isMountPath(taken) ? taken : ""
}

/** Passes requests to the routes without the base. */
export const routed =
  (base: string) =>
  <A, E, R>(
    app: Effect.Effect<A, E, R | HttpServerRequest.HttpServerRequest>
  ): Effect.Effect<A, E, R | HttpServerRequest.HttpServerRequest> =>
    Effect.updateService(app, HttpServerRequest.HttpServerRequest, (request) => {
      const url = withoutBase(request, request.url, base)
      return url === request.url ? request : request.modify({ url })
    })
