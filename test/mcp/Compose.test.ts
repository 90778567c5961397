import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { Effect } from "effect"
import { inLongForm } from "../InLongForm.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { eventually } from "../contracts/Contract.ts"
import * as H from "../runtime/Harness.ts"
import * as S from "./Servers.ts"

const agents = [AgentSpec.make({ name: H.agentName, instructions: "Test.", tools: ["odd.look@1"] })]

/** Runs the code as a module of this directory, in a process of its own. */
const child = (code: string, ...flags: ReadonlyArray<string>) =>
  spawn(
    process.execPath,
    ["--conditions=troupe-source", ...flags, "--input-type=module", "--eval", code],
    { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "pipe"] }
  )

const said = Effect.fnUntraced(function* (of: ReturnType<typeof child>) {
  let output = ""
  for (const stream of [of.stdout, of.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const code = yield* Effect.promise(async () => (await once(of, "exit"))[0] as unknown)
  return { output, code }
})

describe("a Node service with MCP servers", () => {
  it.live(
    "gives its agents the servers' tools, lists them for an operator, and lets an operator accept one",
    () =>
      Effect.gen(function* () {
        const { file, set } = yield* S.described
        const service = yield* Effect.acquireRelease(
          Effect.promise(() =>
            start({
              agents,
              mcp: S.allowed(S.misbehaving("plain", file)),
              model: ScriptedModelGateway.layer([call("look", { n: 1 }), text("seen")])
            })
          ),
          (service) => Effect.promise(() => service.stop())
        )
        const ended = yield* Effect.promise(() => service.ask({ agent: "tester", text: "look" }))
        assert.deepInclude(ended, { status: "complete", text: "seen" })
        const servers = Effect.promise(() => service.mcpServers())
        const [server] = yield* servers
        const look = server?.tools.find(({ tool }) => tool === "look")
        assert.deepInclude(look, { key: "odd.look@1", state: "available" })
        const rejected = yield* Effect.promise(() =>
          service.acceptMcpTool("odd", "look", "0".repeat(64), H.person("olga", ["operator"])).then(
            () => "accepted",
            (error: { readonly _tag: string }) => error._tag
          )
        )
        assert.strictEqual(rejected, "McpDefinitionNotOffered")
        set("Other.")
        const accepted = yield* Effect.promise(() =>
          service.acceptMcpTool("odd", "look", look!.offered_hash!, H.person("olga", ["operator"]))
        )
        assert.deepInclude(accepted, { tool: "look", how: "first_use" })
      }).pipe(Effect.scoped)
  )

  it.live("without servers lists no tool, and accepts none", () =>
    Effect.gen(function* () {
      const service = yield* Effect.acquireRelease(
        Effect.promise(() =>
          start({
            agents: [AgentSpec.make({ name: H.agentName, instructions: "Test." })],
            model: ScriptedModelGateway.layer([text("done")])
          })
        ),
        (service) => Effect.promise(() => service.stop())
      )
      assert.deepStrictEqual(yield* Effect.promise(() => service.mcpServers()), [])
      const rejected = yield* Effect.promise(() =>
        service.acceptMcpTool("odd", "look", "0".repeat(64), H.alice).catch((error) => error._tag)
      )
      assert.strictEqual(rejected, "McpToolNotFound")
      const wrong = yield* Effect.promise(() =>
        service.acceptMcpTool(1 as never, "look", "abc", H.alice).catch((error) => error)
      )
      assert.deepInclude(wrong, { _tag: "InvalidInput", field: "server" })
    }).pipe(Effect.scoped)
  )

  it.live(
    "fails at its start with the package's name where the client's package is not installed",
    () =>
      Effect.gen(function* () {
        const hooks = `import { registerHooks } from "node:module"
        registerHooks({ resolve: (name, context, next) => {
          if (name.startsWith("@modelcontextprotocol/")) throw Object.assign(new Error("gone"), { code: "ERR_MODULE_NOT_FOUND" })
          return next(name, context)
        } })`
        const code = `import { Effect } from "effect"
        import { load } from "../../layers/mcp/Sdk.ts"
        const error = await Effect.runPromise(Effect.flip(load))
        console.log(error._tag, error.message)`
        const flag = `--import=data:text/javascript,${encodeURIComponent(hooks)}`
        const { output } = yield* said(child(code, flag))
        assert.match(output, /^McpClientMissing .*npm install @modelcontextprotocol\/client/)
      })
  )

  inLongForm(
    "leaves no server process when it exits or is killed",
    () =>
      Effect.gen(function* () {
        for (const end of ["process.exit(0)", 'process.kill(process.pid, "SIGKILL")']) {
          const server = S.misbehaving("plain")
          const code = `import { Effect, Layer } from "effect"
          import * as EphemeralRows from "../../layers/ephemeral/EphemeralRows.ts"
          import * as StoredMcpPins from "../../layers/stores/StoredMcpPins.ts"
          import * as ImportedMcpServers from "../../layers/mcp/ImportedMcpServers.ts"
          const program = Effect.gen(function* () {
            const tools = yield* ImportedMcpServers.tools
            const { handler } = tools.find(({ key }) => key === "odd.pids@1")
            console.log(JSON.stringify(yield* handler({}, { preliminary: () => Effect.void })))
            yield* Effect.sleep("50 millis")
            ${end}
          })
          const servers = ImportedMcpServers.layer(${JSON.stringify(S.allowed(server))})
          const pins = Layer.provide(StoredMcpPins.layer, EphemeralRows.layer)
          await Effect.runPromise(Effect.provide(program, Layer.provide(servers, pins)))`
          const { output } = yield* said(child(code))
          const line = output.split("\n").find((each) => each.startsWith("{"))!
          const { pids } = JSON.parse(line) as { readonly pids: Array<number> }
          // What its server forked too.
          yield* eventually(
            Effect.sync(() => pids.filter(S.isAlive)),
            (alive) => alive.length === 0
          )
        }
      }),
    90_000
  )
})
