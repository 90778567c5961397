/**
 * What has changed since a branch left main, and the tests that it may have broken.
 */
import { spawnSync } from "node:child_process"
import { statSync } from "node:fs"
import { basename, join } from "node:path"
import { importsOf, load } from "../../test/HouseTree.ts"
import * as Long from "../../test/Long.ts"
import type { Tree } from "../../test/HouseTree.ts"
import { root } from "./Program.ts"

/** The lines that git prints; undefined where it fails. */
const git = (...args: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" })
  return status === 0 ? stdout.split("\n").filter((line) => line !== "") : undefined
}

/** Paths from the root of files that are not as main has them, removed ones too; undefined where there is no main. */
export const changedFiles = (): ReadonlyArray<string> | undefined => {
  const [base] = git("merge-base", "HEAD", "main") ?? git("merge-base", "HEAD", "origin/main") ?? []
  if (base === undefined) return undefined
  const tracked = git("diff", "--name-only", base) ?? []
  return [...tracked, ...(git("ls-files", "--others", "--exclude-standard") ?? [])]
}

const house = () => load("src", "services", "layers", "test", "scripts")

/** What these say holds for everything, and half of the tests name one that they make themselves. */
const manifests = ["package.json", "package-lock.json"]

/** Which files import each file, or name it in quotes: data that they read, or a program that they start. */
const usersIn = (tree: Tree, changed: ReadonlyArray<string>): ReadonlyMap<string, Set<string>> => {
  const users = new Map<string, Set<string>>()
  const add = (used: string, user: string) => {
    const all = users.get(used) ?? new Set()
    users.set(used, all.add(user))
  }
  const named = changed.filter((path) => !manifests.includes(path))
  for (const [path, text] of tree) {
    for (const name of importsOf(path, text)) add(name, path)
    if (!path.startsWith("test/")) continue
    for (const used of named) {
      const name = basename(used)
      if (text.includes(`"${name}"`) || text.includes(`/${name}"`)) add(used, path)
    }
  }
  return users
}

const roomOf = (path: string): string | undefined =>
  /^(?:src|services|layers|test|scripts)\/([^/]+)\//.exec(path)?.[1]

interface Related {
  /** To be run, the nearest first. */
  readonly near: ReadonlyArray<string>
  /** What else may be broken. */
  readonly far: ReadonlyArray<string>
  /** Those of the long form, which take long. */
  readonly late: ReadonlyArray<string>
}

/** Those that are given, then what imports them, then what imports that: each file once. */
const waves = function* (users: ReadonlyMap<string, Set<string>>, from: ReadonlyArray<string>) {
  const seen = new Set(from)
  for (let now = from; now.length > 0;) {
    yield now
    now = now
      .flatMap((path) => [...(users.get(path) ?? [])])
      .filter((path) => !seen.has(path) && seen.add(path))
  }
}

/** The test files that reach what has changed, by the number of imports between; of as many, those of the same room first. */
export const relatedTests = (changed: ReadonlyArray<string>, most: number): Related => {
  const tree = house()
  const rooms = new Set(changed.map(roomOf))
  const found: Array<string> = []
  for (const wave of waves(usersIn(tree, changed), changed)) {
    const tests = wave.filter((path) => path.endsWith(".test.ts") && tree.has(path)).toSorted()
    found.push(
      ...tests.filter((path) => rooms.has(roomOf(path))),
      ...tests.filter((path) => !rooms.has(roomOf(path)))
    )
  }
  const late = found.filter((path) => Long.late.includes(path))
  const short = found.filter((path) => !Long.late.includes(path))
  return { near: short.slice(0, most), far: short.slice(most), late }
}

/** Which part of all files reaches those that were written after a time, in ms since 1970. */
export const reachSince = (time_ms: number): number => {
  const tree = house()
  const written = [...tree.keys()].filter((path) => statSync(join(root, path)).mtimeMs > time_ms)
  return [...waves(usersIn(tree, []), written)].flat().length / tree.size
}
