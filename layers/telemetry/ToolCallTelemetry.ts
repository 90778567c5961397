/**
 * Logs and metrics of completed calls: one line and one count for each logical call, and counts of its attempts.
 * Metrics have SemStreams' names with our prefix; the line has the eight fields of ToolCallMetadata, and which call it was and why it failed.
 */
import { Context, Effect, Layer, Metric } from "effect"
import { calls_unknown_total, totalMetric } from "../../src/value/Telemetry.ts"
import { ToolErrorKind } from "../../src/error/ToolError.ts"
import { logText } from "../../src/value/InvisibleText.ts"
import type { ToolCompleted } from "../../src/tool/CallRecord.ts"
import type {
  ToolAttempt,
  ToolAttemptObserver,
  ToolCallObserver,
  RunFact,
  RunObserver
} from "../../services/RunObserver.ts"
import {
  ToolAttemptObservers,
  ToolCallObservers,
  RunObservers
} from "../../services/RunObserver.ts"

type About = Readonly<Record<string, string | number>>

/** What is said of an event of a run; undefined = nothing. It has names and ids, and no text of a message, an argument or a note. */
const lineOf = ({ event }: RunFact): readonly [message: string, about: About] | undefined => {
  switch (event._tag) {
    case "RunClaimed":
      return event.epoch > 1 ? ["run taken over", { epoch: event.epoch }] : ["run began", {}]
    case "RunEnded":
      return ["run ended", { status: event.status, reason: event.reason }]
    case "ApprovalRequested":
    case "ClientRequested":
      return [
        "question asked",
        { call_id: event.call, approval: event.approval, tool: logText(event.payload.tool_name) }
      ]
    case "ApprovalDecided":
      return [
        "question decided",
        {
          call_id: event.call,
          approval: event.approval,
          decision: event.decision._tag,
          by: logText(event.by)
        }
      ]
    case "ApprovalClosed":
      return [
        "question closed",
        { call_id: event.call, approval: event.approval, reason: event.how }
      ]
    default:
      return undefined
  }
}

const makeRunLines = Effect.gen(function* () {
  const log = Effect.runSyncWith(yield* Effect.context<never>())
  const observe: RunObserver = (fact) => {
    const line = lineOf(fact)
    if (line === undefined) return
    const [message, about] = line
    const { address, conversation, tenant, trace_id } = fact.state.accepted
    const where = { run_id: fact.run, conversation, tenant, agent: address.agent, trace_id }
    log(Effect.annotateLogs(Effect.logInfo(message), { ...where, ...about }))
  }
  return [...(yield* RunObservers), observe]
})

const executions_total = totalMetric(
  "troupe_agentic_tools_executions_total",
  "Calls that ended, by tool and status: success, error or timeout"
)
/** 1 ms, doubled eleven times, in seconds. */
const execution_duration_seconds = Metric.histogram(
  "troupe_agentic_tools_execution_duration_seconds",
  {
    description: "From the first attempt's begin to the call's end",
    boundaries: Array.from({ length: 12 }, (_, doubled) => 0.001 * 2 ** doubled)
  }
)
const errors_total = totalMetric(
  "troupe_agentic_tools_errors_total",
  "Calls that failed, by tool and kind"
)
const timeout_total = totalMetric(
  "troupe_agentic_tools_timeout_total",
  "Calls that were not answered in time"
)

const filtered_total = totalMetric(
  "troupe_agentic_tools_filtered_total",
  "Calls that did not run, by tool and reason: not_allowed or approval_required"
)
const retries_total = totalMetric(
  "troupe_agentic_tools_retries_total",
  "Attempts that failed and were followed by another, by tool and kind"
)
const retries_exhausted_total = totalMetric(
  "troupe_agentic_tools_retries_exhausted_total",
  "Calls that failed after the last attempt that their policy allows"
)

const statuses = ["success", "error", "timeout"] as const
const filters = ["not_allowed", "approval_required"] as const

/** Begins the counters of tools at 0: an increase is seen only of a series that was there before. */
export const beginCounters = (tools: Iterable<string>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const begin = (counter: Metric.Counter<number>, labels: Readonly<Record<string, string>>) =>
      Metric.update(Metric.withAttributes(counter, labels), 0)
    yield* Metric.update(timeout_total, 0)
    yield* Metric.update(retries_exhausted_total, 0)
    for (const tool_name of tools) {
      for (const status of statuses) yield* begin(executions_total, { tool_name, status })
      for (const reason of filters) yield* begin(filtered_total, { tool_name, reason })
      for (const error_type of ToolErrorKind.literals) {
        yield* begin(errors_total, { tool_name, error_type })
      }
      yield* begin(calls_unknown_total, { tool: tool_name })
    }
  })

