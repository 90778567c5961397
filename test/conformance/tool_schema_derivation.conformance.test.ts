import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { Governance } from "../../src/tool/GovernedTool.ts"
import { decodeToolSpec, encodeToolSpec } from "../../src/tool/ToolSpec.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

type AnySchema = Schema.Codec<unknown, unknown>

const schemas: Readonly<Record<string, AnySchema>> = {
  string: Schema.String,
  integer: Schema.Int,
  number: Schema.Finite,
  boolean: Schema.Boolean,
  null: Schema.Null,
  array: Schema.Array(Schema.Json),
  object: Schema.Record(Schema.String, Schema.Json)
}

interface Given {
  readonly input?: AnySchema
  readonly output?: AnySchema
  readonly description?: string
  readonly documentation?: string
  readonly more?: Partial<Governance>
}

const declared = ({ more, ...given }: Given) =>
  tool({ namespace: "test", name: "derived", side_effects: "read", ...given, ...more }, () =>
    Effect.succeed(null as never)
  ).spec

/** Name, type and whether it has a default. A rest parameter has no place in a schema of named ones. */
type Parameter = readonly [name: string, type: string | null, hasDefault: boolean | null]

const parameters = (list: ReadonlyArray<Parameter>): AnySchema =>
  Schema.Struct(
    Object.fromEntries(
      list.flatMap(([name, type, hasDefault]) => {
        if (name.startsWith("*")) return []
        const schema = schemas[type ?? ""] ?? Schema.Json
        return [[name, hasDefault === true ? Schema.optionalKey(schema) : schema] as const]
      })
    )
  )

const derived = (
  list: ReadonlyArray<Parameter>,
  expect: Readonly<Record<string, unknown>>
): Driven => ({
  rows: "SG-30 SG-31",
  run: Effect.gen(function* () {
    const { input_schema } = yield* declared({ input: parameters(list) })
    if (isRecord(expect.properties)) {
      const properties = Object.entries(input_schema["properties"] as object)
      assert.deepStrictEqual(
        Object.fromEntries(properties.map(([name, { type }]) => [name, type])),
        expect.properties
      )
    }
    if ("required" in expect) assert.deepStrictEqual(input_schema["required"], expect.required)
  })
})

const returned = (returns: unknown, expect: Readonly<Record<string, unknown>>): Driven => {
  const output = returns === "<missing>" ? undefined : schemas[String(returns)]
  if (returns !== "<missing>" && output === undefined) return undefined
  return {
    rows: "SG-32",
    run: Effect.gen(function* () {
      const { output_schema } = yield* declared(output === undefined ? {} : { output })
      const wanted = expect.output as object
      // The derived schema of an integer has bounds as well.
      if (Object.keys(wanted).length === 0) assert.deepStrictEqual(output_schema, {})
      else assert.deepInclude(output_schema, wanted)
    })
  }
}

const explicit = (schema: Readonly<Record<string, unknown>>): Driven => ({
  rows: "SG-33",
  run: Effect.gen(function* () {
    const more = { input_schema: schema, output_schema: schema }
    const alone = yield* declared({ more })
    assert.deepStrictEqual(alone.input_schema, schema)
    const beside = yield* declared({ input: Schema.Struct({ other: Schema.Int }), more })
    assert.deepStrictEqual([beside.input_schema, beside.output_schema], [schema, schema])
  })
})

const described = (description: unknown, doc: unknown, expect: string): Driven => ({
  rows: "SG-08",
  run: Effect.gen(function* () {
    const spec = yield* declared({
      ...(typeof description === "string" ? { description } : undefined),
      ...(typeof doc === "string" ? { documentation: doc } : undefined)
    })
    assert.strictEqual(spec.description, expect)
  })
})

const cost = (amount: unknown, expect: string): Driven => ({
  rows: "SG-05",
  run: Effect.gen(function* () {
    const of = (cost_estimate: unknown) => declared({ more: { cost_estimate } as never })
    if (typeof amount === "number") {
      assert.propertyVal(yield* Effect.flip(of(amount)), "field", "cost_estimate")
    }
    const texts = [...expect.matchAll(/'(\d[\d.]*)'/g)].map(([, text]) => text!)
    if (typeof amount === "string") texts.push(amount)
    assert.isAbove(texts.length, 0)
    for (const text of texts) {
      const spec = yield* of(text)
      assert.strictEqual(spec.cost_estimate, text)
      const wire: unknown = JSON.parse(JSON.stringify(yield* encodeToolSpec(spec)))
      assert.strictEqual((yield* decodeToolSpec(wire)).cost_estimate, text)
    }
  })
})

conformance("tool_schema_derivation", ({ expect, input }): Driven => {
  if (hasShape(input, ["params"]) && isRecord(expect)) {
    return derived(input.params as ReadonlyArray<Parameter>, expect)
  }
  if (hasShape(input, ["returns"]) && isRecord(expect)) return returned(input.returns, expect)
  if (hasShape(input, ["explicit"]) && isRecord(input.explicit)) return explicit(input.explicit)
  if (hasShape(input, ["description", "doc"]) && typeof expect === "string") {
    return described(input.description, input.doc, expect)
  }
  if (hasShape(input, ["cost_estimate"]) && typeof expect === "string") {
    return cost(input.cost_estimate, expect)
  }
  return undefined
})
