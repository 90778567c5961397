/**
 * Many seeds, every single crash of a few, and the planted bugs: what the tests run a little of and
 * `npm run simulate` all of.
 */
import { calm } from "./World.ts"
import type { Mutation, Played } from "./Generation.ts"
import type { Result } from "./Simulation.ts"
import { simulate } from "./Simulation.ts"

export interface Failure {
  readonly seed: number
  readonly crash_at: number | undefined
  readonly loops_per_turn?: number | undefined
  readonly violations: ReadonlyArray<string>
}

export interface Outcome {
  readonly runs: number
  readonly failures: ReadonlyArray<Failure>
  readonly counts: ReadonlyMap<string, number>
}

/** Says how to see it again. */
export const said = ({ crash_at, loops_per_turn, seed, violations }: Failure): string =>
  [
    `${violations.join("; ")}\n  npm run simulate -- --seed ${seed}`,
    ...(crash_at === undefined ? [] : [`--crash ${crash_at}`]),
    ...(loops_per_turn === undefined ? [] : [`--loops ${loops_per_turn}`])
  ].join(" ")

const failureOf = (result: Result, crash_at?: number): Failure => ({
  seed: result.seed,
  crash_at,
  violations: result.violations
})

/** A mixture of faults drawn from each seed. */
export const mixed = (from: number, to: number, failures_max = 5): Outcome => {
  const counts = new Map<string, number>()
  const failures: Array<Failure> = []
  let runs = 0
  for (let seed = from; seed <= to && failures.length < failures_max; seed++) {
    const result = simulate(seed)
    runs++
    if (result.violations.length > 0) failures.push(failureOf(result))
    for (const [what, count] of result.counts) counts.set(what, (counts.get(what) ?? 0) + count)
  }
  return { runs, failures, counts }
}

/** One conversation of a seed with a crash at one I/O point, 0 = none. */
export const crashedAt = (seed: number, point: number): Result =>
  simulate(seed, { faults: calm, small: true, crash_at: point === 0 ? [] : [point] })

/** One short conversation of each seed, once without a fault and once with a crash at each of its I/O points. */
export const swept = (from: number, to: number, failures_max = 5): Outcome => {
  const counts = new Map<string, number>()
  const failures: Array<Failure> = []
  let runs = 0
  for (let seed = from; seed <= to; seed++) {
    let points = 0
    for (let at = 0; at <= points && failures.length < failures_max; at++) {
      const result = crashedAt(seed, at)
      if (at === 0) points = result.points
      runs++
      if (result.violations.length > 0) failures.push(failureOf(result, at))
      for (const [what, count] of result.counts) counts.set(what, (counts.get(what) ?? 0) + count)
    }
  }
  return { runs, failures, counts }
}

/** Seeds that failed once, as they were played then: nobody watched. */
export const regressions: ReadonlyArray<Played> = [
  567, 1392, 7_000_782, 7_003_252, 7_003_487, 7_004_479, 7_005_070, 9_001_246
].map((seed) => ({ seed, loops_per_turn: 1 }))

/** The seeds that failed once, again. */
export const replayed = (
  played: ReadonlyArray<Played>,
  mutation?: Mutation
): ReadonlyArray<Failure> =>
  played.flatMap(({ loops_per_turn, seed }) => {
    const result = simulate(seed, { loops_per_turn, watched: false, ...(mutation && { mutation }) })
    return result.violations.length === 0 ? [] : [{ ...failureOf(result), loops_per_turn }]
  })

/** The first seed that sees a planted bug; undefined if none does. */
export const caught = (mutation: Mutation, seeds: number): Failure | undefined => {
  const [known] = replayed(mutation.known ?? [], mutation)
  if (known !== undefined) return known
  for (let seed = 1; seed <= seeds; seed++) {
    const result = simulate(seed, { mutation })
    if (result.violations.length > 0) return failureOf(result)
  }
  return undefined
}

/** What must have happened at least once over many seeds, or they show less than they seem to. */
export const sometimes: ReadonlyArray<string> = [
  "a store that failed before",
  "an acknowledgement that was lost",
  "a slow store",
  "crash before an I/O",
  "crash after an I/O",
  "a crash at any time",
  "a start that failed",
  "a pause",
  "a zombie that goes on",
  "a zombie that was fenced off",
  "a stale append",
  "a graceful stop",
  "a run that answered beside another",
  "a second process",
  "a clock that jumped",
  "a policy that changed",
  "a run begun where it was accepted",
  "a run not begun where it was accepted",
  "a dispatch that was given back",
  "a run that was claimed again",
  "a run that was claimed with its amendment",
  "a run that waits for somebody",
  "a verdict that is given at once",
  "a verdict that is given late",
  "a model that stalls",
  "a model that is away",
  "a model that throws",
  "a tool that fails",
  "a tool that throws",
  "a tool that dies",
  "a tool that hangs",
  "a tool that acts then errors",
  "a tool that acts then loses the connection",
  "a tool that acts then dies",
  "a tool that acts then hangs",
  "a tool that is late and acts",
  "a tool that interrupts itself",
  "a question that is away",
  "a question that is mute",
  "a lost call that had happened",
  "a lost call that had not happened",
  "a delivery that failed",
  "a dead letter that was replayed",
  "a person who said Approve",
  "a person who said Deny",
  "a person who said Modify",
  "a person who said RequestRevision",
  "two people at once",
  "somebody without the right",
  "a question that nobody saw for long",
  "a decision refused as ApprovalExpired",
  "a decision refused as ApprovalSettled",
  "a cancel",
  "a cancel that came too late",
  "an operator who said Succeeded",
  "an operator who said Failed",
  "an operator who said RunAgain",
  "a step of a hundred calls",
  "a result that was given back under a key",
  "a key that was free again after a failure",
  "a key that was free again after its time",
  "an append that watchers were told of",
  "an append that watchers were not told of",
  "an event that was given to a watcher",
  "a watcher that came back"
]
