/**
 * The linter with the real configuration, shown violations in a tree of the same shape outside of the repository: a glob
 * that matches nothing says nothing, and the code then only looks clean.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, beforeAll, describe, it } from "vitest"
import { compiler_env } from "./checks/CompilerEnv.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

/** The rules that each file breaks. */
const lint = (files: Readonly<Record<string, string>>): Record<string, ReadonlyArray<string>> => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-lint-"))
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(folder, dirname(path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const ran = spawnSync(
      join(root, "node_modules", ".bin", "oxlint"),
      ["--config", join(root, ".config", "oxlint.json"), "--format", "json", "."],
      { cwd: folder, encoding: "utf8", shell: process.platform === "win32" }
    )
    const report = JSON.parse(ran.stdout) as {
      readonly number_of_files: number
      readonly diagnostics: ReadonlyArray<{ readonly filename: string; readonly code: string }>
    }
    assert.strictEqual(report.number_of_files, Object.keys(files).length)
    return Object.fromEntries(
      Object.keys(files).map((path) => [
        path,
        report.diagnostics
          .filter(({ filename }) => filename.replaceAll("\\", "/").endsWith(path))
          .map(({ code }) => /\(([^)]*)\)/.exec(code)?.[1] ?? code)
      ])
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What stands before a function that holds a group of tests, and how it begins where it takes the group's `it`. */
const group = {
  before: /\bdescribe(?:\.each\(.*\))?\(\s*(?:"[^"]*"|`[^`]*`),\s*(?:\{[^{}]*\},\s*)?$/,
  begins: /^\(it\b/
}

/** Functions of more than 70 lines beneath a folder, groups of tests aside, as `file:line`; and how many files it has. */
const longFunctions = (folder: string) => {
  const place = mkdtempSync(join(tmpdir(), "troupe-lint-"))
  try {
    const config = join(place, "oxlint.json")
    const bound = { max: 70, skipBlankLines: false, skipComments: false }
    const rules = { "max-lines-per-function": ["error", bound] }
    const categories = { correctness: "off" }
    writeFileSync(config, JSON.stringify({ plugins: [], categories, rules }))
    const ran = spawnSync(
      join(root, "node_modules", ".bin", "oxlint"),
      ["--config", config, "--format", "json", "."],
      { cwd: folder, encoding: "utf8", maxBuffer: 64_000_000, shell: process.platform === "win32" }
    )
    const { diagnostics, number_of_files } = JSON.parse(ran.stdout) as {
      readonly number_of_files: number
      readonly diagnostics: ReadonlyArray<{
        readonly filename: string
        readonly labels: ReadonlyArray<{ readonly span: { readonly offset: number } }>
      }>
    }
    const found = diagnostics.flatMap(({ filename, labels }) => {
      const bytes = readFileSync(join(folder, filename))
      const at = labels[0]?.span.offset ?? 0
      const before = bytes.subarray(0, at).toString()
      const isGroup =
        group.before.test(before.slice(-400)) ||
        group.begins.test(bytes.subarray(at, at + 8).toString())
      return isGroup ? [] : [`${filename}:${before.split("\n").length}`]
    })
    return { found, number_of_files }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

describe("the functions of tests", () => {
  it("are found where they have more than 70 lines, and groups of tests are not counted", () => {
    const lines = (count: number) => "  // a line\n".repeat(count)
    const folder = mkdtempSync(join(tmpdir(), "troupe-lint-"))
    writeFileSync(
      join(folder, "Planted.test.ts"),
      `describe("a group", () => {\n${lines(60)}  it("a fact", () => {\n${lines(70)}  })\n})\n` +
        `const tests = (it) => {\n${lines(90)}}\nconst short = () => {\n${lines(68)}}\n`
    )
    const { found } = longFunctions(folder)
    rmSync(folder, { recursive: true, force: true })
    assert.deepEqual(found, ["Planted.test.ts:62"])
  })

  it("have 70 lines at most", () => {
    const { found, number_of_files } = longFunctions(join(root, "test"))
    assert.isAbove(number_of_files, 300)
    assert.deepEqual(found, [])
  })
})

describe("the compiler of the check of types", () => {
  it("finds wrong types, and an Effect that nobody runs, under the repository's own configuration", () => {
    const folder = mkdtempSync(join(root, "node_modules", ".cache-planted-"))
    try {
      const planted = `import { Effect } from "effect"\n\nexport const run = () => {\n  Effect.succeed(1)\n}\n\nexport const text: string = 1\n`
      writeFileSync(join(folder, "Planted.ts"), planted)
      const config = { extends: join(root, "tsconfig.json"), include: ["Planted.ts"] }
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config))
      const shell = process.platform === "win32"
      const asked = join(root, "node_modules", ".bin", "effect-tsgo")
      const compiler = spawnSync(asked, ["get-exe-path"], { encoding: "utf8", shell }).stdout.trim()
      const args = ["--noEmit", "--pretty", "false", "--project", folder]
      const env = { ...process.env, ...compiler_env }
      const { status, stdout } = spawnSync(compiler, args, { encoding: "utf8", env })
      assert.notStrictEqual(status, 0)
      assert.match(stdout, /Planted\.ts\(4,3\): error TS\d+: .*effect\(floatingEffect\)/)
      assert.match(stdout, /Planted\.ts\(7,14\): error TS2322/)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe("lint", () => {
  const folders = ["src/run", "services", "layers/runtime", "layers/ephemeral"]
  it("catches a function of more than 70 lines in every house, blank lines and comments included", () => {
    const body = (lines: number) =>
      `export const long = () => {\n${"  // a line\n".repeat(lines - 2)}}\n`
    for (const house of ["src/run", "services", "layers/sql", "scripts"]) {
      const found = lint({ [`${house}/Long.ts`]: body(71), [`${house}/Short.ts`]: body(70) })
      assert.deepEqual(found[`${house}/Long.ts`], ["max-lines-per-function"], house)
      assert.deepEqual(found[`${house}/Short.ts`], [], house)
    }
  })

  const imports = [
    "node:fs",
    "effect/sql",
    "effect/cluster",
    "effect/http",
    "@effect/sql-pg",
    "@effect/platform-node/NodeHttpServer",
    "@electric-sql/pglite",
    "@ai-sdk/provider"
  ].map((name) => ({
    what: `an import of ${name}`,
    text: `import * as X from "${name}"\n\nexport const x = X\n`,
    rule: "no-restricted-imports"
  }))
  const expressions = [
    ["Date.now()", "no-restricted-properties"],
    ["Math.random()", "no-restricted-properties"],
    ["crypto.randomUUID()", "no-restricted-properties"],
    ["setTimeout(() => 1, 1)", "no-restricted-globals"],
    [`fetch("http://localhost")`, "no-restricted-globals"],
    ["process.env", "no-restricted-globals"],
    ["console.log(1)", "no-console"],
    [`JSON.parse("1") as ${"any"}`, "no-explicit-any"],
    ["[1][0]!", "no-non-null-assertion"]
  ].map(([expression, rule]) => ({
    what: expression!.split("(")[0]!,
    text: `export const x = ${expression}\n`,
    rule: rule!
  }))
  const plants = [...imports, ...expressions]
  const place = (folder: string, plant: number) => `${folder}/Planted${plant}.ts`
  let planted: Record<string, ReadonlyArray<string>> = {}
  // All in one tree: starting the linter costs far more than a file does.
  beforeAll(() => {
    const files = plants.flatMap(({ text }, i) => folders.map((each) => [place(each, i), text]))
    planted = lint(Object.fromEntries(files))
  })

  for (const [i, { rule, what }] of plants.entries()) {
    it(`catches ${what} in every pure room`, () => {
      for (const folder of folders) assert.deepEqual(planted[place(folder, i)], [rule], folder)
    })
  }

  it("catches what is asserted non-null, and JSON that no schema reads, in scripts", () => {
    for (const [expression, rule] of [
      ["[1][0]!", "no-non-null-assertion"],
      [`JSON.parse("1") as unknown`, "no-restricted-properties"]
    ] as const) {
      const text = `export const x = ${expression}\n`
      const found = lint({ "scripts/A.ts": text, "scripts/chat/B.ts": text })
      assert.deepEqual(found, { "scripts/A.ts": [rule], "scripts/chat/B.ts": [rule] })
    }
  })

  it("catches a circle of imports, and lets adapters touch Node", () => {
    const found = lint({
      "src/A.ts": `import { b } from "./B.ts"\n\nexport const a = () => b\n`,
      "src/B.ts": `import { a } from "./A.ts"\n\nexport const b = () => a\n`,
      "layers/sql/Planted.ts": `import { readFileSync } from "node:fs"\n\nexport const x = readFileSync\n`
    })
    assert.include(found["src/A.ts"]!.join() + found["src/B.ts"]!.join(), "no-cycle")
    assert.deepEqual(found["layers/sql/Planted.ts"], [])
  })
})
