/**
 * Fills in the defaults of options.
 */

/** The defaults, overridden by the given members. A given member that is undefined counts as absent. */
export const withDefaults = <A extends object>(
  defaults: A,
  given: { readonly [K in keyof A]?: A[K] | undefined } | undefined
): A => {
  const present = Object.entries(given ?? {}).filter(([, value]) => value !== undefined)
  return Object.assign({}, defaults, Object.fromEntries(present))
}
