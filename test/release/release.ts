/**
 * Makes a release in the repository that it runs in: the checks, what the release leaves for later versions to read, its version,
 * a commit and a tag. It neither pushes nor publishes: a person does.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { runCommandLine, toggle } from "../../scripts/command/CommandLine.ts"
import { Refused } from "../../scripts/command/Refused.ts"
import { isNewer, isPreRelease, isVersion } from "./Version.ts"

/** npm runs scripts in the folder of the package. */
const root = process.cwd()
const branch = "main"
const manifests = ["package.json", "package-lock.json"] as const

const Versioned = Schema.Struct({ version: Schema.String })
const decodeManifest = Schema.decodeUnknownSync(Schema.fromJsonString(Versioned))
const decodeLock = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({ version: Schema.String, packages: Schema.Struct({ "": Versioned }) })
  )
)

const refuse = (message: string) => Effect.fail(new Refused({ message }))

const text = (file: string): Effect.Effect<string, Refused> =>
  Effect.try({
    try: () => readFileSync(join(root, file), "utf8"),
    catch: () => new Refused({ message: `there is no ${file} in ${root}` })
  })

/** What git prints, or its reason in one line. */
const git = (...args: ReadonlyArray<string>): Effect.Effect<string, Refused> =>
  Effect.suspend(() => {
    const { error, status, stderr, stdout } = spawnSync("git", args, {
      cwd: root,
      encoding: "utf8"
    })
    if (status === 0) return Effect.succeed(stdout.trimEnd())
    const why = error?.message ?? stderr.trim().split("\n").at(-1) ?? ""
    return refuse(`git ${args[0] ?? ""} failed: ${why}`)
  })

/** A script of the repository, to its end; what it prints is shown. */
const script = (args: ReadonlyArray<string>, failure: string): Effect.Effect<void, Refused> =>
  Effect.suspend(() => {
    const { signal, status } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" })
    if (status === 0) return Effect.void
    return refuse(signal === null ? failure : `${failure} (${args[0]} was ended by ${signal})`)
  })

/** The version now. Fails where the two files do not agree. */
const currentVersion = Effect.gen(function* () {
  const [manifest, lock] = [yield* text(manifests[0]), yield* text(manifests[1])]
  const versions = yield* Effect.try({
    try: () => {
      const { packages, version } = decodeLock(lock)
      return new Set([decodeManifest(manifest).version, version, packages[""].version])
    },
    catch: () => new Refused({ message: `${manifests.join(" and ")} have no version` })
  })
  const [version = "", ...others] = versions
  if (others.length > 0) return yield* refuse(`${manifests.join(" and ")} differ in their version`)
  return version
})

/** Whether the changelog says something about the version. */
const hasSection = (changelog: string, version: string): boolean => {
  const section = changelog
    .split(/^## /m)
    .slice(1)
    .find((each) => each.split(/[\s:]/, 1)[0] === version)
  return section !== undefined && /^- /m.test(section)
}

/** Fails with the first reason against a release. */
const checked = Effect.fnUntraced(function* (version: string) {
  const current = yield* git("branch", "--show-current")
  if (current !== branch) {
    return yield* refuse(`a release is made on ${branch}; this is ${current || "no branch"}`)
  }
  const status = yield* git("status", "--porcelain")
  const [changed = ""] = status.split("\n")
  if (changed !== "") return yield* refuse(`${changed.slice(3)} is not committed`)
  const before = yield* currentVersion
  if (!isNewer(version, before)) {
    return yield* refuse(`${version} is not newer than ${before}, the version in package.json`)
  }
  if (!hasSection(yield* text("CHANGELOG.md"), version)) {
    return yield* refuse(`CHANGELOG.md says nothing under "## ${version}"`)
  }
  if ((yield* git("tag", "--list", `v${version}`)) !== "") {
    return yield* refuse(`there is a tag v${version}`)
  }
  return before
})

const setVersion = Effect.fnUntraced(function* (before: string, version: string) {
  for (const file of manifests) {
    // The package's own come first; the lockfile has it twice.
    let left = file === "package-lock.json" ? 2 : 1
    const now = (yield* text(file)).replaceAll(`"version": "${before}"`, (found) =>
      left-- > 0 ? `"version": "${version}"` : found
    )
    writeFileSync(join(root, file), now)
  }
})

const committed = Effect.fnUntraced(function* (version: string, files: ReadonlyArray<string>) {
  yield* git("add", "--", ...files)
  yield* git("commit", "--quiet", "--message", `Release ${version}`, "--", ...files)
  yield* git("tag", "--annotate", "--message", `Release ${version}`, `v${version}`)
})

const next = (version: string): string => `
Nothing was pushed and nothing published. What is left for a person:

  git push origin ${branch} v${version}
  npm publish${isPreRelease(version) ? " --tag next" : ""}    # once the checks of what was pushed have passed`

const release = Effect.fnUntraced(function* (version: string, dryRun: boolean) {
  const before = yield* checked(version)
  const recorded = `test/release/${version}`
  const isRecorded = existsSync(join(root, recorded))
  const steps = [
    "run the checks (npm test)",
    ...(isRecorded ? [] : [`record what it leaves behind in ${recorded}, and read that back`]),
    `set the version in ${manifests.join(" and ")}: ${before} to ${version}`,
    `commit it as "Release ${version}"`,
    `tag the commit v${version}`
  ]
  if (dryRun) {
    return console.log(["It would", ...steps.map((each) => `- ${each}`)].join("\n"))
  }
  yield* script(["test/checks/test.ts"], "a check failed; nothing was changed")
  if (!isRecorded) {
    const again = `remove ${recorded}, if it is there, before another try`
    yield* script(["test/release/record.ts", recorded], `the release was not recorded; ${again}`)
    yield* script(["test/checks/test.ts", "test/release"], `its record cannot be read; ${again}`)
  }
  yield* setVersion(before, version)
  yield* committed(version, [...manifests, recorded]).pipe(
    Effect.mapError(
      ({ message }) =>
        new Refused({ message: `${message}; ${manifests.join(" and ")} were changed` })
    )
  )
  console.log(`Committed and tagged v${version}.\n${next(version)}`)
})

const command = Command.make(
  "release",
  {
    version: Argument.String("version").pipe(
      Argument.withMetavar("VERSION"),
      Argument.withDescription("the new version, such as 0.2.0 or 0.2.0-rc.1"),
      Argument.filter(isVersion, () => "a version, such as 0.2.0 or 0.2.0-rc.1")
    ),
    dryRun: toggle("dry-run", "says what it would do, and changes nothing")
  },
  ({ dryRun, version }) =>
    release(version, dryRun).pipe(
      Effect.catchTag("Refused", ({ message }) =>
        Effect.sync(() => {
          process.stderr.write(`not released: ${message}\n`)
          process.exitCode = 1
        })
      )
    )
).pipe(
  Command.withDescription(
    `Checks, records, commits and tags a release. In a clone: npm run release -- VERSION

  It pushes and publishes nothing, and says what is left to do.

  Exit code: 0 when it is done, 1 when it is refused, 2 when the command line cannot be read.`
  )
)

await Effect.runPromise(runCommandLine(command))
