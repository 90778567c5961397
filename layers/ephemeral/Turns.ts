/**
 * Whose turn it is, where tenants take turns. Private to this room.
 */
import type { Tenant } from "../../src/Ids.ts"

/** What each tenant has, in order; the tenants by name, from the one behind `after` on. */
export const byTenant = <A>(
  all: Iterable<A>,
  tenantOf: (item: A) => Tenant,
  after: Tenant | undefined
): ReadonlyArray<readonly [tenant: Tenant, those: Array<A>]> => {
  const found = new Map<Tenant, Array<A>>()
  for (const item of all) {
    const tenant = tenantOf(item)
    const those = found.get(tenant)
    if (those === undefined) found.set(tenant, [item])
    else those.push(item)
  }
  const behind = (tenant: Tenant) => (after !== undefined && tenant <= after ? 1 : 0)
  return [...found].sort(([a], [b]) => behind(a) - behind(b) || (a < b ? -1 : 1))
}

/** The first of each in turn, then the second of each, and so on. */
export function* inTurns<A>(lists: ReadonlyArray<ReadonlyArray<A>>): Iterable<A> {
  for (let i = 0; lists.some((list) => i < list.length); i++) {
    for (const list of lists) if (i < list.length) yield list[i]!
  }
}

/** The oldest of each tenant, then the second of each, and so on; those of one turn by their age, as `all` is. */
export const turnsByAge = <A>(
  all: Iterable<A>,
  tenantOf: (item: A) => Tenant
): ReadonlyArray<A> => {
  const counts = new Map<Tenant, number>()
  const found: Array<readonly [turn: number, item: A]> = []
  for (const item of all) {
    const tenant = tenantOf(item)
    const turn = counts.get(tenant) ?? 0
    counts.set(tenant, turn + 1)
    found.push([turn, item])
  }
  // Stable.
  return found.sort(([a], [b]) => a - b).map(([, item]) => item)
}
