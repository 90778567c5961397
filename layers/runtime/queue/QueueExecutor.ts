/**
 * Runs one call from a queue through the gate and its body (`tool/ToolInvoker.ts` lists the checks in their order). Before
 * that:
 *
 * 1. A delivery that is no call is answered with an error, and so is a call that one end may repeat and the other may not.
 * 2. For a call that an earlier delivery began and that may not be done twice, its outcome is what its tool says, or unknown.
 * 3. A call that has expired is answered with an error.
 */
import { Cause, Clock, Effect, Exit } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import type { Policy } from "../../../src/permission/Policy.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { CallMessage } from "../../../src/queue/CallMessage.ts"
import { isRepeatable } from "../../../src/tool/ToolSpec.ts"
import { replyOf } from "../../../src/queue/ToolMessage.ts"
import { PermissionPolicy } from "../../../services/PermissionPolicy.ts"
import { ToolAttemptObservers } from "../../../services/RunObserver.ts"
import type { ToolDelivery } from "../../../services/ToolQueue.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"
import type { CallHost, AgentTool } from "../tool/CallHost.ts"
import { validatePolicy } from "../tool/GovernedInvoker.ts"
import * as Deadlines from "../tool/Deadlines.ts"
import type { ToolGate } from "../tool/ToolGate.ts"
import { makeToolGates } from "../tool/ToolGate.ts"
import { exceptionOf, makeFaultReporter } from "../tool/FaultReport.ts"
import * as ToolBody from "../tool/ToolBody.ts"
import * as ToolGuards from "../tool/ToolGuards.ts"
import * as ToolInvoker from "../tool/ToolInvoker.ts"
import * as QueuedCall from "./QueuedCall.ts"
import type { Executed } from "./QueueReply.ts"
import {
  executedOf,
  callMessageOf,
  expiredAnswer,
  isUnknown,
  unknownAnswer,
  unreadableAnswer,
  unreadCallOf,
  undeliveredAnswer,
  unlikeAnswer
} from "./QueueReply.ts"
import type { WorkerOptions } from "./ServedTools.ts"
import { servedTools, workerAgent } from "./ServedTools.ts"
import type { Reconciliation } from "../tool/Reconciliation.ts"
import { attemptMs, waitUntilOver, reconciliation_unknown } from "../tool/Reconciliation.ts"

/** When an earlier delivery began a call that may not be done twice, in ms since 1970; undefined = the call may be run. */
const unrepeatableBegunAt = (
  { begun_at }: ToolDelivery,
  tool: AgentTool | undefined
): number | undefined => (tool !== undefined && !isRepeatable(tool.spec) ? begun_at : undefined)

/** Reconciles the lost calls of a worker's tools. `hostOf` makes a call's host, `gateOf` finds a tool's gate. */
const makeLostCalls = (
  tools: ReadonlyMap<string, AgentTool>,
  body: Pick<ToolBody.ToolBody, "reconcile">,
  gateOf: (tool: string) => ToolGate | undefined,
  hostOf: (delivery: ToolDelivery, call: CallMessage) => CallHost
) => {
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
    return Effect.provideContext(reconciled, QueuedCall.no_memory)
  }

  /** What became of the call that was begun at this time; undefined = nothing was done, and it may be run. */
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
        const stops = gate.tool.spec.stop_loop === true && outcome._tag === "Value"
        const result = replyOf(call, outcome, stops)
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
    /** Waits until the attempt of an earlier delivery is over. Returns at once where none began, or nothing is to be reconciled. */
    waitUntilOver: (delivery: ToolDelivery): Effect.Effect<void> => {
      const gate = reconcilingGateOf(delivery)
      const begun_at = unrepeatableBegunAt(delivery, gate?.tool)
      return gate === undefined || begun_at === undefined
        ? Effect.void
        : waitUntilOver(gate.tool, begun_at + attemptMs(gate.tool))
    }
  }
}

interface GiveUpOptions {
  /** For operators. */
  readonly why: string
  /** May the tool's `reconcile` run? Otherwise a call that was begun and may not be done twice becomes unknown. */
  readonly mayReconcile: boolean
}

export type QueueExecutor = Effect.Success<ReturnType<typeof make>>

/** A tool's `reconcile` begins nothing and shows nothing. */
const no_hooks: QueuedCall.DeliveryHooks = { begin: Effect.succeed(false), show: () => {} }

