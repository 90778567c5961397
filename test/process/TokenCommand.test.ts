/** `troupe token`, as a process beside services that share its database. */
import { rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { layer as scripted } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { userName } from "../../scripts/troupe/Operator.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as Children from "./Child.ts"

const admin = new Principal({ id: "root", tenant: Tenant.make("default"), roles: ["admin"] })
const listed = { token: "0123456789abcdef0123", principal: admin }

/** A service over the database, on a free port. */
const service = (postgres: string) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      start({
        agents: [AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help." })],
        model: scripted(() => text("hello")),
        store: { postgres },
        http: { port: 0, tokens: [listed] }
      })
    ),
    (troupe) => Effect.promise(() => troupe.stop())
  )

const statusOf = (url: string | undefined, token: string) =>
  Effect.promise(async () => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${url}/v1/runs`, { headers })).status
  })

it("a user without a name, as in a container, has its number", () => {
  const nameless = () => {
    throw new Error("uv_os_get_passwd returned ENOENT")
  }
  assert.match(userName(nameless), /^user \S/)
})

it.live(
  "makes a token that services take until it is revoked, in any of them, and lists it without its text",
  () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres.database
      const [one, other] = yield* Effect.all([service(postgres), service(postgres)])
      const token = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
        const env = { TROUPE_DATABASE_URL: postgres }
        const child = yield* Children.start("scripts/troupe.ts", ["token", ...args], env)
        const { code } = yield* child.ended
        return { code, text: child.text() }
      })

      const made = yield* token("create", "ci", "--role", "viewer", "--days", "2", "--json")
      assert.strictEqual(made.code, 0, made.text)
      const { token: bearer, ...record } = JSON.parse(made.text)
      assert.deepInclude(record, { name: "ci", principal: "ci", roles: ["viewer"] })
      assert.strictEqual(record.expires_at - record.created_at, 2 * 86_400_000)
      assert.match(record.created_by, /^command line \(/)
      for (const { url } of [one, other]) assert.strictEqual(yield* statusOf(url, bearer), 200)
      const shown = yield* token("list")
      assert.include(shown.text, record.id)
      assert.include(shown.text, "used 20")
      assert.notInclude(shown.text, bearer)

      // One that another process revokes, while both have taken it.
      const facade = yield* Effect.promise(() =>
        one.createToken({ name: "tool", roles: ["viewer"] }, admin)
      )
      assert.strictEqual(yield* statusOf(other.url, facade.token), 200)
      yield* Effect.promise(() => one.revokeToken(facade.id, admin))
      assert.strictEqual(yield* statusOf(other.url, facade.token), 401)
      const revoked = yield* token("revoke", record.id)
      assert.strictEqual(revoked.code, 0, revoked.text)
      for (const { url } of [one, other]) assert.strictEqual(yield* statusOf(url, bearer), 401)
      const [last, first] = yield* Effect.promise(() => one.tokens({}, admin))
      assert.deepInclude(last, { id: facade.id, revoked_by: "root" })
      assert.strictEqual(first?.id, record.id)

      const wrong = yield* token("create", "ci", "--role", "root")
      assert.strictEqual(wrong.code, 2, wrong.text)
      assert.include(wrong.text, 'there is no role "root". There is: viewer, approver, operator')
      const app = join(tmpdir(), `troupe-roles-${process.pid}.mjs`)
      writeFileSync(
        app,
        `export const roles = { auditor: { inspect: "all" }, root: { all: "all" } }`
      )
      const odd = yield* token("create", "ci", "--role", "auditor", "--app", app)
      assert.strictEqual(odd.code, 1, odd.text)
      assert.include(odd.text, "not done: roles.root.all: there is no such member")
      writeFileSync(app, `export const roles = { auditor: { inspect: "all" } }`)
      const declared = yield* token("create", "ci", "--role", "auditor", "--app", app, "--json")
      rmSync(app)
      assert.deepStrictEqual(JSON.parse(declared.text).roles, ["auditor"])
      // These services do not declare it.
      assert.strictEqual(yield* statusOf(one.url, JSON.parse(declared.text).token), 403)
      const long = yield* token("create", "ci", "--role", "viewer", "--days", "400")
      assert.strictEqual(long.code, 2, long.text)
      assert.include(long.text, "a token holds 366 days at most")
      const unknown = yield* token("revoke", "ci")
      assert.strictEqual(unknown.code, 2, unknown.text)
      assert.include(unknown.text, `"ci" is no id of a token`)
      const nobody = yield* token("list", "--tenant", "")
      assert.strictEqual(nobody.code, 2, nobody.text)
      assert.include(nobody.text, `"" is no tenant`)
    }),
  { timeout: 240_000 }
)
