import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { ToolError } from "../../src/error/ToolError.ts"
import { flatNames } from "../../src/schema/EffectDecoder.ts"
import { govern } from "../../src/tool/GovernedTool.ts"

const names = (fields: Schema.Struct.Fields) => {
  const found = flatNames(Tool.getJsonSchema(Tool.make("t", { parameters: Schema.Struct(fields) })))
  return found === undefined ? undefined : [...found]
}

const decoderOf = (fields: Schema.Struct.Fields) =>
  Effect.map(
    govern(
      Toolkit.make(
        Tool.make("t", {
          parameters: Schema.Struct(fields),
          success: Schema.Void,
          failure: ToolError
        })
      ),
      { t: { namespace: "test", side_effects: "read" } },
      { t: () => Effect.void } as never
    ),
    ([tool]) => tool!.decode
  )

const refused = (exit: Exit.Exit<unknown, unknown>) => Exit.isFailure(exit)

describe("an object without objects in it", () => {
  it("is recognised by its JSON Schema, which gives its names", () => {
    const scalar = { a: Schema.optionalKey(Schema.String), b: Schema.NullOr(Schema.Int) }
    assert.deepStrictEqual(names({ ...scalar, c: Schema.Literals(["x"]) }), ["a", "b", "c"])
    assert.deepStrictEqual(names({ a: Schema.Array(Schema.Finite) }), ["a"])
    assert.isUndefined(names({ a: Schema.Json }))
    assert.isUndefined(names({ a: Schema.Unknown }))
    assert.isUndefined(names({ a: Schema.Struct({ b: Schema.Int }) }))
    assert.isUndefined(names({ a: Schema.Array(Schema.Struct({ b: Schema.Int })) }))
    assert.isUndefined(names({ a: Schema.Record(Schema.String, Schema.Int) }))
    assert.isUndefined(names({ a: Schema.Tuple([Schema.Struct({ b: Schema.Int })]) }))
  })

  it.effect("refuses a name that its schema lacks, flat or not", () =>
    Effect.gen(function* () {
      const flat = yield* decoderOf({ a: Schema.Int })
      assert.deepStrictEqual(flat({ a: 1 }), Exit.succeed({ a: 1 }))
      assert.isTrue(refused(flat({ a: 1, b: 2 })))
      assert.isTrue(refused(flat(JSON.parse('{"a":1,"__proto__":{}}'))))
      assert.isTrue(refused(flat({})))
      assert.isTrue(refused(flat(null)))
      assert.isTrue(refused(flat([])))
      const deep = yield* decoderOf({ a: Schema.Struct({ b: Schema.Int }) })
      assert.deepStrictEqual(deep({ a: { b: 1 } }), Exit.succeed({ a: { b: 1 } }))
      assert.isTrue(refused(deep({ a: { b: 1, c: 2 } })))
    })
  )
})
