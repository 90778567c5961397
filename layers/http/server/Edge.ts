/**
 * Checks the host of every request, and gives every response its correlation id and its content policy.
 */
import { createHash, randomUUID } from "node:crypto"
import { Option, Schema } from "effect"
import { HttpBody, HttpServerResponse } from "effect/http"
import type { HttpServer, HttpServerRequest } from "effect/http"
import { NetAddress } from "effect/net"
import type { Problem } from "../../../src/operation/Problem.ts"
import { makeProblem, problem_content_type } from "../../../src/operation/Problem.ts"

const loopback: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"])

/** The name in a Host header without its port, in lower case; undefined if it is malformed. */
const hostOf = (header: string | undefined): string | undefined =>
  /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec((header ?? "").toLowerCase())?.[1]

/** The Host header. A Web request may have none; then the host is that of its URL. */
const sentHost = ({ headers, source }: HttpServerRequest.HttpServerRequest): string | undefined =>
  headers["host"] ?? (source instanceof Request ? new URL(source.url).host : undefined)

/** Whether the server listens on loopback only. */
const isLocal = (address: HttpServer.HttpServer["Service"]["address"]): boolean =>
  address._tag === "UnixPathAddress" || NetAddress.isLoopback(address.address)

type HostCheck = (
  request: HttpServerRequest.HttpServerRequest
) => Problem<400> | Problem<421> | undefined

/**
 * Refuses requests whose Host names another server, which stops DNS rebinding: a page of an attacker whose name resolves to
 * 127.0.0.1 sends its own Host. Without configured hosts, a server that does not listen on loopback accepts any Host.
 */
export const makeHostCheck = (
  address: HttpServer.HttpServer["Service"]["address"],
  configured: ReadonlyArray<string>
): HostCheck => {
  const isChecked = configured.length > 0 || isLocal(address)
  const allowed = new Set([...loopback, ...configured.map((host) => host.toLowerCase())])
  return (request) => {
    const host = hostOf(sentHost(request))
    if (host === undefined) {
      return makeProblem(400, "bad-host", "The Host header is missing or malformed", "Send one.")
    }
    if (!isChecked || allowed.has(host)) return undefined
    return makeProblem(
      421,
      "misdirected-request",
      "This is another host",
      "The Host header names none of the hosts of this service: localhost and those of its setting hosts."
    )
  }
}

/** The policy of responses that are not pages. */
const closed = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

const textOf = ({ body }: HttpServerResponse.HttpServerResponse): string | undefined =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : undefined

/** The policies by body. A page is the same for every request, has megabytes, and needs no token. */
const policies = new WeakMap<object, string>()

/** The policy of the documentation page: only scripts with the hashes of its own scripts run. */
const policyOf = (response: HttpServerResponse.HttpServerResponse): string => {
  let policy = policies.get(response.body)
  if (policy === undefined) {
    const html = textOf(response)
    if (html === undefined) return closed
    const hashes = Array.from(
      html.matchAll(/<script(?:\s[^>]*)?>([\s\S]*?)<\/script>/g),
      ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`
    )
    // The page's library sets styles on its elements.
    policy = `${closed}; script-src ${hashes.join(" ")}; style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'`
    policies.set(response.body, policy)
  }
  return policy
}

const typeOf = ({ body, headers }: HttpServerResponse.HttpServerResponse): string =>
  (body._tag === "Empty" ? undefined : body.contentType) ?? headers["content-type"] ?? ""

export const contentPolicy = (response: HttpServerResponse.HttpServerResponse): string =>
  /^text\/html\b/.test(typeOf(response)) ? policyOf(response) : closed

export const newCorrelation = (): string => randomUUID().replaceAll("-", "")

const decodeProblem = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json))
)

/** Adds the correlation id to a response; a problem also has it in its body. */
export const withCorrelation = (
  response: HttpServerResponse.HttpServerResponse,
  correlation_id: string
): HttpServerResponse.HttpServerResponse => {
  if (!typeOf(response).startsWith(problem_content_type)) return response
  const text = textOf(response)
  if (text === undefined || text === "") return response
  return Option.match(decodeProblem(text), {
    onNone: () => response,
    onSome: (problem) =>
      HttpServerResponse.setBody(
        response,
        HttpBody.jsonUnsafe({ ...problem, correlation_id }, problem_content_type)
      )
  })
}
