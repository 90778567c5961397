/**
 * The long simulation: 10,000 seeds with mixed faults, every single crash of 300 short conversations, and every planted
 * bug.
 */
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { mutants } from "./Mutants.ts"
import { simulate } from "./Simulation.ts"
import type { Outcome } from "./Suite.ts"
import { caught, crashedAt, mixed, said, sometimes, swept } from "./Suite.ts"
import { optionalText, runCommandLine, wholeNumber } from "../../scripts/command/CommandLine.ts"

const optionalNumber = (name: string, least: number, description: string) =>
  wholeNumber(name, least, description).pipe(Flag.optional, Flag.map(Option.getOrUndefined))

const flags = {
  seeds: wholeNumber("seeds", 1, "how many seeds are played with mixed faults (10000)").pipe(
    Flag.withDefault(10_000)
  ),
  sweep: wholeNumber(
    "sweep",
    0,
    "of how many short conversations every single crash is played (300)"
  ).pipe(Flag.withDefault(300)),
  mutant: optionalText("mutant", "TEXT", "only planted bugs whose name has the text"),
  seed: optionalNumber(
    "seed",
    0,
    "one seed again: whether it holds, then what happened and its events"
  ),
  crash: optionalNumber("crash", 0, "with --seed: a crash at this I/O point"),
  loops: optionalNumber("loops", 1, "with --seed: loops a turn, instead of what the seed draws"),
  from: wholeNumber("from", 0, "the first seed of those with mixed faults (1)").pipe(
    Flag.withDefault(1)
  )
}
type Flags = Command.Command.Config.Infer<typeof flags>

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

/** The journals of a digest, each as its entries. */
const decodeRuns = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Array(
      Schema.Array(Schema.Struct({ seq: Schema.Int, at: Schema.Number, event: Schema.Json }))
    )
  )
)

const one = (
  seed: number,
  crash: number | undefined,
  loops_per_turn: number | undefined
): boolean => {
  const result = crash === undefined ? simulate(seed, { loops_per_turn }) : crashedAt(seed, crash)
  console.log(result.violations.length === 0 ? `seed ${seed} holds` : `seed ${seed} fails`)
  for (const violation of result.violations) console.log(violation)
  for (const [what, count] of [...result.counts].sort()) console.log(`  ${count} x ${what}`)
  for (const entries of decodeRuns(result.digest.slice(result.digest.indexOf(" ") + 1))) {
    for (const { at, event, seq } of entries) console.log(seq, at, JSON.stringify(event))
  }
  return result.violations.length === 0
}

const planted = (text: string, seeds: number): boolean => {
  const named = Object.entries(mutants).filter(([name]) => name.includes(text))
  if (named.length === 0) console.log(`no planted bug has ${JSON.stringify(text)} in its name`)
  let all = named.length > 0
  for (const [name, mutation] of named) {
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

const play = ({ crash, from, loops, mutant, seed, seeds, sweep }: Flags): boolean => {
  if (seed !== undefined) return one(seed, crash, loops)
  if (mutant !== undefined) return planted(mutant, Math.min(seeds, 1_000))
  return [
    timed("mixed faults", () => mixed(from, from + seeds - 1)),
    timed("a crash at every I/O", () => swept(1, sweep)),
    planted("", 1_000)
  ].every(Boolean)
}

const simulation = Command.make("simulate", flags, (values) =>
  Effect.sync(() => {
    process.exitCode = play(values) ? 0 : 1
  })
).pipe(
  Command.withDescription(
    `Plays seeded runs with faults. In a clone: npm run simulate -- [flags]

  Exit code: 0 when everything holds and every planted bug is seen, else 1; 2 when the command line cannot be read.`
  )
)

await Effect.runPromise(runCommandLine(simulation))
