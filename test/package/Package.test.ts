/** The package that npm would publish: its entries, what it closes, what it holds and what it leaves to its user. */
import { spawnSync } from "node:child_process"
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join, posix } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { build as esbuild } from "esbuild"
import { build as vite } from "vite"
import { blocksOf } from "../examples/Readmes.ts"
import * as Homes from "../process/Homes.ts"
import { app, endedRun, replayedAlike } from "../replay/EmbeddedRun.ts"
import { shownIn } from "./Hovers.ts"
import { asked, asking, declared, missing } from "./Programs.ts"
import type { Packed } from "./Packed.ts"
import { done, install, pack, root } from "./Packed.ts"

let folder: string
let tarball: string
let packed: Packed

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "troupe-package-"))
  tarball = await pack(folder)
  packed = install(tarball, join(folder, "project"))
}, 240_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The folders that a file is in. */
const parentsOf = (file: string): ReadonlyArray<string> =>
  file.split("/").map((_, i, parts) => parts.slice(0, i).join("/"))

/** Every specifier that a user may import. */
const entries = (): ReadonlyArray<string> =>
  Object.entries(packed.manifest.exports).flatMap(([path, target]) => {
    return typeof target === "string" ? [] : [`troupe${path.slice(1)}`]
  })

/** A module of the project, run to its end; what it printed. */
const run = (code: string): string =>
  done(process.execPath, ["--input-type=module", "--eval", code], packed.project)

