/**
 * A call of a name under which its agent has no tool: it opens a frame of a specialist, hands the conversation over, or is
 * refused.
 */
import { Exit, Schema } from "effect"
import type { AgentName } from "../../../src/value/Ids.ts"
import { notAllowed } from "../../../src/tool/Registry.ts"
import { groupDenied } from "../../../src/tool/ToolGroup.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { ToolRegistry } from "../../../services/ToolRegistry.ts"
import type { CallHost, StartedWork } from "./CallHost.ts"
import type { HandoffRefusal } from "./Handoffs.ts"
import { startHandoff } from "./Handoffs.ts"
import { invalidArguments, refuseCall, unknownTool } from "./GateRefusal.ts"

export interface UnresolvedServices {
  /** Absent = every declared handoff is allowed. */
  readonly handoffRefusal?: HandoffRefusal
  readonly registry: ToolRegistry["Service"]
  /** The agents of other frames. Absent = only the call's own agent is known. */
  readonly agentOf?: (name: string) => ResolvedAgent | undefined
}

const decodeTask = Schema.decodeUnknownExit(
  Schema.Struct({ task: Schema.String.check(Schema.isMinLength(1)) }),
  { onExcessProperty: "error" }
)

const delegate = (
  { agentOf }: UnresolvedServices,
  host: CallHost,
  agent: AgentName
): StartedWork => {
  const { arguments: given, id } = host.call()
  const takes = agentOf?.(agent)?.takes
  const args =
    takes === undefined
      ? decodeTask(given)
      : Exit.map(takes(given), () => ({ task: JSON.stringify(given) }))
  return Exit.isFailure(args)
    ? refuseCall(id, invalidArguments(args))
    : { effect: Exit.succeed({ _tag: "Delegates", call: id, agent, input: args.value.task }) }
}

export const startUnresolved = (services: UnresolvedServices, host: CallHost): StartedWork => {
  const { accepted, agent } = host
  const {
    id,
    proposed: { name }
  } = host.call()
  const specialist = agent.specialists.get(name)
  if (specialist !== undefined) return delegate(services, host, specialist)
  const to = agent.handoffs?.get(name)
  if (to !== undefined) return startHandoff(services.handoffRefusal, host, to)
  const group = agent.withheld?.get(name)
  if (group !== undefined) return refuseCall(id, groupDenied(name, group, accepted.roles))
  return services.registry.get(name) === undefined
    ? refuseCall(id, unknownTool(name, host))
    : refuseCall(id, notAllowed(name))
}
