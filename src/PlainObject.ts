/**
 * Objects among values of which nothing is known.
 */

/** An object that is no list. What its members are is not looked at: `A` is what the caller knows of them. */
export const isObject = <A = unknown>(value: unknown): value is { readonly [name: string]: A } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Is it written as a literal, or without a prototype? A map or an instance of a class is not: JSON would say little of it. */
export const isPlainObject = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
