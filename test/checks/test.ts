/**
 * Every check of the house, in one command: types, Effect diagnostics, lint, format, dead code, and the tests. Each
 * counts as one test, so that the last line and the exit code never disagree.
 *
 * `npm test` runs all, and of long tests a little; `npm run test:full` runs the long forms of those and nothing else;
 * `npm test -- test/some/path` runs those test files and nothing else.
 */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import * as Long from "../Long.ts"
import { runCommandLine, toggle } from "../../scripts/command/CommandLine.ts"
import { allChecks, runChecks } from "./Checks.ts"
import { seconds } from "./Program.ts"
import type { Form } from "./Program.ts"
import { print, runTests } from "./Tests.ts"

/** A run that takes longer hangs, and is stopped. Two quiet cores take minutes, and half an hour for the long forms. */
const run_ms_max = { short: 1_200_000, full: 4_200_000 }
const began = performance.now()

/** Gives the exit code. */
const test = async (form: Form, paths: ReadonlyArray<string>): Promise<number> => {
  // Tests wait for clocks and processes: the checks take the time that they leave.
  const [checked, tested] = await Promise.all([
    paths.length === 0 ? runChecks(allChecks()) : { passed: 0, failed: [] },
    runTests(form, paths, run_ms_max[form] - (performance.now() - began))
  ])
  const failed = [...checked.failed.map((name) => `check: ${name}`), ...tested.failed]
  print("Not shown here, and why:", tested.notes)
  print("Skipped:", tested.skipped)
  if (paths.length === 0) print("The slowest files:", tested.slowest)
  if (paths.length === 0) print("Left to npm run test:full:", Long.left)
  print("Failed:", failed)
  console.log(`\n${seconds(performance.now() - began)}, checks and tests together:`)
  console.log(
    `${checked.passed + tested.passed} passed, ${failed.length} failed` +
      (tested.skipped.length === 0 ? "" : `, ${tested.skipped.length} skipped`)
  )
  return failed.length === 0 ? 0 : 1
}

const command = Command.make(
  "test",
  {
    full: toggle("full", "the long forms of long tests, and nothing else"),
    files: Argument.String("file").pipe(
      Argument.withMetavar("FILE"),
      Argument.withDescription("test files, or folders of them; without one everything runs"),
      Argument.variadic()
    )
  },
  ({ files, full }) =>
    Effect.promise(async () => {
      process.exitCode = full ? await test("full", Long.files) : await test("short", files)
    })
).pipe(
  Command.withDescription("Runs every check of the house. In a clone: npm test -- [files] [flags]")
)

await Effect.runPromise(runCommandLine(command))
