/** Files below a directory: real files, real links, a real race. */
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import * as FileTools from "../../layers/builtin/FileHandlers.ts"
import { failure, use } from "./Bodies.ts"

/** POSIX's program that makes a named pipe, which Node cannot. */
const makes_pipes = "mkfifo"

interface Place {
  readonly root: string
  /** Beside the root: what must not be reached. */
  readonly outside: string
}

/**
 * Hostile input: what a model may name to get out of the root, or to break the tool. Each is refused before anything is
 * opened; the only `secret` there is belongs to the test.
 */
const hostile_paths = [
  "../outside/secret",
  "sub/../../outside/secret",
  "..",
  "/etc/passwd",
  "//etc/passwd",
  "a\0.txt",
  "x".repeat(256),
  "d/".repeat(65)
]

/** Hostile input: paths over links below the root that lead out of it (`plantLinks`). */
const hostile_links = [
  "file-link",
  "dir-link/secret",
  "sub/up/outside/secret",
  "chain/secret",
  "machine/etc/passwd"
]

const plantLinks = ({ outside, root }: Place): void => {
  symlinkSync(join(outside, "secret"), join(root, "file-link"))
  symlinkSync(outside, join(root, "dir-link"))
  symlinkSync("../..", join(root, "sub", "up"))
  symlinkSync("dir-link", join(root, "chain"))
  symlinkSync("/proc/self/root", join(root, "machine"))
}

/** Hostile input: where a model may try to write a new file beside the root. */
const hostile_new_path = "../outside/new"

const place: Effect.Effect<Place, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "troupe-files-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true }))
  ),
  (base) => {
    const [root, outside] = [join(base, "root"), join(base, "outside")]
    mkdirSync(join(root, "sub", "deep"), { recursive: true })
    mkdirSync(outside)
    writeFileSync(join(outside, "secret"), "canary")
    writeFileSync(join(root, "a.txt"), "aé€😀b")
    return { root, outside }
  }
)

const reason = (tools: ReturnType<typeof FileTools.reading>, name: string, args: unknown) =>
  Effect.map(failure(tools, name, args), (error) => {
    assert.notInclude(error.message, tmpdir())
    return error.reason
  })

