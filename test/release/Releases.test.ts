/**
 * What earlier releases left in their databases: this version reads it, and goes on with it. Of `unpublished`, from before the first
 * release, there is an archive only: its database is refused.
 */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import * as RunImport from "../../layers/sql/archive/RunImport.ts"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as H from "../runtime/Harness.ts"
import { emptyEngines } from "../sql/Engines.ts"
import { schemaEntries } from "../sql/SchemaEntries.ts"
import * as SqlDump from "../sql/SqlDump.ts"
import * as Shop from "./Shop.ts"

const releases = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((each) => each.isDirectory())
  .map(({ name }) => name)

const hasDatabase = (release: string): boolean =>
  existsSync(join(import.meta.dirname, release, "database.sql"))

it("there is a recorded release", () => assert.isNotEmpty(releases.filter(hasDatabase)))

/** Replays the finished run: its journal, and through the gate of now. */
const replayed = Effect.fnUntraced(function* ({ finished: { run, state } }: Shop.Runs) {
  const { divergence, events, gate, same } = yield* Replay.replay(run, {
    app: { agents: [Shop.clerk], tools: Shop.tools }
  })
  assert.deepStrictEqual(
    { divergence, events, same },
    {
      divergence: undefined,
      events: state.events,
      same: state.events
    }
  )
  if (typeof gate === "string") return assert.fail(`it was not replayed through the gate: ${gate}`)
  assert.isUndefined(gate.divergence)
})

const goesOn = Effect.fnUntraced(function* ({ asking, delegated, queued }: Shop.Runs) {
  const keys: Array<string> = []
  yield* Layer.build(Shop.worker((key) => keys.push(key)))
  assert.sameMembers(
    (yield* H.pending).map(({ run_id }) => run_id),
    [asking.run, delegated.run]
  )
  for (const { id } of yield* H.pending) yield* H.decide(id, H.approve)
  const ends = [
    [asking.run, "asking", "It is paid back."],
    [delegated.run, "delegated", "The clerk did it."],
    [queued.run, "queued", "It is printed."]
  ] as const
  for (const [run, conversation, text] of ends) {
    const all = yield* H.ended(run, conversation)
    assert.deepInclude(H.end(all), { status: "complete", text }, conversation)
  }
  const queuedEvents = yield* H.events(queued.run)
  const dispatched = queuedEvents.find((event) => event._tag === "CallDispatched")
  assert.deepStrictEqual(keys, [dispatched!.key])
  // A conversation of before takes messages of now.
  const next = yield* Shop.send("clerk", "finished")
  yield* H.decide((yield* H.question(next, 1, "finished")).approval, H.approve)
  assert.deepInclude(H.end(yield* H.ended(next, "finished")), { status: "complete" })
})

const dropped = SqlClient.SqlClient.use((sql) => sql.unsafe("DROP SCHEMA IF EXISTS troupe CASCADE"))

for (const release of releases) {
  const folder = join(import.meta.dirname, release)
  const runs = Shop.readRuns(folder)
  for (const [engine, client] of emptyEngines) {
    layer(client, { excludeTestServices: true, timeout: "2 minutes" })(
      `the release ${release} (${engine})`,
      (it) => {
        if (hasDatabase(release)) {
          it.effect(
            "has left a database whose runs fold as they did, replay, and go on to their ends",
            () =>
              Effect.gen(function* () {
                yield* SqlDump.load(join(folder, "database.sql"))
                yield* Migrations.run
                yield* Effect.gen(function* () {
                  for (const { run, state } of Object.values(runs)) {
                    assert.deepStrictEqual(yield* Shop.stateOf(run), state)
                  }
                  yield* replayed(runs)
                  yield* Effect.provide(goesOn(runs), Layer.fresh(Shop.runtime))
                }).pipe(Effect.scoped, Effect.provide(Shop.stores))
              })
          )
        }

        if (hasDatabase(release)) {
          it.effect("has left a database that is brought to the schema of a new one", () =>
            Effect.gen(function* () {
              yield* dropped
              yield* SqlDump.load(join(folder, "database.sql"))
              yield* Migrations.run
              const brought = yield* schemaEntries
              yield* dropped
              yield* Migrations.run
              assert.deepStrictEqual(brought, yield* schemaEntries)
            })
          )
        }

        it.effect("has left an archive whose run is imported, folds as it did, and replays", () =>
          Effect.gen(function* () {
            yield* dropped
            yield* Migrations.run
            yield* Effect.gen(function* () {
              const imported = yield* RunImport.importRuns(join(folder, "archive.jsonl"))
              assert.deepStrictEqual(imported, { runs: 1, known: 0, refused: [] })
              assert.deepStrictEqual(yield* Shop.stateOf(runs.finished.run), runs.finished.state)
              yield* replayed(runs)
            }).pipe(Effect.scoped, Effect.provide(Shop.stores))
          })
        )
      }
    )
  }
}
