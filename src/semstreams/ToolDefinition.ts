/**
 * A tool as SemStreams lists it for a loop's model: its schema, its category, and its effect on the world.
 */
import type { SideEffects } from "../tool/SideEffects.ts"
import type { ToolGroup } from "../tool/ToolGroup.ts"
import { groupOf } from "../tool/ToolGroup.ts"
import type { ToolSpec } from "../tool/ToolSpec.ts"

/** SemStreams' term for side effects. `unknown` = nothing was declared, which counts as `external_effect`. */
export type ToolEffect = "unknown" | "read_only" | "mutating" | "external_effect"

export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: ToolSpec["input_schema"]
  readonly category: ToolGroup
  readonly effect: ToolEffect
}

const effects: Readonly<Record<SideEffects, ToolEffect>> = {
  none: "read_only",
  read: "read_only",
  write: "mutating",
  external: "external_effect"
}

export const toolEffectOf = (declared: SideEffects | null | undefined): ToolEffect =>
  declared === null || declared === undefined ? "unknown" : effects[declared]

export const definitionOf = (spec: ToolSpec): ToolDefinition => ({
  name: spec.name,
  description: spec.description,
  parameters: spec.input_schema,
  category: groupOf(spec),
  effect: toolEffectOf(spec.side_effects)
})
