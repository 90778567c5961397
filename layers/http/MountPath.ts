/**
 * The path under which an application mounts the API, such as `/agents`. Routers differ: Express and Hono's `mount` take it
 * from the URL, Fastify and Next.js leave it there. The API serves both, and its links say it either way.
 */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { isMountPath } from "./PathShape.ts"

/** Of a target with an authority (RFC 9112, section 3.2.2) what stands behind that. */
const behindAuthority = (target: string): string => target.replace(/^https?:\/\/[^/?#]*/i, "")

/** The URL as the client sent it, where a router that cut it has kept it (Express, Connect). */
const kept = ({ source }: HttpServerRequest.HttpServerRequest): string | undefined =>
  "originalUrl" in source && typeof source.originalUrl === "string"
    ? behindAuthority(source.originalUrl)
    : undefined

/** A URL of a request as the routes have it: without the base, if the client sent that. */
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

/** What stands before the paths of links: the base of the settings, or what a router says that it took away. */
export const linkBase = (request: HttpServerRequest.HttpServerRequest, base: string): string => {
  if (base !== "") return base
  const whole = kept(request)
  if (whole === undefined || !whole.endsWith(request.url)) return ""
  const taken = whole.slice(0, whole.length - request.url.length)
  // A part of it may be the client's choice, where the router's path has a parameter.
  return isMountPath(taken) ? taken : ""
}

/** Has the routes see the request without the base. */
export const routed =
  (base: string) =>
  <A, E, R>(
    app: Effect.Effect<A, E, R | HttpServerRequest.HttpServerRequest>
  ): Effect.Effect<A, E, R | HttpServerRequest.HttpServerRequest> =>
    Effect.updateService(app, HttpServerRequest.HttpServerRequest, (request) => {
      const url = withoutBase(request, request.url, base)
      return url === request.url ? request : request.modify({ url })
    })
