/**
 * A policy before anything is judged by it: one that cannot be right ends the start, and what of it has no effect is said
 * aloud, the louder where it would have refused.
 */
import { Effect } from "effect"
import type { Policy } from "../../src/permission/Policy.ts"
import type { MisdeclaredPolicy } from "../../src/permission/PolicyCheck.ts"
import { check, straysOf } from "../../src/permission/PolicyCheck.ts"
import type { ToolRegistry } from "../../services/ToolRegistry.ts"

export const checked = Effect.fnUntraced(function* (
  policy: Policy,
  { all }: ToolRegistry["Service"]
): Effect.fn.Return<void, MisdeclaredPolicy> {
  yield* check(policy)
  for (const { message, permission } of straysOf(policy, all)) {
    yield* permission === "deny" ? Effect.logError(message) : Effect.logWarning(message)
  }
})
