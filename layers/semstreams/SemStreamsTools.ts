/**
 * A SemStreams tool component over this runtime's registry and tool queue: a call message comes in, and its result message goes
 * out. As in SemStreams, a call is decoded, checked against the allowlist and looked up, in this order. The tool worker does the
 * rest: it asks for approval, runs the call under its timeout, and publishes the result before it acknowledges the call.
 */
import { Clock, Context, Effect, Layer, Option, Result, Schema } from "effect"
import { truncateUnits } from "../../src/value/CutText.ts"
import type { Platform } from "../../src/semstreams/Triple.ts"
import { readJsonValue } from "../../src/value/BoundedJson.ts"
import * as Entries from "../../src/entry/ArgumentReaders.ts"
import { InvalidInput, inputReader } from "../../src/schema/InvalidInput.ts"
import { ToolTransientError, ToolUserError } from "../../src/error/ToolError.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { logText } from "../../src/value/InvisibleText.ts"
import {
  isApprovalRequired,
  CallMessage,
  executeSubject,
  resultSubject
} from "../../src/queue/CallMessage.ts"
import type { ResultMessage } from "../../src/queue/CallMessage.ts"
import type { ComponentConfig } from "../../src/semstreams/ComponentConfig.ts"
import { consumersOf } from "../../src/semstreams/ComponentConfig.ts"
import { contentOf, refusedAction } from "../../src/semstreams/ToolContent.ts"
import type { ToolDefinition } from "../../src/semstreams/ToolDefinition.ts"
import { definitionOf } from "../../src/semstreams/ToolDefinition.ts"
import { isAllowed, notAllowed, refusalOfBatch, refusalOf } from "../../src/tool/Registry.ts"
import type { ToolSpec } from "../../src/tool/ToolSpec.ts"
import type { AmbiguousTool, ToolListing, ToolNotFound } from "../../src/tool/Registry.ts"
import {
  call_length_max,
  isMessageName,
  readReply,
  refusalReply
} from "../../src/queue/ToolMessage.ts"
import type { StoreError } from "../../services/StoreError.ts"
import type { ToolMessageConflict, ToolQueueFull } from "../../services/ToolQueue.ts"
import { ToolQueue, waiting_max } from "../../services/ToolQueue.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"

/** The options of a component. `org` and `platform` are parts of the ids of loops and findings. */
export interface Options extends Platform {
  readonly config: ComponentConfig
  /** How long a call may take from its arrival to its result, in ms. Absent = 600,000 (ten minutes). */
  readonly wait_ms?: number
}

const wait_ms_default = 600_000

/** How a call ended: its result message, and what a loop has to know beside it. */
export interface Executed {
  readonly result: ResultMessage
  /** Where the result is to be published. */
  readonly subject: string
  /** The registry's error if it does not have the tool. Only then may a caller look elsewhere. */
  readonly missing?: ToolNotFound | AmbiguousTool
  /** True = the call waits for a person. It runs if it is sent again with `approved_by`. */
  readonly awaits_approval: boolean
  /**
   * True = the sender is at fault: the call came under the subject of another tool, or its tool needs a loop and it names none.
   */
  readonly defect: boolean
}

export type ExecuteError = InvalidInput | ToolMessageConflict | ToolQueueFull | StoreError

export class SemStreamsTools extends Context.Service<
  SemStreamsTools,
  {
    /**
     * Runs the call of a message that came under `tool.execute.{tool}`. If the call is refused or fails, the result says so. This
     * fails if the message is not a call, or if the queue does not take it. A message that is sent again under its id gets the
     * result that exists.
     */
    execute(tool: string, message: unknown, tenant: Tenant): Effect.Effect<Executed, ExecuteError>
    /**
     * Runs the calls of one turn concurrently, each under the tool that it names. If the allowlist forbids one of them, none
     * runs, and the error names every forbidden tool.
     */
    executeBatch(
      messages: ReadonlyArray<unknown>,
      tenant: Tenant
    ): Effect.Effect<ReadonlyArray<Executed>, ExecuteError>
    /**
     * The tools that the component runs, sorted by name; each line says who provides the tool and whether it is available now.
     */
    readonly discover: Effect.Effect<ReadonlyArray<ToolListing>>
    /** The same tools as a loop shows them to its model. */
    readonly definitions: ReadonlyArray<ToolDefinition>
    /** The names of the consumers of the component's input subjects. */
    readonly consumers: ReadonlyArray<string>
  }
