/**
 * Options over their defaults.
 */

/** The defaults, with what is given in their place. A member that is undefined counts as absent. */
export const withDefaults = <A extends object>(
  defaults: A,
  given: { readonly [K in keyof A]?: A[K] | undefined } | undefined
): A => {
  const present = Object.entries(given ?? {}).filter(([, value]) => value !== undefined)
  return Object.assign({}, defaults, Object.fromEntries(present))
}
