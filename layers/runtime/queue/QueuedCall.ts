/**
 * A call from a queue as the gate serves it: there is no run here, only what its message says of one. Its dispatch is
 * written down in the queue, where the loop of a run would write it into the journal.
 */
import { Context, Effect, Tracer } from "effect"
import { ConversationId, rootFrame } from "../../../src/Ids.ts"
import type { CallId, RunId } from "../../../src/Ids.ts"
import type { RunAccepted } from "../../../src/run/RunEvent.ts"
import { RunLimits } from "../../../src/run/RunLimits.ts"
import type { CallPhase, CallState, RunState } from "../../../src/run/RunState.ts"
import { make as noState } from "../../../src/run/RunState.ts"
import { spanOf } from "../../../src/run/Traceparent.ts"
import type { CallMessage } from "../../../src/semstreams/CallMessage.ts"
import type { ResidentAgent } from "../../../services/AgentDirectory.ts"
import type { ToolDelivery } from "../../../services/ToolQueue.ts"
import type { BegunSideEffect, CallHost, ActorContext } from "../tool/CallHost.ts"
import type { ReportFault } from "../tool/Faults.ts"

/** What the sender says beside SemStreams' fields; from another sender than ours all of it may be missing. */
export interface SenderTold {
  /** The call's own id in its run. */
  readonly call?: string
  readonly principal?: string
  /** `allow`: the sender's policy lets the call run without asking anybody. */
  readonly permission?: string
  /** The span that calls (W3C Trace Context). */
  readonly traceparent?: string
}

const textIn = (metadata: CallMessage["metadata"], name: keyof SenderTold): string | undefined => {
  const value = metadata?.[name]
  return typeof value === "string" ? value : undefined
}

const acceptedOf = (
  { tenant }: ToolDelivery,
  call: CallMessage,
  agent: ResidentAgent
): RunAccepted => ({
  _tag: "RunAccepted",
  tenant,
  address: { agent: agent.spec.name, key: ConversationId.make("queue") },
  conversation: ConversationId.make("queue"),
  message: "",
  by: textIn(call.metadata, "principal") ?? call.loop_id ?? "queue",
  trace_id: call.trace_id ?? "",
  limits: RunLimits.make({}),
  pins: agent.pins
})

/** An approval is the sender's: one that stands is a dispatch that the sender has journaled. */
const phaseOf = (call: CallMessage): CallPhase =>
  (call.approved_by ?? "") !== "" || textIn(call.metadata, "permission") === "allow"
    ? { _tag: "Dispatched", key: call.id, epoch: 0, on_loss: "unknown" }
    : { _tag: "Proposed" }

/** What a delivery's queue does for it. */
export interface Line {
  /** Writes down that the body is about to act; false where the call has passed to another worker. */
  readonly begin: Effect.Effect<boolean>
  /** Shows whoever waits for the call what it has so far. */
  readonly show: (result: unknown) => void
}

/** What the body runs over: beneath the span that calls, where its sender says which that is. */
const within = (context: ActorContext, call: CallMessage): ActorContext => {
  const traceparent = textIn(call.metadata, "traceparent")
  const span = traceparent === undefined ? undefined : spanOf(traceparent)
  return span === undefined ? context : Context.add(context, Tracer.ParentSpan, span)
}

export const make = (
  delivery: ToolDelivery,
  call: CallMessage,
  agent: ResidentAgent,
  context: ActorContext,
  line: Line,
  report: ReportFault
): CallHost => {
  const state: RunState = noState()
  const args = call.arguments ?? {}
  const own: CallState = {
    id: (textIn(call.metadata, "call") ?? call.id) as CallId,
    frame: rootFrame,
    step: 0,
    index: 0,
    proposed: { model_id: call.id, name: call.name, arguments: args },
    arguments: args,
    modified: undefined,
    approved_by: call.approved_by,
    phase: phaseOf(call)
  }
  return {
    run: (call.loop_id ?? call.id) as RunId,
    accepted: acceptedOf(delivery, call, agent),
    agent,
    context: within(context, call),
    call: () => own,
    state,
    begunSideEffects: new Map<string, BegunSideEffect>(),
    reportFault: (what, exception, tool) =>
      report(what, exception, {
        run_id: call.loop_id,
        call_id: own.id,
        tool,
        tenant: delivery.tenant,
        trace_id: call.trace_id
      }),
    show: line.show,
    dispatch: () => line.begin,
    // Tools that need a run's transaction are refused when the worker starts.
    transact: () => Effect.die(new Error("a call from a queue has no transaction"))
  }
}
