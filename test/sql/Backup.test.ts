/** A backup, and what a service on the restored one knows: runs that waited then wait again, and go on. */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec, Principal, Tenant, tool } from "../../src/index.ts"
import * as Homes from "../process/Homes.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import * as PostgresServer from "./PostgresServer.ts"

const ann = new Principal({ id: "ann", tenant: Tenant.make("default"), roles: ["admin"] })

type Store = { readonly directory: string } | { readonly postgres: string }

/** The keys of what was refunded, in the order in which it was. */
type Refunds = Array<string>

const opened = (store: Store, refunds: Refunds) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      start({
        agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["shop.refund@1"] })],
        tools: [
          tool(
            {
              namespace: "shop",
              name: "refund",
              description: "Refunds.",
              side_effects: "external"
            },
            (_, { key }) => {
              refunds.push(key ?? "")
              return "refunded"
            }
          )
        ],
        model: layer(({ transcript }) => {
          const last = transcript.at(-1)
          const isFirst = last?.role === "user" && last.text !== "And now?"
          return isFirst ? call("refund") : text("It is paid back.")
        }),
        store
      })
    ),
    (service) => Effect.promise(() => service.stop())
  )

interface Waiting {
  /** Waits for a person. */
  readonly run: string
  /** Waits behind it. */
  readonly behind: string
}

const waiting = async (service: NodeService): Promise<Waiting> => {
  const { conversation, run } = await service.send({ agent: "shop", text: "Pay order 7 back." })
  for await (const item of service.watch(conversation)) {
    if (item._tag === "Event" && item.entry.event._tag === "ApprovalRequested") break
  }
  const { run: behind } = await service.send({ agent: "shop", text: "And now?", conversation })
  return { run, behind }
}

/** A person answers, and both runs end. */
const goOn = async (service: NodeService, { behind, run }: Waiting): Promise<void> => {
  const [question, ...more] = await service.pending()
  assert.deepStrictEqual(more, [])
  assert.strictEqual(question?.run_id, run)
  await service.decide(question!.id, { decision: "approve" }, ann)
  for (const each of [run, behind]) {
    const { status, text } = await service.result(each)
    assert.deepStrictEqual([status, text], ["complete", "It is paid back."])
  }
}

it.live(
  "a directory that was copied while its service was stopped is one whose runs go on",
  () =>
    Effect.gen(function* () {
      const refunds: Refunds = []
      const { directory } = yield* Homes.directory
      const copy = join(yield* Homes.temporary, "copy")
      const runs = yield* Effect.scoped(
        Effect.flatMap(opened({ directory }, refunds), (service) =>
          Effect.promise(() => waiting(service))
        )
      )
      cpSync(directory, copy, { recursive: true })
      rmSync(directory, { recursive: true })
      const service = yield* opened({ directory: copy }, refunds)
      yield* Effect.promise(() => goOn(service, runs))
      assert.strictEqual(refunds.length, 1)
    }).pipe(Effect.scoped),
  120_000
)

/** What an administrator does for a backup while the server serves: PostgreSQL's own functions, and a copy of its files. */
const backedUp = (server: PostgresServer.PostgresServer, to: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    yield* sql.unsafe("SELECT pg_backup_start('nightly', true)::text")
    const wal = join(server.data, "pg_wal")
    cpSync(server.data, to, {
      recursive: true,
      filter: (path) => !path.startsWith(`${wal}/`) && !path.endsWith("/postmaster.pid")
    })
    const [stopped] = yield* sql.unsafe<{ readonly labelfile: string }>(
      "SELECT labelfile FROM pg_backup_stop(false)"
    )
    writeFileSync(join(to, "backup_label"), stopped!.labelfile)
    cpSync(wal, join(to, "pg_wal"), { recursive: true })
  }).pipe(
    Effect.provide(
      PgClient.layer({
        url: Redacted.make(EmbeddedPostgres.urlOf(String(server.port), "postgres")),
        maxConnections: 1
      })
    )
  )

const served = (make: () => Promise<PostgresServer.PostgresServer>) =>
  Effect.acquireRelease(Effect.promise(make), (server) => Effect.promise(() => server.stop()))

it.live(
  "a server that is restored from a backup of a running one has the runs that waited then, which go on",
  () =>
    Effect.gen(function* () {
      const refunds: Refunds = []
      const files = join(yield* Homes.temporary, "backup")
      mkdirSync(files)
      const runs = yield* Effect.gen(function* () {
        const server = yield* served(() => PostgresServer.launch())
        const postgres = EmbeddedPostgres.urlOf(String(server.port), "postgres")
        const service = yield* opened({ postgres }, refunds)
        const runs = yield* Effect.promise(() => waiting(service))
        yield* backedUp(server, files)
        // What happens after the backup is lost with the server, and what a tool did outside is not.
        yield* Effect.promise(() => goOn(service, runs))
        return runs
      }).pipe(Effect.scoped)
      const server = yield* served(() => PostgresServer.restore(files))
      const postgres = EmbeddedPostgres.urlOf(String(server.port), "postgres")
      const service = yield* opened({ postgres }, refunds)
      yield* Effect.promise(() => goOn(service, runs))
      // By its key a receiver knows the second one.
      assert.deepStrictEqual(refunds, [refunds[0], refunds[0]])
    }).pipe(Effect.scoped),
  120_000
)
