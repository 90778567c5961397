import { Layer } from "effect"
import * as Migrations from "../../layers/sql/Migrations.ts"
import * as Pglite from "../../layers/sql/Pglite.ts"
import * as SqlMcpPins from "../../layers/sql/SqlMcpPins.ts"
import { mcpPinsContract } from "../contracts/McpPins.contract.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"

const layer = SqlMcpPins.layer.pipe(Layer.provide(Migrations.layer))

mcpPinsContract("PGlite", Layer.provide(layer, Pglite.layer()))
mcpPinsContract("PostgreSQL", Layer.provide(layer, EmbeddedPostgres.layer))
