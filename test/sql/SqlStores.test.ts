import { Layer } from "effect"
import * as EmptyPglite from "./EmptyPglite.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { isFull } from "../Long.ts"
import { storesContract } from "../contracts/Stores.contract.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"

storesContract("PGlite", Layer.provide(SqlStores.layer, EmptyPglite.migratedLayer), {
  rolls_back: true,
  isSmall: !isFull
})
storesContract("PostgreSQL", Layer.provide(SqlStores.layer, EmbeddedPostgres.layer), {
  rolls_back: true
})
