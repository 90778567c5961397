/**
 * The engines of the form that runs, for tests that show the same on each: the server in `npm test`, both in the long form.
 */
import { layer } from "@effect/vitest"
import type { Vitest } from "@effect/vitest"
import { Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { either } from "../Long.ts"
import * as EmptyPglite from "./EmptyPglite.ts"
import type { SqlNotify } from "../../layers/sql/engine/SqlNotify.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import type { Stores } from "../../services/Stores.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"

export type Needs = Stores | SqlClient.SqlClient | SqlNotify

/** By name, each with a client of a new and empty database. */
export const emptyEngines = (
  [
    ["PGlite", EmptyPglite.layer],
    ["PostgreSQL", EmbeddedPostgres.emptyLayer]
  ] as const
).slice(either(1, 0))

/** By name, each with a client of a new database with the schema of now. */
export const engines = (
  [
    ["PGlite", EmptyPglite.migratedLayer],
    ["PostgreSQL", EmbeddedPostgres.layer]
  ] as const
).slice(either(1, 0))

/** A client of a new database on the first of them. */
export const migratedLayer = engines[0]![1]

type Engine = (typeof engines)[number]
type Tests = (it: Vitest.MethodsNonLive<Needs>, engine: Engine[0]) => void

/** Runs the tests on each engine, with a new database. */
export const onEngines = (name: string, tests: Tests): void => {
  for (const [engine, client] of engines) {
    layer(Layer.provideMerge(SqlStores.layer, client), {
      excludeTestServices: true,
      timeout: "2 minutes"
    })(`${name} (${engine})`, (it) => tests(it, engine))
  }
}
