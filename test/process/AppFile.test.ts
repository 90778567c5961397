/** `npm start -- --app FILE`: the agents of a module, in the real process. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"

const example = join(import.meta.dirname, "../examples/application.ts")
const textOf = (data: string, name: string) => readFileSync(join(data, name), "utf8").trim()

/** A directory with an empty database. */
const dataOf = Effect.gen(function* () {
  const data = join(yield* Homes.temporary, "data")
  const store = yield* Homes.directory
  mkdirSync(data)
  cpSync(store.directory, join(data, "db"), { recursive: true })
  return data
})

const started = (args: ReadonlyArray<string>, data: string, env: NodeJS.ProcessEnv = {}) =>
  Children.start("scripts/start.ts", args, {
    TROUPE_MODEL: "",
    TROUPE_MODEL_PROVIDER: undefined,
    TROUPE_MODEL_BASE_URL: "",
    TROUPE_DATABASE_URL: undefined,
    TROUPE_DATA: data,
    TROUPE_PORT: "0",
    ...env
  })

const asked = (data: string, path: string, json?: object) =>
  Effect.promise(async () => {
    const headers = {
      authorization: `Bearer ${textOf(data, "token")}`,
      "content-type": "application/json"
    }
    const init =
      json === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(json) }
    const response = await fetch(`${textOf(data, "url")}${path}`, init)
    const body = await response.text()
    return { status: response.status, json: body === "" ? undefined : JSON.parse(body) }
  })

/** Asks until there is what the test waits for. */
const until = <A>(ask: Effect.Effect<A | undefined>): Effect.Effect<A> =>
  Effect.flatMap(ask, (found) =>
    found === undefined ? Effect.andThen(Effect.sleep(50), until(ask)) : Effect.succeed(found)
  )

it.live("a module's agents are served, and a question of theirs outlives the process", () =>
  Effect.gen(function* () {
    const data = yield* dataOf
    const first = yield* started(["--app", example], data)
    yield* first.printed("Talk with one")
    assert.match(first.text(), /Agents of .*application\.ts: shop/)
    assert.include(first.text(), "--agent shop")
    const sent = yield* asked(data, "/v1/messages", { agent: "shop", text: "Pay order 1003 back" })
    assert.strictEqual(sent.status, 202)
    const pending = until(
      Effect.map(
        asked(data, "/v1/approvals"),
        ({ json }) => json.items[0] as { id: string } | undefined
      )
    )
    yield* pending
    yield* first.kill
    const second = yield* started(["--app", example], data)
    yield* second.printed("Talk with one")
    const { id } = yield* pending
    const decided = yield* asked(data, `/v1/approvals/${id}/decision`, { decision: "approve" })
    assert.include([200, 204], decided.status)
    const text = yield* until(
      Effect.map(asked(data, `/v1/runs/${sent.json.run_id}`), ({ json }) =>
        json.status === "complete" ? String(json.text) : undefined
      )
    )
    assert.strictEqual(text, "It is paid back.")
    // The log is one line for each entry, as that of the other agents.
    assert.match(second.text(), /^timestamp=\S+ level=INFO .*message=tool_call tool_name=refund /m)
    yield* second.signal("SIGTERM")
    assert.strictEqual((yield* second.ended).code, 143)
  })
)

it.live("a service logs as the environment says", () =>
  Effect.gen(function* () {
    const log = { TROUPE_LOG_FORMAT: "json", TROUPE_LOG_LEVEL: "error" }
    const home = yield* Homes.temporary
    const file = join(home, "app.mjs")
    writeFileSync(
      file,
      `import { Effect, Layer } from "effect"
       const says = Effect.andThen(Effect.logWarning("only a warning"), Effect.logError("in earnest"))
       export const agents = [{ name: "a", instructions: "" }]
       export const model = Layer.unwrap(Effect.andThen(says, Effect.never))`
    )
    const child = yield* started(["--app", file], yield* dataOf, log)
    yield* child.printed("in earnest")
    assert.match(child.text(), /^\{"timestamp":.*"level":"ERROR",.*"message":"in earnest"/m)
    assert.notInclude(child.text(), "only a warning")
  })
)

describe("a module that cannot be served", () => {
  for (const [what, source, expected] of [
    ["throws", "throw new Error('no luck')", /--app .* cannot be loaded: no luck/],
    [
      "says where its store is",
      "export const agents = [{}]; export const store = 'ephemeral'",
      /exports store, which/
    ],
    [
      "has a stray option",
      "export const agents = [{ name: 'a', instructions: '' }]; export const model = {}; export const toolz = []",
      /toolz/
    ],
    [
      "has no model",
      "import { AgentSpec } from 'troupe'; export const agents = [AgentSpec.make({ name: 'a', instructions: '' })]",
      /exports no model, and TROUPE_MODEL_PROVIDER names none/
    ]
  ] as const) {
    it.live(`because it ${what}, ends the start with a sentence`, () =>
      Effect.gen(function* () {
        const home = yield* Homes.temporary
        const file = join(home, "app.mjs")
        writeFileSync(file, source)
        const child = yield* started(["--app", file], join(home, "data"))
        const { code } = yield* child.ended
        assert.strictEqual(code, 1, child.text())
        assert.match(child.text(), expected)
        assert.include(child.text(), "Troupe did not start")
      })
    )
  }

  it.live("because its model never is there, lasts through a stray rejection until a signal", () =>
    Effect.gen(function* () {
      const home = yield* Homes.temporary
      const file = join(home, "app.mjs")
      writeFileSync(
        file,
        `import { Effect, Layer } from "effect"
         const waiting = Effect.andThen(Effect.sync(() => console.log("it waits")), Effect.never)
         export const agents = [{ name: "a", instructions: "" }]
         export const model = Layer.unwrap(waiting)
         void Promise.reject(new Error("nobody hears me"))`
      )
      const child = yield* started(["--app", file], yield* dataOf)
      yield* child.printed("it waits")
      assert.match(
        child.text(),
        /^timestamp=\S+ level=ERROR .*"a promise was rejected.* nobody hears me/m
      )
      yield* child.signal("SIGTERM")
      assert.strictEqual((yield* child.ended).code, 143)
    })
  )

  it.live("is not served beside --platform or --tools", () =>
    Effect.gen(function* () {
      const child = yield* started(
        ["--app", example, "--platform"],
        join(yield* Homes.temporary, "d")
      )
      assert.strictEqual((yield* child.ended).code, 1)
      assert.include(child.text(), "leave out --platform and --tools")
    })
  )
})
