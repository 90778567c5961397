/**
 * The span in which a call is sent. Without a tracer, its id is derived from the run and the call, so that the platform's work
 * for the call is in the run's trace, and a repeated call has the same span.
 */
import { createHash } from "node:crypto"
import { Effect, Tracer } from "effect"
import type { CallOfRun } from "../../src/tool/GovernedTool.ts"

const span_id_digits = 16

/** The derived span. It counts as sampled, because the journal records the call under this trace. */
const ownSpan = ({ call, run, trace_id }: CallOfRun): Tracer.ExternalSpan =>
  Tracer.externalSpan({
    traceId: trace_id,
    spanId: createHash("sha256").update(`${run}:${call}`).digest("hex").slice(0, span_id_digits),
    sampled: true
  })

/** The current span, from the tracer or from a sender that is not sampled; otherwise the derived one. */
export const spanOfCall = (call: CallOfRun): Effect.Effect<Tracer.AnySpan> =>
  Effect.orElseSucceed(Effect.currentParentSpan, () => ownSpan(call))
