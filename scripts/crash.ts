/**
 * The long run: kill -9 at random, hundreds of times on each engine; then two services, a worker and their server at
 * once; and then the controls, which take one guard away each and must be seen to fail.
 *
 * npm run crash-test -- [--kills 200] [--seed 1] [--runs 50] [--questions 20] [--engine pglite|postgres] [--siege 240]
 *   [--no-controls]; `--siege`: seconds, 0 = none
 */
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect, Exit } from "effect"
import type { Scope } from "effect"
import { killedServer, twoOnOneDirectory } from "../test/process/Controls.ts"
import * as Homes from "../test/process/Homes.ts"
import * as Judge from "../test/process/Judge.ts"
import type { Store } from "../test/process/Plan.ts"
import { siege } from "../test/process/Siege.ts"
import { storm } from "../test/process/Storm.ts"
import { takeover } from "../test/process/Takeover.ts"
import * as EmbeddedPostgres from "../test/sql/EmbeddedPostgres.ts"
import * as PostgresServer from "../test/sql/PostgresServer.ts"

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    runs: { type: "string", default: "50" },
    questions: { type: "string", default: "20" },
    engine: { type: "string" },
    siege: { type: "string", default: "240" },
    "no-controls": { type: "boolean", default: false }
  }
})

const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const database: Effect.Effect<Store, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.promise(() => PostgresServer.launch()),
    (server) => Effect.promise(() => server.stop())
  ),
  ({ port }) => ({ postgres: EmbeddedPostgres.urlOf(String(port), "postgres") })
)

const storms = Effect.fnUntraced(function* (engine: string, home: Homes.Home) {
  const judge = yield* Judge.slow(40)
  const options = { store: yield* home, counter: judge.url, park_ms: 200 }
  const found = yield* storm(options, judge, {
    seed: Number(values.seed),
    kills: Number(values.kills),
    runs_min: Number(values.runs),
    questions_min: Number(values.questions),
    report: (line) => process.stdout.write(`  ${engine}: ${line}\n`)
  })
  yield* say(`${engine}: ${JSON.stringify(found)}`)
})

const besieged = Effect.gen(function* () {
  const found = yield* siege({
    seed: Number(values.seed),
    load_ms: Number(values.siege) * 1_000,
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
    : `broke: ${Cause.pretty(exit.cause).split("\n")[0]!.slice(0, 200)}`
  yield* say(`${right ? "ok  " : "FAIL"} ${name}: ${how}`)
  if (!right && Exit.isFailure(exit)) yield* say(Cause.pretty(exit.cause))
  return right
})

const takes = (unfenced: boolean) =>
  Effect.gen(function* () {
    const judge = yield* Judge.start
    yield* takeover({ store: yield* database, counter: judge.url, unfenced }, judge)
  })

const main = Effect.gen(function* () {
  const results: Array<boolean> = []
  for (const [engine, home] of [
    ["pglite", Homes.directory],
    ["postgres", database]
  ] as const) {
    if (values.engine !== undefined && values.engine !== engine) continue
    results.push(
      yield* expect(`${values.kills} kills of a service on ${engine}`, true, storms(engine, home))
    )
  }
  if (Number(values.siege) > 0 && values.engine !== "pglite") {
    const name = `${values.siege} s of kills of two services, a worker and their server`
    results.push(yield* expect(name, true, besieged))
  }
  if (!values["no-controls"]) {
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

NodeRuntime.runMain(main)
