/** The floors of `src`, that surfaces read no store, and that no files import one another in a circle. */
import { assert, it } from "vitest"
import { dirname, posix } from "node:path"
import type { Tree } from "./HouseTree.ts"
import {
  circleIn,
  floorRefusal,
  floors,
  importsOf,
  isOwn,
  load,
  featureRefusal,
  plant,
  storeRefusal,
  stores
} from "./HouseTree.ts"

it("imports go down the floors of src: values, kernel, features", () => {
  const files = [...load("src")]
  const imports = files.flatMap(([path, text]) =>
    importsOf(path, text)
      .filter(isOwn)
      .map((name) => [path, name] as const)
  )
  assert.isAtLeast(imports.length, 500)
  assert.deepEqual(
    imports.filter(([path, name]) => floorRefusal(path, name) !== undefined),
    []
  )
  const rooms = new Set(files.flatMap(([path]) => /^src\/([^/]+)\//.exec(path)?.[1] ?? []))
  assert.deepEqual([...rooms].toSorted(), Object.values(floors).flat().toSorted())
})

it("sees an import that goes up", () => {
  for (const [from, to] of [
    ["value", "schema"],
    ["network", "error"],
    ["error", "run"],
    ["run", "call"],
    ["tool", "semstreams"]
  ]) {
    assert.isDefined(floorRefusal(`src/${from}/A.ts`, `src/${to}/B.ts`), `${from} > ${to}`)
    assert.isUndefined(floorRefusal(`src/${to}/A.ts`, `src/${from}/B.ts`), `${to} > ${from}`)
  }
  assert.isUndefined(floorRefusal("src/run/A.ts", "src/tool/B.ts"))
  assert.isUndefined(floorRefusal("src/tool/A.ts", "src/run/B.ts"))
})

it("has no circle of files, also not one of types or of imports at run time", () => {
  assert.isUndefined(circleIn(load("src", "services", "layers", "scripts", "test")))
  const planted = new Map([
    ["src/run/A.ts", `import type { B } from "./B.ts"\n`],
    ["src/run/B.ts", `import { C } from "../tool/C.ts"\n`],
    ["src/tool/C.ts", `const d = () => import("../run/B.ts")\n`]
  ])
  assert.strictEqual(circleIn(planted), "src/run/B.ts > src/tool/C.ts > src/run/B.ts")
})

it("gives no name to two files of the product", () => {
  const twiceIn = (paths: Iterable<string>) => {
    const names = Array.from(paths, (path) => path.slice(path.lastIndexOf("/") + 1))
    return names.filter((name, at) => names.indexOf(name) !== at)
  }
  assert.deepEqual(twiceIn(load("src", "services", "layers", "scripts").keys()), [])
  assert.deepEqual(twiceIn(["src/a/X.ts", "layers/b/X.ts", "layers/b/Y.ts"]), ["X.ts"])
})

it("sees a surface that reads a store, and lets the effects of operations read them", () => {
  const known = load("services")
  assert.isAtLeast(stores.size, 25)
  assert.deepEqual(
    [...stores].filter((port) => !known.has(port)),
    []
  )
  const refused = (path: string) =>
    [...stores].filter((port) => {
      const text = `import type { x } from "${posix.relative(dirname(path), port)}"\n`
      return importsOf(path, text).some((name) => storeRefusal(path, name) !== undefined)
    })
  for (const path of ["http/handlers/A.ts", "http/server/A.ts", "compose/promises/A.ts"]) {
    assert.lengthOf(refused(`layers/${path}`), stores.size, path)
  }
  for (const path of ["service/A.ts", "compose/assembly/A.ts", "runtime/loop/A.ts"]) {
    assert.deepEqual(refused(`layers/${path}`), [], path)
  }
  assert.isUndefined(storeRefusal("layers/http/server/A.ts", "services/ApprovalDesk.ts"))
})

it("sees a room that knows a feature, other than its own and the composition", () => {
  const world = "src/spectral/worlds/World.ts"
  for (const path of ["src/run/A.ts", "services/A.ts", "layers/http/server/A.ts"]) {
    assert.isDefined(featureRefusal(path, world), path)
  }
  assert.isDefined(featureRefusal("layers/sql/stores/A.ts", "layers/sql/spectral/B.ts"))
  assert.isDefined(featureRefusal("src/semstreams/A.ts", world))
  for (const path of ["layers/compose/entries/A.ts", "layers/stores/spectral/worlds/A.ts"]) {
    assert.isUndefined(featureRefusal(path, world), path)
  }
})

it("gives no key to two services", () => {
  const keysIn = (tree: Tree) =>
    [...tree.values()].flatMap((text) =>
      [...text.matchAll(/(?:\(\)\(|Context\.Reference(?:<[^(]*>)?\()\s*"(troupe\/[^"]+)"/g)].map(
        ([, key]) => key!
      )
    )
  const twice = (keys: ReadonlyArray<string>) => keys.filter((key, i) => keys.indexOf(key) !== i)
  const keys = keysIn(load("src", "services", "layers"))
  assert.isAtLeast(keys.length, 100)
  assert.deepEqual(twice(keys), [])
  const planted = `>()("troupe/A") {}\nContext.Reference<boolean>("troupe/A", {})`
  assert.deepEqual(twice(keysIn(plant("layers/A.ts", planted))), ["troupe/A"])
})
