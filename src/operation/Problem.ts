/**
 * The errors of the HTTP API, as problem details (RFC 9457).
 */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

/** One issue of a request. `path` begins with the part of the request: `params`, `query`, `headers` or `payload`. */
export const ProblemIssue = Schema.Struct({
  path: Schema.Array(Schema.Union([Schema.String, Schema.Int])),
  message: Schema.String
})
export interface ProblemIssue extends Schema.Schema.Type<typeof ProblemIssue> {}

/** The media type of every error (RFC 9457, section 3). */
export const problem_content_type = "application/problem+json"

/** A problem. `type` is `urn:troupe:problem:<name>` and meant for programs. A problem never contains the text of a defect. */
export interface Problem<Status extends number = number> {
  /** `urn:troupe:problem:<name>`. */
  readonly type: string
  /** What kind of problem it is, the same for every one of its type. */
  readonly title: string
  /** The HTTP status. */
  readonly status: Status
  /** What happened this time, in a sentence. */
  readonly detail: string
  /** The path of the request. Absent where the type says enough. */
  readonly instance?: string
  /** What is wrong with the request, by its members. Absent = nothing that has a member. */
  readonly errors?: ReadonlyArray<ProblemIssue>
  /** The names that exist; present if the request named one that does not. */
  readonly available?: ReadonlyArray<string>
  /** The request's id. The header `x-correlation-id` and the log have the same one. */
  readonly correlation_id?: string
}

/** The schema of problems with one status, as endpoints declare it. */
const problem = <const Status extends number>(status: Status) =>
  Schema.Struct({
    type: Schema.String,
    title: Schema.String,
    status: Schema.Literal(status),
    detail: Schema.String,
    instance: Schema.optionalKey(Schema.String),
    errors: Schema.optionalKey(Schema.Array(ProblemIssue)),
    available: Schema.optionalKey(Schema.Array(Schema.String)),
    correlation_id: Schema.optionalKey(Schema.String)
  })
    .annotate({ identifier: `Problem${status}` })
    .pipe(HttpApiSchema.status(status), HttpApiSchema.asJson({ contentType: problem_content_type }))

export const Problem400 = problem(400)
export const Problem401 = problem(401)
export const Problem403 = problem(403)
export const Problem404 = problem(404)
export const Problem409 = problem(409)
export const Problem410 = problem(410)
export const Problem413 = problem(413)
export const Problem415 = problem(415)
export const Problem416 = problem(416)
export const Problem422 = problem(422)
export const Problem429 = problem(429)
export const Problem500 = problem(500)
export const Problem503 = problem(503)

/** Makes a problem; its name becomes the type. */
export const makeProblem = <const Status extends number>(
  status: Status,
  name: string,
  title: string,
  detail: string,
  more?: Pick<Problem, "instance" | "errors" | "available">
): Problem<Status> => ({ type: `urn:troupe:problem:${name}`, title, status, detail, ...more })

/** An error that says itself how it is told, as those of features do. Its texts are safe to show. */
export interface Described {
  readonly _tag: string
  /** What happened, in a sentence that is safe to show. */
  readonly message: string
  /** The problem that a client is told, with its status. */
  readonly problem: Problem
}
