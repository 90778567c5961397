/**
 * A granted scope that is a URL, such as `https://api.example.com/*`: its glob holds within the path, and never lets a host
 * run on into another one. `https://*.example.com/*` is the hosts below one, `https://*` every host.
 */
import { parsePlainUrl, normalizedHost } from "../call/UrlScope.ts"
import { globMatches } from "./Glob.ts"

export interface UrlGlob {
  /** With its colon, in lower case. */
  readonly scheme: string
  /** Host and perhaps port; `*` = any, `*.` before it = those below it. */
  readonly authority: string
  /** A glob of path and query; empty = none, and `*` = any. */
  readonly rest: string
}

/** The parts of a scope that is one; a star that ends its authority stands for any path. */
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

/** Does the grant hold all that the wanted URL says? One that programs could read in two ways is held by none. */
export const urlGlobCovers = (grant: UrlGlob, wanted: string): boolean => {
  const url = parsePlainUrl(wanted)
  if (url === undefined || url.protocol !== grant.scheme || !isHost(grant, url)) return false
  const path = `${url.pathname || "/"}${url.search}`
  return grant.rest === "" ? path === "/" : globMatches(grant.rest, path)
}
