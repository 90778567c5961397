/**
 * Code from outside that may throw. The one `try` of this room: `Result.try` makes a closure and a result each time, and
 * this is on the way of every turn and every call.
 */

/** What `make` makes of two values; of what it throws, `failed` makes the same. */
export const callCatching = <A, B, C>(
  make: (a: A, b: B) => C,
  a: A,
  b: B,
  failed: (defect: unknown) => C
): C => {
  try {
    return make(a, b)
  } catch (defect) {
    return failed(defect)
  }
}
