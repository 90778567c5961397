/**
 * What a tool does to the world: the one fact from which the words of other systems are derived, which are Spectral's
 * category, Stargraph's replay policy, MCP's read-only hint and SemStreams' effect.
 */
import { Schema } from "effect"

export const SideEffects = Schema.Literals(["none", "read", "write", "external"])
export type SideEffects = typeof SideEffects.Type

export const ReplayPolicy = Schema.Literals(["must-stub", "fail-loud", "recorded-result"])
export type ReplayPolicy = typeof ReplayPolicy.Type

/** `suggest` is a tool that only proposes (`produces: "proposal"`). */
export const ToolCategory = Schema.Literals(["read", "suggest", "mutate"])
export type ToolCategory = typeof ToolCategory.Type

export const Permission = Schema.Literals(["allow", "ask", "deny"])
export type Permission = typeof Permission.Type

export const isPermission = (value: unknown): value is Permission =>
  value === "allow" || value === "ask" || value === "deny"

/** When a mutation is approved: at its call, or later, when its product is published. */
export const ApprovalGate = Schema.Literals(["at-call", "at-publication-gate"])
export type ApprovalGate = typeof ApprovalGate.Type

export const replayPolicyOf = (effects: SideEffects): ReplayPolicy =>
  effects === "none" || effects === "read" ? "recorded-result" : "must-stub"

export const categoryOf = (effects: SideEffects, produces?: "proposal"): ToolCategory =>
  produces === "proposal" ? "suggest" : effects === "none" || effects === "read" ? "read" : "mutate"

/** Only a mutation asks, unless the tool declares a permission or is approved at publication. */
export const permissionOf = (spec: {
  readonly permission?: Permission
  readonly approval?: ApprovalGate
  readonly category: ToolCategory
}): Permission =>
  spec.permission ??
  (spec.category === "mutate" && spec.approval !== "at-publication-gate" ? "ask" : "allow")

/** MCP's hint; null = nothing is declared, and nothing follows. */
export const readOnlyHintOf = (declared: SideEffects | null | undefined): boolean | null =>
  declared === null || declared === undefined ? null : declared === "none" || declared === "read"
