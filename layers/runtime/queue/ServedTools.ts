/**
 * Which tools a worker runs from a queue, and the agent that stands for the worker at the gate.
 */
import { Effect, Schema } from "effect"
import { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import { AgentName } from "../../../src/value/Ids.ts"
import { remote_provider } from "../../../src/queue/ToolMessage.ts"
import { encodeToolSpec } from "../../../src/tool/ToolSpec.ts"
import { announced_length_max, announced_tools_max } from "../../../services/ToolQueue.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"
import type { AgentTool } from "../tool/CallHost.ts"

export interface WorkerOptions {
  /** Registry keys, or plain names where those are unique. Absent = every tool that can run from a queue. */
  readonly tools?: ReadonlyArray<string>
  /** What they may touch. Absent = a tool that requires a capability is refused. */
  readonly capabilities?: ReadonlyArray<string>
  /** Appended to the names of its consumers. */
  readonly consumer_name_suffix?: string
  /** Who runs the tools, in what the worker offers. Absent = `worker`. */
  readonly provider?: string
}

/** A tool that no worker can run. The worker does not start. */
export class ToolNotQueueable extends Schema.TaggedError<ToolNotQueueable>()("ToolNotQueueable", {
  tool: Schema.String,
  /** Of the tool, or `serve` of the worker. */
  field: Schema.String,
  /** Why the tool cannot run from a queue. */
  message: Schema.String
}) {}

/** Which field stands in the way, why, and what to change. */
type Obstacle = readonly [field: string, problem: string, fix: string]

const too_many: Obstacle = [
  "serve",
  `a worker offers at most ${announced_tools_max} tools, and ${announced_length_max} characters of them as JSON`,
  "Name fewer in serve, and start another worker for the rest"
]

const no_such_tool: Obstacle = ["serve", "there is no such tool", "Name one of those in tools"]

const obstacleOf = ({ client, context, provider, spec }: AgentTool): Obstacle | undefined =>
  client !== undefined
    ? [
        "type",
        "the client of its conversation gives its results, and a worker has no conversation",
        "Give the tool to the runtime"
      ]
    : context !== undefined
      ? [
          "context",
          "what a message tells the tools of its run is not sent to a queue",
          "Give the runtime the tool with its body, or drop context"
        ]
      : spec.transactional
        ? [
            "transactional",
            "its body runs in the transaction of its run, which is in another process",
            "Give the runtime the tool with its body, or drop transactional"
          ]
        : spec.idempotency?.scope === "conversation"
          ? [
              "idempotency.scope",
              "which conversation a call is of is not sent to a queue",
              "Give the runtime the tool with its body, or set scope to run or tenant"
            ]
          : provider === remote_provider
            ? [
                "provider",
                "it sends its calls to a queue itself",
                "Give the worker the tool with its body, and keep remote for the runtime"
              ]
            : undefined

const notQueueable = (tool: string, [field, problem, fix]: Obstacle): ToolNotQueueable =>
  new ToolNotQueueable({
    tool,
    field,
    message: `tool "${tool}", field "${field}": ${problem}. ${fix}.`
  })

/** Fails with the first tool that a queue takes no offer of beside those before it. */
const checkOffer = Effect.fnUntraced(function* (tools: Iterable<AgentTool>) {
  let count = 0
  let length = 0
  for (const { key, spec } of new Set(tools)) {
    const encoded = yield* Effect.orDie(encodeToolSpec(spec))
    length += JSON.stringify(encoded).length + 2
    if (++count > announced_tools_max || length > announced_length_max) {
      return yield* notQueueable(key, too_many)
    }
  }
})

/** The worker's tools by each of their names. One that cannot run fails where it was named, and is else left out with a warning. */
export const servedTools = Effect.fnUntraced(function* (options: WorkerOptions) {
  const registry = yield* ToolRegistry
  const tools = new Map<string, AgentTool>()
  const add = (tool: AgentTool) => {
    tools.set(tool.key, tool)
    if (registry.get(tool.spec.name) === tool) tools.set(tool.spec.name, tool)
  }
  for (const name of options.tools ?? []) {
    const tool = registry.get(name)
    if (tool === undefined) return yield* notQueueable(name, no_such_tool)
    const obstacle = obstacleOf(tool)
    if (obstacle !== undefined) return yield* notQueueable(name, obstacle)
    add(tool)
  }
  if (options.tools === undefined) {
    for (const tool of registry.list()) {
      const obstacle = obstacleOf(tool)
      if (obstacle === undefined) add(tool)
      else yield* Effect.logWarning(`not served: ${notQueueable(tool.key, obstacle).message}`)
    }
  }
  yield* checkOffer(tools.values())
  return tools
})

/** The agent of every call that comes from a queue: the tools and capabilities of the worker, and nothing else. */
export const workerAgent = (
  tools: ReadonlyMap<string, AgentTool>,
  { capabilities }: WorkerOptions
): ResolvedAgent => ({
  spec: AgentSpec.make({
    name: AgentName.make("tool-worker"),
    instructions: "",
    ...(capabilities === undefined ? undefined : { capabilities })
  }),
  tools,
  specialists: new Map(),
  modelTools: [],
  pins: { definition: "", tools: "" }
})
