/**
 * Tenants whose tools are stopped.
 */
import { Effect, Layer } from "effect"
import { Rows } from "../../services/Rows.ts"
import { ToolStops } from "../../services/ToolStops.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { anyTenant, int8, table, tableRows, text } from "./TypedRows.ts"

const toolStops = table({
  name: "tool_stops",
  what: "tenants whose tools are stopped",
  key: ["tenant"],
  columns: { tenant: text(Tenant), at: int8 }
})

const make = Effect.map(Rows, (driver) => {
  const rows = tableRows(driver, toolStops)
  return ToolStops.of({
    tenants: Effect.map(rows.all({ where: { tenant: anyTenant } }), (found) =>
      found.map(({ tenant }) => tenant)
    ),
    set: (tenant, stopped, at) =>
      Effect.asVoid(stopped ? rows.add([{ tenant, at }]) : rows.remove({ where: { tenant } }))
  })
})

export const layer: Layer.Layer<ToolStops, never, Rows> = Layer.effect(ToolStops, make)
