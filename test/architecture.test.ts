/**
 * Rooms, imports and names, checked over the real files. Each rule is also given a violation, because a rule that no
 * longer finds one would always pass.
 */
import { readdirSync } from "node:fs"
import { assert, describe, it } from "vitest"
import {
  root,
  load,
  withoutComments,
  importsOf,
  isOwn,
  roomOf,
  under,
  contextOf,
  isContract,
  floors,
  inner,
  floorRefusal,
  featureRefusal,
  storeRefusal,
  reach,
  plant
} from "./HouseTree.ts"
import type { Tree } from "./HouseTree.ts"

const drivers = /^(@effect\/sql-|@electric-sql\/|effect\/sql(\/|$)|node:sqlite$|pg$|postgres$)/
const providers = /^(@ai-sdk\/|ai$|openai$|@anthropic-ai\/|@google\/)/
/** Plans of public numbers, as functions of a text: facts that somebody else keeps up to date. */
const pureTables: ReadonlyArray<string> = ["ibantools", "libphonenumber-js/min"]
const tableReaders: ReadonlyArray<string> = ["src/error/NumberPlans.ts"]
/** Every room may stand on it, and it on none. */
const floor = "network"
/** Rooms that have operations, or show them to somebody. */
const surfaces: ReadonlyArray<string> = ["http", "console", "spectral", "semstreams"]
const pureRooms: ReadonlyArray<string | undefined> =
  "runtime service stores ephemeral memory".split(" ")
/** Rooms with a driver of rows, on which they build the stores that are written once. */
const driverRooms: ReadonlyArray<string> = ["sql", "ephemeral"]

/** The room and the room within it, for rooms that have some: `layers/runtime/loop/RunLoop.ts` is in runtime and loop. */
const innerRoomOf = (path: string): readonly [room: string, inner: string] | undefined => {
  const [, room, within] = /^layers\/([^/]+)\/([^/]+)\//.exec(path) ?? []
  return room !== undefined && inner[room] !== undefined ? [room, within!] : undefined
}

const contextRefusal = (path: string, name: string): string | undefined => {
  const to = contextOf(name)
  if (to === undefined || roomOf(path) === "compose") return undefined
  if (contextOf(path) !== to) {
    return isContract(name) ? undefined : `only the contracts of ${to} are for others`
  }
  return isContract(path) && !isContract(name) ? "a contract stands on contracts" : undefined
}

const migration = /^layers\/sql\/\w+\/migrations\/\d{4}_/

/** A released migration stays what it was: it imports nothing that may change. */
const migrationRefusal = (path: string, name: string): string | undefined => {
  const [own] = migration.exec(path) ?? []
  if (own === undefined || name === "effect" || name === "effect/sql") return undefined
  return name.startsWith(own) ? undefined : "a migration imports only its own files"
}

const innerRefusal = (path: string, name: string): string | undefined => {
  const [room, from] = innerRoomOf(path) ?? []
  const [other, to] = innerRoomOf(name) ?? []
  if (room === undefined || room !== other || from === to) return undefined
  return inner[room]![from!]?.includes(to!) === true
    ? undefined
    : `layers/${room}/${from} knows nothing of ${to}`
}

