/**
 * The checks without the tests: types, Effect diagnostics, lint, format and dead code. With --changed those that take seconds,
 * and the tests that are nearest to what has changed since main: for a look between two edits.
 */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { runCommandLine, toggle } from "../../scripts/command/CommandLine.ts"
import { allChecks, quickChecks, runChecks } from "./Checks.ts"
import { seconds } from "./Program.ts"
import { changedFiles, relatedTests } from "./Related.ts"
import { print, runTests } from "./Tests.ts"

/** What two cores run in the time that the types take. */
const tests_max = 12
/** They read the text of every file, and take a second together. */
const textual = ["test/architecture.test.ts", "test/contexts.test.ts", "test/floors.test.ts"]
/** Longer than that they hang. */
const tests_ms_max = 300_000

const began = performance.now()

const counted = (files: ReadonlyArray<string>, what: string): ReadonlyArray<string> =>
  files[0] === undefined
    ? []
    : [`${files.length} related test files ${what}, such as npm test -- ${files[0]}`]

const ended = (passed: number, failed: ReadonlyArray<string>): number => {
  print("Failed:", failed)
  console.log(`\n${seconds(performance.now() - began)}: ${passed} passed, ${failed.length} failed`)
  return failed.length === 0 ? 0 : 1
}

/** Gives the exit code. */
const all = async (): Promise<number> => {
  const { failed, passed } = await runChecks(allChecks())
  return ended(passed, failed)
}

const quick = async (): Promise<number> => {
  const changed = changedFiles()
  if (changed === undefined) {
    console.error("there is no branch main, here or at origin, to compare with")
    return 1
  }
  const { far, late, near } = relatedTests(changed, tests_max)
  const files = [...new Set([...near, ...textual])]
  console.log(`== ${changed.length} files are not as in main; ${files.length} test files are run`)
  const [checked, tested] = await Promise.all([
    runChecks(quickChecks()),
    runTests("short", files, tests_ms_max)
  ])
  print("Left out:", [
    "dead code, and what only tests reach: npm run check",
    "tests that reach nothing that has changed: npm test",
    ...counted(far, "further away"),
    ...counted(late, "of the long form")
  ])
  return ended(checked.passed + tested.passed, [
    ...checked.failed.map((name) => `check: ${name}`),
    ...tested.failed
  ])
}

const command = Command.make(
  "check",
  { changed: toggle("changed", "what can be said in seconds of what has changed since main") },
  ({ changed }) =>
    Effect.promise(async () => {
      process.exitCode = await (changed ? quick() : all())
    })
).pipe(
  Command.withDescription(
    "Runs the checks of the house without its tests. In a clone: npm run check -- [--changed]"
  )
)

await Effect.runPromise(runCommandLine(command))
