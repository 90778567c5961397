/**
 * How often a process looks into the stores for what nobody told it of: work that another process left or finished, and a wakeup
 * that was lost.
 */
import { Context } from "effect"

/** The interval at which to look, in ms, from the one that a store needs which several processes share. The default is that one. */
export const StorePace = Context.Reference<(ms: number) => number>("troupe/services/StorePace", {
  defaultValue: () => (ms) => ms
})

/** Where this process alone writes, and hears of all that it writes: at least an hour. What is due has its own timers. */
export const ofSoleWriter = (ms: number): number => Math.max(ms, 3_600_000)
