/**
 * Accepted definitions of MCP servers' tools, in one process. They are lost at its end, so they are accepted again after each
 * start. The history keeps the newest 10,000 changes.
 */
import { Effect, Layer } from "effect"
import { McpPins } from "../../services/McpPins.ts"
import type { McpPin, McpPinChange } from "../../src/mcp/McpPin.ts"
import { McpPinConflict } from "../../src/mcp/McpPin.ts"

const page_max = 500
const changes_max = 10_000

const make = Effect.sync(() => {
  const pins = new Map<string, Map<string, McpPin>>()
  const changes: Array<McpPinChange> = []
  const find = (server: string, tool: string) => pins.get(server)?.get(tool)
  return McpPins.of({
    of: (server) =>
      Effect.sync(() =>
        [...(pins.get(server)?.values() ?? [])].sort((a, b) => (a.tool < b.tool ? -1 : 1))
      ),
    accept: (all) =>
      Effect.suspend(() => {
        for (const { pin, replaces } of all) {
          if ((find(pin.server, pin.tool)?.hash ?? null) !== replaces) {
            return Effect.fail(new McpPinConflict({ server: pin.server, tool: pin.tool }))
          }
        }
        for (const { pin, replaces } of all) {
          const { definition: _, hash, ...who } = pin
          let server = pins.get(pin.server)
          if (server === undefined) pins.set(pin.server, (server = new Map()))
          server.set(pin.tool, pin)
          changes.push({ ...who, old_hash: replaces, new_hash: hash })
        }
        if (changes.length > changes_max) changes.splice(0, changes.length - changes_max)
        return Effect.void
      }),
    history: (server, limit) =>
      Effect.sync(() =>
        changes
          .filter((change) => change.server === server)
          .reverse()
          .slice(0, Math.min(limit, page_max))
      )
  })
})

/** Each build of the layer starts without pins. */
export const layer: Layer.Layer<McpPins> = Layer.effect(McpPins, make)
