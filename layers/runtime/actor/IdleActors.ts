/**
 * Actors without a run, which wait for the next message of their address without a fiber: only what the next run would
 * otherwise load again. Each leaves after `idle_ms`, and those that have waited longest where there are more than `idle_max`,
 * or where their conversations are more than 64,000,000 UTF-16 units together or 32,000,000 of one tenant. All of them share one
 * deadline (bench row `send`).
 */
import { Deadline } from "../tool/Deadlines.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import { BufferQuota, boundsWithin } from "../feed/BufferQuota.ts"
import { pastUnits } from "../../../src/conversation/Compaction.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { Actor } from "./Actor.ts"

/** For the conversations of all idle actors. */
export const past_bounds = { tenant_max: 32_000_000, all_max: 64_000_000 }

interface Idle {
  /** In ms of the monotonic clock. */
  readonly since: number
  /** What is held for its conversation. */
  readonly units: number
}

interface Bounds {
  readonly idle_ms: number
  readonly idle_max: number
  /** An eighth as many units are kept of conversations. */
  readonly in_flight_bytes_max: number
}

export class IdleActors extends Deadline {
  readonly #deadlines: Deadlines
  readonly #bounds: Bounds
  readonly #leave: (actor: Actor) => void
  /** The oldest first. */
  readonly #idle = new Map<Actor, Idle>()
  readonly #quota: BufferQuota

  constructor(deadlines: Deadlines, bounds: Bounds, leave: (actor: Actor) => void) {
    super()
    this.#deadlines = deadlines
    this.#bounds = bounds
    this.#leave = leave
    this.#quota = new BufferQuota(boundsWithin(past_bounds, bounds.in_flight_bytes_max / 8))
  }

  get size(): number {
    return this.#idle.size
  }

  add(actor: Actor): void {
    const units = actor.past === undefined ? 0 : pastUnits(actor.past)
    if (!this.#hasRoom(actor, units)) return this.#leave(actor)
    this.#idle.set(actor, { since: this.#deadlines.now(), units })
    const [oldest] = this.#idle.keys()
    if (this.#idle.size > this.#bounds.idle_max && oldest !== undefined) this.#end(oldest)
    if (this.index === -1 && this.#idle.size > 0) this.#deadlines.arm(this, this.#bounds.idle_ms)
  }

  /** The actor has something to do. False = it was not idle. */
  take(actor: Actor): boolean {
    return this.#forget(actor)
  }

  fire(): void {
    const due = this.#deadlines.now() - this.#bounds.idle_ms
    for (const [actor, { since }] of this.#idle) {
      if (since > due) return this.#deadlines.arm(this, since - due)
      this.#end(actor)
    }
  }

  /** All of them leave. */
  clear(): void {
    this.#deadlines.disarm(this)
    for (const actor of this.#idle.keys()) this.#end(actor)
  }

  #end(actor: Actor): void {
    this.#forget(actor)
    this.#leave(actor)
  }

  #forget(actor: Actor): boolean {
    const idle = this.#idle.get(actor)
    if (idle === undefined) return false
    this.#quota.release(actor.tenant, idle.units)
    return this.#idle.delete(actor)
  }

  /** Those that have waited longest leave until there is; of the actor's tenant, where it is the tenant's bound. */
  #hasRoom({ tenant }: Actor, units: number): boolean {
    for (;;) {
      const passed = this.#quota.reserve(tenant, units)
      if (passed === undefined) return true
      const oldest = this.#oldest(passed === "tenant" ? tenant : undefined)
      if (oldest === undefined) return false
      this.#end(oldest)
    }
  }

  #oldest(tenant: Tenant | undefined): Actor | undefined {
    for (const [actor, { units }] of this.#idle) {
      if (units > 0 && (tenant === undefined || actor.tenant === tenant)) return actor
    }
    return undefined
  }
}
