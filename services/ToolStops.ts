/**
 * Tenants whose tools are stopped. They are stored, so that every process over the store stops them, also after a restart.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** The stored switches of tenants that stop every tool. */
export class ToolStops extends Context.Service<
  ToolStops,
  {
    /** All of them, in any order. A tenant stops its own tools only, so there are no more than there are tenants. */
    readonly tenants: Effect.Effect<ReadonlyArray<Tenant>, StoreError>
    /** `at`: ms since 1970. To stop what is stopped, or to start what is not, changes nothing. */
    set(tenant: Tenant, stopped: boolean, at: number): Effect.Effect<void, StoreError>
  }
>()("troupe/services/ToolStops") {}
