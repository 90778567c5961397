/**
 * HTTP for tools that call public hosts: only public addresses, checked again at each redirect, within bounds on time, size and
 * number of redirects. Credentials are sent to their own origin only.
 */
import { Effect, Result } from "effect"
import { parseAddressRanges } from "../../src/network/Address.ts"
import {
  header_name,
  header_value,
  isConnectionHeader,
  isWithheldHeader
} from "../../src/network/HeaderNames.ts"
import type { MisdeclaredTool } from "../../src/tool/MisdeclaredTool.ts"
import { misdeclared, strayOption } from "../../src/tool/MisdeclaredTool.ts"
import type { Admitted, FetchError, HttpAnswer, HttpMessage, Resolver, Rules } from "./Exchange.ts"
import { admit, exchange, refuse, systemResolver } from "./Exchange.ts"

export interface Options {
  /** The methods that may be used, in capitals. Absent = GET and HEAD. */
  readonly methods?: ReadonlyArray<string>
  /** The host names that may be reached; `.example.org` stands for those below it. Absent = any public host. */
  readonly hosts?: ReadonlyArray<string>
  /** The ports that may be used. Absent = 80 and 443. */
  readonly ports?: ReadonlyArray<number>
  /** Address ranges that may be reached although they are not public, such as `10.1.0.0/16`. Absent = none. */
  readonly allow_ranges?: ReadonlyArray<string>
  /** Headers that the guard itself adds to requests of an origin (`https://api.example.org`); no model sees them. */
  readonly credentials?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** The timeout of a request together with its redirects, in ms, 1 to 600,000. Absent = 30,000. */
  readonly timeout_ms?: number
  /** The most bytes of an answer after decompression, 1 to 4,000,000. Absent = 1,000,000. */
  readonly response_bytes_max?: number
  /** The most bytes of a request's body, 0 to 16,000,000. Absent = 1,000,000. */
  readonly request_bytes_max?: number
  /**
   * The most redirects that are followed, 0 to 20, for GET and HEAD only. Absent = 5; 0 = a redirect is returned as the answer,
   * as it is for any other method.
   */
  readonly redirects_max?: number
  /** The resolver of host names. Absent = the system's. */
  readonly resolve?: Resolver
  /** The only certificate authority to trust, in PEM. Absent = those that Node trusts. */
  readonly ca?: string
}

const option_names: Readonly<Record<keyof Options, true>> = {
  methods: true,
  hosts: true,
  ports: true,
  allow_ranges: true,
  credentials: true,
  timeout_ms: true,
  response_bytes_max: true,
  request_bytes_max: true,
  redirects_max: true,
  resolve: true,
  ca: true
}

export interface Fetch {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Whether a redirect to this URL may be followed. One that may not is returned as the answer. Absent = every redirect may. */
  readonly follows?: (url: string) => boolean
}

export interface Fetched extends HttpAnswer {
  /** The URL that answered, after redirects. */
  readonly url: string
}

export interface GuardedFetch {
  readonly methods: ReadonlyArray<string>
  readonly timeout_ms: number
  readonly fetch: (request: Fetch) => Effect.Effect<Fetched, FetchError>
  readonly admit: (url: string) => Effect.Effect<Admitted, FetchError>
}

const known_methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
const withheldHeader = (headers: Readonly<Record<string, string>>): string | undefined => {
  const bad = Object.keys(headers).find((name) => isWithheldHeader(name))
  return bad === undefined
    ? undefined
    : `the header ${JSON.stringify(bad.slice(0, 100))} is not yours to give: credentials, sessions, methods and senders are set by the operator`
}

const headers_max = 32
/** Headers that follow a redirect to another origin: none that could identify the sender. */
const carried = /^(?:accept|accept-language|user-agent)$/

const lowered = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, text]) => [name.toLowerCase(), text]))

