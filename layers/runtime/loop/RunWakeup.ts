/**
 * How others wake a run's owner in this process: the loop while it runs, the actor while it waits, and nobody in between,
 * so that a wakeup is a flag first. Nothing of a wakeup is lost while no loop runs: the next one looks at the flag.
 */

/** One per actor. It outlives the loops of the actor's runs. */
export interface RunWakeup {
  /** Somebody else may have appended to the run, and its owner has not read the journal since. */
  pending: boolean
  /** How many events of the run's journal its owner has read. A longer journal was amended, with or without a wakeup. */
  seenLength: number
  /** No more work is to be started, and the run leaves the process as soon as nothing of it is in flight. */
  draining: boolean
  /**
   * Who is woken now. An object and not a function: V8 allocates a closure that is assigned to a property in old space,
   * and what it reaches lives until a full collection (bench row `concurrent`).
   */
  waiter: { wake(): void } | undefined
}

export const makeWakeup = (): RunWakeup => ({
  pending: false,
  seenLength: 0,
  draining: false,
  waiter: undefined
})

/** The owner reads what was appended to the run, now or before its next look at it. */
export const wakeRun = (wakeup: RunWakeup): void => {
  wakeup.pending = true
  wakeup.waiter?.wake()
}

/** The owner finishes what is in flight and lets go of the run. */
export const drainRun = (wakeup: RunWakeup): void => {
  wakeup.draining = true
  wakeup.waiter?.wake()
}
