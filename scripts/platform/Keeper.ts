/** An agent whose tools are configurations: operations of the reference platform, its gateway and a stored workflow. */
import { Effect, Redacted } from "effect"
import * as ConfiguredTools from "../../layers/calls/ConfiguredTools.ts"
import type { Options } from "../../layers/calls/ConfiguredTools.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { platform_ops } from "../../src/call/PlatformOps.ts"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import { AgentName } from "../../src/Ids.ts"
import type { HostPlatform } from "./HostPlatform.ts"
import { keeper_variant } from "./Seeds.ts"

const configs: ReadonlyArray<ToolConfig> = [
  ...platform_ops.map(({ op }) => ({ type: "platform" as const, op })),
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
  tools: [...platform_ops.map(({ op }) => op), "create_issue", "summarize"]
})

/** Runs and calls whose revision is kept. */
const known_max = 1_000

/**
 * The latest revision as each commit of a run has to find it. That of its first is what was the latest at the run's first
 * call: where another revision is committed while a person thinks, the approved one is refused. A call that is sent again
 * names what it named before.
 */
const revisions = (latest: () => string | undefined) => {
  const known = new Map<string, string | undefined>()
  const keep = (of: string, revision: string | undefined) => {
    const [oldest] = known.keys()
    if (known.size >= known_max && oldest !== undefined) known.delete(oldest)
    known.set(of, revision)
    return revision
  }
  return {
    begin: (run: string): void => {
      keep(run, latest())
    },
    of: (run: string, call: string): string | undefined => {
      const of = `${run}/${call}`
      if (known.has(of)) return known.get(of)
      const first = known.get(run)
      known.delete(run)
      return keep(of, first ?? latest())
    }
  }
}

/** What a host gives to `toolConfigs`. The callback's host may be dialled, though it is on loopback, because it is named. */
export const toolConfigs = (
  { endpoint, latest, reference }: HostPlatform,
  authorization: string
): Options => {
  const known = revisions(() => latest(keeper_variant))
  return {
    tools: configs,
    // A schedule is removed by DELETE.
    profile: "extended",
    callback: {
      endpoint,
      // Asked once for each run, before its first request.
      authorization: ({ run }) => {
        known.begin(run)
        return Redacted.make(authorization)
      }
    },
    identity: { workflow: { variant: { id: keeper_variant } } },
    context: ({ call, run }) => {
      const latest_revision_id = known.of(run, call)
      return { workflow: latest_revision_id === undefined ? {} : { latest_revision_id } }
    },
    references: reference
  }
}

export const tools = (platform: HostPlatform, authorization: string) =>
  Effect.suspend(() => ConfiguredTools.tools(toolConfigs(platform, authorization)))
