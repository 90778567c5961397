/**
 * Calls of code from outside that may throw. The one `try` of this room: `Result.try` makes a closure and a result each time,
 * and every turn and every call passes here (bench row `step`).
 */

/** The value of `make(a, b)`, or that of `failed` for what it throws. */
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
