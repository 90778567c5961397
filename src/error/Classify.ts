/**
 * One table from every source's own names to the four classes (REQUIREMENTS U2).
 */
import type { ToolErrorClass, ToolErrorKind } from "./ToolError.ts"

interface Classified {
  readonly class: ToolErrorClass
  readonly kind: ToolErrorKind
}

const user = (kind: ToolErrorKind): Classified => ({ class: "ToolUserError", kind })
const policy = (kind: ToolErrorKind): Classified => ({ class: "ToolPolicyError", kind })
const transient = (kind: ToolErrorKind): Classified => ({ class: "ToolTransientError", kind })
const terminal = (kind: ToolErrorKind): Classified => ({ class: "ToolTerminalError", kind })

/** A kind alone. `external` and `internal` without more detail are nobody's to mend. */
export const ofKind = (kind: ToolErrorKind): Classified => {
  switch (kind) {
    case "invalid_args":
    case "not_found":
      return user(kind)
    case "permission":
      return policy(kind)
    case "timeout":
    case "network":
      return transient(kind)
    case "external":
    case "internal":
    case "unknown":
      return terminal(kind)
  }
}

/** The answer of an HTTP endpoint, status 400 to 599. */
export const ofHttpStatus = (status: number): Classified => {
  switch (status) {
    case 401:
    case 403:
      return policy("permission")
    case 404:
    case 410:
      return user("not_found")
    case 408:
    case 504:
      return transient("timeout")
    case 425:
    case 429:
    case 502:
    case 503:
      return transient("external")
    case 400:
    case 409:
    case 412:
    case 413:
    case 415:
    case 422:
      return user("invalid_args")
    default:
      return terminal("external")
  }
}

/** Names that the sources use beside the kinds: Stargraph's gates, Agenta's refusals, SemStreams' filter. */
const named: Record<string, Classified> = {
  not_allowed: policy("not_found"),
  approval_required: policy("permission"),
  approval_rejected: policy("permission"),
  "input-schema": user("invalid_args"),
  "output-schema": terminal("internal"),
  ReplayError: terminal("internal"),
  RuntimeError: terminal("internal"),
  CapabilityError: policy("permission"),
  "unsafe-path-segment": terminal("internal"),
  "missing-run-context": terminal("internal"),
  "post-merge-schema": user("invalid_args")
}

const kinds: ReadonlySet<string> = new Set<ToolErrorKind>([
  "timeout",
  "not_found",
  "invalid_args",
  "permission",
  "network",
  "external",
  "internal",
  "unknown"
])

/**
 * Any source's name, with an optional qualifier in brackets: `timeout`, `external(429)`, `not_allowed(allowlist)`,
 * `ReplayError(cassette-miss)`, `404`. A name that nobody knows is unknown, and so terminal.
 */
export const ofName = (name: string): Classified => {
  const [, base = name, qualifier] = /^([^()]+)(?:\(([^()]*)\))?$/.exec(name) ?? []
  if (/^[1-5]\d\d$/.test(base)) return ofHttpStatus(Number(base))
  if (base === "external" && qualifier !== undefined && /^[1-5]\d\d$/.test(qualifier)) {
    return ofHttpStatus(Number(qualifier))
  }
  return named[base] ?? ofKind(kinds.has(base) ? (base as ToolErrorKind) : "unknown")
}
