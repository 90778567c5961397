import { assert, describe, it } from "vitest"
import { Effect, Exit } from "effect"
import { jsonSchemaInput } from "../../src/tool/ToolCodec.ts"

describe("arguments that a JSON Schema describes", () => {
  const codec = Effect.runSync(
    jsonSchemaInput("tool", {
      type: "object",
      properties: { l: { type: "array", items: {}, uniqueItems: true } }
    })
  )

  it("have unique items where it says so, whatever the order of members", () => {
    assert.isTrue(Exit.isSuccess(codec.decode({ l: [{ a: 1, b: 2 }, { b: 2 }, 1, "1"] })))
    assert.isTrue(
      Exit.isFailure(
        codec.decode({
          l: [
            { a: 1, b: 2 },
            { b: 2, a: 1 }
          ]
        })
      )
    )
  })

  it("may be of any kind beside a pattern", () => {
    const open = Effect.runSync(
      jsonSchemaInput("tool", {
        type: "object",
        properties: { name: { type: "string", pattern: "^a" }, any: {}, list: { type: "array" } }
      })
    )
    assert.isTrue(Exit.isSuccess(open.decode({ name: "ab", any: { x: [1] }, list: [1, {}] })))
    assert.isTrue(Exit.isFailure(open.decode({ name: "b" })))
  })
})
