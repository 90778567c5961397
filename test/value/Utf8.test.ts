/** How many bytes a text has in UTF-8, against the encoder. */
import { assert, it } from "@effect/vitest"
import { isBeyondBytes } from "../../src/value/CutText.ts"

it("a text is beyond a number of bytes where its UTF-8 has more, whatever its characters", () => {
  for (const text of [
    "",
    "a",
    "aaaaaa",
    "\u00fc\u00fc",
    "\u20ac\u20ac\u20ac",
    "\u{1f600}\u{1f600}",
    "\ud800",
    "a\u00fc\u20ac\u{1f600}"
  ]) {
    const bytes = new TextEncoder().encode(text).length
    for (let max = 0; max <= bytes + 2; max++) {
      assert.strictEqual(isBeyondBytes(text, max), bytes > max, `${JSON.stringify(text)}, ${max}`)
    }
  }
})
