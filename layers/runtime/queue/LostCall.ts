/**
 * A call whose earlier delivery began and never ended. Where its tool cannot do it twice, the call is not begun again
 * unless the tool's `reconcile` says that it did nothing; otherwise its result is what the tool says, or unknown.
 */
import { Effect, Exit } from "effect"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { CallMessage } from "../../../src/queue/CallMessage.ts"
import { replyOf } from "../../../src/queue/ToolMessage.ts"
import { isRepeatable } from "../../../src/tool/ToolSpec.ts"
import type { ToolDelivery } from "../../../services/ToolQueue.ts"
import type { CallHost, AgentTool } from "../tool/CallHost.ts"
import { attemptMs, waitUntilOver } from "../tool/LostAttempt.ts"
import type { Reconciliation } from "../tool/Reconciliation.ts"
import { reconciliation_unknown } from "../tool/Reconciliation.ts"
import type { ToolBody } from "../tool/ToolBody.ts"
import type { ToolGate } from "../tool/ToolGate.ts"
import { no_memory } from "./QueuedCall.ts"
import type { Executed } from "./QueueReply.ts"
import { unknownAnswer } from "./QueueReply.ts"

const stopsLoop = ({ spec }: AgentTool, outcome: Outcome): boolean =>
  spec.stop_loop === true && outcome._tag === "Value"

/**
 * When an earlier delivery began a call that may not be done twice, in ms since 1970. Undefined = the call may be run: no
 * delivery began it, or its tool only reads or is idempotent.
 */
export const unrepeatableBegunAt = (
  { begun_at }: ToolDelivery,
  tool: AgentTool | undefined
): number | undefined => (tool !== undefined && !isRepeatable(tool.spec) ? begun_at : undefined)

export interface LostCalls {
  /**
   * Waits until the attempt of an earlier delivery cannot act any more (`LostAttempt.ts`). Returns at once where no attempt
   * began, where the tool can do the call twice, and where it cannot reconcile.
   */
  readonly waitUntilOver: (delivery: ToolDelivery) => Effect.Effect<void>
  /** What became of the call that was begun at this time; undefined = nothing was done, and it may be run. */
  readonly reconcile: (
    delivery: ToolDelivery,
    call: CallMessage,
    begun_at: number
  ) => Effect.Effect<Executed | undefined>
}

/** Reconciles the lost calls of a worker's tools. `hostOf` makes a call's host, `gateOf` finds a tool's gate. */
export const makeLostCalls = (
  tools: ReadonlyMap<string, AgentTool>,
  body: Pick<ToolBody, "reconcile">,
  gateOf: (tool: string) => ToolGate | undefined,
  hostOf: (delivery: ToolDelivery, call: CallMessage) => CallHost
): LostCalls => {
  /** Undefined = the tool cannot reconcile, or may not: one that may not run here does not reconcile here either. */
  const reconcilingGateOf = ({ tool }: ToolDelivery): ToolGate | undefined => {
    if (tools.get(tool)?.reconcile === undefined) return undefined
    const gate = gateOf(tool)
    const mayRun = gate?.missingCapability === undefined && gate?.permission !== "deny"
    return mayRun ? gate : undefined
  }

  const query = (
    gate: ToolGate,
    delivery: ToolDelivery,
    call: CallMessage,
    over_at: number
  ): Effect.Effect<Reconciliation> => {
    const args = gate.tool.decode(call.arguments ?? {})
    if (Exit.isFailure(args)) return Effect.succeed(reconciliation_unknown)
    const reconciled = body.reconcile(hostOf(delivery, call), gate.tool, args.value, over_at)
    return Effect.provideContext(reconciled, no_memory)
  }

  const reconcile = Effect.fnUntraced(function* (
    delivery: ToolDelivery,
    call: CallMessage,
    begun_at: number
  ): Effect.fn.Return<Executed | undefined> {
    const gate = reconcilingGateOf(delivery)
    if (gate === undefined) return unknownAnswer(call)
    const found = yield* query(gate, delivery, call, begun_at + attemptMs(gate.tool))
    switch (found._tag) {
      case "Settled": {
        const { outcome } = found
        const result = replyOf(call, outcome, stopsLoop(gate.tool, outcome))
        return { _tag: "Answers", result }
      }
      case "Unknown":
        return unknownAnswer(call)
      case "Unanswered":
        return { _tag: "GivesBack", why: "its tool could not say what became of it" }
      case "NotHappened":
        return undefined
    }
  })

  return {
    reconcile,
    waitUntilOver: (delivery) => {
      const gate = reconcilingGateOf(delivery)
      const begun_at = unrepeatableBegunAt(delivery, gate?.tool)
      return gate === undefined || begun_at === undefined
        ? Effect.void
        : waitUntilOver(gate.tool, begun_at + attemptMs(gate.tool))
    }
  }
}