const wrongHeader = (headers: Readonly<Record<string, string>>): string | undefined => {
  const given = Object.entries(headers)
  if (given.length > headers_max) return `at most ${headers_max} headers may be given`
  const [bad] =
    given.find(
      ([name, text]) =>
        !header_name.test(name) || !header_value.test(text) || isConnectionHeader(name)
    ) ?? []
  return bad === undefined
    ? undefined
    : `the header ${JSON.stringify(bad.slice(0, 100))} may not be given so`
}

const inRange = (n: number, least: number, most: number): boolean =>
  Number.isSafeInteger(n) && n >= least && n <= most

interface Limits {
  readonly timeout_ms: number
  readonly response_bytes_max: number
  readonly request_bytes_max: number
  readonly redirects_max: number
}

const bounds: Readonly<
  Record<keyof Limits, readonly [absent: number, least: number, most: number]>
> = {
  timeout_ms: [30_000, 1, 600_000],
  response_bytes_max: [1_000_000, 1, 4_000_000],
  request_bytes_max: [1_000_000, 0, 16_000_000],
  redirects_max: [5, 0, 20]
}

const checkOptions = Effect.fnUntraced(function* (tool: string, options: Options) {
  const wrong = (field: string, problem: string, fix: string): MisdeclaredTool =>
    misdeclared(tool, field, problem, fix)
  const limits: Record<string, number> = {}
  for (const [field, [absent, least, most]] of Object.entries(bounds)) {
    const given = options[field as keyof Limits] ?? absent
    if (!inRange(given, least, most)) {
      return yield* wrong(field, `${given} is out of bounds`, `Write ${least} to ${most}`)
    }
    limits[field] = given
  }
  const methods = options.methods ?? ["GET", "HEAD"]
  if (methods.length === 0 || !methods.every((each) => known_methods.includes(each))) {
    return yield* wrong(
      "methods",
      "holds no method, or one that is not known",
      `Write some of ${known_methods.join(", ")}`
    )
  }
  const ports = options.ports ?? [80, 443]
  if (ports.length === 0 || !ports.every((port) => inRange(port, 1, 65_535))) {
    return yield* wrong(
      "ports",
      "holds no port, or one that is none",
      "Write numbers from 1 to 65535"
    )
  }
  const { hosts } = options
  const badHost = hosts?.find(
    (host) => !/^\.?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$|^\[[0-9a-f:.]+\]$/.test(host)
  )
  if (badHost !== undefined || hosts?.length === 0) {
    return yield* wrong(
      "hosts",
      `${JSON.stringify(badHost ?? [])} is no host name`,
      "Write names in lower case without scheme and port, .example.org for those below it, or leave hosts out"
    )
  }
  const allow = parseAddressRanges(options.allow_ranges ?? [])
  if (Result.isFailure(allow)) {
    return yield* wrong("allow_ranges", allow.failure, "Write ranges such as 10.1.0.0/16")
  }
  for (const [origin, headers] of Object.entries(options.credentials ?? {})) {
    if (URL.parse(origin)?.origin !== origin || wrongHeader(headers) !== undefined) {
      return yield* wrong(
        "credentials",
        `an entry is not an origin with headers`,
        'Write "https://api.example.org" and its headers'
      )
    }
  }
  const rules: Rules = {
    hosts,
    ports,
    allow: allow.success,
    resolve: options.resolve ?? systemResolver
  }
  return { limits: limits as unknown as Limits, methods, rules }
})

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Whether a method changes nothing. Of any other method a redirect is the answer, because the request may have taken effect. */
const isSafe = (method: string): boolean => method === "GET" || method === "HEAD"

/** To another origin it carries no header that could identify the sender. Fails where the redirect leads from https to http. */
const redirected = (request: Fetch, from: URL, to: URL): Result.Result<Fetch, FetchError> => {
  const isSame = from.origin === to.origin
  if (from.protocol === "https:" && to.protocol === "http:") {
    return Result.fail(
      refuse("redirect", "the host redirects from https to http, which is not followed")
    )
  }
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(
      ([name]) => (isSame || carried.test(name)) && !name.startsWith("content-")
    )
  )
  return Result.succeed({ url: to.href, method: request.method, headers, body: undefined })
}

