/** The contexts of the reference application: where core is, and what crosses from one to another. The walls: `architecture.test.ts`. */
import { assert, describe, it } from "vitest"
import { contextOf, importsOf, isCore, load, plant, reach } from "./HouseTree.ts"
import type { Tree } from "./HouseTree.ts"

const house = load("src", "services", "layers")

describe("contexts", () => {
  it("ST-35 has the outbox and the audit in the runtime, which knows no other context", () => {
    const ways = (tree: Tree) =>
      [...tree.keys()]
        .filter(isCore)
        .flatMap((path) =>
          [...reach(tree, path)].filter(([to]) => contextOf(to) !== undefined).map(([, way]) => way)
        )
    const core = [...house.keys()].filter(isCore)
    for (const path of [
      "services/Outbox.ts",
      "services/RunJournal.ts",
      "layers/sql/outbox/SqlOutbox.ts",
      "layers/sql/journal/SqlRunJournal.ts"
    ]) {
      assert.include(core, path)
    }
    assert.deepEqual(
      [...house.keys()].filter((path) => contextOf(path) === "core"),
      []
    )
    assert.deepEqual(ways(house), [])
    const planted = new Map([
      ["layers/runtime/relay/A.ts", `import { b } from "../../../services/B.ts"\n`],
      ["services/B.ts", `import { c } from "./spectral/platform/contracts/ScanReader.ts"\n`],
      ["services/spectral/platform/contracts/ScanReader.ts", ""]
    ])
    assert.lengthOf(ways(planted), 1)
  })

  it("ST-42 lets facts cross from one context to another by events alone", () => {
    /** What a context takes from another one, by its contracts. */
    const taken = (tree: Tree) =>
      [...tree].flatMap(([path, text]) => {
        const from = contextOf(path)
        return importsOf(path, text).filter((name) => {
          const to = contextOf(name)
          return from !== undefined && to !== undefined && to !== from
        })
      })
    const names = new Set(taken(house).map((name) => name.replace(/^.*\/contracts\//, "")))
    // Ids and an event; no port, which could be asked.
    assert.deepEqual([...names].toSorted(), ["WorldId.ts", "WorldVersionPublished.ts"])
    assert.deepEqual(
      taken(house).filter((name) => !name.startsWith("src/")),
      []
    )
    const port = `import { x } from "../../../services/spectral/worlds/contracts/WorldAgentRunner.ts"\n`
    assert.lengthOf(taken(plant("layers/spectral/platform/A.ts", port)), 1)
  })
})
