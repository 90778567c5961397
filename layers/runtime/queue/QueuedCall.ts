/**
 * A call from a queue as the host that the gate expects: there is no run in this process, only what the message says of
 * one. A dispatch is recorded in the queue, where a run's loop would append it to the journal.
 */
import { Context, Effect, Option, References, Schema, Tracer } from "effect"
import { ConversationId, rootFrame } from "../../../src/value/Ids.ts"
import type { CallId, RunId } from "../../../src/value/Ids.ts"
import { NestedRuns } from "../../../src/run/NestedRuns.ts"
import type { RunAccepted } from "../../../src/run/RunEvent.ts"
import { RunLimits } from "../../../src/run/RunLimits.ts"
import type { CallPhase, CallState } from "../../../src/run/RunState.ts"
import { fold } from "../../../src/run/RunFold.ts"
import { spanOf } from "../../../src/run/Nesting.ts"
import type { CallMessage } from "../../../src/queue/CallMessage.ts"
import { executeSubject } from "../../../src/queue/CallMessage.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import { AgentMemory } from "../../../services/AgentMemory.ts"
import type { ToolDelivery } from "../../../services/ToolQueue.ts"
import { isRepeatable } from "../../../src/tool/ToolSpec.ts"
import type { BegunSideEffect, CallHost, ActorContext, AgentTool } from "../tool/CallHost.ts"
import type { ReportFault } from "../tool/FaultReport.ts"

/** What the sender puts into `metadata`; a sender other than this runtime may leave out all of it. */
interface SenderMetadata {
  /** The call's own id in its run. */
  readonly call?: string
  readonly principal?: string
  /** `allow`: the sender's policy lets the call run without an approval. */
  readonly permission?: string
  /** Whether the sender may send the call again after a loss. */
  readonly repeatable?: boolean
  /** The span that calls (W3C Trace Context). */
  readonly traceparent?: string
  /** The runs that the call may start: `NestedRuns`. */
  readonly nested?: unknown
}

const decodeNested = Schema.decodeUnknownOption(NestedRuns)

/** Of a sender that says nothing, a run that no other has started, with nothing spent. */
const nestedIn = ({ metadata }: CallMessage): { readonly nested?: NestedRuns } =>
  Option.match(decodeNested(metadata?.["nested"]), {
    onNone: () => ({}),
    onSome: (nested) => ({ nested })
  })

const textIn = (
  metadata: CallMessage["metadata"],
  name: keyof SenderMetadata
): string | undefined => {
  const value = metadata?.[name]
  return typeof value === "string" ? value : undefined
}

/** May one of sender and worker's tool repeat the call, and the other not? Then a side effect could happen twice. */
export const isDeclaredUnlike = (
  { metadata }: CallMessage,
  tool: AgentTool | undefined
): boolean => {
  const repeatable = metadata?.["repeatable"]
  return typeof repeatable === "boolean" && tool !== undefined
    ? repeatable !== isRepeatable(tool.spec)
    : false
}

const runAcceptedOf = (
  { tenant }: ToolDelivery,
  call: CallMessage,
  agent: ResolvedAgent
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

/** Approvals are the sender's: a call that has one was dispatched in the sender's journal. */
const phaseOf = (call: CallMessage): CallPhase =>
  (call.approved_by ?? "") !== "" || textIn(call.metadata, "permission") === "allow"
    ? { _tag: "Dispatched", key: call.id, epoch: 0, on_loss: "unknown" }
    : { _tag: "Proposed" }

/** What the queue does for a delivery while its body runs. */
export interface DeliveryHooks {
  /** Records that the body is about to act; false where the call has passed to another worker. */
  readonly begin: Effect.Effect<boolean>
  /** Shows a preliminary result to those who wait for the call. */
  readonly show: (result: unknown) => void
}

/** A worker has no actor, so a body that remembers or recalls dies. */
export const no_memory: ActorContext = (() => {
  const none = Effect.die(new Error("a tool that runs from a queue has no actor's memory"))
  const memory = AgentMemory.of({
    remember: () => none,
    recall: () => none,
    get: () => none,
    list: () => none,
    undo: () => none,
    endRun: () => none,
    endConversation: none
  })
  return AgentMemory.context(memory)
})()

/** What each line of the log about a delivery says, those of its body among them. */
export const logAnnotationsOf = ({ id, tool }: ToolDelivery) => ({
  call_id: id,
  subject: executeSubject(tool)
})

/** The context of the body: its span is a child of the sender's span, where the message names that. */
const withSenderSpan = (context: ActorContext, call: CallMessage): ActorContext => {
  const traceparent = textIn(call.metadata, "traceparent")
  const span = traceparent === undefined ? undefined : spanOf(traceparent)
  return span === undefined ? context : Context.add(context, Tracer.ParentSpan, span)
}

/** The ids of another runtime's call may have any form. Here they only name it, so they are not validated. */
export const make = (
  delivery: ToolDelivery,
  call: CallMessage,
  agent: ResolvedAgent,
  hooks: DeliveryHooks,
  report: ReportFault
): CallHost => {
  const accepted = runAcceptedOf(delivery, call, agent)
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
    run: (call.loop_id ?? "") as RunId,
    accepted,
    agent,
    context: withSenderSpan(
      Context.add(no_memory, References.CurrentLogAnnotations, logAnnotationsOf(delivery)),
      call
    ),
    call: () => own,
    state: fold([accepted]),
    ...nestedIn(call),
    begunSideEffects: new Map<string, BegunSideEffect>(),
    reportFault: (what, exception, tool) =>
      report(what, exception, {
        run_id: call.loop_id,
        call_id: own.id,
        tool,
        tenant: delivery.tenant,
        trace_id: call.trace_id
      }),
    show: hooks.show,
    dispatch: () => hooks.begin,
    // A worker does not start with a tool that needs a run's transaction (`ServedTools`).
    transact: () => Effect.die(new Error("a call from a queue has no transaction"))
  }
}
