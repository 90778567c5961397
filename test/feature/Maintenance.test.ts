/**
 * The worked example of CONTRIBUTING: one stored flag for each tenant, read and set over HTTP and by method, in every store, with
 * row security and erasure.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { afterAll, assert, describe, it } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { layer as scripted } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import { blocksOf, root } from "../examples/Readmes.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import { maintenance } from "./maintenance/Maintenance.ts"
import { inLongFormPlain } from "../InLongForm.ts"

const data = mkdtempSync(join(tmpdir(), "troupe-maintenance-"))
afterAll(() => rmSync(data, { recursive: true, force: true }))

const person = (id: string, tenant: string, role: "admin" | "operator" | "viewer") => ({
  id,
  tenant,
  roles: [role]
})
const olga = person("olga", "acme", "operator")
const vera = person("vera", "acme", "viewer")
const stranger = person("sam", "other", "admin")
const ann = person("ann", "acme", "admin")
const tokenOf = ({ id }: { readonly id: string }) => `a-token-for-${id}-of-this-test`

const started = (store: NonNullable<Options["store"]>) =>
  start({
    agents: [agent({ name: "clerk", instructions: "Explain." })],
    model: scripted([]),
    features: [maintenance],
    store,
    http: {
      tokens: [olga, vera, stranger, ann].map((principal) => ({
        token: tokenOf(principal),
        principal
      }))
    }
  })

type Troupe = Awaited<ReturnType<typeof started>>

const asked = async (troupe: Troupe, who: { readonly id: string }, on?: unknown) => {
  const response = await troupe.handler(
    new Request("http://localhost/v1/maintenance", {
      method: on === undefined ? "GET" : "PUT",
      headers: { authorization: `Bearer ${tokenOf(who)}`, "content-type": "application/json" },
      ...(on === undefined ? undefined : { body: JSON.stringify(on) })
    })
  )
  const body: unknown = await response.json()
  return [response.status, body] as const
}

const behaves = async (troupe: Troupe) => {
  const { maintenance: read, setMaintenance } = troupe.of(maintenance)
  assert.deepStrictEqual(await read(vera), { on: false })
  assert.deepStrictEqual(await setMaintenance({ on: true }, olga), { on: true, by: "olga" })
  assert.deepStrictEqual(await asked(troupe, vera), [200, { on: true, by: "olga" }])
  assert.deepStrictEqual(await asked(troupe, stranger), [200, { on: false }])
  assert.deepStrictEqual(await asked(troupe, stranger, { on: false }), [
    200,
    { on: false, by: "sam" }
  ])
  assert.deepStrictEqual(await read(vera), { on: true, by: "olga" })
  assert.strictEqual((await asked(troupe, vera, { on: false }))[0], 403)
  assert.strictEqual((await asked(troupe, olga, { on: "yes" }))[0], 400)
  const refused = await setMaintenance({ on: true }, vera).catch((error: unknown) => error)
  assert.deepInclude(refused as object, { _tag: "NotEntitled" })
  const wrong = await setMaintenance({ on: 1 } as never, olga).catch((error: unknown) => error)
  assert.deepInclude(wrong as object, { _tag: "InvalidInput" })
  const { erased } = await troupe.erase({ subject: "olga" }, ann)
  assert.strictEqual(erased["maintenance"], 1)
  const after = await read(vera)
  assert.isTrue(after.on)
  assert.notStrictEqual(after.by, "olga")
}

describe("a stored flag as a feature", () => {
  it("is read, set, kept apart and erased in memory", async () => {
    const troupe = await started("ephemeral")
    await behaves(troupe).finally(troupe.stop)
  })

  inLongFormPlain(
    "is read, set, kept apart and erased in a directory, and is there after a restart",
    async () => {
      const store = { directory: join(data, "db") }
      const troupe = await started(store)
      await behaves(troupe).finally(troupe.stop)
      const again = await started(store)
      assert.isTrue((await again.of(maintenance).maintenance(vera).finally(again.stop)).on)
    }
  )

  it("is read, set, kept apart and erased on PostgreSQL, in a table with row security", async () => {
    const postgres = await Effect.runPromise(EmbeddedPostgres.database)
    const troupe = await started({ postgres })
    await behaves(troupe).finally(troupe.stop)
    const policies = SqlClient.SqlClient.use((sql) =>
      sql.unsafe(
        "SELECT c.relrowsecurity AS on FROM pg_policies p JOIN pg_class c ON c.relname = p.tablename WHERE c.relname = 'maintenance'"
      )
    )
    const client = EmbeddedPostgres.clientOf(Effect.succeed(postgres))
    const found = await Effect.runPromise(Effect.provide(policies, client))
    assert.deepStrictEqual(
      found.map((row) => ({ ...row })),
      [{ on: true }]
    )
  })

  it("takes at most 8 files, which CONTRIBUTING prints", () => {
    const folder = join(import.meta.dirname, "maintenance")
    const files = readdirSync(folder)
    assert.isAtMost(files.length, 8)
    const code = files.map((file) => readFileSync(join(folder, file), "utf8"))
    const page = readFileSync(join(root, ".github/CONTRIBUTING.md"), "utf8")
    const printed = blocksOf(page, "diff").map((diff) => diff.replaceAll(/^\+/gm, ""))
    assert.lengthOf(printed, files.length)
    for (const part of printed.flatMap((block) => block.trim().split(/\n\n(?=\S)/))) {
      assert.isTrue(
        code.some((text) => text.includes(part)),
        part
      )
    }
  })
})
