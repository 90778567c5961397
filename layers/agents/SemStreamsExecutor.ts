/**
 * One built-in tool as SemStreams runs it: a call in, a result out with content and metadata. For loops of that runtime;
 * runs of ours go through the gate.
 */
import { Cause, Effect, Exit, Schema } from "effect"
import { logText } from "../../src/LogText.ts"
import type { Decision } from "../../src/agents/Coordination.ts"
import type { Platform } from "../../src/agents/Triple.ts"
import { loopEntity } from "../../src/agents/Triple.ts"
import { ToolError, ToolTerminalError, ToolUserError } from "../../src/error/ToolError.ts"
import type { CallId, RunId, Tenant } from "../../src/Ids.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import type { CallMessage, ResultMessage } from "../../src/semstreams/CallMessage.ts"
import { DecideActions } from "./CoordinationTools.ts"

export interface Executed {
  readonly result: ResultMessage
  /** The call came to the wrong tool, or from no loop: a fault of whoever routed it, to be reported, not of the model's. */
  readonly defect: boolean
}

/** Whose loops they are. */
export interface Surroundings extends Platform {
  readonly tenant: Tenant
}

type Told = Pick<ResultMessage, "content" | "metadata" | "stop_loop">

type Metadata = NonNullable<ResultMessage["metadata"]>

interface Diagnosed {
  readonly entity_id: string
}
interface Paged {
  readonly content: string
  readonly metadata: Metadata
}

/** A tool's value as content and metadata. */
const told = (
  tool: GovernedTool,
  value: unknown,
  call: CallMessage,
  around: Surroundings
): Told => {
  switch (tool.spec.name) {
    case "decide": {
      const { action, reason, retry_hint, subtopics } = value as Decision
      return {
        content: JSON.stringify(value),
        stop_loop: true,
        metadata: {
          action,
          reason,
          loop_entity_id: loopEntity(around, call.loop_id ?? ""),
          subtopic_count: subtopics?.length ?? 0,
          has_retry_hint: typeof retry_hint === "string" && retry_hint !== ""
        }
      }
    }
    case "emit_diagnosis":
      return {
        content: JSON.stringify(value),
        stop_loop: false,
        metadata: { diagnosis_id: (value as Diagnosed).entity_id }
      }
    case "read_loop_result": {
      const { content, metadata } = value as Paged
      return { content, metadata }
    }
    default:
      return {
        content: JSON.stringify(value),
        ...(tool.spec.stop_loop === true ? { stop_loop: true } : undefined)
      }
  }
}

const isToolError = Schema.is(ToolError)

/** A failure as one of the four classes; the text of a defect is not kept. */
const errorOf = (cause: Cause.Cause<unknown>): ToolError => {
  const error = Cause.findErrorOption(cause)
  return error._tag === "Some" && isToolError(error.value)
    ? error.value
    : new ToolTerminalError({ kind: "internal", reason: "DEFECT", message: "the tool failed" })
}

/** The actions that a task allows, from the metadata that its dispatcher put on the call. */
const actionsOf = ({ metadata }: CallMessage): ReadonlyArray<string> | undefined => {
  const given = metadata?.["decide_action_allowlist"]
  return Array.isArray(given) && given.every((action) => typeof action === "string")
    ? given
    : undefined
}

/** Runs one call. A failure is a result; nothing fails. `stop_loop` is set by a success only. */
export const execute = Effect.fnUntraced(function* (
  tool: GovernedTool,
  call: CallMessage,
  around: Surroundings
): Effect.fn.Return<Executed> {
  const echo = {
    call_id: call.id,
    name: call.name,
    ...(call.loop_id === undefined ? undefined : { loop_id: call.loop_id }),
    ...(call.trace_id === undefined ? undefined : { trace_id: call.trace_id })
  }
  if (call.name !== tool.spec.name) {
    yield* Effect.logError("a tool call was routed to another tool", {
      called: logText(call.name.slice(0, 200)),
      tool: tool.key
    })
    const error = `unknown tool: ${call.name.slice(0, 200)}`
    return { result: { ...echo, error, error_kind: "not_found" }, defect: true }
  }
  const args = tool.decode(call.arguments ?? {})
  const exit = yield* Effect.exit(
    Exit.isFailure(args)
      ? Effect.fail(
          new ToolUserError({
            kind: "invalid_args",
            reason: "INPUT_SCHEMA",
            message: textOf(args.cause)
          })
        )
      : Effect.suspend(() =>
          tool.handler(args.value, {
            toolCallId: call.id,
            preliminary: () => Effect.void,
            call: {
              run: (call.loop_id ?? "") as RunId,
              call: call.id as CallId,
              tenant: around.tenant,
              trace_id: call.trace_id ?? "",
              principal: call.loop_id ?? "",
              approved_by: call.approved_by,
              key: undefined
            }
          })
        ).pipe(
          Effect.provideService(DecideActions, actionsOf(call)),
          Effect.provideContext(tool.services)
        )
  )
  const encoded = Exit.isSuccess(exit) ? tool.encode(exit.value) : undefined
  if (encoded !== undefined && Exit.isSuccess(encoded)) {
    return { result: { ...echo, ...told(tool, encoded.value, call, around) }, defect: false }
  }
  const { kind, message, reason } = errorOf(Exit.isFailure(exit) ? exit.cause : Cause.empty)
  return {
    result: { ...echo, error: message, error_kind: kind, stop_loop: false },
    defect: reason === "NO_LOOP"
  }
})

const textOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return Schema.isSchemaError(error) ? error.message : "the arguments do not fit"
}
