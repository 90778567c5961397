/**
 * Round robin over tenants. Private to this room.
 */
import type { Tenant } from "../../src/value/Ids.ts"

/** The items of each tenant, in the given order. Tenants are sorted by name, starting with the first one after `after`. */
export const groupByTenant = <A>(
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

/** The first item of each list, then the second of each, and so on. */
export function* roundRobin<A>(lists: ReadonlyArray<ReadonlyArray<A>>): Iterable<A> {
  for (let i = 0; lists.some((list) => i < list.length); i++) {
    for (const list of lists) yield* list.slice(i, i + 1)
  }
}

/** The first item of each tenant, then the second of each, and so on; within one round in the order of `all`. */
export const roundRobinByAge = <A>(
  all: Iterable<A>,
  tenantOf: (item: A) => Tenant
): ReadonlyArray<A> => {
  const counts = new Map<Tenant, number>()
  const found: Array<readonly [round: number, item: A]> = []
  for (const item of all) {
    const tenant = tenantOf(item)
    const round = counts.get(tenant) ?? 0
    counts.set(tenant, round + 1)
    found.push([round, item])
  }
  // The sort is stable.
  return found.sort(([a], [b]) => a - b).map(([, item]) => item)
}