/** Why the gate refused a call, as the metric's label; undefined = it did not, or for another kind of reason. */
const filterOf = ({ error_reason }: ToolCompleted): (typeof filters)[number] | undefined => {
  switch (error_reason) {
    case "NOT_ALLOWED":
    case "ROLE_DENIED":
      return "not_allowed"
    case "APPROVAL_REQUIRED":
    case "APPROVAL_DENIED":
    case "APPROVAL_EXPIRED":
      return "approval_required"
    default:
      return undefined
  }
}

/** Why a call ends of which nobody has asked yet whether there is a tool of its name. */
const unasked: ReadonlySet<string> = new Set([
  "CANCELLED",
  "DUPLICATE_CALL",
  "MALFORMED_JSON",
  "TURN_CUT"
])
/** Names of such calls that have a series, and their length; any other shares one, until a tool of its name was called. */
const unasked_max = 100
const unasked_units_max = 200

const unknown_label = "(unknown)"

/** Names that a model made up share one series; otherwise the number of series would have no bound. */
const makeLabels = () => {
  const tools = new Set<string>()
  const others = new Set<string>()
  return ({ error_reason, metadata: { tool_name: name } }: ToolCompleted): string => {
    if (error_reason === "UNKNOWN_TOOL") return unknown_label
    if (error_reason === undefined || !unasked.has(error_reason)) {
      tools.add(name)
      return name
    }
    if (tools.has(name) || others.has(name)) return name
    if (others.size >= unasked_max || name.length > unasked_units_max) return unknown_label
    others.add(name)
    return name
  }
}

const measure = (fact: ToolCompleted, tool_name: string, context: Context.Context<never>): void => {
  // SemStreams classes a cancelled call as a timeout; an alert on slow tools must not count it.
  const late = fact.error_kind === "timeout" && fact.error_reason !== "CANCELLED"
  const status = fact.metadata.ok ? "success" : late ? "timeout" : "error"
  Metric.withAttributes(executions_total, { tool_name, status }).updateUnsafe(1, context)
  Metric.withAttributes(execution_duration_seconds, { tool_name }).updateUnsafe(
    fact.metadata.latency_ms / 1_000,
    context
  )
  if (fact.error_kind !== null) {
    const error_type = fact.error_kind
    Metric.withAttributes(errors_total, { tool_name, error_type }).updateUnsafe(1, context)
  }
  if (late) timeout_total.updateUnsafe(1, context)
  const reason = filterOf(fact)
  if (reason !== undefined) {
    Metric.withAttributes(filtered_total, { tool_name, reason }).updateUnsafe(1, context)
  }
}

const measureAttempt = (
  { error, tool_name, willRetry }: ToolAttempt,
  context: Context.Context<never>
): void => {
  if (!willRetry) return retries_exhausted_total.updateUnsafe(1, context)
  const attributes = { tool_name, error_kind: error.kind }
  Metric.withAttributes(retries_total, attributes).updateUnsafe(1, context)
}

/** The model chose the name, so it is escaped for the log. */
const shown = ({ call, error_reason, metadata, run, tenant }: ToolCompleted) => ({
  ...metadata,
  tool_name: logText(metadata.tool_name),
  run_id: run,
  call_id: call,
  tenant,
  ...(error_reason === undefined ? undefined : { reason: logText(error_reason) })
})

const makeMetrics = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const labelOf = makeLabels()
  const call: ToolCallObserver = (fact) => measure(fact, labelOf(fact), context)
  const attempt: ToolAttemptObserver = (each) => measureAttempt(each, context)
  return Context.make(ToolCallObservers, [...(yield* ToolCallObservers), call]).pipe(
    Context.add(ToolAttemptObservers, [...(yield* ToolAttemptObservers), attempt])
  )
})

const makeLines = Effect.gen(function* () {
  const log = Effect.runSyncWith(yield* Effect.context<never>())
  const call: ToolCallObserver = (fact) =>
    log(Effect.annotateLogs(Effect.logInfo("tool_call"), shown(fact)))
  return [...(yield* ToolCallObservers), call]
})

/** The metrics alone. Provide it beneath the runtime, as `layer`. */
export const metrics: Layer.Layer<never> = Layer.effectContext(makeMetrics)

/** The lines of the log alone, those of runs among them. Provide it beneath the runtime, as `layer`. */
export const lines: Layer.Layer<never> = Layer.merge(
  Layer.effect(ToolCallObservers, makeLines),
  Layer.effect(RunObservers, makeRunLines)
)

/** Provide it beneath the runtime, which reads its observers once, when it is built. Observers of outer layers are kept. */
export const layer: Layer.Layer<never> = Layer.provideMerge(metrics, lines)
