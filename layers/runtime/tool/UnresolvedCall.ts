/**
 * A call of a name under which its agent has no tool: it opens a frame of a specialist, hands the conversation over, or is
 * refused.
 */
import { Exit, Schema, Effect } from "effect"
import type { AgentName } from "../../../src/value/Ids.ts"
import { notAllowed } from "../../../src/tool/Registry.ts"
import { groupDenied } from "../../../src/tool/ToolGroup.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { ToolPolicyError, ToolTransientError } from "../../../src/error/ToolError.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { ToolRegistry } from "../../../services/ToolRegistry.ts"
import type { ConversationStore } from "../../../services/ConversationStore.ts"
import type { CallHost, StartedWork } from "./CallHost.ts"
import { invalidArguments, refuseCall, unknownTool } from "./GateRefusal.ts"
import { callFinished } from "./CallOutcome.ts"
import { failedOutcome } from "./FailedOutcome.ts"

/** Why the conversation of a call may not go on with this agent; undefined = it may. */
export type HandoffRefusal = (host: CallHost, to: AgentName) => Effect.Effect<ToolError | undefined>

export const not_for_customers = "NOT_FOR_CUSTOMERS"

export const notForCustomers = (to: AgentName) =>
  new ToolPolicyError({
    kind: "permission",
    reason: not_for_customers,
    message: `"${to}" does not speak with customers, and this conversation is one with a customer.`
  })

const conversationUnreadable = () =>
  new ToolTransientError({
    kind: "internal",
    reason: "HANDOFF_UNCHECKED",
    message: "whose conversation it is cannot be read now: go on with it yourself"
  })

/** A customer's conversation goes to agents for customers only; one that is not known counts as a customer's. */
export const makeHandoffRefusal =
  (
    conversations: ConversationStore["Service"] | undefined,
    customer_agents: ReadonlyArray<AgentName>
  ): HandoffRefusal =>
  ({ accepted }, to) => {
    if (customer_agents.includes(to)) return Effect.undefined
    if (accepted.roles?.includes("customer") === true || conversations === undefined) {
      return Effect.succeed(notForCustomers(to))
    }
    return Effect.match(conversations.get(accepted.tenant, accepted.conversation), {
      onFailure: conversationUnreadable,
      onSuccess: (found) =>
        found === undefined || found.initiated_by === "customer" ? notForCustomers(to) : undefined
    })
  }

const decodeNote = Schema.decodeUnknownExit(
  Schema.Struct({ note: Schema.optionalKey(Schema.String) }),
  { onExcessProperty: "error" }
)

/** A call that hands the conversation over, or why it does not. */
const startHandoff = (
  refusalOf: HandoffRefusal | undefined,
  host: CallHost,
  to: AgentName
): StartedWork => {
  const { arguments: given, id } = host.call()
  const note = decodeNote(given)
  if (Exit.isFailure(note)) return refuseCall(id, invalidArguments(note))
  const from = host.agent.spec.name
  return {
    effect: Effect.map(refusalOf?.(host, to) ?? Effect.undefined, (refused) =>
      refused === undefined
        ? { _tag: "HandsOff", call: id, from, to }
        : callFinished(id, failedOutcome(refused))
    )
  }
}

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
  const { agent } = host
  const {
    id,
    proposed: { name }
  } = host.call()
  const specialist = agent.specialists.get(name)
  if (specialist !== undefined) return delegate(services, host, specialist)
  const to = agent.handoffs?.get(name)
  if (to !== undefined) return startHandoff(services.handoffRefusal, host, to)
  if (agent.withheld?.has(name) === true) return refuseCall(id, groupDenied(name))
  return services.registry.get(name) === undefined
    ? refuseCall(id, unknownTool(name, host))
    : refuseCall(id, notAllowed(name))
}
