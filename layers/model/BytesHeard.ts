/**
 * When bytes of an answer last came, by the signal of its request. A client of streams reports events alone, and an endpoint
 * keeps a connection alive with comments while its model has not begun.
 */

const times = new WeakMap<AbortSignal, number>()

/** Called with each piece of an answer. */
export const heardBytes = (signal: AbortSignal | null | undefined): void => {
  if (signal !== null && signal !== undefined) times.set(signal, performance.now())
}

/** How long ago that was, in ms; Infinity = none came, or its client has a fetch of its own. */
export const sinceBytes = (signal: AbortSignal): number => {
  const at = times.get(signal)
  return at === undefined ? Infinity : performance.now() - at
}
