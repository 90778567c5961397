/**
 * The runtime's own times and bounds. All in ms unless the name says otherwise.
 */
import { Context } from "effect"
import { loops_per_turn } from "../loop/LoopScheduler.ts"

export interface RuntimeConfig {
  /** How long a run that waits only for people stays in the process. */
  readonly park_ms: number
  /** How long an actor with nothing to do stays. */
  readonly idle_ms: number
  /** How often runs without an owner and questions without time are looked for. */
  readonly sweep_ms: number
  /** How long this process owns its runs without saying that it lives; it says so three times as often. */
  readonly lease_ms: number
  /** How long a stop waits for steps on their way. */
  readonly drain_ms: number
  /** Runs that are loaded from the journal at the same time. */
  readonly rehydrate_max: number
  /** Runs that one look for ownerless runs may start. */
  readonly recover_max: number
  /**
   * Runs that go on before the event loop of the process turns, when their turns, calls and appends end at once; at least
   * 1. Each takes some 10 to 50 us. One that a person or a deadline wakes goes on at once.
   */
  readonly loops_per_turn: number
  /** How often a watcher looks at the journal without having been woken: other processes do not wake it. */
  readonly watch_ms: number
  /** When runs that are not over are first looked through for lost events and records, after the start. */
  readonly audit_first_ms: number
  /** How often they are looked through after that. */
  readonly audit_ms: number
}

export const defaults: RuntimeConfig = {
  park_ms: 30_000,
  idle_ms: 60_000,
  sweep_ms: 5_000,
  lease_ms: 15_000,
  drain_ms: 5_000,
  rehydrate_max: 64,
  recover_max: 10_000,
  loops_per_turn,
  watch_ms: 1_000,
  audit_first_ms: 5_000,
  audit_ms: 600_000
}

export const RuntimeConfig = Context.Reference<RuntimeConfig>("troupe/RuntimeConfig", {
  defaultValue: () => defaults
})
