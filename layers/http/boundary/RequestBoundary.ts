/**
 * The middleware of every endpoint: authentication and roles, the body and its bound, and problems for requests that do
 * not fit their schema.
 */
import { isUtf8 } from "node:buffer"
import { ByteSize, Context, Effect, Layer, Result, SchemaAST } from "effect"
import { HttpIncomingMessage, HttpMethod, HttpServerRequest } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import type { HttpApiEndpoint, HttpApiError } from "effect/http-api"
import { Credentials } from "../../../services/Credentials.ts"
import {
  Authentication,
  BodyTypes,
  CurrentPrincipal,
  CurrentToken,
  Needs,
  RequestBody,
  Validation
} from "../../../src/operation/Boundary.ts"
import type { Problem, ProblemIssue } from "../../../src/operation/Problem.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { cutText } from "../../../src/value/CutText.ts"
import { readJson } from "../../../src/value/BoundedJson.ts"
import type { JsonRefused } from "../../../src/value/BoundedJson.ts"
import { schemaIssues } from "../../../src/schema/SchemaIssues.ts"
import { logRefusedAct } from "../../../src/principal/RefusedActs.ts"
import { rightRefusal } from "../../../src/principal/Rights.ts"
import { makeCaller, notForOthers } from "./Caller.ts"
import { hasBody, isSmallBody } from "./RequestAdmission.ts"
import { HttpSettings } from "./HttpSettings.ts"
import { CorrelationId, makeLog } from "./StoreFaults.ts"
import { Limits } from "./Limits.ts"
import { invalidRequest, issues_max, issuesIn, numbersIn, parametersOf } from "./Parameters.ts"
import { forbidden } from "./Problems.ts"

const authentication: Layer.Layer<Authentication, never, Credentials | Limits> = Layer.effect(
  Authentication,
  Effect.gen(function* () {
    const callerOf = yield* makeCaller
    const limits = yield* Limits
    const logFault = makeLog()
    return Authentication.of({
      bearer: Effect.fnUntraced(function* (httpEffect, { credential, endpoint }) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const principal = yield* callerOf(request, credential)
        const right = Context.get(endpoint.annotations, Needs)
        const refusal = rightRefusal(principal, right)
        if (refusal !== undefined) {
          yield* logRefusedAct(principal, right, refusal)
          if (refusal.via !== undefined) return yield* Effect.fail(notForOthers)
          const needs = refusal.needs.join(", ") || "admin"
          return yield* Effect.fail(forbidden(`This needs one of the roles ${needs}.`))
        }
        const parameters = parametersOf(endpoint)
        const issues = issuesIn(request.url, parameters)
        if (issues.length > 0) return yield* Effect.fail(invalidRequest(issues))
        const answered = Effect.provideContext(
          httpEffect,
          Context.make(CurrentPrincipal, principal).pipe(Context.add(CurrentToken, credential))
        )
        const served = parameters.has("limit") ? limits.page(principal, answered) : answered
        return yield* principal.via === undefined
          ? served
          : Effect.annotateLogs(served, { correlation_id: yield* CorrelationId })
      }, Effect.tapError(logFault))
    })
  })
)

/** The length in UTF-16 units at which the message of an issue is cut. */
const message_max = 300

const bodiesOf = (endpoint: HttpApiEndpoint.Top): ReadonlyArray<SchemaAST.AST> =>
  [...endpoint.payload.values()].map(({ schemas }) => schemas[0].ast)

/** The message in the annotations of a body's schema, which are lost in its JSON form. */
const bodyMessage = (endpoint: HttpApiEndpoint.Top): string | undefined =>
  bodiesOf(endpoint)
    .map((ast) => ast.annotations?.["message"])
    .find((message) => typeof message === "string")

const issuesOf = (
  error: HttpApiError.HttpApiSchemaError,
  endpoint: HttpApiEndpoint.Top,
  value: unknown
): ReadonlyArray<ProblemIssue> => {
  const whole = error.kind === "Payload" ? bodyMessage(endpoint) : undefined
  return schemaIssues(error.cause.issue, value)
    .slice(0, issues_max)
    .map(({ message: text, path }) => {
      const message = path.length === 0 && whole !== undefined ? whole : text
      return {
        path: [error.kind.toLowerCase(), ...path],
        message: cutText(message, message_max)
      }
    })
}

const invalid = (
  error: HttpApiError.HttpApiSchemaError,
  endpoint: HttpApiEndpoint.Top,
  value: unknown
): Problem<400> => invalidRequest(issuesOf(error, endpoint, value))

const malformed = makeProblem(400, "malformed-json", "Malformed JSON", "The body is not JSON.")

/** The members that a body must have; for a union, those that all of its members require. */
const membersOf = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  if (SchemaAST.isObjects(ast)) {
    return ast.propertySignatures
      .filter(({ type }) => !SchemaAST.isOptional(type))
      .map(({ name }) => String(name))
  }
  if (!SchemaAST.isUnion(ast)) return []
  const [first = [], ...rest] = ast.types.map(membersOf)
  return first.filter((name) => rest.every((names) => names.includes(name)))
}