describe("the packed package", () => {
  it("has every entry, each of which imports with no optional peer installed and does nothing else", () => {
    const names = entries()
    assert.includeMembers([...names], ["troupe", "troupe/embed", "troupe/services"])
    const printed = run(`
      const before = new Set(Object.keys(globalThis))
      const listening = () => process.eventNames().map((name) => [name, process.listenerCount(name)])
      const listeners = JSON.stringify(listening())
      for (const name of ${JSON.stringify(names)}) {
        const module = await import(name)
        if (Object.keys(module).length === 0) console.log(name, "is empty")
      }
      for (const name of Object.keys(globalThis)) if (!before.has(name)) console.log("global", name)
      if (JSON.stringify(listening()) !== listeners) console.log("listens", listening())`)
    assert.strictEqual(printed, "")
  }, 60_000)

  it("has each service and each error once, whichever entries it is of", () => {
    const { files, place } = packed
    const keys = files
      .filter((file) => file.startsWith("dist/") && file.endsWith(".js"))
      .flatMap((file) => [
        ...readFileSync(join(place, file), "utf8").matchAll(/\bService\(\)\("([^"]+)"/g)
      ])
      .map(([, key]) => key!)
    assert.isAbove(keys.length, 50)
    assert.deepEqual(keys.toSorted(), [...new Set(keys)].toSorted())
    const printed = run(`
      import { ConversationNotFound, InvalidInput } from "troupe"
      import { start } from "troupe/embed"
      import * as services from "troupe/services"
      const error = await start({}).catch((error) => error)
      console.log(ConversationNotFound === services.ConversationNotFound, error instanceof InvalidInput)`)
    assert.strictEqual(printed, "true true\n")
  })

  it("refuses every path that is no entry", () => {
    const paths = [
      "layers/compose/entries/Embed",
      "layers/compose/assembly/Runtime.ts",
      "layers/model/tape/ScriptedModelGateway",
      "layers/runtime/tool/ToolGate",
      "src/index.ts",
      "src/run/RunDecider",
      "dist/index.js",
      "dist/embed.js",
      "dist/chunks/StartedLayer.js",
      "services/ModelGateway",
      "scripts/troupe",
      "CHANGELOG.md"
    ]
    const printed = run(`
      for (const path of ${JSON.stringify(paths)}) {
        const code = await import("troupe/" + path).then(() => "imported", ({ code }) => code)
        console.log(code)
      }`)
    const codes = printed.trim().split("\n")
    assert.lengthOf(codes, paths.length)
    for (const [i, code] of codes.entries()) {
      assert.match(code, /^ERR_(PACKAGE_PATH_NOT_EXPORTED|MODULE_NOT_FOUND)$/, paths[i])
    }
  })

  it("gives the types of every entry to a project in TypeScript, and names a service that is missing", () => {
    const { project } = packed
    const imports = entries().map((name, i) => `import type * as E${i} from "${name}"`)
    const used = entries().map((_, i) => `typeof E${i}`)
    writeFileSync(
      join(project, "user.ts"),
      [...imports, `export type All = [${used.join(", ")}]`, ""].join("\n")
    )
    writeFileSync(join(project, "missing.ts"), missing)
    writeFileSync(join(project, "declared.ts"), declared)
    // The worked example is such a library too.
    cpSync(join(root, "test/feature/maintenance"), join(project, "maintenance"), {
      recursive: true
    })
    writeFileSync(join(project, "package.json"), `{ "type": "module" }`)
    // With no optional peer installed, and every declaration checked that they lead to.
    const modules = ["NodeNext NodeNext", "ESNext Bundler"]
    for (const compiler of ["typescript", "typescript-5.9"]) {
      for (const each of modules) {
        const [module, resolution] = each.split(" ")
        const flags = `--noEmit --declaration --strict --target ES2024 --types node --module ${module} --moduleResolution ${resolution}`
        const tsc = join(root, "node_modules", compiler, "bin/tsc")
        const args = [
          tsc,
          ...flags.split(" "),
          "--pretty",
          "false",
          "user.ts",
          "missing.ts",
          "declared.ts",
          "--allowImportingTsExtensions",
          "maintenance/Maintenance.ts"
        ]
        const { stdout } = spawnSync(process.execPath, args, { cwd: project, encoding: "utf8" })
        const [first, second, ...others] = stdout.split(/^(?=\S)/m)
        assert.deepStrictEqual(others, [], stdout)
        // Each in one line of its own.
        assert.match(
          first ?? "",
          /^missing\.ts\(\d.*^\s+Type 'Payments' is not assignable to type 'ToolServices'\.$/ms
        )
        assert.match(
          second ?? "",
          /^missing\.ts\(\d.*^\s+Type 'Payments' is not assignable to type 'never'\.$/ms
        )
      }
    }
  }, 480_000)

  it("gives them to a project without the types of Node, and each declaration that they lead to is right", () => {
    const { project } = packed
    const names = entries()
    const imports = names.map((name, i) => `import type * as E${i} from "${name}"`)
    const used = `export type All = [${names.map((_, i) => `typeof E${i}`).join(", ")}]\n`
    writeFileSync(join(project, "bare.ts"), `${imports.join("\n")}\n${used}`)
    const checked = { strict: true, noEmit: true, skipLibCheck: false, types: [] }
    const compilerOptions = { ...checked, target: "es2024", module: "nodenext" }
    const config = JSON.stringify({ compilerOptions, files: ["bare.ts"] })
    writeFileSync(join(project, "bare.json"), config)
    for (const compiler of ["typescript", "typescript-5.9"]) {
      const tsc = join(root, "node_modules", compiler, "bin/tsc")
      assert.strictEqual(done(process.execPath, [tsc, "-p", "bare.json"], project), "")
    }
  }, 240_000)

  it("shows a sentence in an editor for every export and member, and for all that an application writes", () => {
    const { silent, told } = shownIn(packed.project)
    assert.deepStrictEqual(silent, [])
    assert.isAtLeast(told, 3_000)
  }, 240_000)

  it("is bundled by esbuild and by Vite, with the optional peers as the only external packages", async () => {
    const { manifest, project } = packed
    // The second serves HTTP, with a framework in CommonJS. Nothing that it needs is installed beside the bundles.
    const last = {
      embedding: "It is paid back.",
      fastify: "202",
      asking: asked
    }
    const names = Object.keys(last)
    writeFileSync(join(project, "asking.ts"), asking)
    for (const name of ["embedding", "fastify"]) {
      cpSync(join(root, `test/examples/${name}.ts`), join(project, `${name}.ts`))
    }
    symlinkSync(join(root, "node_modules/fastify"), join(project, "node_modules/fastify"))
    const external = Object.keys(manifest.peerDependenciesMeta)
    const readme = readFileSync(join(root, "layers/compose/README.md"), "utf8")
    const [, banner = ""] = /^const banner = `(.*)`$/m.exec(readme) ?? []
    const outdir = join(folder, "esbuild")
    await esbuild({
      absWorkingDir: project,
      entryPoints: names.map((name) => `${name}.ts`),
      outdir,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      // What `start` loads late, such as a store, stays apart until it is loaded.
      splitting: true,
      format: "esm",
      platform: "node",
      banner: { js: banner },
      external,
      logLevel: "silent"
    })
    const outDir = join(folder, "vite")
    await vite({
      root: project,
      configFile: false,
      logLevel: "silent",
      ssr: { noExternal: true },
      build: {
        ssr: true,
        target: "node22",
        outDir,
        rolldownOptions: {
          input: names.map((name) => join(project, `${name}.ts`)),
          external: (id) => external.some((name) => id === name || id.startsWith(`${name}/`)),
          output: { entryFileNames: "[name].mjs" }
        }
      }
    })
    for (const made of [outdir, outDir]) {
      for (const [name, expected] of Object.entries(last)) {
        const printed = done(process.execPath, [join(made, `${name}.mjs`)], folder)
        assert.strictEqual(printed.trim().split("\n").at(-1), expected, made)
      }
    }
  }, 120_000)

  it("holds what its files promise, a README of every room that has one, every example and no test", () => {
    const { files, manifest } = packed
    for (const name of manifest.files.filter((name) => !name.includes("*"))) {
      if (name.startsWith("!")) continue
      assert.isTrue(
        files.some((file) => file === name || file.startsWith(`${name}/`)),
        name
      )
    }
    const readmes = ["src", "services", "layers", "scripts"].flatMap((house) =>
      readdirSync(join(root, house), { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith("README.md"))
        .map((path) => `${house}/${path.replaceAll("\\", "/")}`)
    )
    assert.includeMembers([...files], ["README.md", "LICENSE", "package.json", ...readmes])
    const targets = Object.values(manifest.exports).flatMap((target) =>
      // The sources are named for a clone, which has them.
      typeof target === "string" ? [target] : [target["types"]!, target["default"]!]
    )
    for (const target of targets) assert.include(files, target.slice(2))
    const examples = readdirSync(join(root, "test/examples")).filter((name) =>
      /^[a-z]+\.ts$|\.md$/.test(name)
    )
    assert.isAbove(examples.length, 10)
    assert.deepEqual(
      files.filter((file) => /(^|\/)test\/|\.test\.|\.contract\.|vectors/.test(file)),
      [
        "test/README.md",
        "test/bench/README.md",
        ...examples.map((name) => `test/examples/${name}`).toSorted()
      ]
    )
    const houses = new Set(files.map((file) => file.split("/")[0]))
    assert.deepEqual([...houses].toSorted(), [
      ".github",
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "dist",
      "findings",
      "layers",
      "package.json",
      "scripts",
      "services",
      "src",
      "test"
    ])
  })

  it("has at most 250 files and 6 MB, none of them a source or a map of one", () => {
    const { files, place } = packed
    const bytes = files.reduce((sum, file) => sum + statSync(join(place, file)).size, 0)
    assert.isAtMost(files.length, 250)
    assert.isAtMost(bytes, 6_000_000)
    assert.deepEqual(
      files.filter(
        (file) => /(?<!\.d)\.ts$|\.map$/.test(file) && !file.startsWith("test/examples/")
      ),
      []
    )
  })

  it("has in it every file that its READMEs link", () => {
    const { files, place } = packed
    const houses = new Set(files.flatMap((file) => parentsOf(file)))
    for (const path of files.filter((file) => file.endsWith(".md"))) {
      const text = readFileSync(join(place, path), "utf8")
      for (const [, to] of text.matchAll(/\]\((?!https?:|#)([^)\s]+)\)/g)) {
        const target = posix.join(posix.dirname(path), to!.replace(/#.*/, ""))
        assert.isTrue(houses.has(target) || files.includes(target), `${target} in ${path}`)
      }
    }
  })

  it("names as a dependency or a peer every package that it imports, and as optional what it loads late", () => {
    const { files, manifest, place } = packed
    const imported = new Set<string>()
    const late = new Set<string>()
    for (const file of files.filter((path) => path.startsWith("dist/") && path.endsWith(".js"))) {
      const text = readFileSync(join(place, file), "utf8")
      for (const [, from, call, required] of text.matchAll(
        /^(?:import|export)\b[^"]*?from "([^"]+)";$|\bimport\("([^"]+)"\)|\b(?:require|resolve)\("([^"]+)"\)/gm
      )) {
        const name = /^(?!node:|\.)(?:@[^/]+\/)?[^/]+/.exec((from ?? call ?? required)!)?.[0]
        if (name === undefined) continue
        imported.add(name)
        if (call !== undefined) late.add(name)
      }
    }
    const declared = [
      ...Object.keys(manifest.dependencies),
      ...Object.keys(manifest.peerDependencies)
    ]
    assert.deepEqual(
      [...imported].filter((name) => !declared.includes(name)),
      []
    )
    assert.deepEqual(
      // Types of a dependency that names none of its own.
      declared.filter((name) => !imported.has(name) && name !== "@types/json-schema"),
      []
    )
    const optional = Object.keys(manifest.peerDependenciesMeta)
    assert.deepEqual(
      [...late].filter((name) => name !== "effect" && !optional.includes(name)),
      []
    )
    assert.deepEqual(
      Object.keys(manifest.peerDependencies).filter((name) => !optional.includes(name)),
      ["effect"]
    )
  })

  it("runs examples as files of the project, with no optional peer installed", () => {
    // As a project has them that copied the package's: Node strips no types beneath node_modules.
    cpSync(join(packed.place, "test"), join(packed.project, "test"), { recursive: true })
    const examples = {
      embedding: "It is paid back.",
      http: "202 Good morning.",
      policy: "awaiting_approval",
      writing: "[ { id: 'n-1', said: 'Call the customer.' } ]",
      semstreams: `[ true, 'tool.result.call-2', '"order 1003 is paid back"' ]`
    }
    for (const [name, last] of Object.entries(examples)) {
      const printed = done(process.execPath, [`test/examples/${name}.ts`], packed.project)
      assert.strictEqual(printed.trim().split("\n").at(-1), last)
    }
  }, 60_000)

  it("runs the README's first example as the README says, in a project that npm init made", () => {
    const place = join(folder, "first")
    mkdirSync(place)
    symlinkSync(join(packed.project, "node_modules"), join(place, "node_modules"))
    const readme = readFileSync(join(root, "README.md"), "utf8")
    const [, file = ""] = /saved as `([^`]+)`/.exec(readme) ?? []
    const [example = ""] = blocksOf(readme, "ts")
    writeFileSync(join(place, file), example)
    assert.include(readme, `\`npm init -y\``)
    done("npm", ["init", "-y"], place)
    assert.include(readme, `\`node ${file}\``)
    const printed = done(process.execPath, [file], place)
    assert.strictEqual(printed.trim().split("\n").at(-1), "It is paid back.")
  }, 60_000)

  it("says which packages a store needs that are not installed, and starts without any", () => {
    const directory = join(folder, "data")
    const stores = ["ephemeral", { directory }, { postgres: "postgres://nobody@127.0.0.1:1/none" }]
    const printed = run(`
      import { start } from "troupe/embed"
      import { scripted } from "troupe/testing"
      for (const store of ${JSON.stringify(stores)}) {
        const options = { agents: [], model: scripted([]), store }
        const said = await start(options).then((troupe) => troupe.stop().then(() => "started"), String)
        console.log(JSON.stringify(said))
      }`)
    const said = printed
      .trim()
      .split("\n")
      .map((line) => String(JSON.parse(line)))
    assert.lengthOf(said, stores.length)
    assert.strictEqual(said[0], "started")
    assert.include(said[1], "npm install @electric-sql/pglite @effect/sql-pg")
    assert.include(said[2], "npm install @effect/sql-pg")
  }, 60_000)

  it("has a command, which prints its usage with no optional peer installed", () => {
    const bin = join(packed.place, packed.manifest.bin.troupe)
    assert.match(readFileSync(bin, "utf8"), /^#!\/usr\/bin\/env node\n/)
    const { stdout, status } = spawnSync(process.execPath, [bin, "--help"], {
      cwd: packed.project,
      encoding: "utf8"
    })
    assert.strictEqual(status, 0, stdout)
    assert.include(stdout, "replay")
  }, 60_000)

  it("runs on the oldest Node that it supports, on Bun and on Deno", () => {
    const place = join(folder, "runtimes")
    mkdirSync(place)
    writeFileSync(join(place, "package.json"), "{}")
    const packages = ["node@22.19.0", "bun@1.4.5", "deno@2.9.6"]
    done("npm", ["install", "--no-audit", "--no-fund", ...packages], place)
    cpSync(join(root, "test/examples/embedding.ts"), join(packed.project, "runs.ts"))
    writeFileSync(join(packed.project, "asks.ts"), asking)
    const last = { "runs.ts": "It is paid back.", "asks.ts": asked }
    const programs = {
      node: ["--experimental-strip-types", "--no-warnings"],
      bun: [],
      deno: ["run", "--allow-all", "--no-lock", "--node-modules-dir=manual"]
    }
    for (const [name, flags] of Object.entries(programs)) {
      const program = join(place, "node_modules/.bin", name)
      for (const [file, expected] of Object.entries(last)) {
        const printed = done(program, [...flags, file], packed.project)
        assert.strictEqual(printed.trim().split("\n").at(-1), expected, name)
      }
    }
  }, 240_000)

  // Of the repository itself this is in test/replay/Embedded.test.ts.
  it.live(
    "has a command, which replays a run of an embedded service with a module of the project",
    () =>
      Effect.gen(function* () {
        const { directory } = yield* Homes.directory
        const run = yield* endedRun(directory)
        const peers = ["@electric-sql/pglite", "@effect/sql-pg"]
        const { manifest, place, project } = install(tarball, join(folder, "replaying"), peers)
        cpSync(join(root, app), join(project, "app.ts"))
        const bin = join(place, manifest.bin.troupe)
        const args = [bin, "replay", run, "--app", "app.ts", "--data", directory]
        assert.match(done(process.execPath, args, project), replayedAlike)
      }),
    240_000
  )
})
