/**
 * The span that a call is sent in. Without a tracer it follows from the call, so that what the platform does for it is still in
 * the run's trace, and a call that is sent again has the same one.
 */
import { createHash } from "node:crypto"
import { Effect, Tracer } from "effect"
import type { CallOfRun } from "../../src/tool/GovernedTool.ts"

const span_id_digits = 16

/** It counts as sampled: the journal records the call under this trace. */
const ownSpan = ({ call, run, trace_id }: CallOfRun): Tracer.ExternalSpan =>
  Tracer.externalSpan({
    traceId: trace_id,
    spanId: createHash("sha256").update(`${run}:${call}`).digest("hex").slice(0, span_id_digits),
    sampled: true
  })

/** The tracer's span, or that of a sender that is not sampled, where there is one. */
export const spanOfCall = (call: CallOfRun): Effect.Effect<Tracer.AnySpan> =>
  Effect.orElseSucceed(Effect.currentParentSpan, () => ownSpan(call))
