/** What the entries of the package export. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"

const root = join(import.meta.dirname, "../..")

it("troupe/services exports every port, and nothing else", () => {
  const ports = readdirSync(join(root, "services"), { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".ts"))
  const entry = readFileSync(join(root, "layers/compose/entries/Ports.ts"), "utf8")
  const exported = [...entry.matchAll(/^export \* from "\.\.\/\.\.\/\.\.\/services\/(.+)"$/gm)]
  assert.deepStrictEqual(
    exported.map(([, path]) => path!),
    ports.toSorted()
  )
  assert.lengthOf(entry.match(/^export/gm)!, ports.length)
})
