import { assert, describe, it } from "vitest"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { Effect, Exit, Result } from "effect"
import { inLongForm } from "../InLongForm.ts"
import { compileForeignSchema } from "../../layers/mcp/ForeignSchema.ts"

/** A hard stop far above the few seconds that all of it takes. */
const stop_ms = 120_000

const steps = "it takes more than 4000000 steps to check it by its schema"

inLongForm(
  "a schema of an MCP server that is made to take for ever is refused, or its value is, after a bounded number of steps",
  () =>
    Effect.gen(function* () {
      const script = fileURLToPath(new URL("hostileSchemas.ts", import.meta.url))
      const { stderr, stdout } = yield* Effect.promise(() =>
        promisify(execFile)(process.execPath, [script], {
          timeout: stop_ms
        })
      )
      const said = Object.fromEntries(
        stdout.split("\n").map((line) => line.split(" => ") as [string, string])
      )
      const spent = Object.keys(said).filter((name) => said[name] === steps)
      assert.sameMembers(spent, [
        "allOf",
        "anyOf",
        "oneOf",
        "a branching for each level of a value",
        "contains",
        "uniqueItems",
        "const",
        "propertyNames",
        "minProperties",
        "additionalProperties",
        "unevaluatedProperties",
        "a long name",
        "maxLength",
        "a pattern in a long text",
        "a format of a long text"
      ])
      assert.strictEqual(said["no end"], "its schema refers to itself without end")
      assert.strictEqual(said["no end in a branch"], "its schema refers to itself without end")
      assert.include(said["a format that is searched"], 'must match format "url"')
      assert.include(said["large patterns"], "no schema: its patterns have more than 10000 parts")
      assert.include(said["one large pattern"], "more than 2500 parts")
      assert.include(said["many members"], "no schema: its objects have more than 2000 members")
      assert.include(said["copies of a definition"], "no schema: its objects have more than 2000")
      // A server's text is not printed to a terminal.
      assert.notInclude(stderr, "schema")
    }),
  stop_ms + 10_000
)

/** Everything that the generated code can consist of. */
const keywords: Record<string, unknown> = {
  type: "object",
  multipleOf: 0.01,
  maximum: 3,
  exclusiveMaximum: 4,
  minimum: 1,
  exclusiveMinimum: 0,
  maxLength: 3,
  minLength: 1,
  pattern: '^a"{2}',
  maxItems: 3,
  minItems: 1,
  uniqueItems: true,
  maxProperties: 3,
  minProperties: 1,
  required: ["a", 'b"){for(;;){'],
  enum: [1, "a", { b: 1 }, [1]],
  const: { a: 1 },
  properties: {
    a: { type: "integer" },
    "q~/": { type: ["string", "null"] },
    d: { $ref: "#/$defs/n" },
    many: { required: Array.from({ length: 300 }, (_, index) => `r${index}`) }
  },
  patternProperties: { "^x~": { type: "number", format: "float" } },
  additionalProperties: { type: "string", format: "date" },
  propertyNames: { maxLength: 9, format: "uri" },
  dependentRequired: { a: ["b"] },
  dependentSchemas: { a: { required: ["z"] } },
  dependencies: { a: ["c"], b: { required: ["y"] } },
  items: { anyOf: [{ format: "email" }, { format: "int32", type: "integer" }], items: {} },
  contains: { const: 1 },
  minContains: 1,
  maxContains: 2,
  allOf: [{ not: { const: 3 } }, { oneOf: [{ type: "object", properties: { z: {} } }, {}] }],
  if: { required: ["a"] },
  // oxlint-disable-next-line unicorn/no-thenable -- it is a keyword of JSON Schema
  then: { properties: { a: { maximum: 2 } } },
  else: false,
  unevaluatedProperties: { type: "string" },
  unevaluatedItems: false,
  $defs: {
    n: {
      $anchor: "n",
      $dynamicAnchor: "node",
      properties: { left: { $dynamicRef: "#node" }, right: { $recursiveRef: "#" } }
    }
  }
}

describe("a schema of an MCP server", () => {
  const dialects = [
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema"
  ]

  it("is compiled in every dialect and with every keyword", () => {
    const every = Object.keys(keywords)
    for (const $schema of dialects) {
      for (const names of [every, ...every.map((name) => [name, "$defs"])]) {
        const made = compileForeignSchema({
          $schema,
          anyOf: [{ properties: { a: true } }, { patternProperties: { "^z": true } }],
          ...Object.fromEntries(names.map((name) => [name, keywords[name]]))
        })
        assert.isTrue(Result.isSuccess(made), `${$schema} ${String(names)}`)
      }
    }
  })

  it("accepts and refuses the same values as Ajv", () => {
    const ajv = new Ajv2020({ strict: false, validateSchema: false, logger: false })
    addFormats.default(ajv)
    const values = [
      {},
      { a: 1 },
      { a: "1" },
      { "q~/": null, a: 2 },
      { "x~": 1.5 },
      { b: 1 },
      { d: { left: { left: 1 } } },
      { l: [1, 2, 1] },
      {
        l: [
          { a: 1, b: 2 },
          { b: 2, a: 1 }
        ]
      },
      { l: ["a", "A"], k: [[1], [1]] },
      { z: "2026-01-01" }
    ]
    for (const name of Object.keys(keywords).filter((each) => each !== "$defs")) {
      const rule = { [name]: keywords[name] }
      const { $defs } = keywords
      for (const schema of [
        { ...rule, $defs },
        { additionalProperties: rule, $defs }
      ]) {
        const is = ajv.compile(schema)
        const validate = Result.getOrThrow(compileForeignSchema(schema))
        for (const value of values) {
          assert.strictEqual(
            Exit.isSuccess(validate(value)),
            is(value),
            `${name} ${JSON.stringify(value)}`
          )
        }
      }
    }
  })

  it("of ordinary size checks a result of 100,000 objects", () => {
    const item = {
      type: "object",
      properties: { id: { type: "integer" }, name: { type: "string", maxLength: 20 } },
      required: ["id", "name"],
      additionalProperties: false
    }
    const validate = Result.getOrThrow(
      compileForeignSchema({ type: "object", properties: { all: { type: "array", items: item } } })
    )
    const all = Array.from({ length: 100_000 }, (_, id) => ({ id, name: `name ${id}` }))
    assert.isTrue(Exit.isSuccess(validate({ all })))
    assert.isTrue(Exit.isFailure(validate({ all: [...all, { id: 1 }] })))
    // Steps are counted for each check anew.
    assert.isTrue(Exit.isSuccess(validate({ all })))
  })

  it("finds two equal items among 10,000 objects", () => {
    const validate = Result.getOrThrow(
      compileForeignSchema({ properties: { l: { uniqueItems: true } } })
    )
    const l = Array.from({ length: 10_000 }, (_, a) => ({ a, b: [a] }))
    assert.isTrue(Exit.isSuccess(validate({ l })))
    assert.isTrue(Exit.isFailure(validate({ l: [...l, { b: [7], a: 7 }] })))
  })

  it("requires own members of a value, and not those that every object inherits", () => {
    const validate = Result.getOrThrow(compileForeignSchema({ required: ["toString"] }))
    assert.isTrue(Exit.isFailure(validate({})))
    assert.isTrue(Exit.isSuccess(validate({ toString: 1 })))
  })
})
