/**
 * The operator's policy for all tools: data that is read once, when the runtime is built. The default is the empty policy, under
 * which the categories of the tools decide.
 */
import { Context } from "effect"
import type { Policy } from "../src/permission/Policy.ts"
import { no_policy } from "../src/permission/Policy.ts"

/** The policy of this process. By default it adds nothing to what tools say. */
export const PermissionPolicy = Context.Reference<Policy>("troupe/services/PermissionPolicy", {
  defaultValue: () => no_policy
})
