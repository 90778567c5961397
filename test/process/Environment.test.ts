/** What `npm start` says of an environment that it cannot use. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Option } from "effect"
import { inLongForm } from "../InLongForm.ts"
import * as Environment from "../../scripts/start/Environment.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"

const read = (env: Record<string, string>) =>
  Effect.provideService(
    Environment.readSettings,
    ConfigProvider.ConfigProvider,
    ConfigProvider.fromEnv({ env })
  )

const launch = Effect.fnUntraced(function* (env: NodeJS.ProcessEnv) {
  const child = yield* Children.start("scripts/start.ts", [], {
    TROUPE_MODEL: "",
    TROUPE_MODEL_BASE_URL: "",
    TROUPE_DATABASE_URL: "",
    TROUPE_PORT: "0",
    TROUPE_DATA: join(yield* Homes.temporary, "data"),
    ...env
  })
  const { code } = yield* child.ended
  const text = child.text()
  assert.strictEqual(code, 1, text)
  assert.strictEqual(text.trim().split("\n").length, 1, text)
  return text.trim()
})

describe("the environment of the main job", () => {
  it.live("blank variables count as absent", () =>
    Effect.gen(function* () {
      const none = yield* read({ TROUPE_DATA: "", TROUPE_PORT: " ", TROUPE_DATABASE_URL: "" })
      assert.deepStrictEqual(none, {
        data: ".troupe",
        host: "127.0.0.1",
        port: 7717,
        database: Option.none(),
        model_ignored: false
      })
    })
  )

  it.live("says the level and the form of the log, in any case", () =>
    Effect.gen(function* () {
      const log = (env: Record<string, string>) =>
        Effect.provideService(
          Environment.readLogSettings,
          ConfigProvider.ConfigProvider,
          ConfigProvider.fromEnv({ env })
        )
      assert.deepStrictEqual(yield* log({ TROUPE_LOG_LEVEL: " " }), {
        format: "logfmt",
        level: "Info"
      })
      assert.deepStrictEqual(yield* log({ TROUPE_LOG_LEVEL: "WARN", TROUPE_LOG_FORMAT: "json" }), {
        format: "json",
        level: "Warn"
      })
      assert.strictEqual(
        (yield* Effect.flip(log({ TROUPE_LOG_LEVEL: "loud" }))).message,
        "TROUPE_LOG_LEVEL cannot be used: it is none of debug, info, warn, error."
      )
      assert.include(
        yield* launch({ TROUPE_LOG_FORMAT: "xml" }),
        "TROUPE_LOG_FORMAT cannot be used: it is none of logfmt, json."
      )
    })
  )

  it.live("names a malformed port, host or database address, and shows none of the values", () =>
    Effect.gen(function* () {
      for (const port of ["abc", "-1", "65536", "7717x", "1e3"]) {
        const error = yield* Effect.flip(read({ TROUPE_PORT: port }))
        assert.strictEqual(
          error.message,
          "TROUPE_PORT cannot be used: it is not a whole number from 0 to 65535."
        )
      }
      for (const host of ["a b", "http://a", "x".repeat(254)]) {
        const error = yield* Effect.flip(read({ TROUPE_HOST: host }))
        assert.match(error.message, /^TROUPE_HOST cannot be used: it is no name or address/)
        assert.notInclude(error.message, host)
      }
      const { message } = yield* Effect.flip(read({ TROUPE_DATABASE_URL: "bob:hunter2@nowhere" }))
      assert.match(message, /^TROUPE_DATABASE_URL cannot be used: it is not like postgres:/)
      assert.notInclude(message, "hunter2")
      for (const part of ["bob:50%@host/db", "bob:hunter2@host/db%zz"]) {
        const error = yield* Effect.flip(read({ TROUPE_DATABASE_URL: `postgres://${part}` }))
        assert.match(error.message, /^TROUPE_DATABASE_URL cannot be used: it has a % that/)
      }
    })
  )

  it("shows an address that this machine reaches, wherever the service listens", () => {
    for (const [listens, shown] of [
      ["http://0.0.0.0:7717", "http://127.0.0.1:7717"],
      ["http://[::]:7717/", "http://[::1]:7717"],
      ["http://[::1]:7717", "http://[::1]:7717"],
      ["http://10.0.0.5:7717", "http://10.0.0.5:7717"]
    ] as const) {
      assert.strictEqual(Environment.reachableUrl(listens), shown)
    }
  })

  it.live("a model without an address or provider is ignored and reported as ignored", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* read({ TROUPE_MODEL: "qwen3" })).model_ignored)
      const both = yield* read({ TROUPE_MODEL: "qwen3", TROUPE_MODEL_BASE_URL: "http://x/v1" })
      assert.isFalse(both.model_ignored)
    })
  )

  it.live("creates a nested data directory and keeps its token", () =>
    Effect.gen(function* () {
      const data = join(yield* Homes.temporary, "a", "b", "c")
      const made = yield* Environment.prepareDirectory(data)
      assert.match(made.token, /^troupe_[\w-]{32}$/)
      assert.isTrue(made.isNew)
      assert.deepStrictEqual(yield* Environment.prepareDirectory(data), { ...made, isNew: false })
    })
  )

  it.live("says in one sentence why a data directory cannot be created", () =>
    Effect.gen(function* () {
      const home = yield* Homes.temporary
      const file = join(home, "file")
      writeFileSync(file, "mine")
      for (const [data, reason] of [
        [file, "a part of the path is a file"],
        [join(file, "under"), "a part of the path is a file"],
        [join(file, "far", "under"), "a part of the path is a file"]
      ] as const) {
        const { message } = yield* Effect.flip(Environment.prepareDirectory(data))
        assert.strictEqual(message, `TROUPE_DATA (${data}) cannot be used: ${reason}.`)
      }
      const spoilt = join(home, "spoilt")
      mkdirSync(join(spoilt, "token"), { recursive: true })
      const { message } = yield* Effect.flip(Environment.prepareDirectory(spoilt))
      assert.include(message, "its file token is a directory")
      const weak = join(home, "weak")
      mkdirSync(weak)
      for (const text of ["secret\n", ""]) {
        writeFileSync(join(weak, "token"), text)
        const short = yield* Effect.flip(Environment.prepareDirectory(weak))
        assert.include(short.message, "the token in its file token has fewer than 16 characters")
      }
      if (existsSync("/proc/self")) {
        const nope = yield* Effect.flip(Environment.prepareDirectory("/proc/nope/deeper"))
        assert.match(nope.message, /^TROUPE_DATA \(\/proc\/nope\/deeper\) cannot be used: /)
      }
    })
  )

  inLongForm(
    "the process ends with 1 and one line: a directory that is a file, and a server that is not there",
    () =>
      Effect.gen(function* () {
        const file = join(yield* Homes.temporary, "file")
        writeFileSync(file, "mine")
        assert.strictEqual(
          yield* launch({ TROUPE_DATA: file }),
          `Troupe did not start: TROUPE_DATA (${file}) cannot be used: a part of the path is a file.`
        )
        assert.strictEqual(
          yield* launch({ TROUPE_DATABASE_URL: "postgres://bob:hunter2@127.0.0.1:1/db" }),
          "Troupe did not start: TROUPE_DATABASE_URL cannot be used: no PostgreSQL can be reached at 127.0.0.1:1 (ECONNREFUSED)."
        )
      }),
    60_000
  )
})
