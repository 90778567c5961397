/**
 * Direct calls: what a start spends on the tools of a configuration, and what a call spends on the body of its request
 * beside a merge written by hand.
 */
import { bounds } from "./Bounds.ts"
import type { Row, Sample } from "./Row.ts"
import { absolute, inTurn, interleave, ratio, sample } from "./Row.ts"
import { slices } from "./Work.ts"

export const row: Row = {
  name: "calls",
  lines: async ({ rounds = 7 }) => {
    const starts = await interleave(rounds, ["resolve", "catalogue"], (name) =>
      sample("calls", name)
    )
    const bodies = await inTurn(rounds, slices, {
      ours: { row: "calls", variant: "body" },
      bare: { row: "calls", variant: "bareBody" },
      request: { row: "calls", variant: "request" },
      bareRequest: { row: "calls", variant: "bareRequest" }
    })
    const start = (row: string, samples: ReadonlyArray<Sample>) => [
      absolute({ row, unit: "CPU ms", against: "none", bound: bounds.resolve }, samples, "cpu_ms"),
      absolute(
        {
          row,
          unit: "CPU ms, the first of a process",
          against: "none",
          bound: bounds.resolveFirst
        },
        samples,
        "first_ms"
      )
    ]
    return [
      ...start("resolve of 100 configured tools", starts.resolve),
      ...start("catalogue of 1,000 operations", starts.catalogue),
      ratio(
        {
          row: "body of a direct call",
          unit: "CPU us a call",
          against: "a merge written by hand, of the same fields",
          bound: bounds.body
        },
        bodies.ours,
        bodies.bare,
        "cpu_us"
      ),
      ratio(
        {
          row: "direct call without its exchange",
          unit: "CPU us a call",
          against: "the same merge, its JSON and a URL, unchecked",
          bound: undefined
        },
        bodies.request,
        bodies.bareRequest,
        "cpu_us"
      )
    ]
  }
}
