/**
 * What has changed since a branch left main, and the tests that it may have broken.
 */
import { spawnSync } from "node:child_process"
import { basename } from "node:path"
import { importsOf, load } from "../HouseTree.ts"
import * as Long from "../Long.ts"
import type { Tree } from "../HouseTree.ts"
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

/** The test files that reach what has changed, by the number of imports between; of as many, those of the same room first. */
export const relatedTests = (changed: ReadonlyArray<string>, most: number): Related => {
  const tree = load("src", "services", "layers", "test", "scripts")
  const users = usersIn(tree, changed)
  const rooms = new Set(changed.map(roomOf))
  const seen = new Set(changed)
  const found: Array<string> = []
  const next = (paths: ReadonlyArray<string>) =>
    paths
      .flatMap((path) => [...(users.get(path) ?? [])])
      .filter((path) => !seen.has(path) && seen.add(path))
  for (let now = changed; now.length > 0; now = next(now)) {
    const tests = now.filter((path) => path.endsWith(".test.ts") && tree.has(path)).toSorted()
    found.push(
      ...tests.filter((path) => rooms.has(roomOf(path))),
      ...tests.filter((path) => !rooms.has(roomOf(path)))
    )
  }
  const late = found.filter((path) => Long.late.includes(path))
  const short = found.filter((path) => !Long.late.includes(path))
  return { near: short.slice(0, most), far: short.slice(most), late }
}
