/**
 * What a caller may touch, as a tool asks for it: `name` or `name:scope`, split at the first colon. A name matches
 * exactly; a granted scope is a glob. An empty scope is none.
 */
import { Schema } from "effect"

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
export const claimOf = (capability: Capability): Claim => {
  const colon = capability.indexOf(":")
  if (colon === -1) return { name: capability, scope: null }
  const scope = capability.slice(colon + 1)
  return { name: capability.slice(0, colon), scope: scope === "" ? null : scope }
}

/** What an author may write for the capabilities of a tool: one, several or none. */
export type Requires = string | ReadonlyArray<string> | null | undefined

/** Always a list, in the author's order. */
export const required = (requires: Requires): ReadonlyArray<string> =>
  requires === null || requires === undefined
    ? []
    : typeof requires === "string"
      ? [requires]
      : requires
