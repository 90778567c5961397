/**
 * How much is held in memory for later, by tenant and in all, in UTF-16 units: what would be more is not taken. No tenant can
 * fill the whole.
 */
import type { Tenant } from "../../../src/Ids.ts"

export interface UnitBounds {
  readonly tenant_max: number
  readonly all_max: number
}

export class HeldUnits {
  readonly #bounds: UnitBounds
  readonly #held = new Map<Tenant, number>()
  #all = 0

  constructor(bounds: UnitBounds) {
    this.#bounds = bounds
  }

  /** Tenants for which something is held. */
  get tenants(): number {
    return this.#held.size
  }

  /** Undefined = it was counted; otherwise whose bound it would pass, and nothing was counted. */
  hold(tenant: Tenant, units: number): "tenant" | "all" | undefined {
    const held = (this.#held.get(tenant) ?? 0) + units
    if (held > this.#bounds.tenant_max) return "tenant"
    if (this.#all + units > this.#bounds.all_max) return "all"
    this.#held.set(tenant, held)
    this.#all += units
    return undefined
  }

  release(tenant: Tenant, units: number): void {
    this.#all -= units
    const held = (this.#held.get(tenant) ?? 0) - units
    if (held > 0) this.#held.set(tenant, held)
    else this.#held.delete(tenant)
  }
}