>()("troupe/layers/semstreams/SemStreamsTools") {}

const readSubject = inputReader(Schema.String)

const decodeCall = Schema.decodeUnknownResult(CallMessage)

const readCall = (message: unknown): Effect.Effect<CallMessage, InvalidInput> => {
  const refuse = (text: string) => Effect.fail(new InvalidInput({ field: "message", reason: text }))
  // The call is read from a copy, which the sender cannot change.
  const plain = readJsonValue(message)
  if (Result.isFailure(plain)) return refuse(plain.failure.message)
  const call = decodeCall(plain.success)
  if (Result.isFailure(call)) return refuse(truncateUnits(call.failure.message, 300))
  if (!isMessageName(call.success.id)) return refuse("id has 1 to 200 printable characters")
  return Effect.succeed(call.success)
}

const executedOf = (result: ResultMessage): Executed => ({
  result,
  subject: resultSubject(result.call_id),
  awaits_approval: false,
  defect: false
})

const refused = (call: CallMessage, error: ToolError): Executed => {
  const { metadata: _, ...result } = refusalReply(call, error)
  return executedOf({ ...result, stop_loop: false })
}

/** The error of a lost call that may run twice: sending it again repeats no side effect. */
const retryable = new ToolTransientError({
  kind: "network",
  reason: "OUTCOME_LOST",
  message: "what the tool writes to did not answer; the call may be sent again"
})

const misrouted = (tool: string, call: CallMessage) =>
  Effect.as(
    Effect.logError("a tool call was routed to another tool", {
      called: logText(call.name.slice(0, 200)),
      subject: logText(executeSubject(tool).slice(0, 200))
    }),
    {
      ...refused(
        call,
        new ToolUserError({
          kind: "not_found",
          reason: "MISROUTED",
          message: `unknown tool: ${call.name.slice(0, 200)}`
        })
      ),
      defect: true
    }
  )

const no_worker = (wait_ms: number): ToolError =>
  new ToolTransientError({
    kind: "external",
    reason: "NO_WORKER",
    message: `no worker took the call within ${wait_ms} ms; it was taken back`
  })

const no_answer = (wait_ms: number): ToolError =>
  new ToolTransientError({
    kind: "timeout",
    reason: "TIMEOUT",
    message: `no worker answered the call within ${wait_ms} ms`
  })

/**
 * Removes what only this runtime's own calls say: that its gate let the call run (`metadata.permission`), and whether the call may be
 * repeated. A call from outside runs without `approved_by` only if its tool asks nobody.
 */
const ofAnotherGate = (call: CallMessage): CallMessage => {
  if (call.metadata === undefined) return call
  const { permission: _, repeatable: __, ...metadata } = call.metadata
  return { ...call, metadata }
}

/** Sends a call to the queue and waits up to `wait_ms` for its result. A call that no worker has claimed by then is withdrawn. */
const sendAndWait = Effect.fnUntraced(function* (
  queue: ToolQueue["Service"],
  call: CallMessage,
  tenant: Tenant,
  wait_ms: number
) {
  const now = yield* Clock.currentTimeMillis
  const recorded = yield* queue.send({
    id: call.id,
    tool: call.name,
    tenant,
    expires_at: now + wait_ms,
    payload: ofAnotherGate(call) as never
  })
  if (recorded !== undefined) return recorded
  const result = yield* Effect.timeoutOption(queue.awaited(call.id), wait_ms)
  if (Option.isSome(result)) return result.value
  const isTakenBack = yield* queue.withdraw(call.id)
  return refusalReply(call, isTakenBack ? no_worker(wait_ms) : no_answer(wait_ms))
})

