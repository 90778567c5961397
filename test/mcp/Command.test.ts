/** `troupe mcp`, as processes over the store of a service that has ended. */
import { assert, it } from "@effect/vitest"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import * as Children from "../process/Child.ts"
import * as H from "../runtime/Harness.ts"
import * as S from "./Servers.ts"

const agents = [AgentSpec.make({ name: H.agentName, instructions: "Test.", tools: ["odd.look@1"] })]

it.live(
  "shows a definition that changed, and accepts exactly that one for the next start",
  () =>
    Effect.gen(function* () {
      const { file, set } = yield* S.described
      const directory = yield* S.directory
      const mcp = S.allowed(S.misbehaving("plain", file, { only: ["look"] }))
      const store = { directory: join(directory, "store") }
      const served = Effect.acquireUseRelease(
        Effect.promise(() => start({ agents, mcp, store, model: scripted([text("done")]) })),
        (service) => Effect.promise(() => service.mcpServers()),
        (service) => Effect.promise(() => service.stop())
      )
      const stateOf = Effect.map(served, ([server]) => server?.tools[0])
      const before = yield* stateOf
      assert.strictEqual(before?.state, "available")
      const app = join(directory, "app.mjs")
      writeFileSync(app, `export const mcp = ${JSON.stringify(mcp)}`)
      const command = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
        const flags = ["--app", app, "--data", store.directory]
        const child = yield* Children.start("scripts/troupe.ts", ["mcp", ...args, ...flags])
        const { code } = yield* child.ended
        return { code, text: child.text() }
      })
      set("Looks elsewhere.")
      const listed = yield* command("list")
      assert.strictEqual(listed.code, 0, listed.text)
      assert.match(listed.text, /odd {2}connected[\s\S]+changed +look/)
      assert.include(listed.text, "Looks elsewhere.")
      const hash = /offered ([0-9a-f]{64})/.exec(listed.text)?.[1] ?? ""
      const refused = yield* command("accept", "odd", "look", before?.offered_hash ?? "")
      assert.deepStrictEqual([refused.code, /does not offer/.test(refused.text)], [1, true])
      const accepted = yield* command("accept", "odd", "look", hash)
      assert.strictEqual(accepted.code, 0, accepted.text)
      assert.deepInclude(yield* stateOf, { state: "available", accepted_hash: hash })
    }).pipe(Effect.scoped),
  300_000
)
