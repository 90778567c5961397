import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Json } from "../../src/value/Canonical.ts"
import { sanitise, sanitiseText } from "../../src/tool/Sanitise.ts"
import { conformance } from "./Vectors.ts"

/** Escaped single quotes in one form: cases write `&#x27;` or `&#39;`. */
const quotes = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll("&#39;", "&#x27;"))

conformance("sanitize", ({ expect, input }) =>
  input === undefined || expect === undefined
    ? undefined
    : {
        rows: "SG-51",
        run: Effect.sync(() => {
          const clean = sanitise(input as Json)
          assert.deepStrictEqual(quotes(clean), quotes(expect))
          if (typeof input === "string") {
            const text = sanitiseText(input)
            assert.strictEqual(sanitiseText(text), text)
            assert.notMatch(text, /__system__|<\|im_(?:start|end)\|>/i)
          }
        })
      }
)
