/**
 * What the operator says of every tool's permission: data, given beneath the runtime and taken when it is built. Without
 * it the tools' own categories decide.
 */
import { Context } from "effect"
import type { Policy } from "../src/permission/Policy.ts"
import { no_policy } from "../src/permission/Policy.ts"

export const PermissionPolicy = Context.Reference<Policy>("troupe/services/PermissionPolicy", {
  defaultValue: () => no_policy
})
