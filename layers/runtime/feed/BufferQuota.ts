/**
 * How much is held in memory for later, by tenant and in all, in UTF-16 units: what would be more is not taken. No tenant can
 * fill the whole.
 */
import type { Tenant } from "../../../src/value/Ids.ts"

export interface UnitBounds {
  readonly tenant_max: number
  readonly all_max: number
}

/** The bounds, or as many units in all as these, where that is less. */
export const boundsWithin = ({ all_max, tenant_max }: UnitBounds, units: number): UnitBounds => {
  const part = Math.min(1, units / all_max)
  return { tenant_max: tenant_max * part, all_max: all_max * part }
}

/** What is held for one tenant. */
interface Account {
  units: number
}

/** Empty accounts that are kept: one that comes and goes with each event costs more than what it counts (bench row `send`). */
const empty_max = 1_000

export class BufferQuota {
  readonly #bounds: UnitBounds
  readonly #accounts = new Map<Tenant, Account>()
  #all = 0

  constructor(bounds: UnitBounds) {
    this.#bounds = bounds
  }

  /** Tenants for which something is held. */
  get tenants(): number {
    let tenants = 0
    for (const { units } of this.#accounts.values()) if (units > 0) tenants++
    return tenants
  }

  /** Tenants that are kept, with those for which nothing is held. */
  get accounts(): number {
    return this.#accounts.size
  }

  /** Undefined = it was counted; otherwise whose bound it would pass, and nothing was counted. */
  reserve(tenant: Tenant, units: number): "tenant" | "all" | undefined {
    const account = this.#accounts.get(tenant)
    const held = (account?.units ?? 0) + units
    if (held > this.#bounds.tenant_max) return "tenant"
    if (this.#all + units > this.#bounds.all_max) return "all"
    if (account === undefined) this.#accounts.set(tenant, { units })
    else account.units = held
    this.#all += units
    return undefined
  }

  release(tenant: Tenant, units: number): void {
    const account = this.#accounts.get(tenant)
    if (account === undefined) return
    this.#all -= units
    account.units -= units
    if (account.units <= 0 && this.#accounts.size > empty_max) this.#accounts.delete(tenant)
  }
}
