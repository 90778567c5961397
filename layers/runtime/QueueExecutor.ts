/**
 * Runs one call from a queue through the gate, and says what came of it: decode, allowlist, resolve, permission, execute.
 * A call that began before, and whose tool cannot be asked twice, is not begun again: nobody knows what it did.
 */
import { Cause, Clock, Effect, Exit, Schema } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import type { Scope } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import {
  failureOf,
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError
} from "../../src/error/ToolError.ts"
import { AgentName } from "../../src/Ids.ts"
import type { RunInput } from "../../src/run/RunDecider.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"
import { ToolCall } from "../../src/tool/SemStreamsCall.ts"
import type { ToolResult } from "../../src/tool/SemStreamsCall.ts"
import { refusalReply, replyOf } from "../../src/tool/ToolMessage.ts"
import { isDispatched } from "../../src/tool/ToolSpec.ts"
import type { ResidentAgent } from "../../services/AgentDirectory.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { PermissionPolicy } from "../../services/PermissionPolicy.ts"
import { ToolAttemptObservers } from "../../services/ToolAttemptObserver.ts"
import type { ToolDelivery } from "../../services/ToolQueue.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import type { Governed, Surroundings } from "./CallHost.ts"
import * as Deadlines from "./Deadlines.ts"
import * as QueuedCall from "./QueuedCall.ts"
import * as ToolBody from "./ToolBody.ts"
import * as ToolGuards from "./ToolGuards.ts"
import * as ToolInvoker from "./ToolInvoker.ts"

export interface Options {
  /** Registry keys, or plain names where those are unique. Absent = every tool that can run from a queue. */
  readonly tools?: ReadonlyArray<string>
  /** What they may touch. Absent = a tool that asks for a capability is refused. */
  readonly capabilities?: ReadonlyArray<string>
  /** Put behind the names of its consumers. */
  readonly consumer_name_suffix?: string
}

/** A tool that no worker can run. It ends the start. */
export class ToolNotQueueable extends Schema.TaggedError<ToolNotQueueable>()("ToolNotQueueable", {
  tool: Schema.String,
  message: Schema.String
}) {}

export interface QueueExecutor {
  /** The names that its tools are called by. */
  readonly names: ReadonlyArray<string>
  /**
   * What is to be published; undefined = nothing, because the call has passed to another worker. `begin` writes down that
   * the body is about to act. `dead`: no delivery can do better.
   */
  readonly execute: (
    delivery: ToolDelivery,
    begin: Effect.Effect<boolean>
  ) => Effect.Effect<{ readonly result: ToolResult; readonly dead?: string } | undefined>
  /** The same for a call that was delivered too often. */
  readonly giveUp: (delivery: ToolDelivery) => ToolResult
}

/** Marks tools that only send their calls elsewhere: a worker of them would send each call to itself. */
export const remote_provider = "queue"

const whyNot = ({ provider, spec }: Governed): string | undefined =>
  spec.transactional
    ? "its body runs in the transaction of its run, which is in another process. Leave it out, or drop transactional"
    : provider === remote_provider
      ? "it sends its calls to a queue itself. Give the worker the tool with the body"
      : undefined

const memoryless: Surroundings = (() => {
  const none = Effect.die(new Error("a tool that runs from a queue has no actor's memory"))
  return AgentMemory.context(AgentMemory.of({ remember: () => none, recall: () => none }))
})()

const expired = new ToolTransientError({
  kind: "external",
  reason: "EXPIRED",
  message: "nobody ran it in time, and nothing was done."
})

const outcomeOf = (input: RunInput): { readonly outcome: Outcome; readonly stop?: boolean } => {
  switch (input._tag) {
    case "Finished":
      return { outcome: input.settled.outcome, stop: input.settled.stop === true }
    case "Lost":
      return { outcome: { _tag: "Unknown" } }
    default: {
      const error = new ToolPolicyError({
        kind: "permission",
        reason: "APPROVAL_REQUIRED",
        message: "approval_required: the sender has to have it approved first."
      })
      return { outcome: { _tag: "Failed", error: failureOf(error) } }
    }
  }
}

