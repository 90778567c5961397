/**
 * Makes package.json name what a service needs to run and nothing else: its dependencies, Effect, and the optional peers that are
 * given, in the versions that the tests ran with. For an image; a clone keeps its own file. Plain JavaScript, because nothing is
 * installed yet.
 */
import { writeFileSync } from "node:fs"
import manifest from "../../package.json" with { type: "json" }

const {
  dependencies,
  devDependencies,
  peerDependencies,
  peerDependenciesMeta: _,
  ...rest
} = manifest

for (const name of ["effect", ...process.argv.slice(2)]) {
  if (peerDependencies[name] === undefined || devDependencies[name] === undefined) {
    console.error(`${name} is no peer of this package: ${Object.keys(peerDependencies).join(", ")}`)
    process.exit(1)
  }
  dependencies[name] = devDependencies[name]
}
writeFileSync(
  new URL("../../package.json", import.meta.url),
  `${JSON.stringify({ ...rest, dependencies }, undefined, 2)}\n`
)
