import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import type { ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { McpServers } from "../../services/McpServers.ts"
import { isToolError } from "../../src/error/ToolError.ts"
import { eventually } from "../contracts/Contract.ts"
import * as S from "./Servers.ts"
import { at, reply, small } from "./SmallServer.ts"

/** A port that was free when it was looked for. */
const freePort = Effect.callback<number>((resume) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const { port } = probe.address() as AddressInfo
    probe.close(() => resume(Effect.succeed(port)))
  })
})

/** The official server over Streamable HTTP; ends with the scope. */
const everything = Effect.fnUntraced(function* (port: number) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [S.everything_script, "streamableHttp", S.mark], {
        env: { ...process.env, PORT: String(port) },
        stdio: ["ignore", "ignore", "pipe"]
      })
    ),
    (child) =>
      Effect.callback<void>((resume) => {
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
  )
  yield* Effect.callback<void>((resume) => {
    child.stderr.on("data", (chunk: Buffer) => {
      if (chunk.toString().includes("listening on port")) resume(Effect.void)
    })
  })
})

/** The servers of a runtime whose HTTP server is up only while it starts. */
const imported = Effect.fnUntraced(function* (port: number) {
  const scope = yield* Effect.scope
  return yield* Effect.scoped(
    Effect.gen(function* () {
      yield* everything(port)
      return yield* Layer.buildWithScope(S.importing(at(port)), scope)
    })
  )
})

