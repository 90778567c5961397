/** `troupe call`, as a process beside a service that shares its database. */
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer as scripted } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as ServiceMethods from "../../layers/compose/promises/ServiceMethods.ts"
import { callables, lineOf } from "../../scripts/troupe/CallCommand.ts"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { maintenance } from "../feature/maintenance/Maintenance.ts"
import { none } from "../service/Inputs.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"

const admin = new Principal({ id: "root", tenant: Tenant.make("default"), roles: ["admin"] })

const service = (postgres: string) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      start({
        agents: [agent({ name: "shop", instructions: "Help." })],
        model: scripted([]),
        features: [maintenance],
        store: { postgres }
      })
    ),
    (troupe) => Effect.promise(() => troupe.stop())
  )

it("lists every method that is declared as an operation, and those of features, with the members of their input", () => {
  // `pending` is a part of `approvals`, and nobody may stop the tools of all tenants but the process.
  const { pending: _, stopAllTools: __, ...declared } = ServiceMethods.methods
  const all = callables([maintenance])
  assert.deepStrictEqual(
    [...all.keys()].toSorted(),
    [...Object.keys(declared), "maintenance.maintenance", "maintenance.setMaintenance"].toSorted()
  )
  const lines = [...all].map(lineOf)
  for (const line of lines) assert.match(line, /^[\w.]+ \{[\w?, ]*\} {2}\S.*$/)
  assert.include(lines, "cancel {id, reason}  Cancel a run; its open questions are closed")
  assert.include(
    lines,
    "messages {id, limit?, after?, superseded?}  A conversation with its messages"
  )
  assert.include(lines, "answerClientCall {id, result?, error?}  Give the result of a call")
  assert.include(lines, "agents {}  Agents with their actors")
})

it("reads an input from standard input, before it opens a store", () => {
  const script = join(import.meta.dirname, "../../scripts/troupe.ts")
  const args = ["-C", "troupe-source", script, "call", "run", "--input", "-"]
  const said = (input: string | Uint8Array) => {
    const { status, stderr } = spawnSync(process.execPath, args, { input, encoding: "utf8" })
    return [status, stderr]
  }
  assert.deepStrictEqual(said('{"id":1,"id":1}'), [
    1,
    "not done: input: an object has a member twice\n"
  ])
  assert.deepStrictEqual(said(Uint8Array.of(0xff)), [
    1,
    "not done: input cannot be read as UTF-8\n"
  ])
}, 60_000)

it.live(
  "reads and changes what a service has, and names what is wrong with an input",
  () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres.database
      const troupe = yield* service(postgres)
      const env = { TROUPE_DATABASE_URL: postgres }
      const called = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
        const child = yield* Children.start("scripts/troupe.ts", ["call", ...args], env)
        const { code } = yield* child.ended
        return [code, child.text()] as const
      })
      const app = join(yield* Homes.temporary, "app.mjs")
      const module = join(import.meta.dirname, "../feature/maintenance/Maintenance.ts")
      writeFileSync(
        app,
        `import { maintenance } from ${JSON.stringify(module)}\nexport const features = [maintenance]\n`
      )

      const made = yield* Effect.promise(() =>
        troupe.createToken({ name: "ci", roles: ["viewer"] }, admin)
      )
      const [code, text] = yield* called("tokens", "--input", '{"limit":1}')
      assert.strictEqual(code, 0, text)
      assert.deepInclude(JSON.parse(text)[0], { id: made.id, name: "ci" })
      assert.deepStrictEqual(yield* called("tokens", "--tenant", "globex"), [0, "[]\n"])

      const input = JSON.stringify({ id: made.id })
      const [, revoked] = yield* called("revokeToken", "--input", input)
      assert.match(JSON.parse(revoked).revoked_by, /^command line \(/)
      const [token] = yield* Effect.promise(() => troupe.tokens({}, admin))
      assert.strictEqual(token?.revoked_by, JSON.parse(revoked).revoked_by)

      const set = yield* called(
        "maintenance.setMaintenance",
        "--app",
        app,
        "--input",
        '{"on":true}'
      )
      assert.deepInclude(JSON.parse(set[1]), { on: true }, set[1])
      const flag = yield* Effect.promise(() => troupe.of(maintenance).maintenance(admin))
      assert.isTrue(flag.on)

      const cases = [
        [
          ["cancel", "--input", `{"id":"${none}","reason":"x"}`],
          1,
          /^not done: there is no run .*\n$/
        ],
        [["tokens", "--input", '{"limit":0}'], 1, /^not done: query\.limit: .*\n$/],
        [
          ["cancel", "--input", `{"id":"${none}","reason":"x","by":"me"}`],
          1,
          /^not done: by: there is no such member\..* id.*\n$/
        ],
        [["run"], 1, /^not done: id is missing\n$/],
        [["run", "--input", "{id}"], 1, /^not done: input is not JSON\n$/],
        [["run", "--input", "[]"], 1, /^not done: input: an object with members\n$/],
        [["cancle"], 2, /^there is no operation "cancle"\. Did you mean "cancel"\?\n/]
      ] as const
      for (const [args, code, says] of cases) {
        const [ended, text] = yield* called(...args)
        assert.match(text, says)
        assert.strictEqual(ended, code, text)
      }
    }),
  240_000
)
