/**
 * Recognises objects among unknown values, and treats members that are undefined as absent.
 */

/** Whether the value is an object and not a list. Its members are not checked: `A` is what the caller knows about them. */
export const isObject = <A = unknown>(value: unknown): value is { readonly [name: string]: A } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Is it written as a literal, or without a prototype? Fastify's query and parameters are, too: their prototype is empty and has
 * none. A map or an instance of a class is not: JSON would say little of it.
 */
export const isPlainObject = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return true
  return (
    Object.getPrototypeOf(prototype) === null && Reflect.ownKeys(prototype as object).length === 0
  )
}

/** The members that are not undefined: an absent member in the place of an undefined one. */
export const defined = <A extends object>(
  members: A
): { readonly [Name in keyof A]?: Exclude<A[Name], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never

/** The defaults, overridden by the given members. A given member that is undefined counts as absent. */
export const withDefaults = <A extends object>(
  defaults: A,
  given: { readonly [K in keyof A]?: A[K] | undefined } | undefined
): A => ({ ...defaults, ...defined(given ?? {}) })
