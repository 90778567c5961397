/** What a call of the client fails with: what the service said, or why there is no answer. */
import type { error_status } from "../../../src/operation/ErrorStatus.ts"
import type { Problem } from "../../../src/operation/Problem.ts"

/** Errors of `start` that a problem names otherwise. */
type NamedOtherwise = "JournalError" | "NotForCustomers" | "RunNotQuarantined" | "StoreError"

/**
 * What went wrong, as `_tag` of the errors of `start` says it: the name of the problem that the service answered. The service has
 * more of them than are listed, such as those of features. Of the client itself are the last six.
 */
export type ErrorTag =
  | Exclude<keyof typeof error_status, NamedOtherwise>
  | "Forbidden"
  | "NotInQuarantine"
  | "StoreUnavailable"
  | "AnswerTooLarge"
  | "AnswerUnfit"
  | "ConnectionLost"
  | "Redirected"
  | "TimedOut"
  | "UnreadableAnswer"
  | (string & {})

/** What an error says beside its sentence. */
export interface ErrorFacts {
  readonly status?: number
  readonly retryable?: boolean
  readonly retry_after_ms?: number
  readonly problem?: Problem
  readonly cursor?: string
  readonly cause?: unknown
}

/** Every error of the client but the reason of a signal. It never holds the token. */
export class TroupeError extends Error {
  /** The name of the class. `_tag` says what went wrong. */
  override readonly name: string = "TroupeError"
  /** What went wrong, such as `ApprovalSettled`. */
  readonly _tag: ErrorTag
  /** The HTTP status. Absent = there was no answer. */
  readonly status: number | undefined
  /** Whether the same call may do better later. It was repeated before already, where that does nothing twice. */
  readonly retryable: boolean
  /** How long the service asks to wait before the call is made again. */
  readonly retry_after_ms: number | undefined
  /** The service's own words, with the members that are wrong and the names that exist (RFC 9457). Absent = they are the client's. */
  readonly problem: Problem | undefined
  /** Where `watch` goes on behind a run that cannot be read. Absent = nowhere. */
  readonly cursor: string | undefined
  /**
   * How often the call was sent. Where it is more than once, `ApprovalSettled`, `RunIsOver` and the like may be what the first one
   * did, whose answer was lost.
   */
  attempts = 1

  constructor(tag: ErrorTag, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this._tag = tag
    this.status = facts.status
    this.retryable = facts.retryable ?? false
    this.retry_after_ms = facts.retry_after_ms
    this.problem = facts.problem
    this.cursor = facts.cursor
  }
}

/** An argument that is refused before anything is sent. */
export const wrongInput = (message: string, cause?: unknown): TroupeError =>
  new TroupeError("InvalidInput", message, { cause })

/** Statuses of moments that pass: of the service, and of proxies before it. */
const passing: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])

const problem_prefix = "urn:troupe:problem:"

/** The value of a JSON text; undefined if it is none. */
export const valueOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isProblem = (value: unknown): value is Problem =>
  isObject(value) &&
  typeof value["type"] === "string" &&
  value["type"].startsWith(problem_prefix) &&
  typeof value["detail"] === "string" &&
  typeof value["status"] === "number"

/** `approval-settled` as `ApprovalSettled`. */
const tagOf = (type: string): string =>
  type
    .slice(problem_prefix.length)
    .replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The error of a problem; undefined for any other value. */
export const problemError = (value: unknown, facts?: ErrorFacts): TroupeError | undefined => {
  if (!isProblem(value)) return undefined
  const { detail, status, type } = value
  const retryable = passing.has(status)
  return new TroupeError(tagOf(type), detail, { status, retryable, problem: value, ...facts })
}

/** The error of an answer that is not of this service, such as a proxy's page. */
export const unreadable = (what: string, status?: number): TroupeError =>
  new TroupeError("UnreadableAnswer", `What answers there is not this service: ${what}.`, {
    ...(status === undefined ? undefined : { status, retryable: passing.has(status) })
  })

/** `Retry-After` (RFC 9110, section 10.2.3): seconds or a date. Undefined if there is none. */
const retryAfter = (header: string | null): number | undefined => {
  if (header === null) return undefined
  const wait_ms = /^\d{1,9}$/.test(header)
    ? Number(header) * 1_000
    : Date.parse(header) - Date.now()
  return Number.isNaN(wait_ms) ? undefined : Math.max(0, wait_ms)
}

/** The error of an answer that is no success, by its body. */
export const answerError = ({ headers, status }: Response, body: string): TroupeError => {
  const retry_after_ms = retryAfter(headers.get("retry-after"))
  const after = retry_after_ms === undefined ? undefined : { retry_after_ms }
  return problemError(valueOf(body), after) ?? unreadable(`it says ${status}`, status)
}
