/**
 * Records when bytes of an answer last arrived, by the abort signal of its request. A client of a stream reports only events,
 * but an endpoint may keep a connection alive with comments before its model begins.
 */

const times = new WeakMap<AbortSignal, number>()

/** Records that a piece of the answer to this request has arrived. */
export const heardBytes = (signal: AbortSignal | null | undefined): void => {
  if (signal !== null && signal !== undefined) times.set(signal, performance.now())
}

/** The time since the last bytes arrived, in ms. Infinity = none have arrived, or the client uses its own fetch. */
export const sinceBytes = (signal: AbortSignal): number => {
  const at = times.get(signal)
  return at === undefined ? Infinity : performance.now() - at
}