const callOf = Schema.decodeUnknownExit(ToolCall)

const served = Effect.fnUntraced(function* (options: Options) {
  const registry = yield* ToolRegistry
  const tools = new Map<string, Governed>()
  const add = (tool: Governed) => {
    tools.set(tool.key, tool)
    if (registry.get(tool.spec.name) === tool) tools.set(tool.spec.name, tool)
  }
  for (const name of options.tools ?? []) {
    const tool = registry.get(name)
    const why = tool === undefined ? "the registry has no such tool" : whyNot(tool)
    if (why !== undefined || tool === undefined) {
      return yield* new ToolNotQueueable({ tool: name, message: `tool "${name}": ${why}.` })
    }
    add(tool)
  }
  if (options.tools === undefined) {
    for (const tool of registry.list()) if (whyNot(tool) === undefined) add(tool)
  }
  return tools
})

const agentOf = (tools: ReadonlyMap<string, Governed>, options: Options): ResidentAgent => ({
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
  ToolNotQueueable,
  ToolRegistry | Digest.Digest | SecureRandom.SecureRandom | Scope.Scope
> {
  const tools = yield* served(options)
  const agent = agentOf(tools, options)
  const services: ToolInvoker.Services = {
    registry: yield* ToolRegistry,
    digest: yield* Digest.Digest,
    random: yield* SecureRandom.SecureRandom,
    clock: yield* Clock.Clock,
    deadlines: yield* Deadlines.make,
    policy: yield* PermissionPolicy,
    policy_version: "",
    guards: yield* ToolGuards.make(tools.values()),
    attempted: yield* ToolAttemptObservers
  }
  const invoker = ToolInvoker.make(services)
  const body = ToolBody.make(services)

  const isRepeatable = (name: string): boolean => {
    const tool = tools.get(name)
    return tool === undefined || !isDispatched(tool.spec) || tool.spec.idempotent
  }

  const doubted = ({ begun, tool }: ToolDelivery): boolean => begun && !isRepeatable(tool)

  const invoke = (
    delivery: ToolDelivery,
    call: ToolCall,
    begin: Effect.Effect<boolean>
  ): Effect.Effect<RunInput | undefined> => {
    const host = QueuedCall.make(delivery, call, agent, memoryless, begin)
    return Effect.suspend(() => body.run(invoker.start(host))).pipe(
      Effect.provideContext(memoryless),
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.succeed(invoker.died(host.call().id, cause))
      )
    )
  }

  const execute: QueueExecutor["execute"] = Effect.fnUntraced(function* (delivery, begin) {
    const read = callOf(delivery.payload)
    if (Exit.isFailure(read) || read.value.id !== delivery.id) {
      const error = new ToolTerminalError({
        kind: "internal",
        reason: "UNREADABLE",
        message: "the message is no call of a tool."
      })
      const nameless = { id: delivery.id, name: delivery.tool }
      return { result: refusalReply(nameless, error), dead: error.message }
    }
    // What it was routed by is what runs: a name in the message cannot reach another tool.
    const call = { ...read.value, name: delivery.tool }
    if (doubted(delivery)) return { result: replyOf(call, { _tag: "Unknown" }) }
    const now = yield* Clock.currentTimeMillis
    if (delivery.expires_at <= now) return { result: refusalReply(call, expired) }
    const input = yield* invoke(delivery, call, begin)
    if (input === undefined) return undefined
    const { outcome, stop } = outcomeOf(input)
    return { result: replyOf(call, outcome, stop) }
  })

  return {
    names: [...tools.keys()],
    execute,
    giveUp: (delivery) => {
      const call = { id: delivery.id, name: delivery.tool }
      if (doubted(delivery)) return replyOf(call, { _tag: "Unknown" })
      const message = "every worker that ran it ended before it did."
      return refusalReply(
        call,
        new ToolTerminalError({ kind: "internal", reason: "DELIVERIES_MAX", message })
      )
    }
  }
})