describe("read_file and list_dir", () => {
  it.live("read text and list names, and say what they need", () =>
    Effect.gen(function* () {
      const { root } = yield* place
      const tools = FileTools.reading({ root })
      assert.deepStrictEqual(yield* use(tools, "read_file", { path: "./a.txt" }), {
        path: "./a.txt",
        content: "aé€😀b",
        total_bytes: 11,
        offset: 0,
        next_offset: 11,
        has_more: false
      })
      symlinkSync("a.txt", join(root, "link"))
      assert.deepStrictEqual(yield* use(tools, "list_dir", {}), {
        path: ".",
        entries: [
          { name: "a.txt", kind: "file", bytes: 11 },
          { name: "link", kind: "link" },
          { name: "sub", kind: "directory" }
        ],
        more: false
      })
      for (const { spec } of yield* tools) {
        assert.deepInclude(spec, { side_effects: "read", capabilities: ["fs.read"] })
      }
    }).pipe(Effect.scoped)
  )

  it.live("pages never cut a character, and together are the file", () =>
    Effect.gen(function* () {
      const { root } = yield* place
      const text = "aé€😀b".repeat(20)
      writeFileSync(join(root, "long"), text)
      const tools = FileTools.reading({ root })
      for (const max_bytes of [4, 5, 6, 7, 24, 1_000]) {
        let [offset, read] = [0, ""]
        for (;;) {
          const page = yield* use(tools, "read_file", { path: "long", offset, max_bytes })
          assert.isAtMost(Buffer.byteLength(String(page["content"])), max_bytes)
          read += String(page["content"])
          offset = Number(page["next_offset"])
          if (page["has_more"] !== true) break
        }
        assert.strictEqual(read, text)
      }
      const inside = yield* use(tools, "read_file", { path: "a.txt", offset: 5, max_bytes: 4 })
      assert.deepInclude(inside, { content: "€", offset: 3, next_offset: 6 })
      const past = yield* use(tools, "read_file", { path: "a.txt", offset: 99 })
      assert.deepInclude(past, { content: "", offset: 11, has_more: false })
    }).pipe(Effect.scoped)
  )

  it.live("refuse what is not text, not a file, or not there", () =>
    Effect.gen(function* () {
      const { root } = yield* place
      writeFileSync(join(root, "binary"), Buffer.from([65, 0, 66]))
      writeFileSync(join(root, "latin1"), Buffer.from([65, 0xe9, 66]))
      writeFileSync(join(root, "sign"), "\ufffd\ufeff")
      execFileSync(makes_pipes, [join(root, "pipe")])
      const tools = FileTools.reading({ root })
      for (const [path, expected] of [
        ["binary", "FILE_BINARY"],
        ["latin1", "FILE_BINARY"],
        ["pipe", "PATH_NOT_FILE"],
        ["sub", "PATH_NOT_FILE"],
        [".", "PATH_NOT_FILE"],
        ["none", "PATH_NOT_FOUND"],
        ["a.txt/b", "PATH_NOT_DIRECTORY"],
        ["none/b", "PATH_NOT_FOUND"]
      ] as const) {
        assert.strictEqual(yield* reason(tools, "read_file", { path }), expected, path)
      }
      assert.strictEqual(yield* reason(tools, "list_dir", { path: "a.txt" }), "PATH_NOT_DIRECTORY")
      assert.deepInclude(yield* use(tools, "read_file", { path: "sign" }), {
        content: "\ufffd\ufeff"
      })
    }).pipe(Effect.scoped)
  )

  it.live("no path and no link leads out of the directory", () =>
    Effect.gen(function* () {
      const { outside, root } = yield* Effect.tap(place, (made) =>
        Effect.sync(() => plantLinks(made))
      )
      const tools = FileTools.reading({ root })
      for (const path of [...hostile_paths, ...hostile_links, join(outside, "secret")]) {
        const read = yield* failure(tools, "read_file", { path })
        const list = yield* failure(tools, "list_dir", { path })
        for (const error of [read, list]) {
          assert.include(["PATH_PATH", "PATH_LINK", "PATH_NOT_DIRECTORY"], error.reason, path)
        }
      }
      assert.strictEqual(yield* reason(tools, "read_file", { path: "file-link" }), "PATH_LINK")
      assert.strictEqual(yield* reason(tools, "list_dir", { path: "dir-link" }), "PATH_LINK")
      const error = yield* failure(tools, "read_file", { path: "dir-link/secret" })
      assert.strictEqual(error._tag, "ToolPolicyError")
    }).pipe(Effect.scoped)
  )

  it.live("a directory that becomes a link while it is walked leads nowhere", () =>
    Effect.gen(function* () {
      const { outside, root } = yield* place
      writeFileSync(join(root, "sub", "secret"), "inside")
      const tools = FileTools.reading({ root })
      const race = { over: false }
      const [sub, away] = [join(root, "sub"), join(root, "away")]
      const swap = Effect.gen(function* () {
        while (!race.over) {
          renameSync(sub, away)
          symlinkSync(outside, sub)
          yield* Effect.sleep(0)
          unlinkSync(sub)
          renameSync(away, sub)
          yield* Effect.sleep(0)
        }
      })
      const outcomes = new Map<string, number>()
      const read = Effect.gen(function* () {
        for (let i = 0; i < 500; i++) {
          const seen = yield* use(tools, "read_file", { path: "sub/secret" }).pipe(
            Effect.map(({ content }) => String(content)),
            Effect.catch((error) => Effect.succeed((error as { reason?: string }).reason ?? "?"))
          )
          outcomes.set(seen, (outcomes.get(seen) ?? 0) + 1)
        }
        race.over = true
      })
      yield* Effect.all([swap, read], { concurrency: 2 })
      assert.isUndefined(outcomes.get("canary"))
      assert.isAbove(outcomes.get("inside") ?? 0, 0)
      assert.isAbove(outcomes.get("PATH_LINK") ?? 0, 0)
    }).pipe(Effect.scoped)
  )

  it.live("list at most 1,000 names and say that there are more", () =>
    Effect.gen(function* () {
      const { root } = yield* place
      for (let i = 0; i < 1_001; i++) writeFileSync(join(root, "sub", `f${i}`), "")
      const list = yield* use(FileTools.reading({ root }), "list_dir", { path: "sub" })
      assert.strictEqual((list["entries"] as ReadonlyArray<unknown>).length, 1_000)
      assert.isTrue(list["more"])
    }).pipe(Effect.scoped)
  )
})

