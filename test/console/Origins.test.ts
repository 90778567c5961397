/** Where the values of a question came from. */
import { assert, describe, it } from "vitest"
import { originsIn } from "../../layers/console/Origins.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import type { CallId } from "../../src/value/Ids.ts"

const turn = (step: number, ...names: ReadonlyArray<string>) => ({
  _tag: "ModelTurned",
  frame: "0",
  step,
  text: "I invent DE00-INVENTED",
  calls: names.map((name) => ({ model_id: "", name, arguments: { iban: "DE00-INVENTED" } })),
  finish: "tool_calls"
})

const events: ReadonlyArray<object> = [
  {
    _tag: "RunAccepted",
    by: "ada",
    address: { agent: "desk" },
    message: "Refund order-1003, 249 EUR, to Łódź; not 10035.",
    context: { account: "acct-77" }
  },
  { _tag: "MemoryRecalled", lines: [{ text: "Ada wants letters to Elm Street 5" }] },
  turn(1, "get_order"),
  {
    _tag: "CallSettled",
    call: "0/1.0",
    outcome: { _tag: "Value", json: JSON.stringify({ total: 498.5, note: 'she said "now"' }) }
  },
  { _tag: "FrameOpened", frame: "0/1.1", call: "0/1.1", agent: "refunds", input: "settle batch-9" },
  turn(2, "pay"),
  { _tag: "ApprovalRequested", call: "0/2.0", approval: "a" },
  { _tag: "CallSettled", call: "0/2.0", outcome: { _tag: "Value", json: '"later-1"' } }
]
const entries = events.map((event, seq) => ({ seq, at: seq, event })) as ReadonlyArray<JournalEntry>

const call = "0/2.0" as CallId
const origins = originsIn({ entries, isWhole: true }, call)
const found = (argument: unknown) =>
  origins(argument).map(({ found: all, path }) => [
    path,
    ...all.map(({ seq, what }) => `${what} ${seq}`)
  ])

describe("the origin of a value", () => {
  it("is the message, the context, memory, a result, or what a specialist was asked, whatever its case", () => {
    for (const [value, where] of [
      ["ORDER-1003", "ada's message 0"],
      ["łódź", "ada's message 0"],
      ["acct-77", "the run's context 0"],
      ["Elm Street 5", "memory 1"],
      [498.5, "a result of get_order 3"],
      ["498.50", "a result of get_order 3"],
      ['she said "now"', "a result of get_order 3"],
      ["batch-9", "what refunds was asked 4"]
    ] as const) {
      assert.deepStrictEqual(found(value), [["", where]], String(value))
    }
    assert.deepStrictEqual(found("249.00"), [["", "ada's message 0"]])
  })

  it("is not found where a model made it up, where it is only part of a word or number, or where it came later", () => {
    for (const value of ["DE00-INVENTED", "order-100", "1003x", "1003.5", "efund", "later-1"]) {
      assert.deepStrictEqual(found(value), [[""]], value)
    }
  })

  it("is told of each value within an argument, and of none that is too short to say something", () => {
    assert.deepStrictEqual(
      found({ to: { city: "Łódź" }, ids: ["order-1003", "zz-9"], n: 1, ok: true }),
      [[".to.city", "ada's message 0"], [".ids.0", "ada's message 0"], [".ids.1"]]
    )
    assert.deepStrictEqual(found("EU"), [])
    assert.lengthOf(origins(Array.from({ length: 200 }, (_, at) => `value-${at}`)), 50)
  })

  it("is not said to be the model's own where a part of the run was not looked at", () => {
    const of = (events: ReadonlyArray<JournalEntry>, isWhole: boolean) =>
      originsIn({ entries: events, isWhole }, call)("zz-9")[0]?.isWhole
    assert.isTrue(of(entries, true))
    assert.isFalse(of(entries, false))
    const [accepted] = entries
    const message = `${"a".repeat(200_000)} zz-9`
    const long = { ...accepted, event: { ...accepted?.event, message } } as JournalEntry
    assert.isFalse(of([long], true))
  })

  it("is not in what came behind the question, which is among the events that were left out", () => {
    const gap = entries.filter(({ event }) => event._tag !== "ApprovalRequested")
    const behind = gap.map((entry) =>
      entry.seq < 7
        ? entry
        : ({ ...entry, event: { ...entry.event, call: "0/9.0" } } as JournalEntry)
    )
    const [later] = originsIn({ entries: behind, isWhole: false }, call)("later-1")
    assert.deepStrictEqual(later, { path: "", found: [], isWhole: false })
  })

  it("is looked for in a time that no argument makes long", () => {
    const text = "a".repeat(60_000)
    const result = (_: unknown, at: number) => ({
      _tag: "CallSettled",
      call: `0/${at}.0`,
      outcome: { _tag: "Value", json: JSON.stringify(text) }
    })
    const long = Array.from({ length: 10 }, result).map((event, seq) => ({ seq, at: 0, event }))
    const entries = long as unknown as ReadonlyArray<JournalEntry>
    const of = originsIn({ entries, isWhole: true }, "0/99.0" as CallId)
    const began = performance.now()
    const lengths = [1_000, 1_001].flatMap((units) =>
      Array.from({ length: 150 }, () => "a".repeat(units))
    )
    for (let argument = 0; argument < 4; argument++) assert.lengthOf(of(lengths), 50)
    assert.isEmpty(of("one more"))
    assert.isBelow(performance.now() - began, 10_000)
  })
})
