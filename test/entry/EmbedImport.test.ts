import { execFileSync } from "node:child_process"
import { readdirSync, rmSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { build } from "../../scripts/build.ts"
import { inLongFormPlain } from "../InLongForm.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

interface Loaded {
  /** From the root; none of Node's own. */
  readonly path: string
  readonly bytes: number
}

/** What a process loads that runs this and nothing else. */
const loadedIn = (code: string): ReadonlyArray<Loaded> => {
  const script = `
    import { registerHooks } from "node:module"
    const loaded = []
    registerHooks({
      load: (url, context, next) => {
        const given = next(url, context)
        loaded.push([url, given.source?.length ?? 0])
        return given
      }
    })
    ${code}
    console.log(JSON.stringify(loaded))`
  const args = ["--conditions=troupe-source", "--input-type=module", "--eval", script]
  const printed = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" })
  const last = printed.trimEnd().split("\n").at(-1)!
  return (JSON.parse(last) as ReadonlyArray<[string, number]>).flatMap(([url, bytes]) =>
    url.startsWith("file:")
      ? [{ path: fileURLToPath(url).slice(root.length).replaceAll("\\", "/"), bytes }]
      : []
  )
}

const loadedBy = (path: string): ReadonlyArray<string> =>
  loadedIn(`await import(${JSON.stringify(`${root}${path}`)})`).map(({ path }) => path)

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
      "src/operation/ErrorStatus.ts",
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
    assert.deepStrictEqual(packagesIn(loaded), ["@effect/platform-node-shared", "effect", "re2js"])
    assert.deepStrictEqual(barrelsIn(loaded), [])
  })
})

it("an import of troupe, which declares agents and tools, loads no large part of effect as a whole", () => {
  const loaded = loadedBy("src/index.ts")
  assert.include(loaded, "src/tool/DeclaredTool.ts")
  assert.deepStrictEqual(barrelsIn(loaded), [])
})

describe("the package as it is built", () => {
  const place = `node_modules/.cache/troupe-import-${process.pid}`
  beforeAll(() => build(`${root}${place}`, false), 60_000)
  afterAll(() => rmSync(`${root}${place}`, { recursive: true, force: true }))

  const entry = (name: string) => JSON.stringify(`${root}${place}/${name}.js`)
  const bytesOf = (loaded: ReadonlyArray<Loaded>) =>
    loaded.reduce((sum, { bytes }) => sum + bytes, 0)

  it("costs an import of troupe/embed less than an import of effect, in modules and in bytes", () => {
    const effect = loadedIn(`await import("effect")`)
    const embed = loadedIn(`await import(${entry("embed")})`)
    const own = embed.filter(({ path }) => packageOf(path) === ".cache")
    assert.isAtMost(own.length, 5)
    assert.isAtMost(bytesOf(own), 10_000)
    assert.isBelow(embed.length, effect.length)
    assert.isBelow(bytesOf(embed), bytesOf(effect))
  })

  inLongFormPlain(
    "loads the script of /docs where somebody asks for the page, and not before",
    () => {
      const served = (path: string) =>
        loadedIn(`
        const { start } = await import(${entry("embed")})
        const { scripted } = await import(${entry("testing")})
        const troupe = await start({ agents: [], model: scripted([]), http: { port: 0, tokens: [] } })
        const page = await fetch(troupe.url + "${path}")
        console.log(page.status, (await page.text()).length)
        await troupe.stop()`).filter(({ path }) => path.endsWith("/httpApiSwagger.js"))
      assert.lengthOf(served("/openapi.json"), 0)
      assert.lengthOf(served("/docs"), 1)
    }
  )

  /** An agent whose tool has to be asked for, with this as its argument. */
  const asked = (order: string) => `
    const { AgentSpec, Schema, tool } = { ...await import("effect"), ...await import(${entry("index")}) }
    const { start } = await import(${entry("embed")})
    const { call, scripted, text } = await import(${entry("testing")})
    const config = { namespace: "shop", name: "refund", side_effects: "external", input: Schema.Struct({ order: Schema.String }) }
    const troupe = await start({
      agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["refund"] })],
      tools: [tool(config, async () => "done")],
      model: scripted([call("refund", { order: ${JSON.stringify(order)} }), text("Done.")])
    })
    const { approvals } = await troupe.ask({ agent: "shop", text: "Pay it back" })
    console.log(approvals[0].payload.args_summary)
    await troupe.stop()`
  const plans = (loaded: ReadonlyArray<Loaded>) =>
    packagesIn(loaded.map(({ path }) => path)).filter((name) => /iban|phone/.test(name))

  inLongFormPlain(
    "loads the plans of phone numbers and IBANs where a text first needs them, and not before",
    () => {
      const names = readdirSync(`${root}${place}`).flatMap((file) =>
        file.endsWith(".js") && file !== "troupe.js" ? [file.slice(0, -3)] : []
      )
      assert.isAbove(names.length, 8)
      const imports = names.map((name) => `await import(${entry(name)})`).join("\n")
      assert.deepStrictEqual(plans(loadedIn(imports)), [])
      assert.deepStrictEqual(plans(loadedIn(asked("order 1003"))), [])
      assert.deepStrictEqual(plans(loadedIn(asked("call +49 30 901820"))), ["libphonenumber-js"])
      assert.deepStrictEqual(plans(loadedIn(asked("to DE89 3704 0044 0532 0130 00"))), [
        "ibantools"
      ])
    }
  )
})
