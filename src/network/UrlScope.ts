/**
 * Compares URLs with those of rules and grants as a fetch parses them (WHATWG URL) and never as texts: one host has many
 * spellings, and the text of one host may begin like that of another.
 *
 * A rule that allows matches only a plain spelling of the same origin, and whole segments of its path. One that asks or
 * denies matches every spelling, and every text that cannot be parsed.
 */
import { embeddedIpv4 } from "./Address.ts"

/** A parsed scope such as `https://api.example.com/v1`. */
export interface UrlScope {
  /** The scheme with its colon, such as `https:`. */
  readonly scheme: string
  /** The host as `normalizedHost` returns it. Undefined = any. */
  readonly host: string | undefined
  /** True = the scope is the subdomains of `host`, without `host` itself. */
  readonly below: boolean
  /** Empty = the default port of the scheme. */
  readonly port: string
  readonly path: string
  readonly search: string
}

/** The text with each percent-encoded byte as a character. */
export const unescaped = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16))
  )

/** Whether a text looks like a URL with an authority, with slashes or backslashes. */
export const isUrlLike = (text: string): boolean =>
  /^\s*[a-z][a-z0-9+.-]{0,31}:[\\/]{2}/i.test(text)

const units_max = 8_192

const parsed = (text: string): URL | undefined =>
  text.length > units_max ? undefined : (URL.parse(text) ?? undefined)

/** The host in lower case without trailing dots. A mapped or NAT64 IPv6 address becomes the IPv4 address in it. */
export const normalizedHost = ({ hostname }: URL): string => {
  const host = hostname.toLowerCase().replace(/\.{1,64}$/, "")
  return host.startsWith("[") ? (embeddedIpv4(host.slice(1, -1)) ?? host) : host
}

/** Whether some servers would serve another path: they decode a dot or separator that is escaped within it. */
const hasEscapedSegment = (text: string): boolean =>
  /%(?:25)*(?:2e|2f|5c)|%(?:25)*c0%(?:25)*a[ef]|\/\.\.?;/i.test(text.replace(/[?#].*$/, ""))

/** Undefined = it cannot be one. `https://` stands for any host, `https://*.example.com` for the subdomains of one. */
export const parseUrlScope = (text: string): UrlScope | undefined => {
  const [, word] = /^\s*([a-z][a-z0-9+.-]{0,31}:)[\\/]{2}\s*$/i.exec(text) ?? []
  if (word !== undefined) {
    const scheme = word.toLowerCase()
    return { scheme, host: undefined, below: false, port: "", path: "/", search: "" }
  }
  const url = parsed(text)
  if (url === undefined || url.username !== "" || url.password !== "") return undefined
  // Where an escaped dot or separator leads depends on who reads it.
  if (hasEscapedSegment(text)) return undefined
  const host = normalizedHost(url)
  const below = host.startsWith("*.")
  const name = below ? host.slice(2) : host
  if (name === "" || name.includes("*")) return undefined
  const { pathname, port, protocol, search } = url
  // A star at the end of a path stands for everything below it, as in a grant.
  const path = pathname.replace(/\/\*$/, "/") || "/"
  return { scheme: protocol, host: name, below, port, path, search }
}

const isHost = ({ below, host: wanted }: UrlScope, host: string): boolean =>
  wanted === undefined || (below ? host.endsWith(`.${wanted}`) : host === wanted)

/** Undefined = programs may read it in several ways: it has controls, spaces, backslashes, a user or another authority. */
export const parsePlainUrl = (text: string): URL | undefined => {
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  if (/[\u0000-\u0020\u007f-\u00a0\\]/.test(text)) return undefined
  if (!/^[a-z][a-z0-9+.-]{0,31}:\/\/[^/?#@]+(?:[/?#]|$)/i.test(text)) return undefined
  const url = parsed(text)
  return url === undefined || hasEscapedSegment(text) ? undefined : url
}

const isBelow = (path: string, wanted: string): boolean =>
  path === wanted || path.startsWith(wanted.endsWith("/") ? wanted : `${wanted}/`)

/** Whether a scope of a rule that allows contains this URL. */
export const scopeAllows = (scope: UrlScope, text: string): boolean => {
  const url = parsePlainUrl(text)
  if (url === undefined || url.protocol !== scope.scheme || !isHost(scope, normalizedHost(url)))
    return false
  if (url.port !== scope.port && scope.host !== undefined) return false
  return scope.search === ""
    ? isBelow(url.pathname || "/", scope.path)
    : url.pathname === scope.path && url.search === scope.search
}

/** A path without empty, `.` and `..` segments, in lower case, as a lenient server may read it. */
const flat = (path: string): string => {
  const kept: Array<string> = []
  const segments = path.toLowerCase().split(/[\\/]/)
  for (const segment of segments) {
    if (segment === "..") kept.pop()
    else if (segment !== "" && segment !== ".") kept.push(segment)
  }
  const last = segments.at(-1)
  return `/${kept.join("/")}${last === "" && kept.length > 0 ? "/" : ""}`
}

/** A path as it is sent, and as servers read it that decode its escapes once, twice or three times. */
const readings = (path: string): ReadonlyArray<string> => {
  const once = unescaped(path)
  const twice = unescaped(once)
  return [path, once, twice, unescaped(twice)].map(flat)
}

const isMetPath = (path: string, wanted: string): boolean => {
  const prefix = flat(unescaped(wanted))
  const whole = prefix.replace(/\/$/, "") || "/"
  return readings(path).some((reading) => reading === whole || reading.startsWith(prefix))
}

/** Whether the query has all wanted pairs, in any order. A value may begin with the wanted one and go on. */
const isMetSearch = (search: string, wanted: string): boolean => {
  const given = [...new URLSearchParams(search)]
  return [...new URLSearchParams(wanted)].every(([name, value]) =>
    given.some(([key, held]) => key === name && held.startsWith(value))
  )
}

/**
 * Whether a request for this URL may fall under the scope of a rule that asks or denies. True for a text that is not a URL. A
 * scope without a port matches every port, and an `https:` scope also matches the same host over `http:`.
 */
export const scopeMayMatch = (scope: UrlScope, text: string): boolean => {
  const url = parsed(text)
  if (url === undefined || !(isUrlLike(text) || /^https?:$/.test(url.protocol))) return true
  const isScheme =
    url.protocol === scope.scheme || (scope.scheme === "https:" && url.protocol === "http:")
  if (!isScheme || !isHost(scope, normalizedHost(url))) return false
  if (scope.port !== "" && url.port !== scope.port) return false
  return isMetPath(url.pathname, scope.path) && isMetSearch(url.search, scope.search)
}
