/** The floors of `src`, and that no files import one another in a circle. */
import { assert, it } from "vitest"
import { circleIn, floorRefusal, floors, importsOf, isOwn, load } from "./HouseTree.ts"

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
