import { assert, describe, it } from "@effect/vitest"
import { holds } from "./Row.ts"
import type { Line } from "./Row.ts"
import { rows } from "./Rows.ts"

// Read by every module of the bench when it is loaded, which a row does when it is asked for.
process.env["TROUPE_BENCH"] = "brief"

describe("the bench", () => {
  for (const [name, load] of Object.entries(rows)) {
    it(`measures the row ${name} to its end`, { timeout: 240_000 }, async () => {
      const lines = await (await load()).row.lines({ rounds: 1 })
      assert.isTrue(
        lines.some(({ bound }) => bound?.promise !== undefined),
        "no line has a bound"
      )
      for (const line of lines) assert.isTrue(Number.isFinite(line.value), line.row)
      const names = lines.map(({ row, unit }) => `${row}, ${unit}`)
      assert.strictEqual(new Set(names).size, names.length, "two lines have the same name")
    })
  }

  it("finds a line over its bound, whether it bounds from above or from below", () => {
    const line = (kind: "at most" | "at least", value: number): Line => ({
      row: "row",
      unit: "unit",
      ours: value,
      lower: 1,
      value,
      least: value,
      greatest: value,
      rounds: 1,
      bound: { kind, promise: 2, work: "a row", unit: "x", measured: [] },
      against: "a bound"
    })
    assert.deepStrictEqual(
      [line("at most", 3), line("at most", 1), line("at least", 3), line("at least", 1)].map(holds),
      [false, true, true, false]
    )
  })
})
