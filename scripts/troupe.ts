#!/usr/bin/env node
/**
 * What an operator does with what is stored, without a service that runs: replays a run, writes it as a test, tries
 * another model or another policy on it; writes runs to an archive and reads them back; makes and revokes tokens. Works on the
 * directory or server of a service: that of `npm start`, or the one that `start` of `troupe/embed` was given. In a clone
 * `npm run troupe`; the package brings it as `troupe`.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as NodeMain from "../layers/compose/entries/NodeMain.ts"
import * as Replay from "../layers/compose/entries/Replay.ts"
import type * as Stores from "../layers/compose/assembly/StoreLayers.ts"
import { RunId, Tenant } from "../src/value/Ids.ts"
import { Policy } from "../src/permission/Policy.ts"
import { optionalText, runCommandLine, toggle, unreadableCommand } from "./command/CommandLine.ts"
import { appOf } from "./troupe/App.ts"
import { archiveCommands } from "./troupe/Archive.ts"
import { modelOf } from "./troupe/Model.ts"
import { dryRunJson, dryRunLines, reportJson, reportLines } from "./troupe/Print.ts"
import { dataFlag, endWith, overStore, say, tenantFlag, where } from "./troupe/Stored.ts"
import { bulkCommand } from "./troupe/BulkCommand.ts"
import { callCommand } from "./troupe/CallCommand.ts"
import { doctorCommand } from "./troupe/DoctorCommand.ts"
import { mcpCommand } from "./troupe/McpCommand.ts"
import { tokenCommand } from "./troupe/TokenCommand.ts"
import { workCommands } from "./troupe/WorkCommands.ts"
import { Refused } from "./command/Refused.ts"

const flags = {
  run: Argument.String("run").pipe(
    Argument.withMetavar("RUN"),
    Argument.withDescription('the id of a run; "all", with --policy, for every run of --tenant')
  ),
  model: optionalText(
    "model",
    "NAME",
    "another model in place of the recorded turns (TROUPE_MODEL_PROVIDER or TROUPE_MODEL_BASE_URL says where it is; " +
      '"script" is the script of npm start). It reads the recorded results; reads that were not recorded run, anything ' +
      "else ends the replay"
  ),
  toTest: optionalText(
    "to-test",
    "FILE",
    "writes the run as a fixture that a test can run (runFixture of troupe/testing)"
  ),
  policy: optionalText(
    "policy",
    "FILE",
    "tries a permission policy (JSON) on the run's calls instead, and lists what it would change"
  ),
  tenant: tenantFlag.pipe(
    Flag.withDescription("whose runs are read (default)"),
    Flag.withDefault("default")
  ),
  app: optionalText(
    "app",
    "FILE",
    "a module that exports agents and tools; else those of npm start"
  ),
  data: dataFlag,
  json: toggle("json", "the whole report as JSON")
}
type Flags = Command.Command.Config.Infer<typeof flags>

const description = `Replays a run that has ended: its journal through the decider, then the run through the gate.

  Asks no model, no tool and no person, and writes nothing to the store. In a clone: npm run troupe -- replay RUN

${where}

  Exit code: 0 when the run comes out the same, 1 when it does not or cannot be replayed, 2 when the command line cannot
  be read. With --model, 1 only when the journal does not come out the same or the model fails.`

const runOf = (text: string): Effect.Effect<RunId, Refused> =>
  Effect.mapError(
    Schema.decodeUnknownEffect(RunId)(text.toLowerCase()),
    () =>
      new Refused({ message: `"${text}" is no run: a run's id is a UUID, as the console shows it` })
  )

const decodeJson = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))

/** Of the system, where it is the reason. */
const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? ` (${String(error.code)})` : ""

const policyOf = (file: string): Effect.Effect<Policy, Refused> =>
  Effect.try({
    try: () => decodeJson(readFileSync(file, "utf8")),
    catch: (error) =>
      new Refused({ message: `--policy ${file} cannot be read as JSON${codeOf(error)}` })
  }).pipe(
    Effect.flatMap(
      Schema.decodeUnknownEffect(Policy, { onExcessProperty: "error", errors: "all" })
    ),
    Effect.mapError((error) =>
      error instanceof Refused
        ? error
        : new Refused({
            message: `--policy ${file} is no policy: ${error.message.replaceAll(/\s+/g, " ")}`
          })
    )
  )

/** What is left to do once the command line and the files that it names have been read. */
type Work = Effect.Effect<number, unknown, Stores.Stores>
type Read = Effect.fn.Return<Work, unknown, Scope.Scope>

const tryPolicy = Effect.fnUntraced(function* (flags: Flags, file: string): Read {
  const policy = yield* policyOf(file)
  const history =
    flags.run === "all" ? { tenant: Tenant.make(flags.tenant) } : { run: yield* runOf(flags.run) }
  const app = yield* appOf(flags.app)
  return Effect.gen(function* () {
    const result = yield* Replay.dryRun(history, app, policy)
    yield* say(flags.json ? dryRunJson(result) : dryRunLines(result))
    return 0
  })
})

const write = (file: string, text: string) =>
  Effect.try({
    try: () => writeFileSync(file, text),
    catch: (error) =>
      new Refused({ message: `--to-test ${file} cannot be written${codeOf(error)}` })
  })

const replay = Effect.fnUntraced(function* (flags: Flags): Read {
  const run = yield* runOf(flags.run)
  const app = yield* appOf(flags.app)
  const model = flags.model === undefined ? undefined : yield* modelOf(flags.model)
  const file = flags.toTest
  return Effect.gen(function* () {
    const report = yield* Replay.replay(run, { app, model })
    if (file !== undefined) yield* write(file, Replay.toFixture(report))
    yield* say(flags.json ? reportJson(report) : reportLines(report, flags.model, file))
    const { divergence, gate, recording } = report
    if (divergence !== undefined) return 1
    if (typeof gate !== "object" || gate.divergence === undefined) return 0
    // Another model is not expected to say the same, but to say something.
    const reason = gate.state.ended?.reason ?? ""
    const isAway = reason.startsWith("model_") && reason !== recording.ended?.reason
    return model === undefined || isAway ? 1 : 0
  })
})

const work = Effect.fnUntraced(function* (flags: Flags) {
  const work = yield* flags.policy === undefined ? replay(flags) : tryPolicy(flags, flags.policy)
  return yield* overStore(flags.data, work)
})

/** Why flags that each can be read do not go together. */
const contradiction = ({ model, policy, run, toTest }: Flags): string | undefined => {
  if (policy !== undefined && (model !== undefined || toTest !== undefined)) {
    return "--policy goes with neither --model nor --to-test"
  }
  return policy === undefined && run === "all" ? '"all" goes with --policy' : undefined
}

const main = Effect.fnUntraced(function* (flags: Flags) {
  const why = contradiction(flags)
  if (why !== undefined) return yield* unreadableCommand(["troupe", "replay"], why)
  yield* endWith(work(flags), "not replayed")
})

const troupe = Command.make("troupe").pipe(
  Command.withDescription(
    "What an operator does with what is stored, without a service that runs."
  ),
  Command.withSubcommands([
    Command.make("replay", flags, main).pipe(
      Command.withDescription(description),
      Command.withShortDescription("replays a run that has ended")
    ),
    ...archiveCommands,
    doctorCommand,
    tokenCommand,
    mcpCommand,
    ...workCommands,
    bulkCommand,
    callCommand
  ])
)

NodeMain.run(runCommandLine(troupe), { disableErrorReporting: true })
