/**
 * What must not be shown of a header that says who asks.
 */

/** A shorter text is left out: replacing it would garble others. */
const units_min = 6

/** The value, and the credential after its scheme, as an answer may quote either. */
export const headerSecrets = (value: string): ReadonlyArray<string> =>
  [value, value.replace(/^\S+\s+/, "")].filter(({ length }) => length >= units_min)
