/**
 * Switches that stop every tool at once: one per tenant, for its own operators, and one for the process, for the program
 * that runs it. While either is on, the gate refuses every call of the tenant's runs; handlers that already run continue,
 * and questions stay open. A tenant's is stored: it holds in every process over the store, also after a restart, until it is
 * turned off. That of the process is off when it starts.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { NotEntitled } from "../src/principal/NotEntitled.ts"
import type { InvalidInput } from "../src/schema/InvalidInput.ts"
import type { Tenant } from "../src/value/Ids.ts"
import type { Principal } from "../src/principal/Principal.ts"
import type { StoreError } from "./StoreError.ts"

/** The switches of each tenant, and of the process, that stop every tool. */
export class KillSwitch extends Context.Service<
  KillSwitch,
  {
    /**
     * Whether the tools of this tenant's runs are stopped, by the tenant's own switch or by that of the process. Checked at every
     * call.
     */
    isOn(tenant: Tenant): boolean
    /**
     * Turns the switch of the principal's own tenant on or off: here at once, and in the other processes over the store some 2 s later;
     * for operators. Fails with StoreError where it could not be stored: turned on, it holds in this process and is stored as soon
     * as the store answers; turned off, it stays on.
     */
    turn(on: boolean, by: Principal): Effect.Effect<void, InvalidInput | NotEntitled | StoreError>
    /** Turns the switch of the process on or off, for all tenants. It takes no principal, so no HTTP endpoint may call it. */
    turnAll(on: boolean): Effect.Effect<void, InvalidInput>
  }
>()("troupe/services/KillSwitch") {}
