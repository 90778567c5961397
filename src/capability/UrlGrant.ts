/**
 * A granted scope that is a URL, such as `https://api.example.com/*`. Its glob applies to path and query and cannot extend
 * the host. `https://*.example.com/*` covers the subdomains of a host, `https://*` every host.
 */
import { parsePlainUrl, normalizedHost } from "../network/UrlScope.ts"
import { globMatches } from "./Glob.ts"

interface UrlGlob {
  /** With its colon, in lower case. */
  readonly scheme: string
  /** Host and optional port; `*` = any, `*.` in front = the subdomains of the host. */
  readonly authority: string
  /** A glob of path and query; empty = only the root without a query, `*` = any. */
  readonly rest: string
}

/** Parses a scope; undefined if it is not a URL. A star at the end of the authority stands for any path. */
export const parseUrlGlob = (scope: string): UrlGlob | undefined => {
  const [, scheme, authority, rest] =
    /^([a-z][a-z0-9+.-]{0,31}:)\/\/([^/?#]*)(.*)$/is.exec(scope) ?? []
  if (scheme === undefined || authority === undefined || rest === undefined) return undefined
  const isOpen = rest === "" && authority.length > 1 && authority.endsWith("*")
  return {
    scheme: scheme.toLowerCase(),
    authority: isOpen ? authority.slice(0, -1) : authority,
    rest: isOpen || (authority === "*" && rest === "") ? "*" : rest
  }
}

const isHost = ({ authority, scheme }: UrlGlob, url: URL): boolean => {
  if (authority === "*") return true
  const below = authority.startsWith("*.")
  const own = URL.parse(`${scheme}//${below ? authority.slice(2) : authority}`)
  if (own === null || own.username !== "" || own.password !== "") return false
  const [host, wanted] = [normalizedHost(url), normalizedHost(own)]
  if (wanted === "" || url.port !== own.port) return false
  return below ? host.endsWith(`.${wanted}`) : host === wanted
}

/** Whether the grant covers the wanted URL. A URL that programs may read in different ways is never covered. */
export const urlGlobCovers = (grant: UrlGlob, wanted: string): boolean => {
  const url = parsePlainUrl(wanted)
  if (url === undefined || url.protocol !== grant.scheme || !isHost(grant, url)) return false
  const path = `${url.pathname || "/"}${url.search}`
  return grant.rest === "" ? path === "/" : globMatches(grant.rest, path)
}
