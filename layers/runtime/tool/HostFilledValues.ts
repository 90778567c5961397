/**
 * What the host of the service fills in for a call. It is asked once for each call: what the journal says of it counts from then
 * on, however long a person thinks, and also after a restart.
 */
import { Effect } from "effect"
import type { ToolError } from "../../../src/error/ToolError.ts"
import type { HostValues } from "../../../src/run/RunEvent.ts"
import type { BoundRun } from "../../../src/tool/GovernedTool.ts"
import type { AgentTool, CallHost } from "./CallHost.ts"

/** The run of a call, as its tool is told of it before the call has a body. */
const boundRunOf = ({ accepted, run }: CallHost): BoundRun => {
  const { by, conversation, tenant, trace_id } = accepted
  return { run, conversation, tenant, principal: by, trace_id }
}

/** What an earlier call of the run was given, where that holds for all of them. */
const hostValuesOfRun = ({ state }: CallHost, { filledOncePerRun, key }: AgentTool) => {
  if (filledOncePerRun === undefined) return undefined
  for (const { filled } of state.calls.values()) if (filled?.tool === key) return filled
  return undefined
}

/** Undefined where the tool is filled in by nobody. Another version of the tool may need other values: it asks anew. */
export const hostValuesFor = (
  host: CallHost,
  tool: AgentTool
): Effect.Effect<HostValues | undefined, ToolError> => {
  const { fillIn, key } = tool
  if (fillIn === undefined) return Effect.undefined
  const { filled, id } = host.call()
  const known = host.filled ?? filled
  if (known?.tool === key) return Effect.succeed(known)
  const before = hostValuesOfRun(host, tool)
  if (before !== undefined) return Effect.succeed((host.filled = before))
  return Effect.map(
    fillIn({ ...boundRunOf(host), call: id }),
    (values) => (host.filled = { tool: key, values })
  )
}
