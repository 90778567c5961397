/**
 * Why somebody is refused where the error does not say it, because its caller may not know: a customer is told that there is no
 * such run, and the log of whoever acts for the customer says whose run it is.
 */

const reasons = new WeakMap<object, string>()

/** The error, with a reason that no surface shows; undefined = it says all. */
export const hiding = <E extends object>(reason: string | undefined, error: E): E => {
  if (reason !== undefined) reasons.set(error, reason)
  return error
}

/** The reason behind an error; undefined = the error says all. */
export const hiddenReason = (error: unknown): string | undefined =>
  typeof error === "object" && error !== null ? reasons.get(error) : undefined

/** The reason of something that belongs to somebody else. */
export const begunBy = (owner: string | undefined): string =>
  owner === undefined ? "nobody of the tenant began it" : `${owner} began it`
