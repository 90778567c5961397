/**
 * Whether a flow runs, as whoever deploys flows says: a word such as `running` or `stopped`.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../src/Ids.ts"
import type { StoreError } from "./StoreError.ts"

export class FlowState extends Context.Service<
  FlowState,
  {
    /** Undefined where nobody has said. */
    get(tenant: Tenant, flow: string): Effect.Effect<string | undefined, StoreError>
    /** At most 500 characters for the flow, 200 for the state; more dies. */
    set(tenant: Tenant, flow: string, state: string): Effect.Effect<void, StoreError>
  }
>()("troupe/services/FlowState") {}
