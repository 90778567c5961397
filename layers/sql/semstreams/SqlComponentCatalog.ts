/**
 * The platform's components in SQL.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ComponentCatalog } from "../../../services/semstreams/ComponentCatalog.ts"
import { Component, components_max } from "../../../src/semstreams/Observation.ts"
import { readableRows } from "../engine/DecodedRows.ts"
import { toStoreError } from "../engine/SqlFailure.ts"

/** Skips components that cannot be read: another version of this runtime may have written a shape that this one does not know. */
const decodeComponents = readableRows(
  Schema.Struct({ component: Schema.fromJsonString(Component) }),
  "components"
)

const make = Effect.map(SqlClient.SqlClient, (sql) =>
  ComponentCatalog.of({
    all: sql
      .unsafe(`SELECT component FROM troupe.components ORDER BY id LIMIT $1::int4`, [
        components_max
      ])
      .pipe(
        Effect.flatMap(decodeComponents),
        Effect.mapBoth({
          onSuccess: (rows) => rows.map(({ component }) => component),
          onFailure: toStoreError
        })
      ),
    register: (component) =>
      Effect.mapBoth(
        sql.unsafe(
          `INSERT INTO troupe.components (id, component) VALUES ($1::text, $2::text)
           ON CONFLICT (id) DO UPDATE SET component = excluded.component`,
          [JSON.stringify(component.id), JSON.stringify(component)]
        ),
        { onSuccess: () => undefined, onFailure: toStoreError }
      )
  })
)

export const layer: Layer.Layer<ComponentCatalog, never, SqlClient.SqlClient> = Layer.effect(
  ComponentCatalog,
  make
)