describe("servers over Streamable HTTP", () => {
  it.live("everything: has the same tools as over stdio, with values, progress and errors", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      yield* everything(port)
      const seen: Array<unknown> = []
      yield* Effect.gen(function* () {
        assert.strictEqual(yield* S.callBody("web.echo@1", { message: "hi" }), "Echo: hi")
        const weather = yield* S.callBody("web.get-structured-content@1", { location: "Chicago" })
        assert.hasAllKeys(weather, ["temperature", "conditions", "humidity"])
        yield* S.callBody(
          "web.trigger-long-running-operation@1",
          { duration: 1, steps: 3 },
          (value) => Effect.sync(() => void seen.push(value))
        )
        assert.isAtLeast(seen.length, 2)
        const [server] = yield* McpServers.use(({ status }) => status)
        assert.deepInclude(server, { target: `http://127.0.0.1:${port}`, state: "connected" })
      }).pipe(Effect.provide(S.importing(at(port))))
    }).pipe(Effect.scoped)
  )

  it.live("everything: is used again in a new session after it was killed and started", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      yield* Effect.gen(function* () {
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* everything(port)
            yield* eventually(
              Effect.result(S.callBody("web.echo@1", { message: "a" })),
              (result) => result._tag === "Success"
            )
          })
        )
        const down = yield* Effect.flip(S.callBody("web.echo@1", { message: "b" }))
        assert.deepInclude(down, { _tag: "ToolTransientError" })
        yield* everything(port)
        const answer = yield* eventually(
          Effect.result(S.callBody("web.echo@1", { message: "c" })),
          (result) => result._tag === "Success"
        )
        assert.strictEqual(answer._tag === "Success" ? answer.success : "", "Echo: c")
      }).pipe(Effect.provide(yield* imported(port)))
    }).pipe(Effect.scoped)
  )

  it.live("get the token with every request, and no result shows it", () =>
    Effect.gen(function* () {
      const { asked, port } = yield* small(({ authorization }, response, { id }) =>
        reply(response, id, { content: [{ type: "text", text: `you sent ${authorization}` }] })
      )
      const server = at(port, { token: Redacted.make("canary-4711") })
      const said = yield* S.callBody("web.look@1").pipe(Effect.provide(S.importing(server)))
      assert.strictEqual(said, "you sent Bearer [secret]")
      assert.deepStrictEqual(
        [...new Set(asked.map(({ authorization }) => authorization))],
        ["Bearer canary-4711"]
      )
    }).pipe(Effect.scoped)
  )

  it.live(
    "that redirect are not followed, those that refuse fail the call, and a call that may have run is lost",
    () =>
      Effect.gen(function* () {
        const elsewhere: Array<string | undefined> = []
        const other = yield* Effect.acquireRelease(
          Effect.callback<ReturnType<typeof createServer>>((resume) => {
            const made = createServer((request, response) => {
              elsewhere.push(request.url)
              response.end("{}")
            }).listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
          }),
          (server) =>
            Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
        )
        const answers: Array<[number, Record<string, string>]> = [
          [307, { location: `http://127.0.0.1:${(other.address() as AddressInfo).port}/mcp` }],
          [403, {}],
          [403, { "www-authenticate": 'Bearer error="insufficient_scope", scope="look"' }],
          [500, {}],
          [429, {}]
        ]
        const { port } = yield* small((_, response) => {
          const [status, headers] = answers.shift() ?? [500, {}]
          response.writeHead(status, headers).end()
        })
        yield* Effect.gen(function* () {
          const tags: Array<unknown> = []
          for (let i = 0; i < 5; i++) {
            const error = yield* Effect.flip(S.callBody("web.look@1"))
            tags.push(isToolError(error) ? error.reason : error)
          }
          assert.deepStrictEqual(tags, [
            "MCP_CONNECTION_LOST",
            "MCP_FORBIDDEN",
            "MCP_FORBIDDEN",
            "MCP_CONNECTION_LOST",
            "MCP_RATE_LIMITED"
          ])
        }).pipe(Effect.provide(S.importing(at(port))))
        assert.deepStrictEqual(elsewhere, [])
      }).pipe(Effect.scoped)
  )

  it.live("that quote the token in a definition do not show it to a model or an approver", () =>
    Effect.gen(function* () {
      const { port } = yield* small(() => {}, {
        tool: {
          description: "Looks with tok-canary-4711.",
          title: "tok-canary-4711",
          inputSchema: {
            type: "object",
            properties: { q: { type: "string", description: "tok-canary-4711" } }
          }
        }
      })
      const server = at(port, { token: Redacted.make("tok-canary-4711") })
      const { tools } = yield* Effect.provide(McpServers, S.importing(server))
      assert.strictEqual(tools[0]?.spec.description, "Looks with [secret].")
      assert.notInclude(JSON.stringify(tools.map(({ spec }) => spec)), "canary")
    }).pipe(Effect.scoped)
  )

  for (const status of [404, 400]) {
    it.live(`that forget the session, and say so with ${status}, get the call in a new one`, () =>
      Effect.gen(function* () {
        const session = { id: "one", status }
        const { asked, port } = yield* small(
          (_, response, message) =>
            reply(response, message["id"], { content: [{ type: "text", text: "seen" }] }),
          { session }
        )
        yield* Effect.gen(function* () {
          assert.strictEqual(yield* S.callBody("web.look@1"), "seen")
          session.id = "two"
          assert.strictEqual(yield* S.callBody("web.look@1"), "seen")
          const taken = asked
            .map(({ method }) => method)
            .filter((each) => /call|init.*e$/.test(each))
          assert.deepStrictEqual(taken, ["initialize", "tools/call", "initialize", "tools/call"])
        }).pipe(Effect.provide(S.importing(at(port))))
      }).pipe(Effect.scoped)
    )
  }

  it.live("that ask without end, and take no answer, are read no faster and answered no more", () =>
    Effect.gen(function* () {
      const total = 200_000
      let written = 0
      let open = 0
      const { port } = yield* small(
        (_, response, message) => reply(response, message["id"], { content: [] }),
        {
          stream: (response) => {
            response.writeHead(200, { "content-type": "text/event-stream" })
            const more = (): void => {
              while (written < total && !response.destroyed) {
                const method = written % 2 === 0 ? "sampling/createMessage" : "elicitation/create"
                const asks = { jsonrpc: "2.0", id: `s${written++}`, method, params: {} }
                if (!response.write(`data: ${JSON.stringify(asks)}\n\n`)) {
                  return void response.once("drain", more)
                }
              }
            }
            more()
          },
          told: (response) => {
            open++
            response.once("close", () => open--)
          }
        }
      )
      yield* Effect.gen(function* () {
        yield* eventually(
          Effect.sync(() => open),
          (n) => n >= 64
        )
        for (let i = 0; i < 20; i++) assert.strictEqual(yield* S.callBody("web.look@1"), "")
        assert.strictEqual(open, 64)
        assert.isBelow(written, total)
      }).pipe(Effect.provide(S.importing(at(port))))
    }).pipe(Effect.scoped)
  )

  it.live("that leave a call's stream open have it closed once it is answered or cancelled", () =>
    Effect.gen(function* () {
      const open = new Set<ServerResponse>()
      const { port } = yield* small((_, response, message) => {
        open.add(response)
        response.once("close", () => open.delete(response))
        response.writeHead(200, { "content-type": "text/event-stream" })
        const { arguments: args } = message["params"] as { arguments: { answer?: boolean } }
        const content = [{ type: "text", text: "seen" }]
        const answer = { jsonrpc: "2.0", id: message["id"], result: { content } }
        response.write(args.answer === true ? `data: ${JSON.stringify(answer)}\n\n` : ": wait\n\n")
      })
      yield* Effect.gen(function* () {
        const isClosed = eventually(
          Effect.sync(() => open.size),
          (n) => n === 0
        )
        assert.strictEqual(yield* S.callBody("web.look@1", { answer: true }), "seen")
        assert.strictEqual(open.size, 1)
        yield* isClosed
        const call = yield* Effect.forkChild(S.callBody("web.look@1"))
        yield* eventually(
          Effect.sync(() => open.size),
          (n) => n === 1
        )
        yield* Fiber.interrupt(call)
        yield* isClosed
      }).pipe(Effect.provide(S.importing(at(port))))
    }).pipe(Effect.scoped)
  )

  it.live("that end their stream at once are asked for it again after half a second to 30", () =>
    Effect.gen(function* () {
      const ending = (retry: string, times: Array<number>) =>
        small(() => {}, {
          stream: (response) => {
            times.push(performance.now())
            response.writeHead(200, { "content-type": "text/event-stream" })
            response.end(`retry: ${retry}\nid: 1\ndata: \n\n`)
          }
        })
      const often: Array<number> = []
      const never: Array<number> = []
      const one = yield* ending("0", often)
      // More than a timer can wait, which would then end at once.
      const other = yield* ending("99999999999", never)
      const servers = [at(one.port), at(other.port, { namespace: "other" })]
      yield* Effect.provide(
        eventually(
          Effect.sync(() => often.length),
          (n) => n >= 3
        ),
        S.importing(...servers)
      )
      assert.isAbove(often[2]! - often[0]!, 900)
      assert.strictEqual(never.length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("that send a body or an event over the bound of a message end the call", () =>
    Effect.gen(function* () {
      const large = JSON.stringify({ text: "x".repeat(2_000_000) })
      const kinds = ["application/json", "text/event-stream"]
      const { port } = yield* small((_, response) => {
        const type = kinds.shift() ?? "application/json"
        response.writeHead(200, { "content-type": type })
        response.end(type === "application/json" ? large : `data: ${large}\n\n`)
      })
      yield* Effect.gen(function* () {
        for (let i = 0; i < 2; i++) {
          const error = yield* Effect.flip(S.callBody("web.look@1"))
          assert.deepInclude(error, { _tag: "ToolTransientError", kind: "network" })
        }
      }).pipe(Effect.provide(S.importing(at(port, { message_bytes_max: 1_000_000 }))))
    }).pipe(Effect.scoped)
  )

  it.live(
    "that send JSON that nests too deep, or that repeats a member, fail the call without a parse",
    () =>
      Effect.gen(function* () {
        const parsed: Array<string> = []
        const parse = JSON.parse
        const watched: typeof JSON.parse = (text, ...more) => {
          parsed.push(String(text))
          return parse(text, ...more) as unknown
        }
        yield* Effect.acquireRelease(
          Effect.sync(() => void (JSON.parse = watched)),
          () => Effect.sync(() => void (JSON.parse = parse))
        )
        const mark = "never-parsed"
        const deep = `${"[".repeat(5_000)}"${mark}"${"]".repeat(5_000)}`
        const bodies = [
          (id: unknown) =>
            `{"jsonrpc":"2.0","id":${String(id)},"result":{"content":[],"x":${deep}}}`,
          (id: unknown) =>
            `{"jsonrpc":"2.0","result":{"content":[],"${mark}":1,"${mark}":2},"id":${String(id)}}`
        ]
        const kinds = ["json", "json", "events", "events", "returns", "events"]
        const { port } = yield* small((_, response, message) => {
          const kind = kinds.shift()
          const text = bodies[kinds.length % 2]!(message["id"])
          response.writeHead(200, {
            "content-type":
              kind === "json" ? "application/json" : "Text/Event-Stream; charset=utf-8"
          })
          if (kind === "json") return void response.end(text)
          const end = kind === "returns" ? "\r" : "\r\n"
          const events = `: a comment${end}${end}event: message${end}data: ${text}${end}${end}`
          // In pieces, one of which ends between the CR and the LF of a line's end.
          response.write(events.slice(0, 12))
          setTimeout(() => response.end(events.slice(12)), 20)
        })
        yield* Effect.gen(function* () {
          for (let left = 6; left > 0; left--) {
            const error = yield* Effect.flip(S.callBody("web.look@1"))
            if (!isToolError(error)) return assert.fail("it is no error of a tool")
            assert.strictEqual(error.reason, "MCP_PROTOCOL_ERROR")
            assert.match(error.message, /nests deeper than 128|a member twice/)
          }
        }).pipe(Effect.provide(S.importing(at(port))))
        const client = parsed.filter((text) => text.includes(mark) && !text.startsWith('"'))
        assert.deepStrictEqual(client, [])
      }).pipe(Effect.scoped)
  )
})
