/**
 * The tools with which the Spectral Agent changes a workspace. Each asks the customer for approval, and changes only what its
 * arguments show.
 */
import { Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import { ToolError } from "../../error/ToolError.ts"
import type { Governance } from "../../tool/GovernedTool.ts"
import { ChangesetId, FrameworkId } from "./contracts/Fact.ts"
import { FrameworkChange } from "./Framework.ts"
import { Configuration, ConfigurationChange } from "./Workspace.ts"

const failure = ToolError

const ApplyChangeset = Tool.make("apply_changeset", {
  description:
    "Applies a change set that a reviewer has approved. Look at its detail first; one that was not reviewed cannot be applied.",
  parameters: Schema.Struct({ changeset_id: ChangesetId }),
  success: Schema.Struct({
    changeset_id: ChangesetId,
    status: Schema.Literal("applied"),
    applied_by: Schema.String
  }),
  failure
})

const UpdateFramework = Tool.make("update_framework", {
  description:
    "Sets thresholds of a framework's rubrics, or turns rubrics on or off: a new version of the framework. Give the version that get_framework_config showed, and the reason.",
  parameters: FrameworkChange,
  success: Schema.Struct({ framework_id: FrameworkId, version: Schema.Int }),
  failure
})

const ChangeConfiguration = Tool.make("change_configuration", {
  description:
    "Changes the workspace's configuration: autonomy_mode, scan_schedule, sample_share. Give the configuration_version that get_framework_config showed, and the reason.",
  parameters: ConfigurationChange,
  success: Schema.Struct({ version: Schema.Int, configuration: Configuration }),
  failure
})

export const ChangeTools = Toolkit.make(ApplyChangeset, UpdateFramework, ChangeConfiguration)

// Each change is written in the transaction of the call's event, so it is made exactly once.
const change = {
  namespace: "platform",
  side_effects: "write",
  transactional: true,
  timeout_ms: 5_000,
  // The customer whose message asked for the change, or a member of the staff.
  approvers: ["customer", "approver", "operator"]
} as const

export const changeGovernance = {
  apply_changeset: {
    ...change,
    effect_description: "Marks an approved change set as applied: its changes take effect."
  },
  update_framework: {
    ...change,
    effect_description: "Makes a new version of a framework, by which later scans are judged."
  },
  change_configuration: {
    ...change,
    effect_description: "Changes how often systems are scanned and what follows from a verdict."
  }
} as const satisfies Record<string, Governance>
