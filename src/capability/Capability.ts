/**
 * Capabilities that tools need and agents are granted: `name` or `name:scope`, split at the first colon. Names match
 * exactly; a granted scope is a glob, and one with a URL compares URLs. An empty scope is no scope.
 */
import { Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import type { ToolFailure } from "../error/ToolError.ts"
import { ToolPolicyError } from "../error/ToolError.ts"
import { unescaped, parsePlainUrl, normalizedHost } from "../network/UrlScope.ts"

const name = "[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,126}[A-Za-z0-9_])?"

/** `tools:broker_request`, `fs.read:/workspace/*`, `net`. The scope has at most 512 characters, none of them a control. */
export const Capability = Schema.String.check(
  Schema.isPattern(new RegExp(`^${name}(?::[^\\p{Cc}]{0,512})?$`, "u"), {
    description: "name or name:scope, the name of letters, digits and _ . -"
  })
)
export type Capability = typeof Capability.Type

/** A capability in its two parts; `scope` null = unscoped. */
export interface Claim {
  /** The part before the colon. */
  readonly name: string
  /** The part behind the colon; null = unscoped. */
  readonly scope: string | null
}

/** The parts of a capability. `tools:` and `tools` are both unscoped. */
export const parseCapability = (capability: Capability): Claim => {
  const colon = capability.indexOf(":")
  if (colon === -1) return { name: capability, scope: null }
  const scope = capability.slice(colon + 1)
  return { name: capability.slice(0, colon), scope: scope === "" ? null : scope }
}

/** How often a scope is decoded: an encoding inside so many others is no scope. */
const readings_max = 8

/**
 * Whether the scope has a segment `..`, between `/` or `\\`, also percent-encoded, however often. No grant covers such a scope:
 * where it leads is not known.
 */
export const scopeClimbs = (capability: Capability): boolean => {
  let scope = parseCapability(capability).scope ?? ""
  for (let reading = 0; reading < readings_max; reading++) {
    // %C0%AE and %C0%AF are a dot and a slash to lenient decoders of UTF-8.
    const read = scope.replace(/%c0%ae/gi, ".").replace(/%c0%af/gi, "/")
    if (read.split(/[/\\]/).some((segment) => /^\.\.(?:;|$)/.test(segment))) return true
    const next = unescaped(read)
    if (next === scope) return false
    scope = next
  }
  return true
}

/** A capability that a tool may declare: one that some grant could cover. */
export const RequestedCapability = Capability.check(
  Schema.makeFilter(
    (capability) =>
      !scopeClimbs(capability) || 'the scope has a ".." segment, which no grant covers'
  )
)

/** The capabilities of a tool as its author may write them: one, several or none. */
export type Requires = string | ReadonlyArray<string> | null | undefined

/** The same as a list, in the author's order. */
export const requiredCapabilities = (requires: Requires): ReadonlyArray<string> =>
  requires === null || requires === undefined
    ? []
    : typeof requires === "string"
      ? [requires]
      : requires

/** The capabilities of an agent: a fixed value, made before its first run. */
export interface Grants {
  /** What was granted, in its two parts. */
  readonly granted: ReadonlyArray<Claim>
  /** A grant without a scope covers nothing; otherwise it covers its name with any scope. */
  readonly default_deny: boolean
}

/** Grants as a frozen value, so that no code of a run can widen them. */
export const grantsOf = (granted: ReadonlyArray<Claim>, default_deny: boolean): Grants =>
  Object.freeze({
    granted: Object.freeze(granted.map((claim) => Object.freeze({ ...claim }))),
    default_deny
  })

const covers = (grant: Claim, wanted: Claim, default_deny: boolean): boolean => {
  if (grant.name !== wanted.name) return false
  if (grant.scope === null) return !default_deny
  if (wanted.scope === null) return false
  const url = parseUrlGlob(grant.scope)
  return url === undefined
    ? globMatches(grant.scope, wanted.scope)
    : urlGlobCovers(url, wanted.scope)
}

/**
 * The first of the capabilities that no grant covers; undefined = all are covered. `grants` null covers none. A scope with
 * a `..` segment is never covered.
 */
export const uncoveredCapability = (
  grants: Grants | null,
  capabilities: ReadonlyArray<Capability>
): Capability | undefined =>
  capabilities.find((capability) => {
    if (scopeClimbs(capability)) return true
    const wanted = parseCapability(capability)
    return !grants?.granted.some((grant) => covers(grant, wanted, grants.default_deny))
  })

/** The refusal of a call; it names the capability, so that an operator knows what to grant. */
export const capabilityDenied = (tool: string, missing: Capability): ToolPolicyError =>
  new ToolPolicyError({
    kind: "permission",
    reason: "CAPABILITY_DENIED",
    message: `"${truncateUnits(tool, 64)}" needs the capability "${truncateUnits(missing, 200)}", which ${scopeClimbs(missing) ? "nobody can be granted" : "this agent does not have"}.`
  })

const denial =
  /^"[^"]{1,64}" needs the capability "[^"]{1,200}", which (?:nobody can be granted|this agent does not have)\.$/

/**
 * Whether the failure has exactly the message of `capabilityDenied`. Such a message needs no redaction: it contains only
 * names that an author gave, and a scope such as `secrets.read:x` merely looks like a secret.
 */
export const isCapabilityDenied = ({ kind, message, reason }: ToolFailure): boolean =>
  reason === "CAPABILITY_DENIED" && kind === "permission" && denial.test(message)

/** The fix for a capability that is not granted, for an operator or author; a sentence without its full stop. */
export const grantFix = (missing: Capability, default_deny: boolean): string => {
  if (scopeClimbs(missing)) return 'Declare it without the ".." in its scope: no grant covers it'
  const wanted = parseCapability(missing)
  if (covers(wanted, wanted, default_deny)) return "Add it to capabilities"
  return wanted.scope === null
    ? "Declare it with a scope: under default_deny no grant covers one without"
    : "Add one whose glob matches it to capabilities: as a grant, its own brackets are a set"
}

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

type Piece = "*" | ((character: string) => boolean)

/** The set whose first character is at `at`, behind its `[`, and the index of its `]`; undefined without a `]`. */
const setAt = (
  pattern: ReadonlyArray<string>,
  at: number
): { readonly is: (character: string) => boolean; readonly end: number } | undefined => {
  const negated = pattern[at] === "!"
  const first = negated ? at + 1 : at
  // A `]` that comes first is a member of the set.
  const end = pattern.indexOf("]", first + 1)
  if (end === -1) return undefined
  const ranges: Array<readonly [string, string]> = []
  for (let i = first; i < end; i++) {
    const [low = "", dash, high] = pattern.slice(i, Math.min(i + 3, end))
    if (dash === "-" && high !== undefined) {
      ranges.push([low, high])
      i += 2
    } else ranges.push([low, low])
  }
  const within = (character: string) =>
    ranges.some(([low, high]) => low <= character && character <= high)
  return { is: negated ? (character) => !within(character) : within, end }
}

const parsed = (glob: string): ReadonlyArray<Piece> => {
  const pattern = [...glob]
  const pieces: Array<Piece> = []
  // The last character of the set that was read last.
  let behind = -1
  for (const [i, each] of pattern.entries()) {
    if (i <= behind) continue
    const set = each === "[" ? setAt(pattern, i + 1) : undefined
    if (each === "*") {
      if (pieces.at(-1) !== "*") pieces.push("*")
    } else if (each === "?") pieces.push(() => true)
    else if (set === undefined) pieces.push((character) => character === each)
    else {
      pieces.push(set.is)
      behind = set.end
    }
  }
  return pieces
}

/**
 * Whether the text matches the glob, in time bounded by the product of their lengths: `*` matches any text, slashes included, `?`
 * one character, `[a-z]` one of a set and `[!a-z]` one that is not in it. Case-sensitive; the whole text has to match. Not compiled
 * to a regular expression, whose backtracking over several stars can take exponential time.
 */
export const globMatches = (glob: string, text: string): boolean => {
  const pieces = parsed(glob)
  const characters = [...text]
  let piece = 0
  let at = 0
  let star = -1
  let resume = 0
  for (let each = characters[0]; each !== undefined; each = characters[at]) {
    const next = pieces[piece]
    if (next === "*") {
      star = piece++
      resume = at
    } else if (next !== undefined && next(each)) {
      piece++
      at++
    } else if (star === -1) return false
    else {
      piece = star + 1
      at = ++resume
    }
  }
  while (pieces[piece] === "*") piece++
  return piece === pieces.length
}
