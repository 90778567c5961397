/**
 * Whether an agent may hand its conversation over: a customer's goes to agents for customers only. How often one run may do
 * so is decided with the run (`RunDecider`).
 */
import { Effect, Exit, Schema } from "effect"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { ToolPolicyError, ToolTransientError } from "../../../src/error/ToolError.ts"
import type { AgentName } from "../../../src/value/Ids.ts"
import type { ConversationStore } from "../../../services/ConversationStore.ts"
import type { CallHost, StartedWork } from "./CallHost.ts"
import { callFinished } from "./CallOutcome.ts"
import { failedOutcome } from "./FailedOutcome.ts"
import { invalidArguments, refuseCall } from "./GateRefusal.ts"

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

/** A conversation that is not known counts as a customer's. */
export const make =
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
export const startHandoff = (
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
