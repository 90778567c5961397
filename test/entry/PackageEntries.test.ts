/** What the entries of the package export. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"

const root = join(import.meta.dirname, "../..")

it("troupe exports at most 120 names", () => {
  const text = readFileSync(join(root, "src/index.ts"), "utf8")
  const names = [...text.matchAll(/^export (?:type )?(?:\* as (\w+)|\{([^}]*)\})/gm)].flatMap(
    ([, whole, some = ""]) => whole ?? some.split(",").filter((name) => name.trim() !== "")
  )
  // A name in each: nothing is exported of which the text does not say what it is.
  assert.lengthOf(
    text.match(/^export .*/gm)!,
    text.match(/^export (?:type )?(?:\{|\* as )/gm)!.length
  )
  assert.isAbove(names.length, 80)
  assert.isAtMost(names.length, 120)
})

it("troupe/services exports every port, and the entry of a feature those of its stores", () => {
  const ports = readdirSync(join(root, "services"), { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".ts"))
  const exported = (entry: string) =>
    [
      ...readFileSync(join(root, "layers/compose/entries", entry), "utf8").matchAll(
        /^export \* from "\.\.\/\.\.\/\.\.\/services\/(.+)"$/gm
      )
    ].map(([, path]) => path!)
  const of = (room: string) => ports.filter((path) => path.startsWith(`${room}/`))
  const ofFeatures = [...of("spectral"), ...of("semstreams")]
  assert.sameMembers(
    exported("Ports.ts"),
    ports.filter((path) => !ofFeatures.includes(path))
  )
  assert.sameMembers(exported("Spectral.ts"), of("spectral"))
  assert.sameMembers(exported("SemStreams.ts"), of("semstreams"))
})
