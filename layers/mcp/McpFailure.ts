/**
 * Maps the client's errors to tool errors. The kinds `timeout` and `network` mean that the server may have done what the call
 * asks, so that the outcome of a write is unknown.
 */
import type { ToolError } from "../../src/error/ToolError.ts"
import {
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError,
  ToolUserError
} from "../../src/error/ToolError.ts"
import { redacted } from "../../src/error/KnownSecrets.ts"
import { no_credentials } from "./McpCredentials.ts"
import { answer_refused } from "./MessageText.ts"
import { stream_lost } from "./HttpTransport.ts"
import type { Sdk } from "./Sdk.ts"

const transient = (kind: "external" | "network" | "timeout", reason: string, message: string) =>
  new ToolTransientError({ kind, reason, message })

const external = (reason: string, message: string) => transient("external", reason, message)

/** The error for a server that is not connected. Nothing was sent. */
export const serverDown = (server: string): ToolTransientError =>
  external(
    "MCP_SERVER_DOWN",
    `the MCP server "${server}" is not connected; nothing was sent to it.`
  )

/** The error for a call that waited for other calls of this runtime until its time was over or its run was stopped. */
export const serverBusy = (server: string): ToolTransientError =>
  external(
    "MCP_SERVER_BUSY",
    `the MCP server "${server}" is busy with other calls; nothing was sent to it.`
  )

export const isUnsent = ({ reason }: ToolError): boolean => reason === "MCP_SERVER_DOWN"

/** The error for a call about which the server said nothing for this long. */
export const serverSilent = (server: string, timeout_ms: number): ToolTransientError =>
  transient(
    "timeout",
    "TIMEOUT",
    `the MCP server "${server}" did not answer within ${timeout_ms} ms.`
  )

/** The error for a request that was not sent, because a function or an authorization server gave no credentials for it. */
const noCredentials = (server: string) =>
  external(
    "MCP_NO_CREDENTIALS",
    `there are no credentials for the MCP server "${server}"; nothing was sent to it.`
  )

const connectionLost = (server: string) =>
  transient(
    "network",
    "MCP_CONNECTION_LOST",
    `the connection to the MCP server "${server}" was lost before it answered.`
  )

const malformed = (server: string) =>
  new ToolTerminalError({
    kind: "internal",
    reason: "MCP_MALFORMED",
    message: `the MCP server "${server}" answered with something that the protocol does not know.`
  })

const forbidden = (server: string) =>
  new ToolPolicyError({
    kind: "permission",
    reason: "MCP_FORBIDDEN",
    message: `the MCP server "${server}" refused the credentials of this runtime.`
  })

/** The error for an HTTP status. Some statuses mean that the request was refused before anything was done. */
const ofStatus = (server: string, status: number): ToolError => {
  if (status === 401 || status === 403) return forbidden(server)
  if (status === 404) return serverDown(server)
  if (status === 429) {
    return external("MCP_RATE_LIMITED", `the MCP server "${server}" takes no more calls for now.`)
  }
  if (status < 400 || status >= 500 || status === 408) return connectionLost(server)
  return new ToolTerminalError({
    kind: "external",
    reason: "MCP_HTTP_REFUSED",
    message: `the MCP server "${server}" refused the request with the HTTP status ${status}.`
  })
}

const INVALID_PARAMS = -32_602
const METHOD_NOT_FOUND = -32_601

/** The codes of requests that were refused before anything was done: those of JSON-RPC, and of the protocol's newest revisions. */
const refusals: ReadonlySet<number> = new Set([
  -32_700,
  -32_600,
  METHOD_NOT_FOUND,
  INVALID_PARAMS,
  -32_020,
  -32_021,
  -32_022,
  -32_042
])

const ofProtocol = (server: string, code: number, message: string): ToolError => {
  if (code === stream_lost) return connectionLost(server)
  if (code === INVALID_PARAMS) {
    return new ToolUserError({ kind: "invalid_args", reason: "MCP_INVALID_PARAMS", message })
  }
  if (code === answer_refused) {
    return new ToolTerminalError({ kind: "internal", reason: "MCP_PROTOCOL_ERROR", message })
  }
  // A server fails with any other code at any time, after it has done what was asked too.
  return refusals.has(code)
    ? new ToolTerminalError({
        kind: "external",
        reason: code === METHOD_NOT_FOUND ? "MCP_METHOD_NOT_FOUND" : "MCP_PROTOCOL_ERROR",
        message: `the MCP server "${server}" refused the call (${code}): ${message}`
      })
    : transient(
        "network",
        "MCP_PROTOCOL_ERROR",
        `the MCP server "${server}" failed in the call (${code}): ${message}`
      )
}

const unsent = new Set([
  "ENOTCONN",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH"
])

const socketCode = (error: unknown): string | undefined => {
  const cause = error instanceof Error ? error.cause : undefined
  return typeof cause === "object" && cause !== null && "code" in cause
    ? String(cause.code)
    : undefined
}

/** The tool error of a failed call. It keeps the server's message, without secrets. */
export const failureOf = (
  sdk: Sdk,
  server: string,
  error: unknown,
  secrets: ReadonlyArray<string>
): ToolError => {
  if (sdk.SdkHttpError.isInstance(error)) return ofStatus(server, error.status)
  // A 403 that says which scope is missing.
  if (error instanceof sdk.InsufficientScopeError) return forbidden(server)
  if (sdk.ProtocolError.isInstance(error)) {
    return ofProtocol(server, error.code, redacted(error.message, secrets))
  }
  if (sdk.SdkError.isInstance(error)) {
    switch (error.code) {
      case sdk.SdkErrorCode.NotConnected:
      case sdk.SdkErrorCode.AlreadyConnected:
      case sdk.SdkErrorCode.NotInitialized:
      case sdk.SdkErrorCode.CapabilityNotSupported:
        return serverDown(server)
      case sdk.SdkErrorCode.RequestTimeout:
        return transient("timeout", "TIMEOUT", `the MCP server "${server}" did not answer in time.`)
      case sdk.SdkErrorCode.InvalidResult:
      case sdk.SdkErrorCode.UnsupportedResultType:
      case sdk.SdkErrorCode.InputRequiredRoundsExceeded:
      case sdk.SdkErrorCode.ClientHttpUnexpectedContent:
        return malformed(server)
      default:
        return connectionLost(server)
    }
  }
  // The client answers a 401 so where it could get no token, or none that the server takes.
  if (error instanceof sdk.UnauthorizedError) return forbidden(server)
  const isOAuth = error instanceof sdk.OAuthError || error instanceof sdk.OAuthClientFlowError
  if (isOAuth || socketCode(error) === no_credentials) return noCredentials(server)
  return unsent.has(socketCode(error) ?? "") ? serverDown(server) : connectionLost(server)
}
