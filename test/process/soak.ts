/**
 * The soak: for as long as it is told, people send, decide and settle while services, a worker of the queue and their server are
 * killed, stand still and lose their connections, disks are full and clocks are wrong. Then every run has to end, every effect
 * has to have happened as often as its journal says, and no process may hold more memory than its bound.
 */
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import { Cause, Effect, Exit, Option } from "effect"
import type { Scope } from "effect"
import { Command, Flag } from "effect/cli"
import { siege } from "./Siege.ts"
import { stormOnDisk } from "./HardStorm.ts"
import { runCommandLine, wholeNumber } from "../../scripts/command/CommandLine.ts"

/** Of a service, after everything has ended. */
const resident_mb_max = { pglite: 900, postgres: 500 }

const flags = {
  minutes: wholeNumber("minutes", 1, "minutes for each engine (15)").pipe(Flag.withDefault(15)),
  seed: wholeNumber("seed", 0, "what the troubles are drawn from (the clock)").pipe(
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  ),
  engine: Flag.Literals("engine", ["pglite", "postgres"]).pipe(
    Flag.withDescription("only this engine"),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  )
}
type Flags = Command.Command.Config.Infer<typeof flags>

const print = (line: string): void => void process.stdout.write(`${line}\n`)

const soaks = {
  postgres: (seed: number, load_ms: number) =>
    siege({
      seed,
      load_ms,
      services: 2,
      runs: 40,
      end_ms_max: 180_000,
      hard: true,
      report: (line) => print(`  postgres: ${line}`)
    }),
  pglite: (seed: number, load_ms: number) =>
    stormOnDisk(seed, load_ms, (line) => print(`  pglite: ${line}`))
}

const main = Effect.fnUntraced(function* ({ engine, minutes, seed: given }: Flags) {
  const seed = given ?? Date.now() % 1_000_000
  print(`seed ${seed}, ${minutes} min for each engine`)
  for (const name of ["postgres", "pglite"] as const) {
    if (engine !== undefined && engine !== name) continue
    const soak: Effect.Effect<{ readonly resident_mb: number }, unknown, Scope.Scope> = soaks[name](
      seed,
      minutes * 60_000
    )
    const exit = yield* Effect.exit(Effect.scoped(soak))
    const problem = Exit.isFailure(exit)
      ? Cause.pretty(exit.cause)
      : exit.value.resident_mb > resident_mb_max[name]
        ? `a service holds ${exit.value.resident_mb} MB, more than ${resident_mb_max[name]}`
        : undefined
    print(
      problem === undefined && Exit.isSuccess(exit)
        ? `ok   ${name}: ${JSON.stringify(exit.value)}`
        : `FAIL ${name} (--seed ${seed}): ${problem}`
    )
    if (problem !== undefined) process.exitCode = 1
  }
})

const soak = Command.make("soak", flags, main).pipe(
  Command.withDescription(
    `Kills, stops and starves services for minutes, and checks that nothing is lost or done twice. In a clone: npm run soak -- [flags]

  Exit code: 0 when every promise held, else 1; 2 when the command line cannot be read.`
  )
)

NodeRuntime.runMain(runCommandLine(soak))
