import { assert, describe, it } from "@effect/vitest"
import { writeFileSync } from "node:fs"
import { Effect, Logger, Metric } from "effect"
import { inLongForm } from "../InLongForm.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { McpServers } from "../../services/McpServers.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Policy } from "../../src/permission/Policy.ts"
import type { McpServer } from "../../src/mcp/McpServer.ts"
import { eventually } from "../contracts/Contract.ts"
import * as H from "../runtime/Harness.ts"
import * as S from "./Servers.ts"
import { at, reply, small } from "./SmallServer.ts"

/** Longer than the first question for the protocol may take. */
const slow = { SLOW_MS: "3300" }

/** A service with these servers, whose agent calls the tool that a message names and answers with the outcome. */
const service = (tools: ReadonlyArray<string>, ...servers: ReadonlyArray<McpServer>) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () =>
        start({
          agents: [AgentSpec.make({ name: H.agentName, instructions: "Test.", tools: [...tools] })],
          policy: Policy.make({ mode: "allow" }),
          mcp: S.allowed(...servers),
          model: ScriptedModelGateway.layer(({ transcript }) => {
            const last = transcript.at(-1)
            return last?.role === "tool"
              ? text(JSON.stringify(last.outcome))
              : call(last?.role === "user" ? last.text : "", { n: 1 })
          })
        }),
      catch: (error) => error as Readonly<Record<string, unknown>>
    }),
    (made) => Effect.promise(() => made.stop())
  )

type Service = Effect.Success<ReturnType<typeof service>>

const outcomeOf = (made: Service, tool: string) =>
  Effect.map(
    Effect.promise(() => made.ask({ agent: "tester", text: tool })),
    (answer) => (answer.status === "complete" ? answer.text : answer.status)
  )

/** The gauge of connections, by server. */
const connections = () =>
  Effect.map(Metric.snapshot, (all) =>
    Object.fromEntries(
      all.flatMap(({ attributes, id, state }) =>
        id === "troupe_mcp_connected"
          ? [[attributes?.["server"], (state as { value: unknown }).value]]
          : []
      )
    )
  )

const status = McpServers.use((servers) => Effect.map(servers.status, ([server]) => server!))

describe("a server that is slow", () => {
  it.live("is waited for at the start, and again after a crash, by the call that needs it", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* S.callBody("odd.look@1", { n: 1 }), '{"n":1}')
      yield* Effect.flip(S.callBody("odd.die@1"))
      assert.strictEqual(yield* S.callBody("odd.look@1", { n: 2 }), '{"n":2}')
      assert.deepInclude(yield* status, { state: "connected", restarts: 1, message: "" })
    }).pipe(Effect.provide(S.importing(S.misbehaving("plain", "", { env: slow }))))
  )

  inLongForm("over HTTP is waited for as long", () =>
    Effect.gen(function* () {
      const { port } = yield* small(
        (_, response, message) =>
          reply(response, message["id"], { content: [{ type: "text", text: "seen" }] }),
        {
          instead: (_, response, body) => {
            if (!body.includes("server/discover")) return false
            setTimeout(() => response.writeHead(404).end(), Number(slow.SLOW_MS))
            return true
          }
        }
      )
      const said = yield* S.callBody("web.look@1").pipe(Effect.provide(S.importing(at(port))))
      assert.strictEqual(said, "seen")
    }).pipe(Effect.scoped)
  )

  inLongForm("and knows only the newest protocol is asked for it again", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* S.callBody("odd.look@1", { n: 1 }), '{"n":1}')
      assert.deepInclude(yield* status, { protocol: "2026-07-28" })
    }).pipe(Effect.provide(S.importing(S.misbehaving("newest", "", { env: slow }))))
  )

  it.live("and is refused its time ends the start that requires it, with the time", () =>
    Effect.gen(function* () {
      const server = S.misbehaving("plain", "", { env: slow, connect_timeout_ms: 500 })
      const error = yield* Effect.flip(service([], { ...server, optional: false }))
      assert.deepInclude(error, { _tag: "McpServerUnavailable", server: "odd" })
      assert.match(String(error["message"]), /connect_timeout_ms is 500/)
    }).pipe(Effect.scoped)
  )
})

