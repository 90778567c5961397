/** The package as `npm pack` makes it, laid beneath a project that depends on it and has installed nothing else. */
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert } from "vitest"
import { build } from "../../scripts/build.ts"
import { isFull } from "../Long.ts"

export const root = join(import.meta.dirname, "../..")

export interface Manifest {
  readonly bin: { readonly troupe: string }
  readonly dependencies: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly files: ReadonlyArray<string>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>
}

export interface Packed {
  /** The project's folder. */
  readonly project: string
  /** The package in it. */
  readonly place: string
  readonly manifest: Manifest
  /** What it holds, as paths from the package's folder. */
  readonly files: ReadonlyArray<string>
}

/** Runs a program, which has to end with 0; what it printed. */
export const done = (
  program: string,
  args: ReadonlyArray<string>,
  cwd: string,
  env: NodeJS.ProcessEnv = {}
): string => {
  const options = {
    cwd,
    encoding: "utf8",
    maxBuffer: 64_000_000,
    env: { ...process.env, ...env }
  } as const
  const ran = spawnSync(program, args, options)
  assert.strictEqual(ran.status, 0, `${program} ${args.join(" ")}: ${ran.stdout}${ran.stderr}`)
  return ran.stdout
}

/** What is in the repository and not in a package's copy of it. */
const left = new Set(["node_modules", "dist", ".git", ".troupe"])

/** Builds a copy of the repository in the folder `place` and packs it; the tarball's path. */
export const pack = async (place: string): Promise<string> => {
  const made = join(place, "made")
  mkdirSync(made)
  for (const name of readdirSync(root)) {
    if (!left.has(name)) cpSync(join(root, name), join(made, name), { recursive: true })
  }
  // Their user is in the long form alone.
  await build(join(made, "dist"), isFull)
  done("npm", ["pack", "--ignore-scripts"], made)
  return join(
    made,
    readdirSync(made).find((name) => name.endsWith(".tgz"))!
  )
}

/** Makes the folder `project`, with the package of the tarball and the given optional peers installed. */
export const install = (
  tarball: string,
  project: string,
  peers: ReadonlyArray<string> = []
): Packed => {
  const modules = join(project, "node_modules")
  const own = join(modules, "troupe")
  mkdirSync(own, { recursive: true })
  done("tar", ["-xzf", tarball, "-C", own, "--strip=1"], project)
  const manifest = JSON.parse(readFileSync(join(own, "package.json"), "utf8")) as Manifest
  for (const name of [...Object.keys(manifest.dependencies), "@types/node", "effect", ...peers]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, "node_modules", name), join(modules, name))
  }
  const files = readdirSync(own, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(own.length + 1)
        .replaceAll("\\", "/")
    )
  return { project, place: own, manifest, files: files.toSorted() }
}
