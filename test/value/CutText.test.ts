/** A text that is cut is a text still, whatever bound cuts it: no half of a surrogate pair is left. */
import { getHeapStatistics, setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Schema } from "effect"
import { argsSummary } from "../../src/approval/ArgsSummary.ts"
import { detailOf } from "../../src/call/ErrorDetail.ts"
import { modelCopy } from "../../src/conversation/Transcript.ts"
import { cutText, truncateUnits } from "../../src/value/CutText.ts"
import { sanitiseError, exceptionFrom } from "../../src/error/Exception.ts"
import { inputReader } from "../../src/schema/InvalidInput.ts"
import { failureOf, ToolUserError } from "../../src/error/ToolError.ts"
import { mistakeOf } from "../../src/run/RunGuard.ts"
import { listedName, shownDescription } from "../../src/mcp/McpTool.ts"

/** Two texts, of which every bound within them meets the middle of a pair in one. */
const texts = (units: number) => ["", "a"].map((first) => first + "😀".repeat(units / 2))

describe("a text that is cut", () => {
  it("is the longest beginning of whole characters, and its mark is within the bound", () => {
    for (const text of [...texts(12), "plain text", "ü€\u{10ffff}𝄞x"]) {
      for (let units = 0; units <= text.length + 1; units++) {
        const cut = truncateUnits(text, units)
        assert.isTrue(cut.isWellFormed())
        assert.isTrue(text.startsWith(cut))
        assert.isAtLeast(cut.length, Math.min(units - 1, text.length))
        assert.isAtMost(cut.length, units)
        if (units === 0) continue
        const marked = cutText(text, units)
        assert.strictEqual(
          marked,
          units < text.length ? `${truncateUnits(text, units - 1)}…` : text
        )
      }
    }
  })

  it("does not keep the text in memory that it was cut from", () => {
    setFlagsFromString("--expose-gc")
    const collect = runInNewContext("gc") as () => void
    const used = () => {
      collect()
      return getHeapStatistics().used_heap_size
    }
    const cuts: Readonly<Record<string, (text: string) => unknown>> = {
      "a text": (text) => truncateUnits(text, 1_000),
      "a model's copy": (json) => modelCopy({ _tag: "Value", json: JSON.stringify(json) }, false),
      "the receipt of a write": (text) => `It returned ${cutText(text, 1_500)}`
    }
    for (const [what, cut] of Object.entries(cuts)) {
      const before = used()
      const kept = Array.from({ length: 40 }, (_, n) => cut(String(n).repeat(500_000)))
      assert.isBelow(used() - before, 8_000_000, what)
      assert.lengthOf(kept, 40)
    }
  })

  const fields = inputReader(Schema.Struct({ a: Schema.String }))
  const bounds: Readonly<Record<string, (text: string) => string | null | Effect.Effect<string>>> =
    {
      // A word at the end of more than 4,000 units is left out whole.
      "the error of a delivery": (text) => sanitiseError(truncateUnits(text, 3_000)),
      "the failure of a tool": (message) =>
        failureOf(new ToolUserError({ kind: "external", message })).message,
      "the detail of a platform's answer": (detail) => detailOf(JSON.stringify({ detail })),
      "the summary of a call": (name) => argsSummary({ [name]: 1 }),
      "the description of a server's tool": (description) =>
        shownDescription({ name: "a", description, inputSchema: { type: "object" } }),
      "the name of a server's tool that is none": (name) => listedName({ name }),
      "the message of a defect": (message) => exceptionFrom(Cause.die(new Error(message))).message,
      "the name of a field that is not expected": (name) =>
        Effect.match(fields({ a: "", [name]: 1 }, ""), {
          onFailure: ({ field }) => field,
          onSuccess: () => ""
        }),
      "a mistake of a model": (name) =>
        mistakeOf({ proposed: { name } } as never, {
          _tag: "Failed",
          error: { class: "ToolUserError", kind: "not_found", message: "" }
        })
    }
  for (const [what, bound] of Object.entries(bounds)) {
    it.effect(`has no half of a character in ${what}`, () =>
      Effect.gen(function* () {
        for (const text of texts(12_000)) {
          const made = bound(text)
          const cut = Effect.isEffect(made) ? yield* made : (made ?? "")
          assert.isTrue(cut.isWellFormed())
          assert.include(cut, "😀")
          assert.isBelow(cut.length, text.length)
        }
      })
    )
  }
})
