/** Which tests `npm run check -- --changed` takes for those that a change may break. */
import { assert, describe, it } from "vitest"
import { relatedTests } from "../checks/Related.ts"

describe("the tests that are related to a change", () => {
  it("are those that reach a module, the nearest first, and of as many imports those of its room", () => {
    const { far, late, near } = relatedTests(["src/run/RunState.ts"], 5)
    assert.lengthOf(near, 5)
    for (const path of near) assert.match(path, /^test\/run\//)
    assert.isAbove(far.length, 50)
    assert.isAbove(late.length, 5)
    const all = [...near, ...far, ...late]
    assert.strictEqual(new Set(all).size, all.length)
    assert.deepStrictEqual(
      relatedTests(["layers/channel/EmailChannel.ts"], 1_000).near.slice(0, 2),
      ["test/channel/Adapters.test.ts", "test/channel/Email.test.ts"]
    )
  })

  it("are those that read a file, or start it", () => {
    assert.include(
      relatedTests(["scripts/deploy/compose.yaml"], 5).near,
      "test/process/DeployFiles.test.ts"
    )
    assert.include(relatedTests(["test/queue/README.md"], 5).near, "test/examples/Readmes.test.ts")
    assert.include(
      relatedTests(["test/release/release.ts"], 5).late,
      "test/release/Release.test.ts"
    )
  })

  it("are the changed ones, and not those that were removed", () => {
    const kept = "test/value/Pages.test.ts"
    const removed = "test/value/Removed.test.ts"
    const { near } = relatedTests([removed, kept], 5)
    assert.strictEqual(near[0], kept)
    assert.notInclude(near, removed)
    assert.deepStrictEqual(relatedTests([], 5).near, [])
  })
})
