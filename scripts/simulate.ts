/**
 * The long simulation: 10,000 seeds with mixed faults, every single crash of 300 short conversations, and every planted
 * bug.
 */
import { parseArgs } from "node:util"
import { mutants } from "../test/simulation/Mutants.ts"
import { simulate } from "../test/simulation/Simulation.ts"
import type { Outcome } from "../test/simulation/Suite.ts"
import { caught, crashedAt, mixed, said, sometimes, swept } from "../test/simulation/Suite.ts"

const usage = `npm run simulate -- [options]

  --seeds N        how many seeds are played with mixed faults (10000)
  --sweep N        of how many short conversations every single crash is played (300)
  --mutant TEXT    only planted bugs whose name has the text
  --seed N         one seed again: whether it holds, then what happened and its events
  --crash P        with --seed: a crash at I/O point P
  --loops N        with --seed: N loops a turn, instead of what the seed draws
  --from N         the first seed of those with mixed faults (1)

Exit code: 0 when everything holds and every planted bug is seen, else 1.`

const options = {
  seed: { type: "string" },
  crash: { type: "string" },
  loops: { type: "string" },
  from: { type: "string", default: "1" },
  seeds: { type: "string", default: "10000" },
  sweep: { type: "string", default: "300" },
  mutant: { type: "string" },
  help: { type: "boolean", short: "h", default: false }
} as const

const flagsOf = () => {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

const values = flagsOf()
if (values.help) {
  console.log(usage)
  process.exit(0)
}

/** A number of a flag, at least `least`; anything else ends the script. */
const number = (flag: string, text: string, least: number): number => {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= least) return value
  console.error(`--${flag} takes a whole number of at least ${least}, not "${text}"`)
  process.exit(2)
}

const timed = (what: string, play: () => Outcome): boolean => {
  const began = performance.now()
  const { counts, failures, runs } = play()
  const rate = Math.round(runs / ((performance.now() - began) / 1_000))
  console.log(`${what}: ${runs} runs, ${rate} runs/s, ${failures.length} failures`)
  for (const failure of failures) console.log(said(failure))
  const missing = what === "mixed faults" ? sometimes.filter((each) => !counts.has(each)) : []
  if (missing.length > 0 && runs >= 1_000) console.log(`never met: ${missing.join(", ")}`)
  return failures.length === 0 && (missing.length === 0 || runs < 1_000)
}

const one = (
  seed: number,
  crash: number | undefined,
  loops_per_turn: number | undefined
): boolean => {
  const result = crash === undefined ? simulate(seed, { loops_per_turn }) : crashedAt(seed, crash)
  console.log(result.violations.length === 0 ? `seed ${seed} holds` : `seed ${seed} fails`)
  for (const violation of result.violations) console.log(violation)
  for (const [what, count] of [...result.counts].sort()) console.log(`  ${count} x ${what}`)
  for (const entries of JSON.parse(result.digest.slice(result.digest.indexOf(" ") + 1))) {
    for (const { at, event, seq } of entries) console.log(seq, at, JSON.stringify(event))
  }
  return result.violations.length === 0
}

const planted = (text: string, seeds: number): boolean => {
  let all = true
  for (const [name, mutation] of Object.entries(mutants)) {
    if (!name.includes(text)) continue
    const failure = caught(mutation, seeds)
    all &&= failure !== undefined
    console.log(
      failure === undefined
        ? `NOT SEEN in ${seeds} seeds: ${name}`
        : `seen at seed ${failure.seed}: ${name} (${failure.violations[0]})`
    )
  }
  return all
}

const seeds = number("seeds", values.seeds, 1)
const from = number("from", values.from, 0)
const good =
  values.seed !== undefined
    ? one(
        number("seed", values.seed, 0),
        values.crash === undefined ? undefined : number("crash", values.crash, 0),
        values.loops === undefined ? undefined : number("loops", values.loops, 1)
      )
    : values.mutant !== undefined
      ? planted(values.mutant, Math.min(seeds, 1_000))
      : [
          timed("mixed faults", () => mixed(from, from + seeds - 1)),
          timed("a crash at every I/O", () => swept(1, number("sweep", values.sweep, 0))),
          planted("", 1_000)
        ].every(Boolean)
process.exitCode = good ? 0 : 1
