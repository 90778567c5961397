/**
 * The two forms of a long test: a little of it in `npm test`, all of it in `npm run test:full`, which runs these files
 * alone. What the short form leaves out is printed by the runner.
 */

/** Is this the run of the long forms? */
export const isFull: boolean = process.env["TROUPE_TEST"] === "full"

/** How much of something a test does: `short` in `npm test`, `full` in `npm run test:full`. */
export const either = (short: number, full: number): number => (isFull ? full : short)

/** Files and folders with a long form. */
export const files: ReadonlyArray<string> = [
  "test/simulation",
  "test/process/Growth.test.ts",
  "test/process/RandomKills.test.ts",
  "test/process/Siege.test.ts"
]

/** What `npm test` leaves to the long form, one line each. */
export const left: ReadonlyArray<string> = [
  "test/simulation: seeds 101 to 1,000, and whether all seeds together met every fault",
  "test/simulation: a crash at every I/O of seeds 11 to 50",
  "test/simulation: three planted bugs out of four",
  "test/process: 38 of 40 random kills on each engine",
  "test/process: what 3,000 of 5,000 runs and 6,000 of 10,000 steps leave behind",
  "test/process: all but 15 s of random kills of two services, a worker and their server"
]
