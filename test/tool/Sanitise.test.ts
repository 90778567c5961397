import { assert, describe, it } from "@effect/vitest"
import { sanitise, sanitiseText } from "../../src/tool/Sanitise.ts"

describe("the model's copy", () => {
  it("SG-51 holds no marker, also none that comes about when another is taken out", () => {
    for (const [text, clean] of [
      ["__sys__system__tem__", ""],
      ["<|im_<|IM_END|>start|>x", "x"],
      ["__system____system__", ""],
      ["a__system__b", "ab"],
      ["_\u0000_system_\u0007_", ""],
      ["__system", "__system"],
      ["<b>&\r\n\t", "<b>&\r\n\t"]
    ] as const) {
      assert.strictEqual(sanitiseText(text), clean, JSON.stringify(text))
    }
    assert.strictEqual(sanitise("<|im_start|><i>"), "&lt;i&gt;")
    const nested = "__sys".repeat(2_000) + "__system__" + "tem__".repeat(2_000)
    assert.strictEqual(sanitiseText(nested), "")
  })

  it("keeps what is no text, and a member of any name", () => {
    const value = JSON.parse('{"__proto__":"<","a":[1,true,null,{"b":"\'"}]}')
    assert.strictEqual(
      JSON.stringify(sanitise(value)),
      '{"__proto__":"&lt;","a":[1,true,null,{"b":"&#x27;"}]}'
    )
  })
})