/** Runs the call's body behind the gate; undefined = it could not be begun. */
const invoke = (
  host: CallHost,
  { tool }: ToolDelivery,
  invoker: ToolInvoker.ToolInvoker,
  body: ToolBody.ToolBody
): Effect.Effect<RunInput | undefined> =>
  Effect.suspend(() => body.run(invoker.start(host))).pipe(
    Effect.provideContext(QueuedCall.no_memory),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.sync(() => {
            host.reportFault("a call from the queue broke", exceptionOf(cause), tool)
            return invoker.died(host.call().id, cause)
          })
    )
  )

const invokerServices = Effect.fnUntraced(function* (
  tools: ReadonlyMap<string, AgentTool>,
  policy: Policy
) {
  return {
    registry: yield* ToolRegistry,
    digest: yield* Digest.Digest,
    random: yield* SecureRandom.SecureRandom,
    clock: yield* Clock.Clock,
    deadlines: yield* Deadlines.make,
    policy,
    // It binds approvals to a policy. A worker requests no approval: a call that would need one is refused (`answerOf`).
    policy_version: "",
    guards: yield* ToolGuards.make(tools.values()),
    attempted: yield* ToolAttemptObservers
  } satisfies ToolInvoker.Services
})

export const make = Effect.fnUntraced(function* (options: WorkerOptions) {
  const tools = yield* servedTools(options)
  // One policy serves all workers and the runtime, so it may name tools that are not here: names are not checked.
  const policy = yield* validatePolicy(yield* PermissionPolicy)
  const agent = workerAgent(tools, options)
  const services = yield* invokerServices(tools, policy)
  const report = yield* makeFaultReporter
  const invoker = ToolInvoker.make(services)
  // The invoker exposes neither its body nor its gates. These start no call of their own: they run what the invoker has
  // started, and `reconcile`, for which `permits` says no because it is left out here.
  const body = ToolBody.make(services)
  const gatesOf = makeToolGates(policy, body)

  const hostOf = (
    delivery: ToolDelivery,
    call: CallMessage,
    hooks: QueuedCall.DeliveryHooks
  ): CallHost => QueuedCall.make(delivery, call, agent, hooks, report)
  const lostCalls = makeLostCalls(
    tools,
    body,
    (tool) => gatesOf(agent).get(tool),
    (delivery, call) => hostOf(delivery, call, no_hooks)
  )

  const execute = Effect.fnUntraced(function* (
    delivery: ToolDelivery,
    hooks: QueuedCall.DeliveryHooks
  ): Effect.fn.Return<Executed> {
    const call = callMessageOf(delivery)
    if (call === undefined) return unreadableAnswer(delivery)
    const tool = tools.get(delivery.tool)
    if (QueuedCall.isDeclaredUnlike(call, tool)) return unlikeAnswer(delivery, call)
    const begun_at = unrepeatableBegunAt(delivery, tool)
    if (begun_at !== undefined) {
      const settled = yield* lostCalls.reconcile(delivery, call, begun_at)
      if (settled !== undefined) return settled
    }
    const now = yield* Clock.currentTimeMillis
    if (delivery.expires_at <= now) return expiredAnswer(call)
    return executedOf(call, yield* invoke(hostOf(delivery, call, hooks), delivery, invoker, body))
  })

  /** What becomes of a call that was delivered too often. Runs no body, and the tool's `reconcile` only if it may. */
  const giveUp = Effect.fnUntraced(function* (
    delivery: ToolDelivery,
    { mayReconcile, why }: GiveUpOptions
  ): Effect.fn.Return<Executed> {
    const call = callMessageOf(delivery) ?? unreadCallOf(delivery)
    const begun_at = unrepeatableBegunAt(delivery, tools.get(delivery.tool))
    if (begun_at !== undefined) {
      const settled = mayReconcile
        ? yield* lostCalls.reconcile(delivery, call, begun_at)
        : unknownAnswer(call)
      if (settled?._tag === "Answers" && isUnknown(settled.result)) return { ...settled, dead: why }
      if (settled !== undefined) return settled
    }
    return undeliveredAnswer(call, why)
  })

  return {
    /** The names that the worker's tools are called by. */
    names: [...tools.keys()],
    /** The worker's tools, each once. */
    specs: [...new Set(tools.values())].map(({ spec }) => spec),
    waitForLostAttempt: lostCalls.waitUntilOver,
    execute,
    giveUp
  }
})