interface Guard {
  readonly limits: Limits
  readonly methods: ReadonlyArray<string>
  readonly rules: Rules
  readonly credentials: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly ca: string | undefined
}

const requestRefusal = (
  { limits, methods }: Guard,
  { body, headers, method }: Fetch
): FetchError | undefined => {
  const held = withheldHeader(headers)
  if (held !== undefined) return refuse("headers", held)
  if (!methods.includes(method)) {
    return refuse("method", `the method is not among those that may be used: ${methods.join(", ")}`)
  }
  const header = wrongHeader(headers)
  if (header !== undefined) return refuse("headers", header)
  if (body !== undefined && isSafe(method)) {
    return refuse("method", `${method} takes no body`)
  }
  return body !== undefined && Buffer.byteLength(body) > limits.request_bytes_max
    ? refuse("size", `the body has more than ${limits.request_bytes_max} bytes`)
    : undefined
}

/** Sends one request, without redirects, to an admitted address, with the credentials of its origin. */
const fetchOnce = Effect.fnUntraced(function* (guard: Guard, request: Fetch) {
  const refused = requestRefusal(guard, request)
  if (refused !== undefined) return yield* refused
  const admitted = yield* admit(request.url, guard.rules)
  const outgoing: HttpMessage = {
    method: request.method,
    body: request.body,
    headers: {
      "user-agent": "troupe",
      accept: "*/*",
      "accept-encoding": "gzip, br",
      ...request.headers,
      ...(request.body === undefined
        ? undefined
        : { "content-length": String(Buffer.byteLength(request.body)) }),
      ...lowered(guard.credentials[admitted.url.origin] ?? {})
    }
  }
  const answer = yield* exchange(
    admitted,
    outgoing,
    { bytes_max: guard.limits.response_bytes_max, takesEncoded: !isSafe(request.method) },
    guard.ca
  )
  return { admitted, answer }
})

/** Sends the request and follows redirects as far as allowed. Each hop is checked again. */
const fetchFollowing = Effect.fnUntraced(function* (guard: Guard, given: Fetch) {
  const { redirects_max } = guard.limits
  let request: Fetch = { ...given, headers: lowered(given.headers) }
  for (let hops = 0; ; hops++) {
    const { admitted, answer } = yield* fetchOnce(guard, request)
    const location = redirects.has(answer.status) ? answer.headers["location"] : undefined
    if (location === undefined || redirects_max === 0 || !isSafe(request.method)) {
      return { ...answer, url: admitted.url.href }
    }
    if (hops >= redirects_max) {
      return yield* refuse("redirect", `the host redirects more than ${redirects_max} times`)
    }
    const to = URL.parse(location, admitted.url.href)
    if (to === null) return yield* refuse("redirect", "the host redirects to no URL")
    const next = redirected(request, admitted.url, to)
    if (Result.isFailure(next)) return yield* next.failure
    if (given.follows?.(next.success.url) === false) {
      return { ...answer, url: admitted.url.href }
    }
    request = next.success
  }
})

/** Makes a guarded fetch with these options. Fails with what is wrong with them, naming `tool`. */
export const make = Effect.fnUntraced(function* (
  tool: string,
  options: Options
): Effect.fn.Return<GuardedFetch, MisdeclaredTool> {
  const stray = strayOption(tool, options, option_names)
  if (stray !== undefined) return yield* stray
  const { limits, methods, rules } = yield* checkOptions(tool, options)
  const { ca, credentials = {} } = options
  const guard: Guard = { limits, methods, rules, credentials, ca }
  return {
    methods,
    timeout_ms: limits.timeout_ms,
    admit: (url) => admit(url, rules),
    fetch: (request) =>
      Effect.timeoutOrElse(fetchFollowing(guard, request), {
        duration: limits.timeout_ms,
        orElse: () =>
          Effect.fail(refuse("timeout", `the host did not answer within ${limits.timeout_ms} ms`))
      })
  }
})
