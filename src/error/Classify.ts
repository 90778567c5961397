/**
 * Maps the error names of every source to the four error classes.
 */
import type { ToolError, ToolErrorClass, ToolErrorKind } from "./ToolError.ts"
import { toolErrors } from "./ToolError.ts"

interface Classified {
  readonly class: ToolErrorClass
  readonly kind: ToolErrorKind
}

const user = (kind: ToolErrorKind): Classified => ({ class: "ToolUserError", kind })
const policy = (kind: ToolErrorKind): Classified => ({ class: "ToolPolicyError", kind })
const transient = (kind: ToolErrorKind): Classified => ({ class: "ToolTransientError", kind })
const terminal = (kind: ToolErrorKind): Classified => ({ class: "ToolTerminalError", kind })

/** The class of a kind alone. `external` and `internal` without more detail are terminal. */
export const classifyKind = (kind: ToolErrorKind): Classified => {
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

/**
 * The class of an HTTP status. One below 400 is an answer that was not followed or not understood, such as a redirect:
 * terminal. A server's fault is transient, unless its status says that another try cannot succeed.
 */
export const classifyHttpStatus = (status: number): Classified => {
  switch (status) {
    case 401:
    case 402:
    case 403:
    case 407:
    case 451:
      return policy("permission")
    case 404:
    case 410:
      return user("not_found")
    case 408:
    case 504:
      return transient("timeout")
    // A server on the way passed the request on and lost the answer.
    case 502:
      return transient("network")
    case 423:
    case 425:
    case 429:
      return transient("external")
    case 405:
    case 406:
    case 421:
    case 426:
    case 501:
    case 505:
    case 511:
      return terminal("external")
    default:
      return status >= 500
        ? transient("external")
        : status >= 400
          ? user("invalid_args")
          : terminal("external")
  }
}

/** Names of one class, separated by spaces, in snake case. */
const family = (as: Classified, names: string): ReadonlyArray<readonly [string, Classified]> =>
  names.split(" ").map((name) => [name, as] as const)

/**
 * Names other than the kinds: Stargraph's gates, Agenta's refusals, SemStreams' filter, socket error codes and the reasons
 * of this runtime.
 */
const named: ReadonlyMap<string, Classified> = new Map([
  ...family(
    user("invalid_args"),
    "input_schema tool_input_schema post_merge_schema invalid_arguments bad_request validation_error malformed_json " +
      "ir_validation_error missing_context missing_reason unprocessable conflict precondition_failed non_scalar_argument " +
      "path_param_missing path_param_not_scalar"
  ),
  ...family(
    user("not_found"),
    "unknown_tool unregistered_tool unknown_key unknown_op unknown_world no_such_tool missing_resource gone"
  ),
  ...family(policy("not_found"), "not_allowed"),
  ...family(
    policy("permission"),
    "approval_required approval_rejected approval_denied approval_expired approval_timed_out approval_cancelled " +
      "revision_requested capability_error capability capability_denied permission_denied permission_error " +
      "unauthorized unauthenticated forbidden denied not_entitled kill_switch policy scope read_only " +
      "ssrf ssrf_blocked blocked_address private_address canonical_content nested_depth budget_exceeded " +
      "quota_exceeded limit_exceeded recursion_limit questions_max writes_max delegations_max cancelled " +
      "fail_loud fail_loud_miss"
  ),
  ...family(
    transient("timeout"),
    "timed_out timeout_error deadline_exceeded etimedout interrupted caller_interrupted"
  ),
  ...family(
    transient("network"),
    "network_error connection_refused connection_reset connection_lost econnrefused econnreset enotfound eai_again " +
      "epipe ehostunreach enetunreach transport transport_error publisher_down bad_gateway dns"
  ),
  ...family(
    transient("external"),
    "rate_limit rate_limited rate_limit_exceeded too_many_requests throttled circuit_open circuit unavailable " +
      "service_unavailable overloaded busy"
  ),
  ...family(
    terminal("internal"),
    "output_schema tool_output_schema non_object_output tool_non_dict_output missing_spec replay_error cassette_miss " +
      "runtime_error stargraph_runtime_error no_broker unsafe_path_segment unsafe_path path_not_allowed " +
      "method_not_allowed origin_mismatch not_single_slash_path no_origin outside_mount path_conflict missing_run_context missing_tool_callback defect die " +
      "invariant too_large result_too_large"
  ),
  ...family(terminal("external"), "redirect redirect_not_followed gateway_error")
])

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

/** `ReplayError`, `replay-error` and `REPLAY_ERROR` are one name. */
const snake = (name: string): string =>
  name
    .trim()
    .replaceAll(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, "$1$3_$2")
    .toLowerCase()
    .replaceAll(/[\s.:-]+/g, "_")

const known = (name: string): Classified | undefined => {
  const status = /^(?:http_|status_|http_status_)?([1-5])(\d\d|xx)$/.exec(name)
  if (status !== null) {
    return classifyHttpStatus(
      Number(status[1]) * 100 + (status[2] === "xx" ? 0 : Number(status[2]))
    )
  }
  return named.get(name) ?? (kinds.has(name) ? classifyKind(name as ToolErrorKind) : undefined)
}

/** Names that say only where a fault came from; the qualifier in brackets says what it was. */
const vague: ReadonlySet<string> = new Set([
  "external",
  "http",
  "http_error",
  "ir_validation_error",
  "replay_error",
  "error"
])

/** A longer text is not searched for a name: that takes time quadratic in its length. */
const name_units_max = 200

/**
 * Any source's name, with an optional qualifier in brackets: `timeout`, `external(429)`, `not_allowed(allowlist)`,
 * `ReplayError(cassette-miss)`, `404`. An unknown name has the kind `unknown`, which is terminal.
 */
export const classifyName = (name: string): Classified => {
  if (name.length > name_units_max) return classifyKind("unknown")
  const [, given = name, qualifier] = /^([^()]+?)\s*(?:\((.*)\))?$/s.exec(name.trim()) ?? []
  const base = snake(given)
  const refined = qualifier !== undefined && vague.has(base) ? known(snake(qualifier)) : undefined
  return refined ?? known(base) ?? classifyKind("unknown")
}

/** Converts another runtime's error by its name; without a name its kind is `unknown`. */
export const toolErrorFrom = (name: string | undefined, message: string): ToolError => {
  const { class: as, kind } = classifyName(name ?? "unknown")
  return new toolErrors[as]({ kind, message })
}
