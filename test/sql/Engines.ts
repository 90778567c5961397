/**
 * Both engines, for tests that show the same on each.
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
export const emptyEngines = [
  ["PGlite", EmptyPglite.layer],
  ["PostgreSQL", EmbeddedPostgres.emptyLayer]
] as const

/** By name, each with a client of a new database with the schema of now. */
export const engines = [
  ["PGlite", EmptyPglite.migratedLayer],
  ["PostgreSQL", EmbeddedPostgres.layer]
] as const

/** Those of the form that runs: the server in `npm test`, both in the long form. */
export const someEngines = engines.slice(either(1, 0))
export const someEmptyEngines = emptyEngines.slice(either(1, 0))

type Engine = (typeof engines)[number]
type Tests = (it: Vitest.MethodsNonLive<Needs>, engine: Engine[0]) => void

const on = (some: ReadonlyArray<Engine>, name: string, tests: Tests): void => {
  for (const [engine, client] of some) {
    layer(Layer.provideMerge(SqlStores.layer, client), {
      excludeTestServices: true,
      timeout: "2 minutes"
    })(`${name} (${engine})`, (it) => tests(it, engine))
  }
}

/** Runs the tests on each engine, with a new database. */
export const onBothEngines = (name: string, tests: Tests): void => on(engines, name, tests)

/**
 * The same on the engines of the form that runs, for tests of what the contract of the stores shows on both, and of statements
 * that both have alike.
 */
export const onSomeEngines = (name: string, tests: Tests): void => on(someEngines, name, tests)
