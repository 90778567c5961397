/**
 * The platform's components. One that cannot be read is left out: another version of this runtime may have written a shape that
 * this one does not know.
 */
import { Effect, Layer } from "effect"
import { Rows } from "../../../services/Rows.ts"
import { ComponentCatalog } from "../../../services/semstreams/ComponentCatalog.ts"
import { Component, components_max } from "../../../src/semstreams/Observation.ts"
import { json, said, table, tableRows } from "../TypedRows.ts"

export const components = table({
  name: "components",
  what: "components",
  key: ["id"],
  columns: { id: said, component: json(Component) }
})

const make = Effect.map(Rows, (driver) => {
  const rows = tableRows(driver, components)
  return ComponentCatalog.of({
    all: Effect.map(rows.list({ where: {}, order: ["id"], limit: components_max }), (found) =>
      found.map(({ component }) => component)
    ),
    register: (component) =>
      Effect.asVoid(rows.add([{ id: component.id, component }], ["component"]))
  })
})

export const layer: Layer.Layer<ComponentCatalog, never, Rows> = Layer.effect(
  ComponentCatalog,
  make
)
