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

const peers = ["effect", ...process.argv.slice(2)]
for (const name of peers) {
  if (peerDependencies[name] === undefined || devDependencies[name] === undefined) {
    console.error(`${name} is no peer of this package: ${Object.keys(peerDependencies).join(", ")}`)
    process.exit(1)
  }
}
// The package is built with what it uses of the server. The sources import it.
for (const name of ["@effect/platform-node", ...peers]) dependencies[name] = devDependencies[name]
writeFileSync(
  new URL("../../package.json", import.meta.url),
  `${JSON.stringify({ ...rest, dependencies }, undefined, 2)}\n`
)
