import { Layer } from "effect"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import * as Migrations from "../../layers/sql/Migrations.ts"
import * as EmptyPglite from "../sql/EmptyPglite.ts"
import * as SqlToolQueue from "../../layers/sql/SqlToolQueue.ts"
import { toolQueueContract } from "../contracts/ToolQueue.contract.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"

const sql = SqlToolQueue.layer.pipe(Layer.provide(Migrations.layer))

toolQueueContract("ephemeral", EphemeralToolQueue.layer)
toolQueueContract("PGlite", Layer.provide(sql, EmptyPglite.layer))
toolQueueContract("PostgreSQL", Layer.provide(sql, EmbeddedPostgres.layer))
