/**
 * The times and bounds of a runtime. In ms unless the name says otherwise.
 */
import { Context } from "effect"
import { loops_per_turn } from "../fiber/LoopScheduler.ts"

/** How long actors and runs stay in the process, and how often it sweeps. */
export interface RuntimeConfig {
  /** How long a run that waits only for people stays resident; then it is parked. */
  readonly park_ms: number
  /** How long an actor without a run stays in the process. */
  readonly idle_ms: number
  /** Actors without a run that stay in the process; where there are more, the one that has been idle longest leaves. */
  readonly idle_max: number
  /** How often the runtime looks for runs without an owner and for questions whose time is over. */
  readonly sweep_ms: number
  /** How long this process owns its runs without renewing its lease; it renews it every third of that time. */
  readonly lease_ms: number
  /** How long a stop waits for what is in flight. */
  readonly drain_ms: number
  /** Runs that are loaded from the journal at the same time. */
  readonly rehydrate_max: number
  /** Runs that one sweep may recover, and runs that it may adopt. */
  readonly recover_max: number
  /**
   * Loops that resume in one turn of the process's event loop, where their turns, calls and appends complete at once, and
   * actors that a sweep starts in one; at least 1. Each takes some 10 to 50 us. A loop that a person or a deadline wakes
   * resumes at once.
   */
  readonly loops_per_turn: number
  /** How often a watcher reads the journal without a wakeup: other processes do not wake it. */
  readonly watch_ms: number
  /**
   * What the runs at work may take of the process's memory, in bytes, by estimate (`RunMemory`); at least 8,000,000. The bounds of
   * what waits for readers follow from it.
   */
  readonly in_flight_bytes_max: number
  /** When runs that are not over are first audited for lost events and records, after the start. */
  readonly audit_first_ms: number
  /** How often they are audited after that. */
  readonly audit_ms: number
}

export const defaults: RuntimeConfig = {
  park_ms: 1_000,
  idle_ms: 60_000,
  idle_max: 10_000,
  sweep_ms: 5_000,
  lease_ms: 15_000,
  drain_ms: 5_000,
  rehydrate_max: 64,
  recover_max: 10_000,
  loops_per_turn,
  watch_ms: 1_000,
  in_flight_bytes_max: 2_000_000_000,
  audit_first_ms: 5_000,
  audit_ms: 600_000
}

export const RuntimeConfig = Context.Reference<RuntimeConfig>("troupe/RuntimeConfig", {
  defaultValue: () => defaults
})
