/**
 * Runs one call from a queue through the gate, and says what came of it: decode, allowlist, resolve, permission, execute.
 * A call that began before, and that its tool cannot do twice, is not begun again unless the tool says that it did nothing:
 * otherwise it is what the tool says of it, or nobody knows.
 */
import { Cause, Clock, Effect, Exit, Schema } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import type { Scope } from "effect"
import { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import { bounds_default, isWithin } from "../../../src/entry/BoundedJson.ts"
import {
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError
} from "../../../src/error/ToolError.ts"
import { AgentName } from "../../../src/Ids.ts"
import { no_policy } from "../../../src/permission/Policy.ts"
import type { MisdeclaredPolicy } from "../../../src/permission/PolicyCheck.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import { CallMessage } from "../../../src/semstreams/CallMessage.ts"
import type { ResultMessage } from "../../../src/semstreams/CallMessage.ts"
import { readReply, refusalReply, remote_provider, replyOf } from "../../../src/tool/ToolMessage.ts"
import type { ToolSpec } from "../../../src/tool/ToolSpec.ts"
import { isDispatched } from "../../../src/tool/ToolSpec.ts"
import type { ResidentAgent } from "../../../services/AgentDirectory.ts"
import { AgentMemory } from "../../../services/AgentMemory.ts"
import { PermissionPolicy } from "../../../services/PermissionPolicy.ts"
import { ToolAttemptObservers } from "../../../services/ToolAttemptObserver.ts"
import type { ToolDelivery } from "../../../services/ToolQueue.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"
import type { AgentTool, ActorContext } from "../tool/CallHost.ts"
import { validatePolicy } from "../tool/CheckedPolicy.ts"
import * as Deadlines from "../tool/Deadlines.ts"
import type { Reconciliation } from "../tool/Reconciliation.ts"
import { reconciliation_unknown } from "../tool/Reconciliation.ts"
import { makeToolGates } from "../tool/ToolGate.ts"
import { exceptionOf, makeFaultReporter } from "../tool/Faults.ts"
import * as QueuedCall from "./QueuedCall.ts"
import * as ToolBody from "../tool/ToolBody.ts"
import * as ToolGuards from "../tool/ToolGuards.ts"
import * as ToolInvoker from "../tool/ToolInvoker.ts"

export interface Options {
  /** Registry keys, or plain names where those are unique. Absent = every tool that can run from a queue. */
  readonly tools?: ReadonlyArray<string>
  /** What they may touch. Absent = a tool that asks for a capability is refused. */
  readonly capabilities?: ReadonlyArray<string>
  /** Put behind the names of its consumers. */
  readonly consumer_name_suffix?: string
  /** Who runs them, in what it offers. Absent = `worker`. */
  readonly provider?: string
}

/** A tool that no worker can run. It ends the start. */
export class ToolNotQueueable extends Schema.TaggedError<ToolNotQueueable>()("ToolNotQueueable", {
  tool: Schema.String,
  /** Of the tool, or `serve` of the worker. */
  field: Schema.String,
  message: Schema.String
}) {}

/** What is to become of a delivery. */
export type Executed =
  | {
      readonly _tag: "Answers"
      readonly result: ResultMessage
      /** No delivery can do better, and why: a person has to look at it. */
      readonly dead?: string
    }
  /** It is to be delivered again: from `retry_at` (ms) on, or, without one, after the usual wait. */
  | { readonly _tag: "GivesBack"; readonly why: string; readonly retry_at?: number }

export interface QueueExecutor {
  /** The names that its tools are called by. */
  readonly names: ReadonlyArray<string>
  /** Its tools, each once. */
  readonly specs: ReadonlyArray<ToolSpec>
  readonly execute: (delivery: ToolDelivery, line: QueuedCall.Line) => Effect.Effect<Executed>
  /** The same for a call that was delivered too often. Runs no body; `asks`: may ask the tool what became of the call. */
  readonly giveUp: (delivery: ToolDelivery, why: string, asks: boolean) => Effect.Effect<Executed>
}

type Why = readonly [field: string, problem: string, mend: string]

const notThere: Why = ["serve", "there is no such tool", "Name one of those in tools"]

const whyNot = ({ provider, spec }: AgentTool): Why | undefined =>
  spec.transactional
    ? [
        "transactional",
        "its body runs in the transaction of its run, which is in another process",
        "Give the runtime the tool with its body, or drop transactional"
      ]
    : provider === remote_provider
      ? [
          "provider",
          "it sends its calls to a queue itself",
          "Give the worker the tool with its body, and keep remote for the runtime"
        ]
      : undefined

const notQueueable = (tool: string, [field, problem, mend]: Why): ToolNotQueueable =>
  new ToolNotQueueable({
    tool,
    field,
    message: `tool "${tool}", field "${field}": ${problem}. ${mend}.`
  })

const memoryless: ActorContext = (() => {
  const none = Effect.die(new Error("a tool that runs from a queue has no actor's memory"))
  return AgentMemory.context(AgentMemory.of({ remember: () => none, recall: () => none }))
})()

/** A tool that is asked what became of a call does nothing, and shows nothing. */
const unheard: QueuedCall.Line = { begin: Effect.succeed(false), show: () => {} }

/** Of a call that no worker began, because its time was over. */
export const expired_reason = "EXPIRED"

const expired = new ToolTransientError({
  kind: "external",
  reason: expired_reason,
  message: "nobody ran it in time, and nothing was done."
})

/** The reply to a call, by what the gate made of it. */
const repliedTo = (call: CallMessage, input: RunInput): ResultMessage => {
  switch (input._tag) {
    case "Finished": {
      const { outcome, spent, stop } = input.settled
      return replyOf(call, outcome, stop, spent)
    }
    case "Lost":
      return replyOf(call, { _tag: "Unknown" }, false, input.spent)
    default: {
      const error = new ToolPolicyError({
        kind: "permission",
        reason: "APPROVAL_REQUIRED",
        message: "approval_required: the sender has to have it approved first."
      })
      return refusalReply(call, error)
    }
  }
}

const readCall = Schema.decodeUnknownExit(CallMessage)

/** What it was routed by is what runs: a name in the message cannot reach another tool. Undefined = it is no call. */
const callIn = ({ id, payload, tool }: ToolDelivery): CallMessage | undefined => {
  if (!isWithin(payload, bounds_default, true)) return undefined
  const read = readCall(payload)
  return Exit.isSuccess(read) && read.value.id === id ? { ...read.value, name: tool } : undefined
}

const namelessOf = ({ id, tool }: ToolDelivery): CallMessage => ({ id, name: tool })

const answers = (result: ResultMessage, dead?: string): Executed =>
  dead === undefined ? { _tag: "Answers", result } : { _tag: "Answers", result, dead }

const unknownOf = (call: CallMessage): Executed => answers(replyOf(call, { _tag: "Unknown" }))

const isUnknown = (result: ResultMessage): boolean => readReply(result)._tag === "Unknown"

const stopsLoop = ({ spec }: AgentTool, outcome: Outcome): boolean =>
  spec.stop_loop === true && outcome._tag === "Value"

const served = Effect.fnUntraced(function* (options: Options) {
  const registry = yield* ToolRegistry
  const tools = new Map<string, AgentTool>()
  const add = (tool: AgentTool) => {
    tools.set(tool.key, tool)
    if (registry.get(tool.spec.name) === tool) tools.set(tool.spec.name, tool)
  }
  for (const name of options.tools ?? []) {
    const tool = registry.get(name)
    if (tool === undefined) return yield* notQueueable(name, notThere)
    const why = whyNot(tool)
    if (why !== undefined) return yield* notQueueable(name, why)
    add(tool)
  }
  if (options.tools === undefined) {
    for (const tool of registry.list()) {
      const why = whyNot(tool)
      if (why === undefined) add(tool)
      else yield* Effect.logWarning(`not served: ${notQueueable(tool.key, why).message}`)
    }
  }
  return tools
})

const agentOf = (tools: ReadonlyMap<string, AgentTool>, options: Options): ResidentAgent => ({
  spec: AgentSpec.make({
    name: AgentName.make("tool-worker"),
    instructions: "",
    ...(options.capabilities === undefined ? undefined : { capabilities: options.capabilities })
  }),
  tools,
  specialists: new Map(),
  modelTools: [],
  pins: { definition: "", tools: "" }
})

export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<
  QueueExecutor,
  MisdeclaredPolicy | ToolNotQueueable,
  ToolRegistry | Digest.Digest | SecureRandom.SecureRandom | Scope.Scope
> {
  const tools = yield* served(options)
  // Of tools that are not here nothing is said: a policy is that of all workers, and of the runtime.
  const policy = yield* validatePolicy(yield* PermissionPolicy)
  const agent = agentOf(tools, options)
  const services: ToolInvoker.Services = {
    registry: yield* ToolRegistry,
    digest: yield* Digest.Digest,
    random: yield* SecureRandom.SecureRandom,
    clock: yield* Clock.Clock,
    deadlines: yield* Deadlines.make,
    policy,
    policy_version: "",
    guards: yield* ToolGuards.make(tools.values()),
    attempted: yield* ToolAttemptObservers
  }
  const report = yield* makeFaultReporter
  const invoker = ToolInvoker.make(services)
  const body = ToolBody.make(services)
  const gateOf = makeToolGates(services.policy ?? no_policy, body)

  /** Did it begin, and may it not be done twice? */
  const doubted = ({ begun_at, tool }: ToolDelivery): boolean => {
    const spec = tools.get(tool)?.spec
    return begun_at !== undefined && spec !== undefined && isDispatched(spec) && !spec.idempotent
  }

  const invoke = (
    delivery: ToolDelivery,
    call: CallMessage,
    line: QueuedCall.Line
  ): Effect.Effect<RunInput | undefined> => {
    const host = QueuedCall.make(delivery, call, agent, memoryless, line, report)
    return Effect.suspend(() => body.run(invoker.start(host))).pipe(
      Effect.provideContext(memoryless),
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.sync(() => {
              host.reportFault("a call from the queue broke", exceptionOf(cause), delivery.tool)
              return invoker.died(host.call().id, cause)
            })
      )
    )
  }

  /** A tool that may not run here is not asked either. */
  const asked = (
    delivery: ToolDelivery,
    call: CallMessage,
    over_at: number
  ): Effect.Effect<Reconciliation> => {
    const gate = gateOf(agent).get(delivery.tool)
    if (gate === undefined || gate.refusal !== undefined || gate.permission === "deny") {
      return Effect.succeed(reconciliation_unknown)
    }
    const args = gate.tool.decode(call.arguments ?? {})
    if (Exit.isFailure(args)) return Effect.succeed(reconciliation_unknown)
    const host = QueuedCall.make(delivery, call, agent, memoryless, unheard, report)
    return Effect.provideContext(body.reconcile(host, gate.tool, args.value, over_at), memoryless)
  }

  /** What the tool says of a call that may have acted; undefined = it did nothing, and may be run. */
  const reconcile = Effect.fnUntraced(function* (
    delivery: ToolDelivery,
    call: CallMessage
  ): Effect.fn.Return<Executed | undefined> {
    const tool = tools.get(delivery.tool)
    if (tool?.reconcile === undefined) return unknownOf(call)
    // Until its time is over a lost attempt may still act, whatever the tool could say now.
    const over_at = delivery.begun_at! + tool.spec.timeout_ms
    if ((yield* Clock.currentTimeMillis) < over_at) {
      return { _tag: "GivesBack", why: "its lost attempt may still act", retry_at: over_at }
    }
    const found = yield* asked(delivery, call, over_at)
    switch (found._tag) {
      case "Settled":
        return answers(replyOf(call, found.outcome, stopsLoop(tool, found.outcome)))
      case "Unknown":
        return unknownOf(call)
      case "Unasked":
        return { _tag: "GivesBack", why: "its tool could not be asked what became of it" }
      case "NotHappened":
        return undefined
    }
  })

  const execute: QueueExecutor["execute"] = Effect.fnUntraced(function* (delivery, line) {
    const call = callIn(delivery)
    if (call === undefined) {
      const error = new ToolTerminalError({
        kind: "internal",
        reason: "UNREADABLE",
        message: "the message is no call of a tool."
      })
      return answers(refusalReply(namelessOf(delivery), error), error.message)
    }
    if (doubted(delivery)) {
      const said = yield* reconcile(delivery, call)
      if (said !== undefined) return said
    }
    const now = yield* Clock.currentTimeMillis
    if (delivery.expires_at <= now) return answers(refusalReply(call, expired))
    const input = yield* invoke(delivery, call, line)
    if (input === undefined) return { _tag: "GivesBack", why: "it could not be begun" }
    return answers(repliedTo(call, input))
  })

  const giveUp: QueueExecutor["giveUp"] = Effect.fnUntraced(function* (delivery, why, asks) {
    const call = callIn(delivery) ?? namelessOf(delivery)
    if (doubted(delivery)) {
      const said = asks ? yield* reconcile(delivery, call) : unknownOf(call)
      if (said?._tag === "Answers" && isUnknown(said.result)) return { ...said, dead: why }
      if (said !== undefined) return said
    }
    const message = "every worker that ran it ended before it did."
    return answers(
      refusalReply(
        call,
        new ToolTerminalError({ kind: "internal", reason: "DELIVERIES_MAX", message })
      ),
      why
    )
  })

  return {
    names: [...tools.keys()],
    specs: [...new Set(tools.values())].map(({ spec }) => spec),
    execute,
    giveUp
  }
})
