/** `npm run release`: what it refuses and what it does, in a repository of its own with scripts that do nothing. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { isNewer, isVersion } from "./Version.ts"

const script = join(import.meta.dirname, "../../test/release/release.ts")

let folder: string

const write = (file: string, text: string) => {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), text)
}
const read = (file: string) => readFileSync(join(folder, file), "utf8")

const author = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
const git = (...args: ReadonlyArray<string>) => {
  const ran = spawnSync("git", [...author, ...args], { cwd: folder, encoding: "utf8" })
  assert.strictEqual(ran.status, 0, ran.stderr)
  return ran.stdout.trim()
}

const json = (value: object) => `${JSON.stringify(value, undefined, 2)}\n`
/** A dependency has the version of the package, which a release leaves as it is. */
const other = { version: "0.1.0" }
const lockOf = (version: string, own = version) =>
  json({
    name: "troupe",
    version,
    packages: { "": { name: "troupe", version: own }, "node_modules/other": other }
  })

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "troupe-release-"))
  write("package.json", json({ name: "troupe", version: "0.1.0", config: other }))
  write("package-lock.json", lockOf("0.1.0"))
  write("CHANGELOG.md", "# Changelog\n\n## 0.3.0\n\n## 0.2.0\n\n### Added\n\n- A thing.\n")
  write("test/checks/test.ts", `console.log("tested", process.argv.slice(2).join())\n`)
  const recording = `const [, , folder] = process.argv\nmkdirSync(folder)\nwriteFileSync(folder + "/runs.json", "{}")\n`
  write(
    "test/release/record.ts",
    `import { mkdirSync, writeFileSync } from "node:fs"\n${recording}`
  )
  git("init", "--quiet", "--initial-branch", "main")
  git("add", ".")
  git("commit", "--quiet", "--message", "A beginning")
})
afterEach(() => rmSync(folder, { recursive: true }))

const release = (...args: ReadonlyArray<string>) => {
  const env = {
    ...process.env,
    GIT_AUTHOR_NAME: "nobody",
    GIT_AUTHOR_EMAIL: "nobody@localhost",
    GIT_COMMITTER_NAME: "nobody",
    GIT_COMMITTER_EMAIL: "nobody@localhost"
  }
  return spawnSync(process.execPath, [script, ...args], { cwd: folder, env, encoding: "utf8" })
}

const state = () => ({
  head: git("rev-parse", "HEAD"),
  files: git("status", "--porcelain"),
  tags: git("tag")
})

/** It says why in one line, ends with 1, and changes nothing. */
const refuses = (why: RegExp, ...args: ReadonlyArray<string>) => {
  const before = state()
  const { status, stderr, stdout } = release(...args)
  assert.strictEqual(status, 1, stderr)
  assert.match(stderr, /^not released: .*\n$/)
  assert.match(stderr, why)
  assert.deepStrictEqual(state(), before)
  return stdout
}

describe("a release is refused", () => {
  it("where files are not committed", () => {
    write("new.txt", "")
    refuses(/new\.txt is not committed/, "0.2.0", "--dry-run")
    git("add", ".")
    git("commit", "--quiet", "--message", "A file")
    write("package.json", json({ version: "0.1.1" }))
    refuses(/package\.json is not committed/, "0.2.0", "--dry-run")
  })

  it("on another branch than main", () => {
    git("switch", "--quiet", "--create", "side")
    refuses(/made on main; this is side/, "0.2.0", "--dry-run")
    git("switch", "--quiet", "--detach")
    refuses(/this is no branch/, "0.2.0", "--dry-run")
  })

  it("of a version that is not newer", () => {
    refuses(/0\.0\.9 is not newer than 0\.1\.0/, "0.0.9", "--dry-run")
    refuses(/0\.1\.0 is not newer/, "0.1.0", "--dry-run")
    refuses(/0\.1\.0-rc\.1 is not newer/, "0.1.0-rc.1", "--dry-run")
  })

  it("of a version of which the changelog says nothing", () => {
    refuses(/says nothing under "## 0\.2\.1"/, "0.2.1", "--dry-run")
    refuses(/says nothing under "## 0\.3\.0"/, "0.3.0", "--dry-run")
  })

  it("where there is its tag, and where the versions of the two files differ", () => {
    git("tag", "v0.2.0")
    refuses(/there is a tag v0\.2\.0/, "0.2.0", "--dry-run")
    write("package-lock.json", lockOf("0.1.0", "0.0.1"))
    git("commit", "--all", "--quiet", "--message", "Differ")
    refuses(/differ in their version/, "0.2.0", "--dry-run")
  })

  it("outside of a repository", () => {
    const { status, stderr } = spawnSync(process.execPath, [script, "0.2.0", "--dry-run"], {
      cwd: tmpdir(),
      encoding: "utf8"
    })
    assert.strictEqual(status, 1)
    assert.match(stderr, /^not released: git branch failed: .*not a git repository.*\n$/)
  })

  it("where a check fails", () => {
    write("test/checks/test.ts", "process.exit(1)\n")
    git("commit", "--all", "--quiet", "--message", "Fail")
    refuses(/a check failed; nothing was changed/, "0.2.0")
    write("test/checks/test.ts", `process.kill(process.pid, "SIGKILL")\n`)
    git("commit", "--all", "--quiet", "--message", "Be killed")
    refuses(/nothing was changed \(test\/checks\/test\.ts was ended by SIGKILL\)/, "0.2.0")
  })
})