it.live("a program that ends at a question before its handshake is asked as before 2026", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* S.callBody("odd.look@1", { n: 1 }), '{"n":1}')
    assert.deepInclude(yield* status, { protocol: "2025-06-18", restarts: 0 })
  }).pipe(Effect.provide(S.importing(S.misbehaving("strict"))))
)

describe("a server that is away", () => {
  it.live("does not end the start: its tools are closed until it is there, for all to see", () =>
    Effect.gen(function* () {
      const { file } = yield* S.described
      const away: McpServer = { ...S.misbehaving("absent", file), namespace: "away" }
      const there = S.misbehaving("plain", file, { only: ["structured"] })
      const tools = ["odd.structured@1", "away.put@1", "look"]
      const made = yield* service(tools, away, there)
      assert.include(yield* outcomeOf(made, "structured"), '{\\"n\\":7}')
      for (const tool of ["look", "put"]) {
        assert.include(yield* outcomeOf(made, tool), "MCP_SERVER_DOWN")
      }
      const servers = Effect.promise(() => made.mcpServers())
      const [before] = yield* servers
      assert.deepInclude(before, { server: "away", state: "reconnecting" })
      assert.notStrictEqual(before?.message, "")
      assert.deepInclude(yield* connections(), { away: 0, odd: 1 })
      assert.deepStrictEqual(
        before?.tools.map(({ key, state, tool }) => [tool, key, state]),
        [
          ["look", "away.look@1", "unseen"],
          ["put", "away.put@1", "unseen"]
        ]
      )
      writeFileSync(`${file}.there`, "")
      yield* eventually(servers, ([server]) => server?.state === "connected")
      assert.deepInclude(yield* connections(), { away: 1, odd: 1 })
      assert.match(String(yield* outcomeOf(made, "look")), /n\W+1\W+$/)
      assert.include(yield* outcomeOf(made, "put"), "put")
      const [after] = yield* servers
      const state = (name: string) => after?.tools.find(({ tool }) => tool === name)?.state
      assert.deepStrictEqual(["look", "put", "die"].map(state), [
        "available",
        "available",
        "accepted"
      ])
    }).pipe(Effect.scoped)
  )

  it.live(
    "has the arguments of its tools checked once it is there, and names of no tool refused",
    () =>
      Effect.gen(function* () {
        const { file } = yield* S.described
        const server = S.misbehaving("absent", file, { tools: { look: {}, lok: {} } })
        yield* Effect.gen(function* () {
          const { awaited } = yield* McpServers
          assert.lengthOf(yield* awaited(["other.look@1", "odd.look@2"]), 0)
          writeFileSync(`${file}.there`, "")
          yield* eventually(status, ({ state }) => state === "connected")
          assert.strictEqual(yield* S.callBody("odd.look@1", { n: 1 }), '{"n":1}')
          const bad = yield* Effect.flip(S.callBody("odd.look@1", { n: "one" }))
          assert.deepInclude(bad, { _tag: "ValueRefused" })
          assert.strictEqual((yield* S.statusOf("lok"))?.state, "gone")
        }).pipe(Effect.provide(S.importing(server)))
      })
  )

  it.live("ends the start of an agent whose tool it could not have", () =>
    Effect.gen(function* () {
      const { file } = yield* S.described
      const server = S.misbehaving("absent", file, { only: ["look"] })
      const error = yield* Effect.flip(service(["put"], server))
      assert.deepInclude(error, { _tag: "MisdeclaredAgent", value: "put" })
    }).pipe(Effect.scoped)
  )
})

it.live(
  "a server that dies between calls that it answers is tried again after the first wait",
  () => {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
    return Effect.gen(function* () {
      for (let n = 1; n <= 3; n++) {
        assert.strictEqual(yield* S.callBody("odd.look@1", { n }), `{"n":${n}}`)
        yield* Effect.flip(S.callBody("odd.die@1"))
      }
      assert.strictEqual(yield* S.callBody("odd.look@1"), "{}")
      const waits = lines.flatMap((line) => /tried again in (\d+) ms/.exec(line)?.[1] ?? [])
      assert.deepStrictEqual(waits, ["250", "250", "250"])
    }).pipe(Effect.provide(S.logged(Logger.layer([logger]), S.misbehaving("plain"))))
  }
)