const empty = (endpoint: HttpApiEndpoint.Top): Problem<400> => {
  const members = bodiesOf(endpoint).flatMap(membersOf)
  return makeProblem(
    400,
    "malformed-json",
    "Malformed JSON",
    `The body is empty: a JSON object${members.length === 0 ? "" : ` with ${members.join(", ")}`} is needed.`
  )
}
const brokenText = makeProblem(
  400,
  "broken-utf8",
  "Broken UTF-8",
  "The body is not valid UTF-8, which JSON must be."
)
const unreadable = makeProblem(
  400,
  "unreadable-body",
  "The body could not be read",
  "The connection ended before the body did."
)
const unsupported = (types: ReadonlyArray<string>) =>
  makeProblem(
    415,
    "unsupported-media-type",
    "Unsupported media type",
    `Send the body as ${types.join(" or ")} in UTF-8.`
  )

const encodedBody = makeProblem(
  415,
  "unsupported-encoding",
  "Unsupported content encoding",
  "Send the body as it is, without a Content-Encoding."
)

const validation: Layer.Layer<Validation> = HttpApiMiddleware.layerSchemaErrorTransform(
  Validation,
  (error, { endpoint }) =>
    error.kind === "Body" || error.kind === "ResponseHeaders"
      ? // What we made does not fit our own schema: a bug, not the caller's.
        Effect.die(error)
      : Effect.flatMap(problemIn(error, endpoint), Effect.fail)
)

/** A refused body is parsed again, to distinguish a missing body and malformed JSON from JSON of a wrong shape. */
const problemIn = (error: HttpApiError.HttpApiSchemaError, endpoint: HttpApiEndpoint.Top) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    if (error.kind !== "Payload") {
      const query = error.kind === "Query" ? numbersIn(request.url, parametersOf(endpoint)) : {}
      return Effect.succeed(invalid(error, endpoint, query))
    }
    return Effect.match(request.text, {
      onSuccess: (text) => {
        if (text.trim() === "") return empty(endpoint)
        const json = readJson(text)
        return Result.isSuccess(json) ? invalid(error, endpoint, json.success) : malformed
      },
      onFailure: () => malformed
    })
  })

/** Whether the body is declared as JSON, in UTF-8. */
const isJson = (contentType: string, types: ReadonlyArray<string>): boolean => {
  const [type = "", ...parameters] = contentType.toLowerCase().split(";")
  return (
    types.includes(type.trim()) &&
    parameters.every((each) => !/^\s*charset\b/.test(each) || /=\s*"?utf-?8"?\s*$/.test(each))
  )
}

/** Whether the body is not compressed. No body is decompressed, because a small one could expand to a very large one. */
const isPlain = (encoding: string | undefined): boolean =>
  encoding === undefined || /^\s*(?:identity\s*)?$/i.test(encoding.slice(0, 64))

const decoder = new TextDecoder()

/**
 * The problem of JSON that is refused before a schema decodes it, because decoding would take longer than reading it, or would
 * alter a number.
 */
const beyond = ({ message, path, reason }: JsonRefused) => {
  if (path !== undefined) return invalidRequest([{ path: ["payload", ...path], message }])
  return reason === "too_large"
    ? makeProblem(413, "body-too-complex", "The body is too complex", `Of the body: ${message}.`)
    : makeProblem(400, "malformed-json", "Malformed JSON", `Of the body: ${message}.`)
}

const requestBody: Layer.Layer<RequestBody, never, Limits> = Layer.effect(
  RequestBody,
  Effect.gen(function* () {
    const { body_bytes_max } = yield* HttpSettings
    const limits = yield* Limits
    const tooLarge = makeProblem(
      413,
      "body-too-large",
      "The body is too large",
      `A body has at most ${body_bytes_max} bytes.`
    )
    const size = ByteSize.bytes(body_bytes_max)
    const read = Effect.fnUntraced(function* (
      request: HttpServerRequest.HttpServerRequest,
      types: ReadonlyArray<string>
    ) {
      if (!HttpMethod.hasBody(request.method)) return
      const type = request.headers["content-type"] ?? (hasBody(request) ? "" : undefined)
      if (type !== undefined && !isJson(type, types)) {
        return yield* Effect.fail(unsupported(types))
      }
      if (!isPlain(request.headers["content-encoding"])) return yield* Effect.fail(encodedBody)
      if (Number(request.headers["content-length"] ?? 0) > body_bytes_max) {
        return yield* Effect.fail(tooLarge)
      }
      // The request caches the text, so the decoder after this middleware does not read it again.
      const whole = request.arrayBuffer.pipe(
        Effect.mapError(({ reason }) =>
          reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
            ? tooLarge
            : unreadable
        )
      )
      const bytes = yield* isSmallBody(request)
        ? whole
        : limits.body(yield* CurrentPrincipal, whole)
      if (!isUtf8(bytes)) return yield* Effect.fail(brokenText)
      const text = decoder.decode(bytes)
      if (text.trim() === "") return
      const json = readJson(text)
      if (Result.isFailure(json)) return yield* Effect.fail(beyond(json.failure))
    })
    return RequestBody.of((httpEffect, { endpoint }) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        Effect.provideService(
          read(request, Context.get(endpoint.annotations, BodyTypes)),
          HttpIncomingMessage.MaxBodySize,
          size
        )
      ).pipe(Effect.andThen(httpEffect))
    )
  })
)

export const layer: Layer.Layer<
  Authentication | Validation | RequestBody,
  never,
  Credentials | Limits
> = Layer.mergeAll(authentication, validation, requestBody)
