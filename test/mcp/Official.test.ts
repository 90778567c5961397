import { assert, describe, it } from "@effect/vitest"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { McpServers } from "../../services/McpServers.ts"
import * as S from "./Servers.ts"

const specs = McpServers.useSync(({ tools }) => new Map(tools.map(({ key, spec }) => [key, spec])))

describe("the official servers over stdio", () => {
  it.live("everything: returns texts, structured values, errors, images and links", () =>
    Effect.gen(function* () {
      const echo = yield* S.callBody("everything.echo@1", { message: "hello" })
      assert.strictEqual(echo, "Echo: hello")
      const weather = yield* S.callBody("everything.get-structured-content@1", {
        location: "New York"
      })
      assert.hasAllKeys(weather, ["temperature", "conditions", "humidity"])
      const image = yield* S.callBody("everything.get-tiny-image@1")
      assert.match(String(image), /\[image image\/png, \d+ bytes, not shown\]/)
      const links = yield* S.callBody("everything.get-resource-links@1", { count: 2 })
      assert.match(String(links), /\[link to resource \S+: /)
      const reference = yield* S.callBody("everything.get-resource-reference@1", {
        resourceType: "Text",
        resourceId: 1
      })
      assert.match(String(reference), /\[resource demo:\/\/\S+\]\n/)
      const wrong = yield* Effect.flip(S.callBody("everything.echo@1", { message: 5 }))
      assert.match(String((wrong as Error).message), /message/)
      const { status } = yield* McpServers
      const [server] = yield* status
      assert.deepInclude(server, { server: "everything", state: "connected", restarts: 0 })
      assert.include(server?.target, S.mark)
    }).pipe(Effect.provide(S.importing(S.everything())))
  )

  it.live("everything: reports progress as preliminary output", () => {
    const seen: Array<unknown> = []
    return Effect.gen(function* () {
      const result = yield* S.callBody(
        "everything.trigger-long-running-operation@1",
        { duration: 1, steps: 4 },
        (value) => Effect.sync(() => void seen.push(value))
      )
      assert.match(String(result), /completed/i)
      assert.isAtLeast(seen.length, 3)
      assert.deepInclude(seen[0], { progress: 1, total: 4 })
    }).pipe(Effect.provide(S.importing(S.everything())))
  })

  it.live("everything: gets its declared environment, and no result shows the secrets in it", () =>
    Effect.gen(function* () {
      const environment = JSON.parse(String(yield* S.callBody("everything.get-env@1")))
      assert.deepStrictEqual(environment, {
        PLAIN: "seen",
        KEY: "[secret]",
        HOME: process.env["HOME"]
      })
    }).pipe(
      Effect.provide(
        S.importing(
          S.everything({
            env: { PLAIN: "seen", KEY: Redacted.make("canary-4711") },
            inherit: ["HOME", "NOT_SET_ANYWHERE"]
          })
        )
      )
    )
  )

  it.live(
    "filesystem: has side effects by its hints or by its declaration, and refuses a path outside its root",
    () =>
      Effect.gen(function* () {
        const root = yield* S.directory
        writeFileSync(join(root, "a.txt"), "alpha")
        yield* Effect.gen(function* () {
          const spec = yield* specs
          assert.deepInclude(spec.get("files.read_text_file@1"), {
            side_effects: "read",
            category: "read",
            replay_policy: "recorded-result"
          })
          assert.deepInclude(spec.get("files.write_file@1"), {
            side_effects: "write",
            category: "mutate",
            idempotent: false
          })
          assert.deepInclude(spec.get("files.list_directory@1"), {
            side_effects: "external",
            permission: "deny"
          })
          assert.deepInclude(spec.get("files.create@1"), { idempotent: true })
          assert.deepStrictEqual(
            yield* S.callBody("files.read_text_file@1", { path: join(root, "a.txt") }),
            { content: "alpha" }
          )
          yield* S.callBody("files.write_file@1", { path: join(root, "b.txt"), content: "beta" })
          assert.strictEqual(readFileSync(join(root, "b.txt"), "utf8"), "beta")
          const outside = yield* Effect.flip(
            S.callBody("files.read_text_file@1", { path: "/etc/hostname" })
          )
          assert.deepInclude(outside, { _tag: "ToolUserError", reason: "MCP_TOOL_ERROR" })
          assert.match(String((outside as Error).message), /outside allowed/)
        }).pipe(
          Effect.provide(
            S.importing(
              S.filesystem(root, {
                tools: {
                  list_directory: { side_effects: "external", permission: "deny" },
                  create_directory: { name: "create", idempotent: true }
                }
              })
            )
          )
        )
      })
  )

  it.live("memory: keeps a graph in its file, which another process reads", () =>
    Effect.gen(function* () {
      const file = join(yield* S.directory, "graph.jsonl")
      const entities = [{ name: "Ada", entityType: "person", observations: ["wrote a program"] }]
      yield* S.callBody("memory.create_entities@1", { entities }).pipe(
        Effect.provide(S.importing(S.memory(file)))
      )
      const graph = yield* S.callBody("memory.read_graph@1").pipe(
        Effect.provide(S.importing(S.memory(file)))
      )
      assert.deepStrictEqual(graph, { entities, relations: [] })
    })
  )

  it.live("leave no process when their runtime has ended", () =>
    Effect.gen(function* () {
      const running = yield* S.callBody("everything.echo@1", { message: "x" }).pipe(
        Effect.andThen(Effect.sync(S.left)),
        Effect.provide(S.importing(S.everything()))
      )
      assert.lengthOf(running, 1)
      assert.deepStrictEqual(S.left(), [])
    })
  )
})
