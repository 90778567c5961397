import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { isFull, late } from "./Long.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

// What is compiled once is not compiled again by each of hundreds of processes.
process.env["NODE_COMPILE_CACHE"] ??= `${root}node_modules/.cache/troupe-test/compiled`

/**
 * Folders whose files share a process: they leave nothing behind in it. The others have a process for each file, which
 * costs each of them one to two seconds of CPU time: its imports, and code that is not compiled yet. What shares runs last,
 * its shortest files at the end.
 */
const together = [
  "agents",
  "approval",
  "calls",
  "capability",
  "channel",
  "client",
  "conformance",
  "console",
  "conversation",
  "cost",
  "delivery",
  "entry",
  "ephemeral",
  "erasure",
  "error",
  "graph",
  "http",
  "incident",
  "mcp",
  "memory",
  "model",
  "network",
  "permission",
  "platform",
  "process",
  "queue",
  "readmes",
  "release",
  "replay",
  "run",
  "runtime",
  "schema",
  "feature",
  "semstreams",
  "service",
  "simulation",
  "spectral",
  "sql",
  "telemetry",
  "tool",
  "value",
  "wires",
  "worlds"
].map((folder) => `test/${folder}/**/*.test.ts`)

/** Those of no folder, which look at the text of the repository. */
const textual = "test/*.test.ts"

/**
 * They count what a process holds, measure its pace, or start others that need its core; or they take long though their files
 * are short, so that they would run last, beside nothing.
 */
const alone = [
  "test/console/Browser.test.ts",
  "test/console/Following.test.ts",
  "test/console/LivePages.test.ts",
  "test/delivery/Crash.test.ts",
  "test/entry/HostileTexts.test.ts",
  "test/replay/Command.test.ts",
  "test/replay/Embedded.test.ts",
  "test/runtime/Leaks.test.ts",
  "test/runtime/Yields.test.ts",
  "test/spectral/Crowd.test.ts",
  "test/sql/SqlStores.test.ts"
]

/**
 * What V8 gains by compiling code a last time, best, takes minutes to pay: PGlite is WebAssembly, and a tenth of the time of the
 * short form went there. What a test allocates is copied less often where the young generation has room, in MiB.
 */
const execArgv = [
  "--conditions=troupe-source",
  "--liftoff-only",
  "--no-regexp-optimization",
  ...(isFull ? [] : ["--no-turbofan"]),
  "--min-semi-space-size=16",
  "--max-semi-space-size=64"
]

/** Left to the long form, unless the file or its folder is named. */
const left = isFull
  ? []
  : late.filter(
      (file) => !process.argv.some((each) => each.startsWith("test/") && file.startsWith(each))
    )

const project = (name: string, test: object) => ({
  root,
  test: {
    name,
    // What hangs ends; a machine that is busy with other things is no fault.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks" as const,
    execArgv,
    // Files are imported by Node itself, as `npm start` does: nothing else transforms them.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    ...test
  }
})

export default defineConfig({
  root,
  test: {
    globalSetup: ["test/sql/postgres.global.ts"],
    // One more than the two cores of a small machine: many files wait for clocks and for processes of their own.
    maxWorkers: 3,
    projects: [
      project("together", {
        include: [...together, textual],
        exclude: [...alone, ...left],
        isolate: false
      }),
      project("apart", {
        include: ["test/**/*.test.ts"],
        exclude: [...together, textual, ...left],
        isolate: true
      }),
      project("alone", { include: alone, exclude: left, isolate: true })
    ]
  }
})
