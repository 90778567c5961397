/** An agent whose tools are configurations: operations of the reference platform, its gateway and a stored workflow. */
import { Effect, Redacted } from "effect"
import * as ConfiguredTools from "../../../layers/calls/ConfiguredTools.ts"
import type { Options } from "../../../layers/calls/ConfiguredTools.ts"
import { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import { platform_ops } from "../../../src/call/PlatformOps.ts"
import type { ToolConfig } from "../../../src/call/ToolConfig.ts"
import { AgentName } from "../../../src/value/Ids.ts"
import type { HostPlatform } from "./HostPlatform.ts"
import { keeper_variant, keeper_workflow } from "./Seeds.ts"

/** The operations of the catalogue, without the older name of one. */
const ops = platform_ops.map(({ op }) => op).filter((op) => op !== "find_capabilities")

const configs: ReadonlyArray<ToolConfig> = [
  ...ops.map((op) => ({ type: "platform" as const, op })),
  {
    type: "gateway",
    integration: "github",
    action: "create_issue",
    connection: "my-gh",
    name: "create_issue",
    description: "Opens an issue in the repository.",
    input_schema: {
      type: "object",
      properties: { title: { type: "string", minLength: 1 } },
      required: ["title"],
      additionalProperties: false
    }
  },
  { type: "reference", ref_by: "environment", slug: "summarize", environment: "production" }
]

export const keeper = AgentSpec.make({
  name: AgentName.make("keeper"),
  instructions:
    "You keep a workflow of the platform. Read it with query_workflows before you commit a revision of it.",
  tools: [...ops, "create_issue", "summarize"]
})

/** What a host gives to `toolConfigs`. The callback's host may be dialled, though it is on loopback, because it is named. */
export const toolConfigs = (
  { endpoint, latest, reference }: HostPlatform,
  authorization: string
): Options => ({
  tools: configs,
  // A schedule is removed by DELETE, and the workflow is renamed by PUT.
  profile: "extended",
  callback: { endpoint, authorization: Redacted.make(authorization) },
  identity: {
    workflow: {
      artifact: { id: keeper_workflow },
      variant: { id: keeper_variant },
      is_draft: false
    }
  },
  // Asked before a person is, so that a commit is refused where another came while the person thought.
  context: () => {
    const latest_revision_id = latest(keeper_variant)
    return { workflow: latest_revision_id === undefined ? {} : { latest_revision_id } }
  },
  references: reference
})

export const tools = (platform: HostPlatform, authorization: string) =>
  Effect.suspend(() => ConfiguredTools.tools(toolConfigs(platform, authorization)))