/** Why a file may not import this; undefined if it may. */
const refusal = (path: string, name: string): string | undefined => {
  const walled =
    contextRefusal(path, name) ?? featureRefusal(path, name) ?? storeRefusal(path, name)
  if (walled !== undefined) return walled
  if (path.startsWith("src/")) {
    if (isOwn(name)) {
      return name.startsWith("src/") ? floorRefusal(path, name) : "src imports only src"
    }
    return name === "effect" ||
      under(name, "effect/ai") ||
      // A pure function of texts: the one engine for patterns that others wrote.
      (name === "re2js" && path === "src/schema/LinearPattern.ts") ||
      (name === "effect/http-api" && path.startsWith("src/operation/")) ||
      (pureTables.includes(name) && tableReaders.includes(path))
      ? undefined
      : "src holds facts: effect values only"
  }
  if (path.startsWith("services/")) {
    if (isOwn(name)) return /^(src|services)\//.test(name) ? undefined : "services import src"
    return name === "effect" ? undefined : "a port knows only effect"
  }
  const room = roomOf(path)
  if (room === undefined) return undefined
  const frozen = migrationRefusal(path, name)
  if (frozen !== undefined) return frozen
  if (isOwn(name)) {
    if (/^(src|services)\//.test(name)) return undefined
    if (!name.startsWith("layers/")) return "layers import no tests and no scripts"
    // What touches nothing outside does not dial either.
    if (pureRooms.includes(room) && roomOf(name) === floor)
      return `layers/${room} touches nothing outside`
    if (room !== "compose" && ![room, floor].includes(roomOf(name)!)) {
      // The effects of operations are below every surface, and above the ports.
      if (surfaces.includes(room) && roomOf(name) === "service") return undefined
      if (driverRooms.includes(room) && roomOf(name) === "stores") return undefined
      return "rooms meet only in compose"
    }
    return innerRefusal(path, name)
  }
  if (drivers.test(name) && room !== "sql") return "only layers/sql imports a driver"
  if (providers.test(name) && room !== "model") return "only layers/model knows a provider"
  if (
    pureRooms.includes(room) &&
    (name.startsWith("node:") ||
      name.startsWith("@") ||
      under(name, "effect/http", "effect/http-api", "effect/cluster", "effect/process"))
  ) {
    return `layers/${room} touches nothing outside`
  }
  return undefined
}

const refusals = (tree: Tree): ReadonlyArray<string> =>
  [...tree].flatMap(([path, text]) =>
    importsOf(path, text).flatMap((name) => {
      const why = refusal(path, name)
      return why === undefined ? [] : [`${path} imports ${name}: ${why}`]
    })
  )

/** Ways from the HTTP layer to the loop or to the body of a tool. */
const waysToTheLoop = (tree: Tree): ReadonlyArray<string> =>
  [...tree.keys()]
    .filter((path) => path.startsWith("layers/http/"))
    .flatMap((path) =>
      [...reach(tree, path)]
        .filter(([to]) => /^layers\/(runtime|builtin|spectral|semstreams)\//.test(to))
        .map(([, way]) => way)
    )

const srcRooms = Object.values(floors).flat().join(" ")
const layerRooms =
  "runtime service stores ephemeral sql model network calls mcp channel http console telemetry builtin spectral semstreams memory compose"
/** Features with ports of their own. */
const features: ReadonlyArray<string> = ["spectral", "semstreams"]
const vague = /^(utils?|common|helpers?|shared|types?|misc)$/i

const misnamed = (path: string): string | undefined => {
  const [house, ...rest] = path.split("/")
  const file = rest.at(-1)!
  const rooms = rest.slice(0, -1)
  if (path === "src/index.ts") return undefined
  if (file === "index.ts") return "src/index.ts is the one barrel"
  const noun = file.replace(/\.ts$/, "")
  if (rooms.some((room) => vague.test(room)) || vague.test(noun)) return "names no subject"
  if (/(Live|Impl)$|^Base[A-Z]|Base$/.test(noun)) return "an answer is named how + port"
  if (house === "services" && rooms.length > 0 && !features.includes(rooms[0]!)) {
    return "services is one flat folder, but for features"
  }
  if (house === "layers" && rooms.length === 0) return "an answer lives in a room"
  const known = house === "src" ? srcRooms : layerRooms
  if (house !== "services" && rooms.length > 0 && !known.split(" ").includes(rooms[0]!))
    return "an unknown room"
  const within = house === "layers" ? inner[rooms[0]!] : undefined
  if (within !== undefined && within[rooms[1] ?? ""] === undefined) {
    return `layers/${rooms[0]} has its files in rooms of its own`
  }
  if (rooms.at(-1) === "migrations") {
    return /^\d{4}_[a-z0-9_]+\.ts$/.test(file) ? undefined : "a migration is NNNN_name.ts"
  }
  return /^[A-Z][A-Za-z0-9]*$/.test(noun) ? undefined : "a file is a PascalCase noun"
}

const house = load("src", "services", "layers")
const everything = load("src", "services", "layers", "scripts", "test")

describe("architecture", () => {
  it("sees the files that it judges", () => {
    const count = (prefix: string) => [...house.keys()].filter((p) => p.startsWith(prefix)).length
    assert.isAtLeast(count("src/"), 20)
    assert.isAtLeast(count("services/"), 10)
    assert.isAtLeast(count("layers/"), 10)
    const edges = [...house].flatMap(([path, text]) => importsOf(path, text))
    assert.isAtLeast(edges.filter(isOwn).length, 100)
    const lost = edges.filter((name) => isOwn(name) && !house.has(name))
    assert.deepEqual(lost, [])
  })

  it("keeps one direction: the floors of src, services, layers; rooms meet only in compose, and stand on one floor", () => {
    assert.deepEqual(refusals(house), [])
  })

  it("sees each kind of forbidden import", () => {
    const forbidden: ReadonlyArray<readonly [path: string, name: string]> = [
      ["src/run/A.ts", "node:fs"],
      ["src/run/A.ts", "effect/sql"],
      ["src/run/A.ts", "effect/http-api"],
      ["src/run/A.ts", "effect/cluster"],
      ["src/run/A.ts", "@effect/platform-node/NodeHttpServer"],
      ["src/run/A.ts", "../../services/RunJournal.ts"],
      ["services/A.ts", "../layers/sql/journal/Codes.ts"],
      ["services/A.ts", "effect/http"],
      ["layers/runtime/tool/A.ts", "../../sql/journal/Codes.ts"],
      ["layers/runtime/tool/A.ts", "node:crypto"],
      ["layers/ephemeral/A.ts", "effect/sql"],
      ["layers/sql/engine/migrations/0002_a.ts", "../StoredText.ts"],
      ["layers/sql/engine/migrations/0002_a.ts", "../../journal/Codes.ts"],
      ["layers/sql/engine/migrations/0002_a.ts", "../../../../src/Ids.ts"],
      ["layers/sql/engine/migrations/0002_a.ts", "./0001_first.ts"],
      ["layers/sql/spectral/migrations/0001_a.ts", "../SpectralTables.ts"],
      ["layers/http/A.ts", "../runtime/loop/RunLoop.ts"],
      ["layers/network/A.ts", "../calls/B.ts"],
      ["layers/service/A.ts", "../http/handlers/B.ts"],
      ["layers/mcp/A.ts", "../service/B.ts"],
      ["layers/stores/A.ts", "../sql/engine/SqlRows.ts"],
      ["layers/http/A.ts", "../stores/B.ts"],
      ["layers/runtime/tool/A.ts", "../../network/B.ts"],
      ["layers/http/A.ts", "@electric-sql/pglite"],
      ["layers/compose/A.ts", "@effect/sql-pg"],
      ["layers/compose/A.ts", "@ai-sdk/provider"],
      ["layers/compose/A.ts", "../../test/notes.ts"],
      ["src/spectral/platform/A.ts", "../worlds/World.ts"],
      ["src/run/A.ts", "../spectral/worlds/World.ts"],
      ["src/spectral/worlds/contracts/A.ts", "../World.ts"],
      ["services/core/A.ts", "../spectral/worlds/WorldReader.ts"],
      ["layers/spectral/platform/A.ts", "../worlds/WorldTools.ts"],
      ["layers/spectral/platform/A.ts", "../../../services/spectral/worlds/WorldReader.ts"],
      ["layers/stores/spectral/platform/A.ts", "../worlds/StoredWorlds.ts"],
      ["layers/spectral/worlds/A.ts", "../../../services/spectral/platform/WorkspaceReader.ts"],
      ["src/spectral/worlds/A.ts", "../platform/Framework.ts"],
      ["src/spectral/agents/A.ts", "../platform/Framework.ts"],
      ["services/spectral/platform/contracts/A.ts", "../WorkspaceReader.ts"],
      ["layers/spectral/A.ts", "./worlds/WorldTools.ts"],
      ["layers/ephemeral/core/A.ts", "../../../services/spectral/worlds/RuleProposals.ts"]
    ]
    for (const [path, name] of forbidden) {
      for (const text of [
        `import { x } from "${name}"\n`,
        `import type {\n  x\n} from "${name}"\n`,
        `import "${name}"\n`,
        `export * from "${name}"\n`,
        `const x = import("${name}")\n`
      ]) {
        assert.lengthOf(refusals(plant(path, text)), 1, `${path}: ${text}`)
      }
    }
  })

  it("sees each allowed import", () => {
    const allowed: ReadonlyArray<readonly [path: string, name: string]> = [
      ["src/operation/A.ts", "effect/http-api"],
      ["services/A.ts", "../src/value/Ids.ts"],
      ["layers/compose/A.ts", "../sql/journal/Codes.ts"],
      ["layers/mcp/A.ts", "../network/B.ts"],
      ["layers/http/handlers/A.ts", "../../service/B.ts"],
      ["layers/sql/stores/A.ts", "../../stores/B.ts"],
      ["layers/ephemeral/A.ts", "../stores/B.ts"],
      ["layers/sql/engine/migrations/0001_start.ts", "./0001_runs.ts"],
      ["src/spectral/platform/A.ts", "../worlds/contracts/WorldId.ts"],
      ["src/spectral/agents/A.ts", "../platform/contracts/PlatformEvent.ts"],
      [
        "layers/spectral/core/A.ts",
        "../../../services/spectral/worlds/contracts/WorldAgentRunner.ts"
      ],
      ["layers/compose/A.ts", "../spectral/worlds/WorldTools.ts"]
    ]
    for (const [path, name] of allowed) {
      assert.deepEqual(refusals(plant(path, `import { x } from "${name}"\n`)), [])
    }
  })

  it("sees each forbidden import between the rooms of one room", () => {
    for (const [room, arrows] of Object.entries(inner)) {
      const names = Object.keys(arrows)
      for (const from of names) {
        for (const to of names) {
          const text = `import { x } from "../${to}/X.ts"\n`
          const isAllowed = from === to || arrows[from]!.includes(to)
          assert.lengthOf(
            refusals(plant(`layers/${room}/${from}/A.ts`, text)),
            isAllowed ? 0 : 1,
            `${room}: ${from} > ${to}`
          )
        }
      }
      const below = (name: string): ReadonlyArray<string> =>
        arrows[name]!.flatMap((next) => [next, ...below(next)])
      for (const name of names) assert.notInclude(below(name), name)
    }
  })

  it("ST-01 gives the HTTP layer no way to the loop or to the body of a tool", () => {
    assert.isTrue([...house.keys()].some((path) => path.startsWith("layers/http/")))
    assert.deepEqual(waysToTheLoop(house), [])
    const tree = new Map([
      ["layers/http/A.ts", `import { b } from "../compose/B.ts"\n`],
      ["layers/compose/B.ts", `import * as C from "../runtime/C.ts"\n`],
      ["layers/runtime/C.ts", ""]
    ])
    assert.deepEqual(waysToTheLoop(tree), [
      "layers/http/A.ts > layers/compose/B.ts > layers/runtime/C.ts"
    ])
  })

  it("ST-35 SA-48 gives no context a way to what another keeps to itself", () => {
    const ways = (tree: Tree, context: string) =>
      [...tree.keys()]
        .filter((path) => contextOf(path) === context)
        .flatMap((path) =>
          [...reach(tree, path)].filter(
            ([to]) => contextOf(to) !== undefined && contextOf(to) !== context && !isContract(to)
          )
        )
        .map(([, way]) => way)
    for (const context of ["platform", "worlds"]) {
      const files = [...house.keys()].filter((path) => contextOf(path) === context)
      assert.isAtLeast(files.length, 10, context)
      assert.deepEqual(ways(house, context), [])
    }
    // Also not through a file of no context.
    const planted = new Map([
      ["layers/spectral/platform/A.ts", `import { b } from "../B.ts"\n`],
      [
        "layers/spectral/B.ts",
        `import { x } from "../../services/spectral/worlds/WorldReader.ts"\n`
      ],
      ["services/spectral/worlds/WorldReader.ts", ""]
    ])
    assert.deepEqual(ways(planted, "platform"), [
      "layers/spectral/platform/A.ts > layers/spectral/B.ts > services/spectral/worlds/WorldReader.ts"
    ])
  })

  it("SA-05 ST-38 gives no agent a way to what publishes rules or imports records, and finds contracts where their context is", () => {
    const publishers = [
      "services/spectral/worlds/WorldPublisher.ts",
      "services/spectral/platform/RecordImporter.ts"
    ]
    const ways = (tree: Tree) =>
      [...tree.keys()]
        .filter((path) => path.startsWith("layers/spectral/"))
        .flatMap((path) => publishers.flatMap((each) => reach(tree, path).get(each) ?? []))
    assert.deepEqual(
      publishers.filter((path) => !house.has(path)),
      []
    )
    assert.deepEqual(ways(house), [])
    for (const publisher of publishers) {
      const planted = new Map([
        ["layers/spectral/worlds/A.ts", `import { x } from "../../../${publisher}"\n`],
        [publisher, ""]
      ])
      assert.lengthOf(ways(planted), 1)
    }
    const runner = "services/spectral/worlds/contracts/WorldAgentRunner.ts"
    assert.isTrue(house.has(runner))
    assert.deepEqual(
      [...house.keys()].filter((path) => /\/contracts\//.test(path) && !isContract(path)),
      []
    )
  })

  it("names a provider only in layers/model", () => {
    const names = /open_?ai|anthropic|gemini|mistral|bedrock|\bclaude|\bgpt-/i
    const ownModelFile = /from "\.\.\/model\/[^"]*"/g
    const found = [...house].filter(
      ([path, text]) =>
        roomOf(path) !== "model" && names.test(withoutComments(text).replaceAll(ownModelFile, ""))
    )
    assert.deepEqual(
      found.map(([path]) => path),
      []
    )
  })

  it("names files by the noun that they hold, in rooms that are listed here", () => {
    const wrong = [...house.keys()].flatMap((path) => {
      const why = misnamed(path)
      return why === undefined ? [] : [`${path}: ${why}`]
    })
    assert.deepEqual(wrong, [])
    for (const path of [
      "src/run/index.ts",
      "src/Utils.ts",
      "src/shared/Thing.ts",
      "src/run/runState.ts",
      "services/room/Port.ts",
      "layers/RunJournal.ts",
      "layers/cellar/Answer.ts",
      "layers/runtime/Answer.ts",
      "layers/runtime/cellar/Answer.ts",
      "layers/sql/journal/RunJournalLive.ts",
      "layers/sql/stores/BaseStore.ts",
      "layers/sql/engine/migrations/first.ts"
    ]) {
      assert.isDefined(misnamed(path), path)
    }
  })

  it("exports no answer named Live, Impl or Base", () => {
    const bad =
      /export (?:const|class|type|interface|function) (?:\w+(?:Live|Impl)|Base[A-Z]?\w*)\b/
    assert.deepEqual(
      [...house].filter(([, text]) => bad.test(text)).map(([path]) => path),
      []
    )
  })

  it("keeps every file at 500 lines or less", () => {
    const long = [...everything]
      .map(([path, text]) => [path, text.split("\n").length - 1] as const)
      .filter(([, lines]) => lines > 500)
    assert.deepEqual(long, [])
  })

  it("names only rows of the bench that there are", () => {
    const rows = new Set(
      [...everything.get("test/bench/Rows.ts")!.matchAll(/^  "?([\w-]+)"?: \(\)/gm)].map(
        ([, row]) => row!
      )
    )
    assert.isAtLeast(rows.size, 10)
    const named = [...house].flatMap(([path, text]) =>
      [...text.replaceAll(/\n\s*(?:\*|\/\/)/g, "").matchAll(/\bbench rows? ([^).,;]*)/g)].map(
        ([, names]) => [path, [...names!.matchAll(/`([^`]*)`/g)].map(([, name]) => name!)] as const
      )
    )
    assert.isAtLeast(named.length, 20)
    const wrong = named.filter(
      ([, names]) => names.length === 0 || names.some((name) => !rows.has(name))
    )
    assert.deepEqual(wrong, [])
  })

  it("leaves no work marked for later, no silenced check and no skipped test", () => {
    // A letter in brackets keeps these patterns from finding themselves.
    const marks = /\b[T]ODO\b|\b[F]IXME\b|@ts-[i]gnore|@ts-[n]ocheck|\bas [a]ny\b/
    const left = [...everything].filter(([, text]) => marks.test(text)).map(([path]) => path)
    assert.deepEqual(left, [])
    const silenced = [...everything].filter(
      ([path, text]) => !path.startsWith("test/") && /@ts-[e]xpect-error/.test(text)
    )
    assert.deepEqual(
      silenced.map(([path]) => path),
      []
    )
    const idle = /\b(?:it|test|describe)\.(?:effect\.|live\.)?(?:skip|only|todo)\(/
    const tests = [...everything].filter(
      ([path, text]) => path.startsWith("test/") && idle.test(text)
    )
    assert.deepEqual(
      tests.map(([path]) => path),
      []
    )
  })

  it("keeps the top level as it is", () => {
    const houses = ["src", "services", "layers", "test", "scripts", "findings"]
    const files = "package.json package-lock.json tsconfig.json README.md LICENSE CHANGELOG.md"
    // Made on the spot and kept out of the repository.
    const made = ["node_modules", "dist"]
    const allowed = new Set([...files.split(" "), ...houses, ...made])
    const entries = readdirSync(root)
    for (const folder of houses) {
      assert.include(entries, folder)
    }
    assert.deepEqual(
      entries.filter((name) => !name.startsWith(".") && !allowed.has(name)),
      []
    )
  })
})
