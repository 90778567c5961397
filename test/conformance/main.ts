/**
 * The vector drivers alone, by vitest: all of them, or those that are named.
 */
import { spawn } from "node:child_process"
import { readdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import {
  optionalDirectory,
  optionalText,
  runCommandLine
} from "../../scripts/command/CommandLine.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const folder = "test/conformance"
const ending = ".conformance.test.ts"

const drivers = readdirSync(join(root, folder))
  .filter((name) => name.endsWith(ending))
  .map((name) => name.slice(0, -ending.length))

const run = (args: ReadonlyArray<string>, vectors: string | undefined): Promise<number> =>
  new Promise((settle, fail) => {
    const child = spawn(
      process.execPath,
      ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", ...args],
      {
        cwd: root,
        env: { ...process.env, ...(vectors === undefined ? {} : { TROUPE_VECTORS: vectors }) },
        stdio: "inherit"
      }
    )
    child.on("error", fail)
    child.on("close", (code) => settle(code ?? 1))
  })

const conformance = Command.make(
  "conformance",
  {
    drivers: Argument.Literals("driver", drivers).pipe(
      Argument.withMetavar("NAME"),
      Argument.withDescription(
        "a driver by its vector file, such as sanitize; without one all run"
      ),
      Argument.variadic()
    ),
    vectors: optionalDirectory(
      "vectors",
      "the vector files; else those of TROUPE_VECTORS, else the copies in test/conformance/vectors"
    ),
    reporter: optionalText("reporter", "NAME", "how vitest reports, for example json")
  },
  ({ drivers: named, reporter, vectors }) =>
    Effect.promise(async () => {
      const files = named.map((name) => `${folder}/${name}${ending}`)
      const flags = reporter === undefined ? [] : [`--reporter=${reporter}`]
      const directory = vectors === undefined ? undefined : resolve(vectors)
      process.exitCode = await run([...flags, ...(files.length > 0 ? files : [folder])], directory)
    })
).pipe(
  Command.withDescription(
    "Runs the cases of the vector files through their drivers. In a clone: npm run conformance -- [names] [flags]"
  )
)

await Effect.runPromise(runCommandLine(conformance))
