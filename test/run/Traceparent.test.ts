import { assert, describe, it } from "@effect/vitest"
import { Tracer } from "effect"
import { spanOf, traceparentOf } from "../../src/run/Nesting.ts"

const traceId = "0af7651916cd43dd8448eb211c80319c"
const spanId = "b7ad6b7169203331"

describe("traceparent", () => {
  it("has a span's trace, id and sampling, and is read back as that", () => {
    for (const [sampled, flags] of [
      [true, "01"],
      [false, "00"]
    ] as const) {
      const text = traceparentOf(Tracer.externalSpan({ traceId, spanId, sampled }))
      assert.strictEqual(text, `00-${traceId}-${spanId}-${flags}`)
      const span = spanOf(text)
      assert.deepInclude(span, { traceId, spanId, sampled })
    }
  })

  it("pads a shorter trace id to 32 digits", () => {
    const span = Tracer.externalSpan({ traceId: "ab", spanId, sampled: true })
    assert.strictEqual(traceparentOf(span), `00-${"0".repeat(30)}ab-${spanId}-01`)
  })

  it("takes the last bit of its flags as sampling, whatever the others are", () => {
    for (const [flags, sampled] of [
      ["03", true],
      ["ff", true],
      ["02", false],
      ["10", false]
    ] as const) {
      assert.strictEqual(spanOf(`00-${traceId}-${spanId}-${flags}`)?.sampled, sampled, flags)
    }
  })

  it("is refused in another version or form, and with an id of zeros alone", () => {
    for (const text of [
      "",
      `01-${traceId}-${spanId}-01`,
      `00-${traceId}-${spanId}`,
      `00-${traceId}-${spanId}-1`,
      `00-${traceId.toUpperCase()}-${spanId}-01`,
      `00-${traceId}-${spanId}-01-more`,
      ` 00-${traceId}-${spanId}-01`,
      `00-${"0".repeat(32)}-${spanId}-01`,
      `00-${traceId}-${"0".repeat(16)}-01`
    ]) {
      assert.isUndefined(spanOf(text), text)
    }
    assert.isDefined(spanOf(`00-${"0".repeat(31)}1-${"0".repeat(15)}1-00`))
    assert.isDefined(spanOf(`00-1${"0".repeat(31)}-1${"0".repeat(15)}-00`))
  })
})
