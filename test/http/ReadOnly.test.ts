/** A service whose PostgreSQL became read-only, as servers in a cloud do where their disk is nearly full. */
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Effect, Redacted, Schedule } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/index.ts"
import * as Homes from "../process/Homes.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"

/** Says whether a database takes writes, and ends the sessions that were told otherwise. */
const readOnly = (url: string, value: "on" | "off") =>
  Effect.gen(function* () {
    yield* Effect.provide(
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        yield* sql.unsafe("SET default_transaction_read_only = off")
        const database = new URL(url).pathname.slice(1)
        yield* sql.unsafe(
          `ALTER DATABASE "${database}" SET default_transaction_read_only = ${value}`
        )
      }),
      PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })
    )
    yield* Homes.cut(url)
  })

it.live(
  "is not ready from the first write that was refused until one is taken again, and lost nothing",
  () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres.migrated
      const service = yield* Effect.acquireRelease(
        Effect.promise(() =>
          start({
            agents: [AgentSpec.make({ name: "shop", instructions: "Help." })],
            model: layer(() => text("hello")),
            store: { postgres },
            http: { port: 0, tokens: [] }
          })
        ),
        (each) => Effect.promise(() => each.stop())
      )
      const ready = Effect.promise(async () => {
        const response = await fetch(`${service.url}/ready`)
        return { status: response.status, body: await response.text() }
      })
      const send = Effect.tryPromise(() => service.send({ agent: "shop", text: "hello" }))
      const until = (status: number) =>
        Effect.repeat(ready, {
          until: (answer) => answer.status === status,
          schedule: Schedule.spaced("50 millis")
        })
      assert.strictEqual((yield* ready).status, 200)
      const { run: before } = yield* send

      yield* readOnly(postgres, "on")
      // A session that was cut is told as such; the next one is refused.
      yield* Effect.repeat(Effect.flip(send), {
        until: ({ cause }) => String(cause).includes("25006"),
        schedule: Schedule.spaced("20 millis")
      })
      assert.include(yield* ready, { status: 503 })
      assert.deepInclude(JSON.parse((yield* ready).body), {
        type: "urn:troupe:problem:store-unavailable",
        title: "A store takes no writes",
        detail: "PostgreSQL cannot write: it is read-only (25006)."
      })

      yield* readOnly(postgres, "off")
      yield* until(200)
      const { run: after } = yield* send
      for (const run of [before, after]) {
        const { status } = yield* Effect.promise(() => service.result(run))
        assert.strictEqual(status, "complete")
      }
    }).pipe(Effect.scoped),
  60_000
)
