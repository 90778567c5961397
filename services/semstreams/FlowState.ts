/**
 * The states of flows, such as `running` or `stopped`, as the program that deploys them sets them.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../src/value/Ids.ts"
import type { StoreError } from "../StoreError.ts"

export class FlowState extends Context.Service<
  FlowState,
  {
    /** Undefined = no state was set. */
    get(tenant: Tenant, flow: string): Effect.Effect<string | undefined, StoreError>
    /**
     * Sets a flow's state. A flow id has at most 500 characters and a state at most 200; a longer one is a defect of the caller.
     */
    set(tenant: Tenant, flow: string, state: string): Effect.Effect<void, StoreError>
  }
>()("troupe/services/semstreams/FlowState") {}
