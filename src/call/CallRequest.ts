/**
 * Makes the request of a direct call from its assembled body. Parameters of the path are taken out of the body; a method without
 * a body sends the rest as its query.
 */
import { Result } from "effect"
import type { Json } from "../Canonical.ts"
import type { BodyPath, JsonObject } from "./BodyPath.ts"
import { memberOf, valueAt, withoutValueAt } from "./BodyPath.ts"
import type { CallMethod, DirectRequest } from "./CallDescriptor.ts"
import type { CallProfile, TargetRefusal } from "./CallTarget.ts"
import { parametersOf, targetOf } from "./CallTarget.ts"

export type RequestRefusal = TargetRefusal | "non-scalar-argument" | "query-too-long"

export interface CallRequest {
  readonly method: CallMethod
  readonly url: URL
  readonly body: string | undefined
}

/** The longest URL, in characters. */
const url_max = 8_000

export const hasBody = (method: CallMethod): boolean =>
  method === "POST" || method === "PUT" || method === "PATCH"

/** The paths in the body of the path's parameters. */
export const parameterPaths = (path: string): ReadonlyArray<BodyPath> =>
  parametersOf(path).map((name) => name.split("."))

/**
 * The values of the path's parameters, by their dotted names. For `{a.b}`, the field `b` of `a` comes before a member that is
 * itself called `a.b`: bound fields are placed by their path, and an argument of that name must not replace one.
 */
export const parameterValues = (path: string, body: JsonObject): JsonObject =>
  Object.fromEntries(
    parametersOf(path).flatMap((name) => {
      const placed = valueAt(body, name.split("."))
      // A null counts too: no argument may take the place of a fixed null.
      const value = placed === undefined ? memberOf(body, name) : placed
      return value === undefined ? [] : [[name, value] as const]
    })
  )

/** The paths in the body of the query's parameters, for a method with a body. */
export const queryPaths = ({ query = {} }: DirectRequest): ReadonlyArray<BodyPath> =>
  Object.values(query).map((field) => field.split("."))

/** The body without the parameters of the path and the query. This is what is sent, and what the endpoint's schema describes. */
export const bodyOfRequest = (call: DirectRequest, body: JsonObject): JsonObject => {
  const inPath = parametersOf(call.path).reduce(
    (rest, name) => withoutValueAt(withoutValueAt(rest, name.split(".")), [name]),
    body
  )
  return queryPaths(call).reduce(withoutValueAt, inPath)
}

/** The values of the query's parameters, for a method with a body; null = there is no value. */
const queryValues = ({ query = {} }: DirectRequest, body: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(query).map(([name, field]) => [name, valueAt(body, field.split(".")) ?? null])
  )

const isScalar = (value: Json): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"

/**
 * Adds the members as a query. A parameter that the path has in its own query keeps that value, because the path is fixed. Null
 * is left out. Fails if a value is not scalar or the URL becomes longer than `url_max`.
 */
const withQuery = (url: URL, body: JsonObject): Result.Result<URL, RequestRefusal> => {
  const whole = new URL(url)
  for (const [name, value] of Object.entries(body)) {
    if (value === null || url.searchParams.has(name)) continue
    if (!isScalar(value)) return Result.fail("non-scalar-argument")
    whole.searchParams.append(name, String(value))
  }
  return whole.href.length > url_max ? Result.fail("query-too-long") : Result.succeed(whole)
}

/** Makes the request, or fails with the reason why it is refused. `endpoint` is the run's callback, whose origin the URL has. */
export const requestOf = (
  endpoint: string,
  call: DirectRequest,
  body: JsonObject,
  profile: CallProfile
): Result.Result<CallRequest, RequestRefusal> => {
  const { method, path } = call
  const target = targetOf(endpoint, { method, path }, parameterValues(path, body), profile)
  if (Result.isFailure(target)) return Result.fail(target.failure)
  const rest = bodyOfRequest(call, body)
  if (!hasBody(method)) {
    return Result.map(withQuery(target.success, rest), (url) => ({ method, url, body: undefined }))
  }
  const text = JSON.stringify(rest)
  return Result.map(withQuery(target.success, queryValues(call, body)), (url) => ({
    method,
    url,
    body: text
  }))
}
