/**
 * A span as a `traceparent` of W3C Trace Context, version 00: how it reaches a process that does not run its run.
 */
import { Tracer } from "effect"

const written = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

export const traceparentOf = ({ sampled, spanId, traceId }: Tracer.AnySpan): string =>
  `00-${traceId.padStart(32, "0")}-${spanId}-${sampled ? "01" : "00"}`

/** Undefined if it is no such text, or has an id of zeros alone. */
export const spanOf = (traceparent: string): Tracer.ExternalSpan | undefined => {
  const [, traceId, spanId, flags] = written.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return Tracer.externalSpan({
    traceId,
    spanId,
    sampled: Number.parseInt(flags, 16) % 2 === 1
  })
}
