/**
 * The path that the paths of an OpenAPI document follow, from the URL of a server.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import type { JsonObject } from "./BodyPath.ts"
import { memberOf } from "./BodyPath.ts"
import type { WrittenOperation } from "./OpenApiDocument.ts"
import type { OpenApiRefused } from "./OpenApiRefused.ts"
import { refuseOpenApi } from "./OpenApiRefused.ts"
import { listOf } from "./OpenApiSchema.ts"

/** A variable of a server's URL. */
const variable = /\{([^{}]*)\}/g

/** What a relative URL of a server is read against. */
const no_origin = "https://host.invalid"

/** The first of these servers, with its variables filled in; undefined = there is none. Fails with what is wrong with it. */
const firstServer = (servers: Json | undefined): Result.Result<URL | undefined, string> => {
  const [first] = listOf(servers)
  const text = memberOf(first, "url")
  if (typeof text !== "string") return Result.succeed(undefined)
  const variables = memberOf(first, "variables")
  const filled = text.replaceAll(variable, (whole, name: string) => {
    const value = memberOf(memberOf(variables, name), "default")
    return typeof value === "string" ? value : whole
  })
  const url = URL.parse(filled, no_origin)
  return url === null || /[{}]|%7b/i.test(url.pathname)
    ? Result.fail("its first server is no URL: give base_path")
    : Result.succeed(url)
}

const pathOfServer = (url: URL | undefined): string => url?.pathname.replace(/\/+$/, "") ?? ""

/**
 * The path of the document's first server, which comes before the document's paths; empty if there is no server. Fails if the
 * server's URL cannot be read or has a variable without a default.
 */
export const basePath = (root: JsonObject): Result.Result<string, OpenApiRefused> =>
  Result.mapBoth(firstServer(memberOf(root, "servers")), {
    onFailure: (problem) => refuseOpenApi("NotOpenApi", "document", problem),
    onSuccess: pathOfServer
  })

/** Whether two servers are known to be at different origins. */
const areApart = (one: URL | undefined, other: URL | undefined): boolean => {
  const origins = [one?.origin ?? no_origin, other?.origin ?? no_origin]
  return !origins.includes(no_origin) && origins[0] !== origins[1]
}

/**
 * The path that an operation's own path follows: that of its own first server, or else `base`, the document's. Fails where its
 * own server is at another origin, because all calls go to one.
 */
export const baseOf = (
  { id, servers }: WrittenOperation,
  root: JsonObject,
  base: string
): Result.Result<string, OpenApiRefused> => {
  const refuse = (problem: string) => refuseOpenApi("UnsupportedServer", id, problem)
  const own = Result.mapError(firstServer(servers), refuse)
  if (Result.isFailure(own)) return Result.fail(own.failure)
  if (own.success === undefined) return Result.succeed(base)
  const document = Result.getOrElse(firstServer(memberOf(root, "servers")), () => undefined)
  return areApart(own.success, document)
    ? Result.fail(refuse("its own server is at another origin than the document's: give base_path"))
    : Result.succeed(pathOfServer(own.success))
}
