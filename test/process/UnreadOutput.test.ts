/** Scripts whose output nobody reads any more, as behind `| head -1`: each writes to a pipe with a closed end. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { bundled } from "./Bundle.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"

const unset = { TROUPE_MODEL: "", TROUPE_MODEL_BASE_URL: "", TROUPE_DATABASE_URL: undefined }

const textOf = (data: string, name: string) => readFileSync(join(data, name), "utf8").trim()

/** The service is up when it has written where it is; it says so on no stream that is read. */
const urlOf = (data: string, service: Children.Child) =>
  Effect.sync(() => existsSync(join(data, "url"))).pipe(
    Effect.delay("10 millis"),
    Effect.repeat({ until: (is) => is }),
    Effect.raceFirst(Effect.flatMap(service.ended, () => Effect.die(new Error(service.text())))),
    Effect.map(() => textOf(data, "url"))
  )

/** Its exit code, and what it wrote to stderr. */
const run = (
  script: string,
  args: ReadonlyArray<string>,
  env: NodeJS.ProcessEnv,
  streams: { readonly stdin?: "pipe" } = {}
) =>
  Effect.gen(function* () {
    const stdout = yield* Children.unread
    const form = script === "scripts/chat.ts" ? bundled : undefined
    const child = yield* Children.start(script, args, env, form, { ...streams, stdout })
    const { code } = yield* child.ended
    return { code, text: child.text() }
  })

const quiet = (code: number) => ({ code, text: "" })

it.live(
  "a service serves on, and chat and replay end with the exit code of their work, when nobody reads their output",
  () =>
    Effect.gen(function* () {
      const data = join(yield* Homes.temporary, "data")
      const stdout = yield* Children.unread
      const service = yield* Children.start(
        "scripts/start.ts",
        [],
        { ...unset, TROUPE_DATA: data, TROUPE_PORT: "0" },
        bundled,
        { stdout }
      )
      const env = { TROUPE_URL: yield* urlOf(data, service), TROUPE_TOKEN: textOf(data, "token") }
      const chat = (...args: ReadonlyArray<string>) => run("scripts/chat.ts", args, env)

      assert.deepStrictEqual(yield* chat("--message", "What is stuck?"), quiet(0))
      assert.deepStrictEqual(yield* chat("--pending"), quiet(0))
      // It would wait for a person's lines, on a stdin that stays open.
      assert.deepStrictEqual(yield* run("scripts/chat.ts", [], env, { stdin: "pipe" }), quiet(0))
      const refused = yield* chat("--deny", "not-an-approval")
      assert.strictEqual(refused.code, 1)
      assert.notMatch(refused.text, /EPIPE|^\s+at /m)

      const runs = yield* Effect.promise(async () => {
        const headers = { authorization: `Bearer ${env.TROUPE_TOKEN}` }
        const response = await fetch(`${env.TROUPE_URL}/v1/runs`, { headers })
        return (await response.json()) as {
          readonly items: ReadonlyArray<{ readonly id: string }>
        }
      })
      assert.strictEqual(runs.items.length, 1)
      yield* service.signal("SIGTERM")
      assert.deepStrictEqual(yield* service.ended, { code: 143, signal: null }, service.text())
      assert.notInclude(service.text(), "EPIPE")

      const replayed = yield* run(
        "scripts/troupe.ts",
        ["replay", runs.items[0]!.id, "--data", data, "--policy", join(data, "absent")],
        unset
      )
      assert.strictEqual(replayed.code, 1)
      assert.match(replayed.text, /^not replayed: --policy .* cannot be read as JSON \(ENOENT\)\n$/)
      const tried = yield* run(
        "scripts/troupe.ts",
        ["replay", runs.items[0]!.id, "--data", data],
        unset
      )
      assert.deepStrictEqual(tried, quiet(0))
    }),
  180_000
)

for (const [script, ...args] of [
  ["test/checks/coverage.ts"],
  ["test/simulation/main.ts", "--seed", "1"],
  ["test/bench/main.ts", "--help"]
] as const) {
  it.live(`${script} ends quietly with its exit code when nobody reads its output`, () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run(script, args, unset), quiet(0))
    })
  )
}
