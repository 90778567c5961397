/** Accepted definitions of tools, and a record of each acceptance. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { NewMcpPin } from "../../services/McpPins.ts"
import { McpPins } from "../../services/McpPins.ts"
import type { McpPin } from "../../src/mcp/McpPin.ts"

let count = 0
const server = () => `server-${++count}`
const hash = (digit: string) => digit.repeat(64)

const pinOf = (server: string, tool: string, digit: string, more?: Partial<McpPin>): McpPin => ({
  server,
  tool,
  hash: hash(digit),
  definition: { name: tool, inputSchema: { type: "object" }, description: `as ${digit}\0` },
  accepted_by: "olga",
  accepted_at: 1_700_000_000_000,
  how: "operator",
  ...more
})

const fresh = (pin: McpPin): NewMcpPin => ({ pin, replaces: null })

const acceptanceTests = (it: Vitest.MethodsNonLive<McpPins>): void => {
  it.effect("keeps the accepted definitions of a server, by tool", () =>
    Effect.gen(function* () {
      const pins = yield* McpPins
      const [one, other] = [server(), server()]
      const [a, b] = [pinOf(one, "a", "1"), pinOf(one, "B ü/\0", "2", { how: "first_use" })]
      yield* pins.accept([fresh(a), fresh(b), fresh(pinOf(other, "a", "3"))])
      assert.deepStrictEqual(yield* pins.of(one), [b, a])
      assert.deepStrictEqual(yield* pins.of(server()), [])
    })
  )

  it.effect("a pin replaces the one that the operator saw, and both hashes are recorded", () =>
    Effect.gen(function* () {
      const pins = yield* McpPins
      const one = server()
      yield* pins.accept([fresh(pinOf(one, "a", "1", { how: "first_use", accepted_by: "first" }))])
      const next = pinOf(one, "a", "2", { accepted_by: "olga", accepted_at: 1_700_000_000_001 })
      yield* pins.accept([{ pin: next, replaces: hash("1") }])
      assert.deepStrictEqual(yield* pins.of(one), [next])
      const record = { server: one, tool: "a" }
      assert.deepStrictEqual(yield* pins.history(one, 500), [
        {
          ...record,
          old_hash: hash("1"),
          new_hash: hash("2"),
          accepted_by: "olga",
          accepted_at: 1_700_000_000_001,
          how: "operator"
        },
        {
          ...record,
          old_hash: null,
          new_hash: hash("1"),
          accepted_by: "first",
          accepted_at: 1_700_000_000_000,
          how: "first_use"
        }
      ])
      assert.lengthOf(yield* pins.history(one, 1), 1)
    })
  )
}

const conflictTests = (it: Vitest.MethodsNonLive<McpPins>): void => {
  it.effect("an acceptance that replaces an outdated pin is refused, and changes nothing", () =>
    Effect.gen(function* () {
      const pins = yield* McpPins
      const one = server()
      const a = pinOf(one, "a", "1")
      yield* pins.accept([fresh(a)])
      for (const wrong of [
        fresh(pinOf(one, "a", "2")),
        { pin: pinOf(one, "a", "2"), replaces: hash("9") },
        { pin: pinOf(one, "new", "2"), replaces: hash("1") }
      ]) {
        const error = yield* Effect.flip(pins.accept([fresh(pinOf(one, "b", "3")), wrong]))
        assert.deepInclude(error, { _tag: "McpPinConflict", tool: wrong.pin.tool })
      }
      assert.deepStrictEqual(yield* pins.of(one), [a])
      assert.lengthOf(yield* pins.history(one, 500), 1)
    })
  )

  it.effect("of several acceptances at once one succeeds", () =>
    Effect.gen(function* () {
      const pins = yield* McpPins
      const one = server()
      const results = yield* Effect.forEach(
        ["1", "2", "3", "4"],
        (digit) => Effect.result(pins.accept([fresh(pinOf(one, "a", digit))])),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        results.filter((result) => result._tag === "Success"),
        1
      )
      assert.lengthOf(yield* pins.of(one), 1)
      assert.lengthOf(yield* pins.history(one, 500), 1)
    })
  )
}

export const mcpPinsTests = (it: Vitest.MethodsNonLive<McpPins>): void => {
  acceptanceTests(it)
  conflictTests(it)
}
