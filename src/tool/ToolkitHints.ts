/**
 * What a tool of `effect/ai` says about itself that governs it here: its hints become side effects, and its `needsApproval` a
 * permission.
 */
import { Cause, Context, Effect, Exit, Result } from "effect"
import * as Tool from "effect/ai/Tool"
import type { CallPermission } from "../permission/Policy.ts"
import { ignoreRejection } from "../value/IgnoredRejection.ts"
import type { CallGovernance } from "./Governance.ts"
import { effectsOfHints } from "./SideEffects.ts"

/** The value of a hint where its author gave one: its default says nothing about the tool. */
const given = ({ annotations }: Tool.Any, hint: Context.Reference<boolean>): boolean | undefined =>
  annotations.mapUnsafe.has(hint.key) ? Context.get(annotations, hint) : undefined

/**
 * The side effects by the tool's hints: without any a call is `external` and waits for a person. `Tool.Idempotent` of a write lets a
 * lost call be sent again, because the author of the tool said so.
 */
export const effectsOfTool = (
  tool: Tool.Any
): Pick<CallGovernance, "idempotent" | "side_effects"> => {
  const side_effects = effectsOfHints({
    readOnlyHint: given(tool, Tool.Readonly) ?? false,
    destructiveHint: given(tool, Tool.Destructive),
    openWorldHint: given(tool, Tool.OpenWorld)
  })
  const isRepeatable = side_effects !== "read" && given(tool, Tool.Idempotent) === true
  return isRepeatable ? { side_effects, idempotent: true } : { side_effects }
}

/** Throws where it is read: what the gate does not know must not be taken for something else. */
const unknown_call = {
  get toolCallId(): never {
    throw new TypeError("the gate decides before the call has an id")
  },
  get messages(): never {
    throw new TypeError("the gate does not read the conversation")
  }
}

/** The value of an Effect that ends at once; a failure for any other. */
const endedAtOnce = (effect: Effect.Effect<unknown>): unknown => {
  const exit = Effect.runSyncExit(effect)
  if (Exit.isSuccess(exit)) return exit.value
  const error = Cause.squash(exit.cause)
  if (Cause.isAsyncFiberError(error)) error.fiber.interruptUnsafe()
  return undefined
}

/** Whether a call needs approval: `false` is the only answer that lets it run, and has to be given at once. */
const isNeeded = (needs: Tool.NeedsApprovalFunction<never>, args: unknown): boolean => {
  const said = Result.try((): unknown => {
    const answer: unknown = needs(args as never, unknown_call)
    return Effect.isEffect(answer) ? endedAtOnce(answer as Effect.Effect<unknown>) : answer
  })
  if (Result.isFailure(said)) return true
  ignoreRejection(said.success)
  return said.success !== false
}

/**
 * The permission that `needsApproval` stands for: `true` asks for every call, a function decides each by its arguments. A person is
 * asked too where the function reads the conversation, throws, or gives an Effect that fails or waits. `false` says nothing, like its
 * absence.
 */
export const approvalOfTool = ({
  needsApproval: needs
}: Tool.Any): Pick<CallGovernance, "needs_approval" | "permission"> => {
  if (typeof needs !== "function") return needs === true ? { needs_approval: true } : {}
  const permission: CallPermission = (args) => (isNeeded(needs, args) ? "ask" : "allow")
  return { permission }
}
