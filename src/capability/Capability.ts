/**
 * What a caller may touch, as a tool asks for it: `name` or `name:scope`, split at the first colon. A name matches
 * exactly; a granted scope is a glob, and one with a URL compares URLs (`UrlGrant.ts`). An empty scope is none.
 */
import { Schema } from "effect"
import type { ToolFailure } from "../error/ToolError.ts"
import { ToolPolicyError } from "../error/ToolError.ts"
import { globMatches } from "./Glob.ts"
import { urlGlobCovers, parseUrlGlob } from "./UrlGrant.ts"

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
  readonly name: string
  readonly scope: string | null
}

/** The parts of a capability. `tools:` is as unscoped as `tools`. */
export const parseCapability = (capability: Capability): Claim => {
  const colon = capability.indexOf(":")
  if (colon === -1) return { name: capability, scope: null }
  const scope = capability.slice(colon + 1)
  return { name: capability.slice(0, colon), scope: scope === "" ? null : scope }
}

/** Has the capability a scope with a segment `..`, between `/` or `\\`? Where that leads, no grant can say (D4). */
export const scopeClimbs = (capability: Capability): boolean =>
  (parseCapability(capability).scope ?? "").split(/[/\\]/).includes("..")

/** What a tool asks for: a capability that some grant could cover. */
export const RequestedCapability = Capability.check(
  Schema.makeFilter(
    (capability) =>
      !scopeClimbs(capability) || 'the scope has a ".." segment, which no grant covers'
  )
)

/** What an author may write for the capabilities of a tool: one, several or none. */
export type Requires = string | ReadonlyArray<string> | null | undefined

/** Always a list, in the author's order. */
export const requiredCapabilities = (requires: Requires): ReadonlyArray<string> =>
  requires === null || requires === undefined
    ? []
    : typeof requires === "string"
      ? [requires]
      : requires

/** What an agent was given: a fixed value, made before its first run. */
export interface Grants {
  readonly granted: ReadonlyArray<Claim>
  /** A grant without a scope covers nothing; otherwise it covers its name with any scope. */
  readonly default_deny: boolean
}

/** Freezes what is granted, so that nothing that runs can widen it. */
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
 * The first of the capabilities that no grant covers; undefined = all are covered. Without any grants, not even an empty
 * set of them, whatever is asked for is missing. A scope that climbs is missing whatever is granted (D4).
 */
export const uncoveredCapability = (
  grants: Grants | null,
  capabilities: ReadonlyArray<Capability>
): Capability | undefined =>
  capabilities.find((capability) => {
    if (scopeClimbs(capability)) return true
    const wanted = parseCapability(capability)
    return !(grants?.granted ?? []).some((grant) => covers(grant, wanted, grants!.default_deny))
  })

/** The refusal of a call; it names what is missing, so that an operator knows what to grant. */
export const capabilityDenied = (tool: string, missing: Capability): ToolPolicyError =>
  new ToolPolicyError({
    kind: "permission",
    reason: "CAPABILITY_DENIED",
    message: `"${tool.slice(0, 64)}" needs the capability "${missing.slice(0, 200)}", which ${scopeClimbs(missing) ? "nobody can be granted" : "this agent does not have"}.`
  })

const denial =
  /^"[^"]{1,64}" needs the capability "[^"]{1,200}", which (?:nobody can be granted|this agent does not have)\.$/

/**
 * Is it all the words of `capabilityDenied`, and no others? What stands in them are names that an author gave: a scope such
 * as `secrets.read:x` looks like a secret and is none.
 */
export const isCapabilityDenied = ({ kind, message, reason }: ToolFailure): boolean =>
  reason === "CAPABILITY_DENIED" && kind === "permission" && denial.test(message)

/** What an operator or an author does about a capability that is missing; a sentence without its full stop. */
export const grantFix = (missing: Capability, default_deny: boolean): string => {
  if (scopeClimbs(missing)) return 'Declare it without the ".." in its scope: no grant covers it'
  const wanted = parseCapability(missing)
  if (covers(wanted, wanted, default_deny)) return "Add it to capabilities"
  return wanted.scope === null
    ? "Declare it with a scope: under default_deny no grant covers one without"
    : "Add one whose glob matches it to capabilities: as a grant, its own brackets are a set"
}