/** A worker's result as SemStreams reads it, without the queue's own metadata. */
const executedBy = (
  call: CallMessage,
  spec: ToolSpec,
  published: ResultMessage,
  platform: Platform
): Executed => {
  const { metadata: _, ...result } = published
  const reply = readReply(published)
  switch (reply._tag) {
    case "Value":
      return executedOf({ ...result, ...contentOf(call, reply.value, platform) })
    case "Failed":
      return {
        ...executedOf({ ...result, stop_loop: false }),
        awaits_approval: isApprovalRequired(result.error ?? ""),
        defect: reply.error.reason === "NO_LOOP"
      }
    case "Unknown":
      return spec.idempotent
        ? refused(call, retryable)
        : executedOf({ ...result, stop_loop: false })
  }
}

const make = Effect.fnUntraced(function* (options: Options) {
  const registry = yield* ToolRegistry
  const queue = yield* ToolQueue
  const { config, wait_ms = wait_ms_default } = options

  const run = Effect.fnUntraced(function* (
    call: CallMessage,
    tenant: Tenant
  ): Effect.fn.Return<Executed, ExecuteError> {
    if (!isAllowed(config.allowed_tools, call.name)) return refused(call, notAllowed(call.name))
    const found = registry.resolve(call.name)
    if (Result.isFailure(found)) {
      return { ...refused(call, refusalOf(found.failure)), missing: found.failure }
    }
    const action = refusedAction(call)
    if (action !== undefined) return refused(call, action)
    if (JSON.stringify(call).length > call_length_max) {
      const message = `the call is longer than ${call_length_max} characters`
      return refused(call, new ToolUserError({ kind: "invalid_args", message }))
    }
    const result = yield* sendAndWait(queue, call, tenant, wait_ms)
    const executed = executedBy(call, found.success.spec, result, options)
    if (executed.defect) {
      yield* Effect.logError("a tool that needs a loop was called by none", { tool: call.name })
    }
    return executed
  })

  return SemStreamsTools.of({
    execute: Effect.fn("SemStreamsTools.execute")(function* (tool, message, tenant) {
      const whose = yield* Entries.tenant(tenant, "tenant")
      const subject = yield* readSubject(tool, "tool")
      const call = yield* readCall(message)
      return yield* call.name === subject ? run(call, whose) : misrouted(subject, call)
    }),
    executeBatch: Effect.fn("SemStreamsTools.executeBatch")(function* (messages, tenant) {
      const whose = yield* Entries.tenant(tenant, "tenant")
      if (!Array.isArray(messages) || messages.length > waiting_max) {
        const message = `Expected a list of at most ${waiting_max} calls`
        return yield* new InvalidInput({ field: "messages", reason: message })
      }
      const calls = yield* Effect.forEach(messages, readCall)
      const names = calls.map(({ name }) => name)
      const forbidden = refusalOfBatch(config.allowed_tools, names)
      if (forbidden !== null) {
        // Without a field: the sentence is the wire's, to the letter.
        return yield* new InvalidInput({ field: "", reason: forbidden })
      }
      return yield* Effect.forEach(calls, (call) => run(call, whose), {
        concurrency: "unbounded"
      })
    }),
    discover: Effect.sync(() =>
      registry.discover().filter(({ name }) => isAllowed(config.allowed_tools, name))
    ),
    definitions: registry
      .list()
      .filter(({ spec }) => isAllowed(config.allowed_tools, spec.name))
      .map(({ spec }) => definitionOf(spec)),
    consumers: consumersOf(config)
  })
})

/** The component. It needs a worker of the same queue that has the registry's tools. */
export const layer = (
  options: Options
): Layer.Layer<SemStreamsTools, never, ToolQueue | ToolRegistry> =>
  Layer.effect(SemStreamsTools, make(options))
