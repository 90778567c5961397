/**
 * The switches that stop every tool at once: each tenant has one, which only its own operators turn, and the process has
 * one, which only the program that runs it turns. While either is on, each call of a tenant's runs is refused at the gate;
 * bodies that run already are not touched, and questions stay. They hold for one process, and are off when it starts.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { NotEntitled } from "../src/approval/Approval.ts"
import type { InvalidInput } from "../src/entry/InvalidInput.ts"
import type { Tenant } from "../src/Ids.ts"
import type { Principal } from "../src/Principal.ts"

export class KillSwitch extends Context.Service<
  KillSwitch,
  {
    /** Are the tools of this tenant's runs stopped, by its own switch or that of the process? Asked for every call. */
    isOn(tenant: Tenant): boolean
    /** Turns the switch of the principal's own tenant, at once; for operators. */
    turn(on: boolean, by: Principal): Effect.Effect<void, InvalidInput | NotEntitled>
    /** Turns that of the process, for all tenants. No principal is asked for: no token may lead here. */
    turnAll(on: boolean): Effect.Effect<void, InvalidInput>
  }
>()("troupe/services/KillSwitch") {}
