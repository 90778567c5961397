/** Erasures through the facade: who may, what watchers and later runs see, also in another process. */
import { randomBytes } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { inLongForm } from "../InLongForm.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { scripted, text } from "../../layers/compose/entries/Testing.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { isErased } from "../../src/replay/Erased.ts"
import * as Homes from "../process/Homes.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"

const who = (id: string, ...roles: ReadonlyArray<Role>) =>
  new Principal({ id, tenant: Tenant.make("acme"), roles })
const [carl, paul] = [who("carl", "customer"), who("paul", "operator")]
const admin = who("adam", "admin")
const canary = `Straße "7\\b"`

/** Services over one store; each prompt that a model was shown is in `shown`. */
const using = async (
  store: NonNullable<Options["store"]>,
  count: number,
  use: (services: ReadonlyArray<NodeService>, shown: Array<string>) => Promise<void>
) => {
  const shown: Array<string> = []
  const model = scripted((request) => {
    const said = JSON.stringify([request.history, request.transcript])
    shown.push(said)
    return text(said.includes("Straße") ? `noted ${canary}` : "noted")
  })
  const agents = [AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help." })]
  const services: Array<NodeService> = []
  try {
    for (let i = 0; i < count; i++) {
      services.push(await start({ agents, model, store, customer_agents: ["shop"] }))
    }
    await use(services, shown)
  } finally {
    for (const service of services) await service.stop()
  }
}

const tagOf = (promise: Promise<unknown>): Promise<string | undefined> =>
  promise.then(
    () => "done",
    (error: { readonly _tag?: string }) => error._tag
  )

/** Items up to the first that fits. */
const until = async <A>(items: AsyncIterator<A>, fits: (item: A) => boolean) => {
  const seen: Array<A> = []
  for (;;) {
    const { done, value } = await items.next()
    if (done === true) throw new Error("the stream has ended")
    seen.push(value)
    if (fits(value)) return seen
  }
}

/** The conversation in one service is erased through another, and what the first had read of it is not shown again. */
const erasedElsewhere =
  (here: number, there: number) =>
  async (services: ReadonlyArray<NodeService>, shown: Array<string>) => {
    const [mine, other] = [services[here]!, services[there]!]
    const first = await mine.send({ agent: "shop", text: `I live in ${canary}` }, carl)
    const { conversation } = first
    const shop = { agent: "shop", conversation }
    await mine.result(first.run, paul)
    const watching = mine.watch(conversation, undefined, paul)[Symbol.asyncIterator]()
    await until(watching, (item) => item._tag === "CaughtUp")
    const { run } = await mine.ask({ ...shop, text: `${canary} it is` }, carl)
    assert.include(shown.at(-1), "I live in")

    for (const by of [carl, paul, who("vera", "viewer")]) {
      assert.strictEqual(await tagOf(other.erase({ subject: "carl" }, by)), "NotEntitled")
    }
    for (const subject of ["", "x".repeat(201), "a\0b", 7]) {
      const asked = other.erase({ subject: subject as string }, admin)
      assert.strictEqual(await tagOf(asked), "InvalidInput")
    }
    const elsewhere = { subject: "carl", tenant: "other" }
    assert.strictEqual(await tagOf(other.erase(elsewhere, admin)), "InvalidInput")
    const report = await other.erase({ subject: "carl" }, admin)
    assert.deepStrictEqual([report.found, report.waiting], [[], []])
    assert.deepStrictEqual((await other.erase({ subject: canary }, admin)).erased, {})
    assert.lengthOf(await other.erasures({}, admin), 2)

    // Nobody wrote to these afterwards: the last run was there before.
    const rest = await until(watching, (item) => JSON.stringify(item).includes("RunEnded"))
    if (here === there) assert.notInclude(JSON.stringify(rest), "Straße")
    await watching.return?.()
    const again = mine.watch(conversation, undefined, paul)[Symbol.asyncIterator]()
    const all = await until(again, (item) => item._tag === "CaughtUp")
    await again.return?.()
    assert.notInclude(JSON.stringify(all), "Straße")
    assert.lengthOf(
      all.filter((item) => JSON.stringify(item).includes("RunEnded")),
      2
    )
    const { text: answer } = await mine.result(run, paul)
    assert.isTrue(isErased(answer))
    // The wakeup of another process may come a moment later.
    for (let i = 0; i < 200; i++) {
      await mine.ask({ ...shop, text: "And now?" }, paul)
      if (!shown.at(-1)?.includes("Straße")) break
    }
    assert.notInclude(shown.at(-1), "Straße")
    assert.notInclude(shown.at(-1), "erased")
  }

/** Too long for its page, and in no order that could be compressed. */
const long = (word: string) => `${randomBytes(6_000).toString("base64")} ${word}`

/** The bytes of words that a person said once, in rows that are there, that were replaced, and in those of the log. */
const erasedOnDisk = (directory: string) => async (services: ReadonlyArray<NodeService>) => {
  const words = ["quokka1984", "numbat1788"]
  const [service] = services
  for (const word of words) {
    const { run } = await service!.ask({ agent: "shop", text: word }, carl)
    await service!.ask({ agent: "shop", text: long(word) }, carl)
    assert.isNotEmpty(Homes.holding(directory, word), run)
  }
  const { remains } = await service!.erase({ subject: "carl" }, admin)
  assert.deepStrictEqual(remains, [
    "backups, archives, logs, traces, and blocks of the disk that no file uses any more"
  ])
  for (const word of words) assert.deepStrictEqual(Homes.holding(directory, word), [])
}

const statistics = `SELECT tablename, attname FROM pg_stats WHERE schemaname = 'troupe'
  AND concat(most_common_vals, histogram_bounds) LIKE '%quokka1984%'`

/** The words of a person that the planner of a server keeps as common values. */
const erasedStatistics = (postgres: string) => async (services: ReadonlyArray<NodeService>) => {
  const queried = (text: string) =>
    Effect.runPromise(
      Effect.provide(
        SqlClient.SqlClient.use((sql) => sql.unsafe(text)),
        EmbeddedPostgres.clientOf(Effect.succeed(postgres))
      )
    )
  const [service] = services
  for (let n = 0; n < 3; n++) await service!.ask({ agent: "shop", text: "quokka1984" }, carl)
  // This table is empty afterwards.
  await queried(`INSERT INTO troupe.notices (id, tenant, recipient, about, payload, created_at)
    SELECT gen_random_uuid(), 'acme', 'carl', 'quokka1984 ' || n, '{}', 0 FROM generate_series(1, 3) AS n`)
  await queried("ANALYZE")
  assert.isNotEmpty(await queried(statistics))
  const { remains } = await service!.erase({ subject: "carl" }, admin)
  assert.lengthOf(remains, 2, String(remains))
  assert.deepStrictEqual(await queried(statistics), [])
}

describe("erasure", () => {
  inLongForm("leaves no byte of a person's words in the files of a directory", () =>
    Effect.gen(function* () {
      const store = yield* Homes.directory
      yield* Effect.promise(() => using(store, 1, erasedOnDisk(store.directory)))
    }).pipe(Effect.scoped)
  )

  it("leaves nothing for watchers and later runs", () =>
    using("ephemeral", 1, erasedElsewhere(0, 0)))

  it("leaves nothing in the memory of another process, or in the statistics of a server", async () => {
    const postgres = await Effect.runPromise(EmbeddedPostgres.migrated)
    await using({ postgres }, 2, async (services, shown) => {
      await erasedElsewhere(0, 1)(services, shown)
      await erasedStatistics(postgres)(services)
    })
  })
})