describe("write_file", () => {
  it.live("puts a file in its place whole, keeps its mode and leaves nothing beside it", () =>
    Effect.gen(function* () {
      const { root } = yield* place
      const tools = FileTools.writing({ root })
      const [write] = yield* tools
      assert.deepInclude(write?.spec, {
        side_effects: "write",
        category: "mutate",
        capabilities: ["fs.write"]
      })
      assert.deepStrictEqual(
        yield* use(tools, "write_file", { path: "sub/new.txt", content: "né" }),
        { path: "sub/new.txt", bytes: 3, created: true }
      )
      chmodSync(join(root, "a.txt"), 0o600)
      assert.deepInclude(yield* use(tools, "write_file", { path: "a.txt", content: "" }), {
        created: false
      })
      assert.strictEqual(statSync(join(root, "a.txt")).mode & 0o777, 0o600)
      assert.strictEqual(readFileSync(join(root, "sub", "new.txt"), "utf8"), "né")
      yield* use(tools, "write_file", { path: "x/y/z", content: "z", create_dirs: true })
      assert.deepStrictEqual(readdirSync(join(root, "x", "y")), ["z"])
      assert.deepStrictEqual(readdirSync(root), ["a.txt", "sub", "x"])
    }).pipe(Effect.scoped)
  )

  it.live("writes through no link, over no directory, and not more than it may", () =>
    Effect.gen(function* () {
      const { outside, root } = yield* place
      symlinkSync(join(outside, "secret"), join(root, "file-link"))
      symlinkSync(outside, join(root, "dir-link"))
      linkSync(join(outside, "secret"), join(root, "hard"))
      const tools = FileTools.writing({ root, write_bytes_max: 4 })
      for (const [path, expected] of [
        ["file-link", "PATH_LINK"],
        ["dir-link/new", "PATH_LINK"],
        ["dir-link/sub/new", "PATH_LINK"],
        [hostile_new_path, "PATH_PATH"],
        ["/new", "PATH_PATH"],
        ["sub", "PATH_NOT_FILE"],
        ["new/", "PATH_NOT_FILE"],
        ["none/new", "PATH_NOT_FOUND"]
      ] as const) {
        const error = yield* failure(tools, "write_file", { path, content: "x" })
        assert.strictEqual(error.reason, expected, path)
      }
      for (const path of ["dir-link/sub/new", `${hostile_new_path}/sub`]) {
        yield* failure(tools, "write_file", { path, content: "x", create_dirs: true })
      }
      const long = yield* failure(tools, "write_file", { path: "a.txt", content: "12345" })
      assert.strictEqual(long.reason, "FILE_TOO_LARGE")
      const half = yield* failure(tools, "write_file", { path: "a.txt", content: "\ud83d" })
      assert.strictEqual(half.reason, "NOT_UNICODE")
      const misspelt = { root, write_max: 1 }
      const error = yield* Effect.flip(FileTools.writing(misspelt))
      assert.deepInclude(error, { _tag: "MisdeclaredTool", field: "write_max" })
      // A name that is also a file's outside gets a file of its own.
      yield* use(tools, "write_file", { path: "hard", content: "mine" })
      assert.strictEqual(readFileSync(join(outside, "secret"), "utf8"), "canary")
      assert.deepStrictEqual(readdirSync(outside), ["secret"])
      assert.deepStrictEqual(
        readdirSync(root).filter((name) => name.startsWith(".")),
        []
      )
    }).pipe(Effect.scoped)
  )

  it.live("is not made for a directory that is none, and says how to fix it", () =>
    Effect.gen(function* () {
      const { root } = yield* place
      for (const wrong of ["relative", join(root, "none"), join(root, "a.txt"), "/"]) {
        for (const made of [
          FileTools.reading({ root: wrong }),
          FileTools.writing({ root: wrong })
        ]) {
          const error = yield* Effect.flip(made)
          assert.deepInclude(error, { _tag: "MisdeclaredTool", field: "root" })
          assert.include(error.message, "absolute path")
        }
      }
      const error = yield* Effect.flip(FileTools.writing({ root, write_bytes_max: 0 }))
      assert.strictEqual(error.field, "write_bytes_max")
    }).pipe(Effect.scoped)
  )
})
