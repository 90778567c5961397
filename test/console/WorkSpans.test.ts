/** What a run did when: the spans of its events, and where they are drawn. */
import { assert, describe, it } from "vitest"
import { spansOf } from "../../layers/console/WorkSpans.ts"
import { documentOf } from "../../layers/console/Html.ts"
import { waterfall } from "../../layers/console/Waterfall.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"

const proposed = (name: string) => ({ model_id: "", name, arguments: {} })
const turn = (frame: string, step: number, ...names: ReadonlyArray<string>) => ({
  _tag: "ModelTurned",
  frame,
  step,
  text: "",
  calls: names.map(proposed),
  finish: "tool_calls"
})
const settled = (call: string, started_at: number, ended_at: number) => ({
  _tag: "CallSettled",
  call,
  outcome: { _tag: "Value", json: "1" },
  started_at,
  ended_at
})

/** Two agents, two calls at once, and an hour in which a person thinks. */
const events: ReadonlyArray<readonly [at: number, event: object]> = [
  [0, { _tag: "RunAccepted", address: { agent: "desk" } }],
  [10, { _tag: "RunClaimed" }],
  [110, turn("0", 1, "ask_clerk")],
  [110, { _tag: "FrameOpened", frame: "0/1.0", call: "0/1.0", agent: "clerk", input: "" }],
  [310, turn("0/1.0", 1, "look", "pay")],
  [360, settled("0/1.0/1.0", 310, 360)],
  [370, { _tag: "ApprovalRequested", call: "0/1.0/1.1", approval: "a" }],
  [
    3_600_370,
    { _tag: "ApprovalDecided", approval: "a", by: "olga", decision: { _tag: "Approve" } }
  ],
  [3_600_470, settled("0/1.0/1.1", 3_600_370, 3_600_470)],
  [3_600_670, turn("0/1.0", 2)],
  [3_600_671, { _tag: "CallSettled", call: "0/1.0", outcome: { _tag: "Value", json: "1" } }],
  [3_600_771, turn("0", 2)]
]
const entries = events.map(([at, event], seq) => ({
  seq,
  at,
  event
})) as ReadonlyArray<JournalEntry>

describe("the spans of a run", () => {
  it("are its turns, calls and questions, each from when it could begin", () => {
    assert.deepStrictEqual(
      spansOf(entries).map(({ depth, from, kind, name, to }) => [kind, name, depth, from, to]),
      [
        ["model", "desk", 0, 10, 110],
        ["model", "clerk", 1, 110, 310],
        ["tool", "look", 2, 310, 360],
        ["person", "pay", 2, 370, 3_600_370],
        ["tool", "pay", 2, 3_600_370, 3_600_470],
        ["model", "clerk", 1, 3_600_470, 3_600_670],
        ["model", "desk", 0, 3_600_671, 3_600_771]
      ]
    )
  })

  it("go on where a person has not answered", () => {
    const open = spansOf(entries.slice(0, 7)).at(-1)
    assert.deepInclude(open, { kind: "person", name: "pay", from: 370, to: undefined, seq: 6 })
  })

  it("are drawn to one scale, with the hour folded", () => {
    const picture = documentOf(waterfall(spansOf(entries)))
    const widths = [...picture.matchAll(/width="([\d.]+)" height="14"[^>]*class="(\w+)/g)].map(
      ([, width, kind]) => [kind, Math.round(Number(width))]
    )
    // 760 ms of work in 560 less 26 pixels, and the fold.
    const px = (ms: number) => Math.round((ms * 534) / 761)
    assert.deepStrictEqual(widths, [
      ["model", px(100)],
      ["model", px(200)],
      ["tool", px(50)],
      ["person", 26],
      ["tool", px(100)],
      ["model", px(200)],
      ["model", px(100)]
    ])
    assert.include(picture, ">1 h</text>")
  })

  it("stay within the picture, however many gaps they have and whatever clocks say", () => {
    const span = { kind: "tool", depth: 0, name: "look", note: "", seq: 1 } as const
    const hour = 3_600_000
    for (const spans of [
      Array.from({ length: 200 }, (_, at) => ({ ...span, from: at * hour, to: at * hour + 10 })),
      Array.from({ length: 200 }, (_, at) => ({ ...span, from: at * hour, to: at * hour - 10 })),
      [
        { ...span, from: 50, to: 10 },
        { ...span, kind: "person", from: -hour, to: undefined } as const,
        { ...span, kind: "person", from: 8.6e15, to: 60 } as const
      ],
      [{ ...span, from: 5, to: 5 }]
    ]) {
      const picture = documentOf(waterfall(spans))
      assert.notMatch(picture, /NaN|Infinity|(?:x|width)="-/)
      const bars = [...picture.matchAll(/x="([\d.]+)" y="\d+" width="([\d.]+)"/g)]
      assert.isAtLeast(bars.length, 2 * spans.length)
      for (const [bar, x, width] of bars) {
        assert.isAtMost(
          Number(x) + Number(width),
          bar.includes('width="1100"') ? 1_100 : 842.1,
          bar
        )
      }
      const places = bars.flatMap(([bar, x]) => (bar.includes("1100") ? [] : [Number(x)]))
      if (spans.length === 200) assert.isAtLeast(new Set(places).size, 200)
    }
  })

  it("of none is a picture of none", () => {
    assert.include(documentOf(waterfall(spansOf([]))), "0 spans")
  })
})
