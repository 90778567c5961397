import { Layer } from "effect"
import * as EmptyPglite from "./EmptyPglite.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { storesContract } from "../contracts/Stores.contract.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"

storesContract("PGlite", Layer.provide(SqlStores.layer, EmptyPglite.layer), { rolls_back: true })
storesContract("PostgreSQL", Layer.provide(SqlStores.layer, EmbeddedPostgres.layer), {
  rolls_back: true
})
