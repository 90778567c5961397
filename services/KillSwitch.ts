/**
 * The switch that stops every tool of a runtime at once. While it is on, each call is refused at the gate; bodies that
 * run already are not touched, and questions stay. It holds for one process, and is off when a process starts.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { NotEntitled } from "../src/approval/Approval.ts"
import type { Principal } from "../src/Principal.ts"

export class KillSwitch extends Context.Service<
  KillSwitch,
  {
    /** Asked for every call. */
    isOn(): boolean
    /** Turns it, at once and for all tenants; for operators. */
    turn(on: boolean, by: Principal): Effect.Effect<void, NotEntitled>
  }
>()("troupe/services/KillSwitch") {}
