/**
 * A run in traces: one span each time that its loop runs, from a claim or a decision until the run ends or waits for people,
 * under the span that sent its message. Turns, calls and waits are beneath it. The run keeps the trace's id, so that one
 * trace covers restarts, several processes and days. Makes no span where there is no tracer.
 */
import { Context, Effect, Exit, Option, Tracer } from "effect"
import type { Fiber } from "effect"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { TraceState } from "../../../src/run/Nesting.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { RunReader } from "../../../services/RunReader.ts"

/** Entries that are searched for answered questions; of a longer run only the first so many. */
const entries_max = 10_000
/** Events of a run that was accepted and claimed, and has done nothing. */
export const begun_length = 2

interface Wait {
  readonly name: string
  readonly tool: string
  readonly how: string
  /** ms since 1970. */
  readonly from: number
  readonly to: number
}

/** Is it an event that a command or a claim appended, and not the run's own loop? */
const isForeign = ({ event }: JournalEntry): boolean =>
  event._tag === "RunClaimed" ||
  event._tag === "ApprovalDecided" ||
  event._tag === "ApprovalClosed" ||
  (event._tag === "CallSettled" && event.by !== undefined)

/** Questions that were answered since the loop last ran: those whose answers stand at the journal's end. */
const answeredWaits = (entries: ReadonlyArray<JournalEntry>): ReadonlyArray<Wait> => {
  const waits: Array<Wait> = []
  const own = entries.findLastIndex((entry) => !isForeign(entry))
  for (const { at, event } of entries.slice(own + 1).toReversed()) {
    if (event._tag !== "ApprovalDecided" && event._tag !== "ApprovalClosed") continue
    const request = entries.find(
      (each) => each.event._tag === "ApprovalRequested" && each.event.approval === event.approval
    )
    if (request?.event._tag !== "ApprovalRequested") continue
    const how = event._tag === "ApprovalClosed" ? event.how : event.decision._tag
    const { approval, payload } = request.event
    waits.push({ name: approval, tool: payload.tool_name, how, from: request.at, to: at })
  }
  return waits.reverse()
}

const nanos = (ms: number): bigint => BigInt(ms) * 1_000_000n

const recordWait = (
  tracer: Tracer.Tracer,
  parent: Tracer.AnySpan,
  run: RunId,
  wait: Wait
): void => {
  const span = tracer.span({
    name: "approval.wait",
    parent: Option.some(parent),
    annotations: Context.empty(),
    links: [],
    startTime: nanos(wait.from),
    kind: "internal",
    root: false,
    sampled: true
  })
  span.attribute("troupe.run_id", run)
  span.attribute("troupe.approval_id", wait.name)
  span.attribute("troupe.approval.outcome", wait.how)
  span.attribute("gen_ai.tool.name", wait.tool)
  span.end(nanos(wait.to), Exit.void)
}

/** The span of another process above this one, such as that of a request's `traceparent`; undefined if there is none. */
const callerOf = (span: Tracer.AnySpan): Tracer.ExternalSpan | undefined => {
  let at = span
  while (at._tag === "Span") {
    if (Option.isNone(at.parent)) return undefined
    at = at.parent.value
  }
  return at
}

type Trace = Pick<AgentTask, "trace_id" | "span_id" | "sampled" | "tracestate">

/**
 * The trace of a message that is being sent: the caller's, or a new one; and the span that sends it, if a tracer records it.
 * Otherwise, without a tracer or where the caller is not sampled, the caller's own span. The id of a new trace is that of the
 * run, without its hyphens.
 */
const traceOfSender = (fiber: Fiber.Fiber<unknown, unknown>, run: RunId): Trace => {
  const { span, tracer } = fiber.cache
  const tracestate = span === undefined ? undefined : fiber.getRef(TraceState)
  const stated = tracestate === undefined ? undefined : { tracestate }
  const isRecorded = span !== undefined && tracer !== undefined && span.sampled
  if (isRecorded) return { trace_id: span.traceId, span_id: span.spanId, ...stated }
  const caller = span === undefined ? undefined : callerOf(span)
  if (caller !== undefined) {
    const { sampled, spanId, traceId } = caller
    const kept = { trace_id: traceId, span_id: spanId, ...stated }
    return sampled ? kept : { ...kept, sampled }
  }
  return { trace_id: span?.sampled === true ? span.traceId : run.split("-").join("") }
}

/** The trace of the message whose run has this id. */
export type TraceOf = (run: RunId) => Trace

/** Sends in a span where a tracer listens. `Effect.fn` would capture a stack also where none does (bench row `send`). */
export const sendTraced = <A, E, R>(
  name: string,
  send: (traceOf: TraceOf) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const sent = Effect.withFiber((fiber) => send((run) => traceOfSender(fiber, run)))
  return Effect.withFiber(({ cache }) =>
    cache.tracer === undefined ? sent : Effect.withSpan(sent, name, { kind: "producer" })
  )
}

/** One span for one loop of the run, with spans beneath it for the waits that have ended since the loop before. */
export const traceRun = <A, E, R>(
  reader: RunReader["Service"],
  run: RunId,
  { accepted, length }: RunState,
  given: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const { tracer } = fiber.cache
    if (accepted === undefined) return given
    const { address, conversation, sampled = true, span_id, trace_id, tracestate } = accepted
    const effect =
      tracestate === undefined ? given : Effect.provideService(given, TraceState, tracestate)
    const parent =
      span_id === undefined
        ? undefined
        : Tracer.externalSpan({ traceId: trace_id, spanId: span_id, sampled })
    if (tracer === undefined || !sampled) {
      // No span here; what it calls and sends is still beneath its sender's.
      return parent === undefined ? effect : Effect.withParentSpan(effect, parent)
    }
    const waited = Effect.gen(function* () {
      const runSpan = yield* Effect.orDie(Effect.currentParentSpan)
      const entries = yield* reader.read(run, 0, entries_max)
      for (const wait of answeredWaits(entries)) recordWait(tracer, runSpan, run, wait)
    })
    return Effect.withSpan(
      // A failure to read the waits does not fail the run. One that has just begun has none.
      length <= begun_length ? effect : Effect.andThen(Effect.ignore(waited), effect),
      `invoke_agent ${address.agent}`,
      {
        kind: "internal",
        ...(parent === undefined ? { root: true } : { parent }),
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": address.agent,
          "gen_ai.conversation.id": conversation,
          "troupe.run_id": run,
          "troupe.trace_id": trace_id,
          // Effect's exporters have no member for it; collectors write it so where a format has none.
          ...(tracestate === undefined ? undefined : { "w3c.tracestate": tracestate })
        }
      }
    )
  })
