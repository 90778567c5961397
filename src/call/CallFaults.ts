/**
 * Why a direct call can never be sent as it is set up, in sentences for who has set it up.
 */
import { Cause, Exit, Result, Schema } from "effect"
import { issueText, refusalText } from "../schema/SchemaIssues.ts"
import { jsonSchemaCheck } from "../tool/ToolCodec.ts"
import type { BodyPath, JsonObject } from "./BodyPath.ts"
import { isPrefix, leafPaths } from "./BodyPath.ts"
import { bodyOfRequest, parameterPaths, sentPaths } from "./CallRequest.ts"
import { parametersOf } from "./CallTarget.ts"
import type { DirectRequest } from "./DirectRequest.ts"
import { sendsBody } from "./DirectRequest.ts"
import { fixedSchema } from "./RequestSchema.ts"
import { pathThroughNoObject } from "./SuppliedFields.ts"

/** Why a call without a body cannot have these parts; undefined = it can. */
export const queryProblem = (call: DirectRequest): string | undefined => {
  const { args_into, body = {}, context = {}, method, path } = call
  if (sendsBody(call)) return undefined
  if (args_into !== undefined) {
    return `${method} sends its arguments as a query and takes no args_into`
  }
  const fixed = Object.entries(bodyOfRequest(call, body)).find(
    ([, value]) => typeof value === "object"
  )
  const placed = [...parametersOf(path), ...sentPaths(call).map((field) => field.join("."))]
  const bound = Object.keys(context).find((text) => text.includes(".") && !placed.includes(text))
  const nested = fixed?.[0] ?? bound
  return nested === undefined
    ? undefined
    : `${method} sends its fields as a query, and "${nested}" is no scalar`
}

/** Why what is filled in would not be sent, where one field alone is the body; undefined = it is sent. */
export const contentProblem = (call: DirectRequest): string | undefined => {
  const { body = {}, content, context = {} } = call
  if (content === undefined || content === null || content.field === undefined) return undefined
  const field = content.field.split(".")
  const placed = [...parameterPaths(call.path), ...sentPaths(call), field]
  const filled = [...leafPaths(body), ...Object.keys(context).map((text) => text.split("."))]
  const lost = filled.find((path) => !placed.some((place) => isPrefix(place, path)))
  return lost === undefined
    ? undefined
    : `"${lost.join(".")}" is filled in, and the body is the field "${content.field}" alone`
}

/** Why the fixed body does not fit the endpoint's schema, so that no call could be sent; undefined = it fits. */
export const fixedProblem = (call: DirectRequest, request: JsonObject): string | undefined => {
  if (call.body === undefined) return undefined
  const fixed = bodyOfRequest(call, call.body)
  const check = jsonSchemaCheck(fixedSchema(request, fixed))
  const checked = Result.isSuccess(check) ? check.success(fixed) : undefined
  if (checked === undefined || Exit.isSuccess(checked)) return undefined
  const error = Cause.squash(checked.cause)
  const problem = Schema.isSchemaError(error) ? issueText(error) : refusalText(error)
  return `what it always sends does not fit the endpoint's schema: ${problem}`
}

/**
 * Why the value at one of these paths cannot be filled in: something on the way is not an object. Undefined = all can be filled
 * in.
 */
export const placeProblem = (
  schema: JsonObject,
  paths: ReadonlyArray<BodyPath>
): string | undefined => {
  for (const path of paths) {
    const at = pathThroughNoObject(schema, path)
    if (at === undefined) continue
    const place = at.length === 0 ? "the whole body" : `"${at.join(".")}"`
    return `"${path.join(".")}" is filled in, but ${place} is no object in the endpoint's schema`
  }
  return undefined
}
