/**
 * A run in traces: one span for each time that it goes on, from its claim or its wake to its end or its rest, under the
 * span that sent its message. The turns, calls and waits of that time are beneath it. The trace is the run's own, kept with
 * it, so that one trace covers restarts, other processes and days. Costs nothing where no tracer listens.
 */
import { Context, Effect, Exit, Option, Tracer } from "effect"
import type { SecureRandom } from "effect/crypto"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { RunId } from "../../../src/Ids.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { RunJournal } from "../../../services/RunJournal.ts"

/** Events that are looked at for questions; of a longer run the older ones are not. */
const entries_max = 10_000

interface Wait {
  readonly name: string
  readonly tool: string
  readonly how: string
  /** ms since 1970. */
  readonly from: number
  readonly to: number
}

/** Did a command write it, or a claim, and not the run's own loop? */
const isForeign = ({ event }: JournalEntry): boolean =>
  event._tag === "RunClaimed" ||
  event._tag === "ApprovalDecided" ||
  event._tag === "ApprovalClosed" ||
  (event._tag === "CallSettled" && event.by !== undefined)

/** Questions that were answered since the run last went on: what stands at the journal's end. */
const answeredIn = (entries: ReadonlyArray<JournalEntry>): ReadonlyArray<Wait> => {
  const waits: Array<Wait> = []
  for (let i = entries.length - 1; i >= 0 && isForeign(entries[i]!); i--) {
    const { at, event } = entries[i]!
    if (event._tag !== "ApprovalDecided" && event._tag !== "ApprovalClosed") continue
    const asked = entries.find(
      (each) => each.event._tag === "ApprovalRequested" && each.event.approval === event.approval
    )
    if (asked?.event._tag !== "ApprovalRequested") continue
    const how = event._tag === "ApprovalClosed" ? event.how : event.decision._tag
    const { approval, payload } = asked.event
    waits.push({ name: approval, tool: payload.tool_name, how, from: asked.at, to: at })
  }
  return waits.reverse()
}

const nanos = (ms: number): bigint => BigInt(ms) * 1_000_000n

const tell = (tracer: Tracer.Tracer, parent: Tracer.AnySpan, run: RunId, wait: Wait): void => {
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

/** The span of another process beneath which this one works, such as that of a request's `traceparent`. */
const callerOf = (span: Tracer.AnySpan): Tracer.ExternalSpan | undefined => {
  let at = span
  while (at._tag === "Span") {
    if (Option.isNone(at.parent)) return undefined
    at = at.parent.value
  }
  return at
}

type Trace = Pick<AgentTask, "trace_id" | "span_id" | "sampled">

/**
 * The trace of a message that is being sent: the caller's, or a new one; and the span that sends it, if it is told of.
 * Where it is not, because nobody listens here or the caller wants none, it is the caller's own.
 */
export const traceOfSender = (random: SecureRandom.SecureRandom["Service"]) =>
  Effect.withFiber((fiber) => {
    const { span, tracer } = fiber.cache
    const isTold = span !== undefined && tracer !== undefined && span.sampled
    if (isTold) return Effect.succeed<Trace>({ trace_id: span.traceId, span_id: span.spanId })
    const caller = span === undefined ? undefined : callerOf(span)
    if (caller !== undefined) {
      const { sampled, spanId, traceId } = caller
      const kept = { trace_id: traceId, span_id: spanId }
      return Effect.succeed<Trace>(sampled ? kept : { ...kept, sampled })
    }
    return span !== undefined && span.sampled
      ? Effect.succeed<Trace>({ trace_id: span.traceId })
      : Effect.map(random.uuidV4(), (id): Trace => ({ trace_id: id.replaceAll("-", "") }))
  })

/** One time that a run goes on, with what it waited for before. */
export const traceRun = <A, E, R>(
  journal: RunJournal["Service"],
  run: RunId,
  { accepted }: RunState,
  going: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const { tracer } = fiber.cache
    if (accepted === undefined) return going
    const { address, conversation, sampled = true, span_id, trace_id } = accepted
    const parent =
      span_id === undefined
        ? undefined
        : Tracer.externalSpan({ traceId: trace_id, spanId: span_id, sampled })
    if (tracer === undefined || !sampled) {
      // Nothing is told of it here; what it calls and sends is still beneath its sender.
      return parent === undefined ? going : Effect.withParentSpan(going, parent)
    }
    const waited = Effect.gen(function* () {
      const leg = yield* Effect.orDie(Effect.currentParentSpan)
      const entries = yield* journal.read(run, 0, entries_max)
      for (const wait of answeredIn(entries)) tell(tracer, leg, run, wait)
    })
    return Effect.withSpan(
      // A trace is never a reason for a run to wait or to fail.
      Effect.andThen(Effect.ignore(waited), going),
      `invoke_agent ${address.agent}`,
      {
        kind: "internal",
        ...(parent === undefined ? { root: true } : { parent }),
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": address.agent,
          "gen_ai.conversation.id": conversation,
          "troupe.run_id": run,
          "troupe.trace_id": trace_id
        }
      }
    )
  })