it("a command line without a version, or with another text, ends with 2", () => {
  for (const [args, why] of [
    [[], /^Missing required argument: version/],
    [["0.2"], /^Invalid value .*"0\.2"\. Expected: a version, such as 0\.2\.0/],
    [["v0.2.0"], /Expected: a version/],
    [["0.2.0", "--bogus"], /^Unrecognized flag: --bogus/]
  ] as const) {
    const { status, stderr, stdout } = release(...args)
    assert.strictEqual(status, 2, stdout)
    assert.match(stderr.split("\n")[0]!, why)
    assert.notMatch(stderr, /\n\s+at /)
  }
})

it("a dry run says what would be done, and changes nothing", () => {
  const before = state()
  const { status, stderr, stdout } = release("0.2.0", "--dry-run")
  assert.strictEqual(status, 0, stderr)
  assert.include(stdout, "record what it leaves behind in test/release/0.2.0")
  assert.include(stdout, "0.1.0 to 0.2.0")
  assert.include(stdout, "tag the commit v0.2.0")
  assert.notInclude(stdout, "tested")
  assert.deepStrictEqual(state(), before)
  write("test/release/0.2.0/runs.json", "{}")
  git("add", ".")
  git("commit", "--quiet", "--message", "Recorded before")
  assert.notInclude(release("0.2.0", "--dry-run").stdout, "record")
})

it("a release is checked, recorded, committed and tagged, and pushed nowhere", () => {
  const { status, stderr, stdout } = release("0.2.0")
  assert.strictEqual(status, 0, stderr)
  assert.match(stdout, /^tested \ntested test\/release\n/)
  assert.match(stdout, /git push origin main v0\.2\.0\n {2}npm publish {4}#/)
  assert.strictEqual(
    read("package.json"),
    json({ name: "troupe", version: "0.2.0", config: other })
  )
  assert.strictEqual(read("package-lock.json"), lockOf("0.2.0"))
  assert.isTrue(existsSync(join(folder, "test/release/0.2.0/runs.json")))
  assert.strictEqual(git("log", "-1", "--format=%s"), "Release 0.2.0")
  assert.strictEqual(git("rev-parse", "v0.2.0^{commit}"), git("rev-parse", "HEAD"))
  assert.strictEqual(git("status", "--porcelain"), "")
})

describe("versions", () => {
  it("are those of Semantic Versioning, without build metadata", () => {
    for (const version of ["0.0.0", "1.20.300", "1.0.0-rc.1", "1.0.0-0a.-", "1.0.0-alpha-1"]) {
      assert.isTrue(isVersion(version), version)
    }
    for (const text of [
      "",
      "1",
      "1.2",
      "1.2.3.4",
      "01.2.3",
      "1.2.3-01",
      "1.2.3-",
      "1.2.3+b",
      "x"
    ]) {
      assert.isFalse(isVersion(text), text)
    }
  })

  it("have one order", () => {
    const ordered = (
      "0.1.0-alpha 0.1.0-alpha.1 0.1.0-alpha.beta 0.1.0-beta.2 0.1.0-beta.11 0.1.0-rc.1 0.1.0 " +
      "0.1.1 0.2.0 0.10.0 1.0.0-0 1.0.0 2.0.0 99999999999999999999.0.0 100000000000000000000.0.0"
    ).split(" ")
    for (const [i, version] of ordered.entries()) {
      for (const [j, than] of ordered.entries()) {
        assert.strictEqual(isNewer(version, than), i > j, `${version} after ${than}`)
      }
    }
  })
})
