/**
 * The routes and the one spelling of each path. They are matched against the path as it was sent, before anything
 * decodes or normalises it; the router is configured to be as exact.
 */
import { Context } from "effect"
import { HttpApi } from "effect/http-api"
import { Authentication } from "../../../src/operation/Boundary.ts"
import { TakesBytes } from "../../../src/operation/FilesApi.ts"
import type { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import type { Parameters } from "./Parameters.ts"
import { noParameters, parametersOf } from "./Parameters.ts"
import { part } from "./PathShape.ts"

export interface Route {
  readonly method: string
  readonly head: string
  readonly path: RegExp
  readonly parameters: Parameters
  /** Whether the handler of the route checks the parameters itself, after authentication. */
  readonly guarded: boolean
  readonly takesBody: boolean
}

/** Where a page or a wire is. */
export interface AddedRoute {
  readonly method: string
  readonly path: string
}

/** Routes outside the API, which OpenAPI does not describe. */
export const openapi_path = "/openapi.json"
export const docs_path = "/docs"
export const metrics_path = "/metrics"
/** The route for the servers of channels, which carry no token of this service. */
export const channels_path = "/v1/channels/:name"

/** The maximum length of a part of a path, in UTF-16 units: an id of 200 characters, each of them percent-encoded. */
export const part_max = 600

const exactly = (path: string): RegExp =>
  new RegExp(`^${path.replace(/[.]/g, "\\$&").replace(/:\w+/g, () => part)}$`)

/** The first two parts of a path, in which no route has a parameter. */
const headOf = (path: string): string => {
  const second = path.indexOf("/", 1)
  const third = second < 0 ? -1 : path.indexOf("/", second + 1)
  return third < 0 ? path : path.slice(0, third)
}

const routesOf = (
  api: typeof TroupeApi,
  pages: ReadonlyArray<AddedRoute>
): ReadonlyArray<Route> => {
  const found: Array<Route> = [openapi_path, docs_path, metrics_path].map((path) => ({
    method: "GET",
    head: headOf(path),
    path: exactly(path),
    parameters: noParameters,
    guarded: path === metrics_path,
    takesBody: false
  }))
  found.push({
    method: "POST",
    head: headOf(channels_path),
    path: exactly(channels_path),
    parameters: noParameters,
    guarded: false,
    takesBody: true
  })
  for (const { method, path } of pages) {
    found.push({
      method,
      head: headOf(path),
      path: exactly(path),
      parameters: noParameters,
      // A link to a page may have come through something that added to its query.
      guarded: true,
      takesBody: method === "POST"
    })
  }
  HttpApi.reflect(api, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint }) => {
      found.push({
        method: endpoint.method,
        head: headOf(endpoint.path),
        path: exactly(endpoint.path),
        parameters: parametersOf(endpoint),
        guarded: [...endpoint.middlewares].some(({ key }) => key === Authentication.key),
        takesBody: endpoint.payload.size > 0 || Context.get(endpoint.annotations, TakesBytes)
      })
    }
  })
  return found
}

const isUtf8 = (path: string): boolean => {
  if (!path.includes("%")) return true
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** Whether no part of the path is too long for the router, which finds no route for a longer one. */
const isShort = (path: string): boolean =>
  path.length <= part_max || path.split("/").every(({ length }) => length <= part_max)

/** Finds the routes at a path; none if no route has this spelling. */
export type RouteFinder = (path: string) => ReadonlyArray<Route>

export const finderOf = (
  api: typeof TroupeApi,
  pages: ReadonlyArray<AddedRoute> = []
): RouteFinder => {
  // Each request looks for its routes, and few have the same head.
  const byHead = Map.groupBy(routesOf(api, pages), ({ head }) => head)
  return (path) => {
    const found = byHead.get(headOf(path))
    if (found === undefined || !isUtf8(path) || !isShort(path)) return []
    return found.filter((route) => route.path.test(path))
  }
}

/** The methods that are allowed. HEAD is allowed wherever GET is. */
export const methodsOf = (found: ReadonlyArray<Route>): ReadonlyArray<string> => {
  const methods = new Set(found.map(({ method }) => method))
  if (methods.has("GET")) methods.add("HEAD")
  return [...methods]
}

export const routeFor = (found: ReadonlyArray<Route>, method: string): Route | undefined =>
  found.find((route) => route.method === (method === "HEAD" ? "GET" : method))
