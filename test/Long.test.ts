/** That each long form is run: `npm run test:full` runs the files that are listed, and no other. */
import { assert, describe, it } from "vitest"
import { importsOf, load } from "./HouseTree.ts"
import { files, late } from "./Long.ts"

/** What differs in the long form. */
const forms = ["Long", "InLongForm", "sql/Engines", "process/Homes"].map(
  (name) => `test/${name}.ts`
)

describe("the long form", () => {
  const tests = [...load("test")].filter(([path]) => path.endsWith(".test.ts"))

  it("runs every test file that has one", () => {
    const having = tests.filter(([path, text]) =>
      importsOf(path, text).some((name) => forms.includes(name))
    )
    assert.isAbove(having.length, 100)
    const missing = having
      .map(([path]) => path)
      .filter((path) => !files.some((each) => path === each || path.startsWith(`${each}/`)))
    // This file reads the list and has no other form.
    assert.deepStrictEqual(missing, ["test/Long.test.ts"])
  })

  it("names no file or folder that is not there", () => {
    const paths = tests.map(([path]) => path)
    const gone = [...files, ...late].filter(
      (each) => !paths.some((path) => path === each || path.startsWith(`${each}/`))
    )
    assert.deepStrictEqual(gone, [])
  })
})
