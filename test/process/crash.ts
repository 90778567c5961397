/**
 * The long run: kill -9 at random, hundreds of times on each engine; then two services, a worker and their server at
 * once; and then the controls, which take one guard away each and must be seen to fail.
 */
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import { Cause, Effect, Exit, Option } from "effect"
import type { Scope } from "effect"
import { Command, Flag } from "effect/cli"
import { killedServer, twoOnOneDirectory } from "./Controls.ts"
import * as Homes from "./Homes.ts"
import * as Judge from "./Judge.ts"
import type { Store } from "./Plan.ts"
import { siege } from "./Siege.ts"
import { storm } from "./Storm.ts"
import { takeover } from "./Takeover.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as PostgresServer from "../sql/PostgresServer.ts"
import { runCommandLine, wholeNumber } from "../../scripts/command/CommandLine.ts"

const number = (name: string, fallback: number, description: string) =>
  wholeNumber(name, 0, `${description} (${fallback})`).pipe(Flag.withDefault(fallback))

const flags = {
  kills: number("kills", 200, "kills of a service on each engine"),
  seed: number("seed", 1, "what the times of the kills are drawn from"),
  runs: number("runs", 50, "runs that must have ended at least"),
  questions: number("questions", 20, "questions that must have been answered at least"),
  engine: Flag.Literals("engine", ["pglite", "postgres"]).pipe(
    Flag.withDescription("only this engine"),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  ),
  siege: number(
    "siege",
    240,
    "seconds of kills of two services, a worker and their server; 0 = none"
  ),
  controls: Flag.Boolean("controls").pipe(
    Flag.withDescription(
      "the scenarios that take one guard away each; --no-controls leaves them out"
    ),
    Flag.withDefault(true)
  )
}
type Flags = Command.Command.Config.Infer<typeof flags>

const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const database: Effect.Effect<Store, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.promise(() => PostgresServer.launch()),
    (server) => Effect.promise(() => server.stop())
  ),
  ({ port }) => ({ postgres: EmbeddedPostgres.urlOf(String(port), "postgres") })
)

const storms = Effect.fnUntraced(function* (values: Flags, engine: string, home: Homes.Home) {
  const judge = yield* Judge.slow(40)
  const options = { store: yield* home, counter: judge.url, park_ms: 200 }
  const found = yield* storm(options, judge, {
    seed: values.seed,
    kills: values.kills,
    runs_min: values.runs,
    questions_min: values.questions,
    report: (line) => process.stdout.write(`  ${engine}: ${line}\n`)
  })
  yield* say(`${engine}: ${JSON.stringify(found)}`)
})

const besieged = Effect.fnUntraced(function* (values: Flags) {
  const found = yield* siege({
    seed: values.seed,
    load_ms: values.siege * 1_000,
    services: 2,
    runs: 40,
    end_ms_max: 120_000,
    report: (line) => process.stdout.write(`  siege: ${line}\n`)
  })
  yield* say(`siege: ${JSON.stringify(found)}`)
})

/** One result: what was to happen, and whether it did. */
const expect = Effect.fnUntraced(function* <E>(
  name: string,
  holds: boolean,
  scenario: Effect.Effect<void, E, Scope.Scope>
) {
  const exit = yield* Effect.exit(Effect.scoped(scenario))
  const right = Exit.isSuccess(exit) === holds
  const how = Exit.isSuccess(exit)
    ? "held"
    : `broke: ${Cause.pretty(exit.cause).split("\n", 1).join("").slice(0, 200)}`
  yield* say(`${right ? "ok  " : "FAIL"} ${name}: ${how}`)
  if (!right && Exit.isFailure(exit)) yield* say(Cause.pretty(exit.cause))
  return right
})

const takes = (unfenced: boolean) =>
  Effect.gen(function* () {
    const judge = yield* Judge.start
    yield* takeover({ store: yield* database, counter: judge.url, unfenced }, judge)
  })

const main = Effect.fnUntraced(function* (values: Flags) {
  const results: Array<boolean> = []
  for (const [engine, home] of [
    ["pglite", Homes.directory],
    ["postgres", database]
  ] as const) {
    if (values.engine !== undefined && values.engine !== engine) continue
    results.push(
      yield* expect(
        `${values.kills} kills of a service on ${engine}`,
        true,
        storms(values, engine, home)
      )
    )
  }
  if (values.siege > 0 && values.engine !== "pglite") {
    const name = `${values.siege} s of kills of two services, a worker and their server`
    results.push(yield* expect(name, true, besieged(values)))
  }
  if (values.controls) {
    results.push(
      yield* expect("a frozen owner, with the fence", true, takes(false)),
      yield* expect("a frozen owner, without the fence", false, takes(true)),
      yield* expect("two services on one directory, with the lock", true, twoOnOneDirectory(true)),
      yield* expect("two services on one directory, without", false, twoOnOneDirectory(false)),
      yield* expect("a killed server, synchronous_commit = on", true, killedServer("on")),
      yield* expect("a killed server, synchronous_commit = off", false, killedServer("off"))
    )
  }
  const failed = results.filter((right) => !right).length
  yield* say(`${results.length - failed} of ${results.length} as expected`)
  if (failed > 0) process.exitCode = 1
})

const crashTest = Command.make("crash-test", flags, main).pipe(
  Command.withDescription(
    `Kills services at random, and checks that nothing acknowledged is lost. In a clone: npm run crash-test -- [flags]

  Exit code: 0 when everything is as expected, else 1; 2 when the command line cannot be read.`
  )
)

NodeRuntime.runMain(runCommandLine(crashTest))
