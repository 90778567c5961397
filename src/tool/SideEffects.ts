/**
 * A tool's side effects. From this one fact the terms of other systems are derived: Spectral's category, Stargraph's replay
 * policy, MCP's read-only hint and SemStreams' effect.
 */
import { Schema } from "effect"

/** What a call does to the world: nothing, it reads, it writes here, or it acts elsewhere. */
export const SideEffects = Schema.Literals(["none", "read", "write", "external"])
export type SideEffects = typeof SideEffects.Type

/** What a replay does instead of a call: a stub has to stand in, it fails, or the recorded result is given. */
export const ReplayPolicy = Schema.Literals(["must-stub", "fail-loud", "recorded-result"])
export type ReplayPolicy = typeof ReplayPolicy.Type

/** What a tool does, as Spectral classifies it. `suggest`: the tool only proposes something (`produces: "proposal"`). */
export const ToolCategory = Schema.Literals(["read", "suggest", "mutate"])
export type ToolCategory = typeof ToolCategory.Type

/** Whether a call runs, asks a person first, or is refused. */
export const Permission = Schema.Literals(["allow", "ask", "deny"])
export type Permission = typeof Permission.Type

export const isPermission = (value: unknown): value is Permission =>
  value === "allow" || value === "ask" || value === "deny"

/** When a mutation is approved: when it is called, or later, when its product is published. */
export const ApprovalGate = Schema.Literals(["at-call", "at-publication-gate"])
export type ApprovalGate = typeof ApprovalGate.Type

export const replayPolicyOf = (effects: SideEffects): ReplayPolicy =>
  effects === "none" || effects === "read" ? "recorded-result" : "must-stub"

export const categoryOf = (effects: SideEffects, produces?: "proposal"): ToolCategory =>
  produces === "proposal" ? "suggest" : effects === "none" || effects === "read" ? "read" : "mutate"

/**
 * The permission of a tool. Without a declared one, a mutation asks and all else is allowed; a mutation that is approved at
 * publication is allowed too.
 */
export const permissionOf = (spec: {
  readonly permission?: Permission
  readonly approval?: ApprovalGate
  readonly category: ToolCategory
}): Permission =>
  spec.permission ??
  (spec.category === "mutate" && spec.approval !== "at-publication-gate" ? "ask" : "allow")

/** MCP's `readOnlyHint`; null = the side effects are not declared, so nothing can be concluded. */
export const readOnlyHintOf = (declared: SideEffects | null | undefined): boolean | null =>
  declared === null || declared === undefined ? null : declared === "none" || declared === "read"

/** MCP's hints about a tool, as far as there are any. */
export interface EffectHints {
  readonly readOnlyHint?: unknown
  readonly destructiveHint?: unknown
  readonly openWorldHint?: unknown
}

/**
 * The side effects that hints claim: `read` if the tool is read-only and not destructive, `write` if it is not read-only and its
 * world is closed, `external` in all other cases.
 */
export const effectsOfHints = ({
  destructiveHint,
  openWorldHint,
  readOnlyHint
}: EffectHints): SideEffects => {
  if (readOnlyHint === true && destructiveHint !== true) return "read"
  return readOnlyHint === false && openWorldHint === false ? "write" : "external"
}
