/** What npm says to the package's manifest and to the lockfile, without a flag. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { isFull } from "../Long.ts"
import { done, root } from "./Packed.ts"
import type { Manifest } from "./Packed.ts"

const read = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8"))
const manifest: Manifest & { readonly devDependencies: Readonly<Record<string, string>> } =
  read("package.json")

const folder = mkdtempSync(join(tmpdir(), "troupe-peers-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The package as npm resolves it: its manifest alone. */
const tarball = (): string => {
  const made = join(folder, "made")
  mkdirSync(made)
  cpSync(join(root, "package.json"), join(made, "package.json"))
  done("npm", ["pack", "--ignore-scripts"], made)
  return join(
    made,
    readdirSync(made).find((name) => name.endsWith(".tgz"))!
  )
}

/** Resolves a project with the package and these peers, in the versions that are tested here. Fails where npm refuses. */
const resolve = (name: string, peers: ReadonlyArray<string>): void => {
  const place = join(folder, name.replaceAll("/", "-"))
  mkdirSync(place)
  const wanted = peers.map((peer) => [peer, manifest.devDependencies[peer]])
  const dependencies = { troupe: `file:${packed}`, ...Object.fromEntries(wanted) }
  writeFileSync(join(place, "package.json"), JSON.stringify({ private: true, dependencies }))
  done("npm", ["install", "--package-lock-only", "--no-audit", "--no-fund"], place)
  const { packages } = JSON.parse(readFileSync(join(place, "package-lock.json"), "utf8"))
  const paths = Object.keys(packages)
  assert.include(paths, "node_modules/troupe")
  // A peer of `@effect/platform-node`, of which the package has the modules that it uses.
  assert.deepStrictEqual(
    paths.filter((path) => path.includes("redis")),
    []
  )
}

const peers = Object.keys(manifest.peerDependencies).filter((name) => name !== "effect")
let packed = ""

describe("the package, for npm", () => {
  if (isFull) {
    it("can be installed with each of its optional peers, and with all of them", () => {
      packed = tarball()
      assert.isAbove(peers.length, 15)
      for (const peer of peers) resolve(peer, ["effect", peer])
      resolve("all", ["effect", ...peers])
    }, 600_000)
  }

  it("has a lockfile with the packages of every platform, so that npm ci takes it", () => {
    const { packages } = read("package-lock.json") as {
      readonly packages: Readonly<
        Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>
      >
    }
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) =>
          packages[`node_modules/${name}`] === undefined &&
          packages[`${path}/node_modules/${name}`] === undefined
      )
    )
    assert.deepStrictEqual(missing, [])
  })
})
