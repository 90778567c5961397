import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { Effect, Fiber, Layer, Logger, Redacted } from "effect"
import { McpServers } from "../../services/McpServers.ts"
import type { McpServer } from "../../src/mcp/McpServer.ts"
import { eventually } from "../contracts/Contract.ts"
import * as S from "./Servers.ts"

const state = Effect.gen(function* () {
  const { status } = yield* McpServers
  const [server] = yield* status
  return server!
})

/** The error of a start that requires the server. */
const startError = (server: McpServer) =>
  Effect.flip(Effect.scoped(Layer.build(S.importing({ ...server, optional: false }))))

const notes = (file: string) => readFileSync(`${file}.log`, "utf8").split("\n").filter(Boolean)

describe("a server that breaks the rules", () => {
  it.live(
    "that dies in the middle of a call loses that call, and is started anew for the next",
    () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(S.callBody("odd.die@1"))
        assert.deepInclude(error, {
          _tag: "ToolTransientError",
          kind: "network",
          reason: "MCP_CONNECTION_LOST"
        })
        // The call waits until the new process is ready.
        assert.strictEqual(yield* S.callBody("odd.look@1", { n: 2 }), '{"n":2}')
        assert.strictEqual((yield* state).restarts, 1)
      }).pipe(Effect.provide(S.importing(S.misbehaving("plain"))))
  )

  it.live(
    "that hangs gets a cancellation when its call is interrupted, and answers other calls",
    () =>
      Effect.gen(function* () {
        const { file } = yield* S.described
        yield* Effect.gen(function* () {
          const hanging = yield* Effect.forkChild(S.callBody("odd.hang@1"), {
            startImmediately: true
          })
          yield* eventually(
            Effect.sync(() => notes(file)),
            (all) => all.includes("hang")
          )
          assert.strictEqual(yield* S.callBody("odd.look@1"), "{}")
          yield* Fiber.interrupt(hanging)
          const told = yield* eventually(
            Effect.sync(() => notes(file)),
            (all) => all.includes("cancelled")
          )
          assert.deepStrictEqual(told, ["hang", "cancelled"])
          assert.strictEqual((yield* state).restarts, 0)
        }).pipe(Effect.provide(S.importing(S.misbehaving("plain", file))))
      })
  )

  it.live(
    "that is busy with as many calls as it may have is sent none that is late or stopped",
    () =>
      Effect.gen(function* () {
        const { file } = yield* S.described
        const tools = { put: { timeout_ms: 60_000 }, hang: { timeout_ms: 60_000 } }
        const server = S.misbehaving("plain", file, { calls_max: 1, timeout_ms: 200, tools })
        yield* Effect.gen(function* () {
          const hanging = yield* Effect.forkChild(S.callBody("odd.hang@1"))
          yield* eventually(
            Effect.sync(() => notes(file)),
            (all) => all.includes("hang")
          )
          const late = S.callBody("odd.put_and_die@1")
          const stopped = S.callBody("odd.put@1", {}, undefined, Effect.void)
          for (const call of [late, stopped]) {
            const error = yield* Effect.flip(call)
            assert.deepInclude(error, { kind: "external", reason: "MCP_SERVER_BUSY" })
          }
          yield* Fiber.interrupt(hanging)
          assert.strictEqual(yield* S.callBody("odd.look@1"), "{}")
          assert.notInclude(notes(file), "put")
        }).pipe(Effect.provide(S.importing(server)))
      })
  )

  it.live(
    "that answers with more than a message may hold is disconnected, and connected anew",
    () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(S.callBody("odd.giant@1"))
        assert.deepInclude(error, { _tag: "ToolTransientError", kind: "network" })
        assert.strictEqual(yield* S.callBody("odd.look@1"), "{}")
      }).pipe(
        Effect.provide(S.importing(S.misbehaving("plain", "", { message_bytes_max: 1_000_000 })))
      )
  )

  it.live(
    "that repeats a member in an answer fails that call at once, and keeps its connection",
    () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(S.callBody("odd.twice@1"))
        assert.deepInclude(error, { _tag: "ToolTerminalError", reason: "MCP_PROTOCOL_ERROR" })
        assert.include(String((error as Error).message), "a member twice")
        assert.strictEqual(yield* S.callBody("odd.look@1"), "{}")
        assert.deepInclude(yield* state, { state: "connected", restarts: 0 })
      }).pipe(Effect.provide(S.importing(S.misbehaving("plain"))))
  )

  it.live(
    "that floods with notifications and writes lines that are no JSON still has its answers read",
    () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* S.callBody("odd.flood@1"), "after the flood")
        assert.strictEqual(yield* S.callBody("odd.garbage@1"), "after the garbage")
        assert.deepInclude(yield* state, { state: "connected", restarts: 0 })
      }).pipe(Effect.provide(S.importing(S.misbehaving("plain"))))
  )

  it.live("that reports progress 500 times in one call has at most 100 reports passed on", () => {
    let count = 0
    return Effect.gen(function* () {
      const told = () => Effect.sync(() => void count++)
      assert.strictEqual(yield* S.callBody("odd.progress@1", {}, told), "arrived")
      assert.strictEqual(count, 100)
    }).pipe(Effect.provide(S.importing(S.misbehaving("plain"))))
  })

  it.live("that reports progress within its timeout has longer, up to the total", () =>
    Effect.gen(function* () {
      // The call takes 4 s.
      assert.strictEqual(yield* S.callBody("odd.slow_progress@1"), "arrived")
      const error = yield* Effect.flip(S.callBody("odd.hang@1"))
      assert.deepInclude(error, { kind: "timeout", reason: "TIMEOUT" })
      const { tools } = yield* McpServers
      const totals = tools.map(({ spec }) => [spec.name, spec.timeout_ms] as const)
      assert.deepInclude(totals, ["slow_progress", 9_000])
    }).pipe(
      Effect.provide(
        S.importing(
          S.misbehaving("plain", "", {
            timeout_ms: 2_500,
            total_ms: 9_000,
            tools: { hang: { timeout_ms: "100 millis" } }
          })
        )
      )
    )
  )

  it.live("that returns a value against its own outputSchema has the value refused", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* S.callBody("odd.structured@1"), { n: 7 })
      const error = yield* Effect.flip(S.callBody("odd.lies@1"))
      assert.deepInclude(error, { _tag: "ValueRefused" })
    }).pipe(Effect.provide(S.importing(S.misbehaving("plain"))))
  )

  it.live("that refuses or fails a call has its error classified, without our secrets", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(S.callBody("odd.refuses@1"))
      assert.deepInclude(refused, { _tag: "ToolTransientError", reason: "MCP_PROTOCOL_ERROR" })
      assert.match(String((refused as Error).message), /\(-32000\): .*not now, \[secret\]/)
      const failed = yield* Effect.flip(S.callBody("odd.fails@1"))
      assert.deepInclude(failed, {
        _tag: "ToolUserError",
        reason: "MCP_TOOL_ERROR",
        message: "n must be even"
      })
      const seen = String(yield* S.callBody("odd.secret@1"))
      assert.notInclude(seen, "canary-4711")
      assert.include(seen, "[secret]")
    }).pipe(
      Effect.provide(
        S.importing(S.misbehaving("plain", "", { env: { KEY: Redacted.make("canary-4711") } }))
      )
    )
  )

  it.live("that answers with images and files has them described, without their bytes", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* S.callBody("odd.pictures@1"),
        [
          "two",
          "[image image/png, 4 bytes, not shown]",
          "[resource file:///a.txt]\ninside",
          "[resource file:///b, x/y, 3 bytes, not shown]",
          "[link to resource file:///c: c]"
        ].join("\n")
      )
    }).pipe(Effect.provide(S.importing(S.misbehaving("plain"))))
  )

  it.live("that gives one page for each cursor has the tools of that page once", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* S.callBody("odd.look@1"), "{}")
      assert.lengthOf((yield* state).tools, 1)
    }).pipe(Effect.provide(S.importing(S.misbehaving("same_page"))))
  )

  it.live("that lists unusable tools has each of them refused, and its other tools work", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* S.callBody("odd.look@1"), "{}")
      const { tools } = yield* state
      const of = (tool: string) => tools.find((each) => each.tool === tool)
      for (const tool of ["array_schema", "bad_pattern", "(without a name)", "huge", "twice"]) {
        assert.strictEqual(of(tool)?.state, "refused", tool)
        assert.notStrictEqual(of(tool)?.message, "", tool)
      }
      assert.strictEqual(of("look")?.state, "available")
      const bad = yield* Effect.flip(S.callBody("odd.bad_pattern@1"))
      assert.deepInclude(bad, { _tag: "ToolTerminalError", reason: "MCP_TOOL_REFUSED" })
    }).pipe(Effect.provide(S.importing(S.misbehaving("bad_list"))))
  )

  it.live("that lists unusable tools has each of them logged at the start, with the reason", () => {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
    return Effect.gen(function* () {
      yield* Effect.provide(state, S.logged(Logger.layer([logger]), S.misbehaving("bad_list")))
      for (const tool of ["array_schema", "bad_pattern", "huge"]) {
        assert.isTrue(
          lines.some((line) => line.includes(`"${tool}" of an MCP server cannot be called: `)),
          tool
        )
      }
      assert.isFalse(lines.some((line) => line.includes(`"look"`)))
    })
  })

  it.live(
    "that sends patterns that take for ever, and answers that nest too deep, has each refused",
    () =>
      Effect.gen(function* () {
        const { tools } = yield* state
        const behind = tools.find(({ tool }) => tool === "behind")
        assert.strictEqual(behind?.state, "refused")
        assert.include(behind?.message, "linear time")
        assert.deepInclude(yield* Effect.flip(S.callBody("odd.evil_out@1")), {
          _tag: "ValueRefused"
        })
        const deep = yield* Effect.flip(S.callBody("odd.deep@1"))
        assert.deepInclude(deep, { _tag: "ToolTerminalError", reason: "MCP_PROTOCOL_ERROR" })
        assert.strictEqual(yield* S.callBody("odd.look@1"), "{}")
        assert.strictEqual((yield* state).restarts, 0)
      }).pipe(Effect.provide(S.importing(S.misbehaving("patterns"))))
  )

  it.live(
    "that lists two tools whose names become equal has neither used until one is renamed",
    () =>
      Effect.gen(function* () {
        const collided = yield* Effect.provide(state, S.importing(S.misbehaving("collide")))
        assert.deepStrictEqual(
          collided.tools.map(({ key, state, tool }) => [tool, key, state]),
          [
            ["a.b", undefined, "refused"],
            ["a_b", undefined, "refused"],
            ["look", "odd.look@1", "available"]
          ]
        )
        assert.match(collided.tools[0]!.message, /"a\.b" and "a_b" would both be "a_b"/)
        const renamed = S.misbehaving("collide", "", { tools: { "a.b": { name: "ab" } } })
        const keys = yield* Effect.provide(state, S.importing(renamed))
        assert.deepStrictEqual(
          keys.tools.map(({ key }) => key),
          ["odd.ab@1", "odd.a_b@1", "odd.look@1"]
        )
      })
  )

  it.live(
    "that never ends its list, never answers, or speaks another protocol fails the start that requires it, with the reason",
    () =>
      Effect.gen(function* () {
        const pages = yield* startError(S.misbehaving("pages"))
        assert.deepInclude(pages, { _tag: "McpServerUnavailable", server: "odd" })
        assert.match(pages.message, /more than 64 pages/)
        const silent = yield* startError(S.misbehaving("silent", "", { connect_timeout_ms: 700 }))
        assert.match(silent.message, /in time|timed out/i)
        const endless = yield* startError(S.misbehaving("endless"))
        assert.deepInclude(endless, { _tag: "McpServerUnavailable" })
        const version = yield* startError(S.misbehaving("wrong_version"))
        assert.match(version.message, /protocol version/i)
        const exits = yield* startError(
          S.misbehaving("exit", "", { env: { KEY: Redacted.make("canary-4711") } })
        )
        assert.match(exits.message, /cannot start with \[secret\]/)
        const absent = yield* startError(S.misbehaving("plain", "", { program: "no-such-program" }))
        assert.match(absent.message, /not found: give an absolute path/)
        assert.deepStrictEqual(S.left(), [])
      })
  )

  it.live("that is slow to end is ended at the same time as the others", () =>
    Effect.gen(function* () {
      const { file } = yield* S.described
      const server = S.misbehaving("together", file)
      yield* Effect.scoped(Layer.build(S.importing(server, { ...server, namespace: "other" })))
      assert.lengthOf(
        notes(file).filter((line) => line === "ended"),
        2
      )
    })
  )

  it.live(
    "that ignores its end and forks is killed with its whole process group when the runtime ends",
    () =>
      Effect.gen(function* () {
        const pids = yield* S.callBody("odd.pids@1").pipe(
          Effect.provide(S.importing(S.misbehaving("deaf")))
        )
        const { pids: all } = pids as { readonly pids: ReadonlyArray<number> }
        assert.lengthOf(all, 2)
        yield* eventually(
          Effect.sync(() => all.filter(S.isAlive)),
          (alive) => alive.length === 0
        )
        assert.deepStrictEqual(S.left(), [])
      })
  )
})
