/**
 * Accepted definitions of MCP servers' tools. A pin and the record of its acceptance are written in one transaction. A store that
 * is lost with its process keeps the newest 10,000 records.
 */
import { Effect, Layer, Schema } from "effect"
import { McpPins } from "../../services/McpPins.ts"
import { Rows } from "../../services/Rows.ts"
import { McpAcceptance, McpPin, McpPinConflict } from "../../src/mcp/McpPin.ts"
import { int8, json, optional, place, said, table, tableRows, text } from "./TypedRows.ts"

const page_max = 500
const pins_max = 10_000

const hash = text(McpPin.fields.hash)

const acceptance = {
  server: text(Schema.String),
  tool: said,
  accepted_by: said,
  accepted_at: int8,
  how: text(McpAcceptance)
}

const mcpPins = table({
  name: "mcp_pins",
  what: "accepted tools of an MCP server",
  key: ["server", "tool"],
  columns: { ...acceptance, hash, definition: json(McpPin.fields.definition) }
})

const changes = table({
  name: "mcp_pin_changes",
  what: "acceptances of an MCP server",
  key: ["place"],
  columns: { place, ...acceptance, old_hash: optional(hash), new_hash: hash },
  group: [],
  kept: { rows_max: 10_000 }
})

const make = Effect.gen(function* () {
  const driver = yield* Rows
  const pins = tableRows(driver, mcpPins)
  const history = tableRows(driver, changes)
  return McpPins.of({
    of: (server) =>
      Effect.map(pins.all({ where: { server }, limit: pins_max }), (found) =>
        // They are sorted in JavaScript, because a database's collation is another one.
        found.toSorted((a, b) => (a.tool < b.tool ? -1 : 1))
      ),
    accept: Effect.fn("McpPins.accept")(function* (all) {
      for (const { pin, replaces } of all) {
        const { server, tool } = pin
        const written =
          replaces === null
            ? yield* pins.add([pin])
            : yield* pins.set({ where: { server, tool, hash: replaces } }, pin)
        if (written === 0) return yield* new McpPinConflict({ server, tool })
      }
      yield* history.add(
        all.map(({ pin: { definition: _definition, hash: new_hash, ...who }, replaces }) => ({
          ...who,
          old_hash: replaces ?? undefined,
          new_hash
        }))
      )
    }, driver.transaction),
    history: (server, limit) =>
      Effect.map(
        history.all({
          where: { server },
          order: ["place"],
          descends: true,
          limit: Math.min(limit, page_max)
        }),
        (found) =>
          found.map(({ place: _place, ...change }) => ({
            ...change,
            old_hash: change.old_hash ?? null
          }))
      )
  })
})

export const layer: Layer.Layer<McpPins, never, Rows> = Layer.effect(McpPins, make)
