import { assert, describe, it } from "vitest"
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** What a process loads that imports a file and does nothing else: paths from the root, none of Node's own. */
const loadedBy = (path: string): ReadonlyArray<string> => {
  const script = `
    import { registerHooks } from "node:module"
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    await import(${JSON.stringify(`${root}${path}`)})
    console.log(JSON.stringify(loaded))`
  const args = ["--conditions=troupe-source", "--input-type=module", "--eval", script]
  const printed = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" })
  return (JSON.parse(printed) as ReadonlyArray<string>).flatMap((url) =>
    url.startsWith("file:") ? [fileURLToPath(url).slice(root.length).replaceAll("\\", "/")] : []
  )
}

const packageOf = (path: string) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]
const packagesIn = (loaded: ReadonlyArray<string>) =>
  [...new Set(loaded.flatMap((path) => packageOf(path) ?? []))].toSorted()
const ownIn = (loaded: ReadonlyArray<string>) =>
  loaded.filter((path) => packageOf(path) === undefined).toSorted()

/** Each loads a hundred modules of which a start needs a few; those have entries of their own. */
const barrels = ["ai", "http", "http-api", "persistence", "sql", "cluster", "rpc"]
const barrelsIn = (loaded: ReadonlyArray<string>) =>
  barrels.filter((name) => loaded.includes(`node_modules/effect/dist/${name}/index.js`))

describe("an import of troupe/embed that starts nothing", () => {
  const loaded = loadedBy("layers/compose/entries/Embed.ts")

  it("loads no package but effect", () => {
    assert.deepStrictEqual(packagesIn(loaded), ["effect"])
    assert.deepStrictEqual(barrelsIn(loaded), [])
  })

  it("loads its exports and the readers of principals, and nothing of the runtime", () => {
    assert.deepStrictEqual(ownIn(loaded), [
      "layers/compose/entries/Embed.ts",
      "layers/compose/promises/Answer.ts",
      "layers/compose/promises/ServicePrincipal.ts",
      "src/principal/Principal.ts",
      "src/value/Ids.ts"
    ])
  })
})

describe("a start with an ephemeral store", () => {
  const loaded = loadedBy("layers/compose/promises/StartedService.ts")

  it("loads no driver, no package of a model, no client, and only the modules of effect that it uses", () => {
    const own = ownIn(loaded)
    assert.include(own, "layers/compose/assembly/Runtime.ts")
    // Without the option `http` nothing of the API but the type of its settings and the shape of a path.
    assert.deepStrictEqual(
      own.filter((path) => path.startsWith("layers/http/")),
      ["layers/http/boundary/HttpSettings.ts", "layers/http/boundary/PathShape.ts"]
    )
    assert.deepStrictEqual(packagesIn(loaded), [
      "@effect/platform-node",
      "@effect/platform-node-shared",
      "effect",
      "ibantools",
      "libphonenumber-js",
      "re2js"
    ])
    assert.deepStrictEqual(barrelsIn(loaded), [])
  })
})

it("an import of troupe, which declares agents and tools, loads no large part of effect as a whole", () => {
  const loaded = loadedBy("src/index.ts")
  assert.include(loaded, "src/tool/DeclaredTool.ts")
  assert.deepStrictEqual(barrelsIn(loaded), [])
})
