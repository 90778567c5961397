/** What a schema says of a field that is filled in for the model, in every keyword that can say something of it. */
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Array as Arr, Effect, Schema } from "effect"
import type { BodyPath, JsonObject } from "../../src/call/BodyPath.ts"
import { isJsonObject, valueAt, withoutValueAt } from "../../src/call/BodyPath.ts"
import { stripProblem, strippedSchema } from "../../src/call/SchemaStrip.ts"
import type { Json } from "../../src/value/Canonical.ts"
import { either } from "../Long.ts"

const text: JsonObject = { type: "string" }
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...more
})
const kind = (value: string): JsonObject => object({ kind: { const: value } })
/** Zipped: an object that is written with a member `then` looks like a promise. */
const conditional = (
  condition: JsonObject,
  side: JsonObject,
  more: JsonObject = {}
): JsonObject => ({
  ...Object.fromEntries(Arr.zip(["if", "then"], [condition, side])),
  ...more
})

describe("a field that is filled in by others", () => {
  const cases: ReadonlyArray<readonly [title: string, schema: JsonObject, shown: JsonObject]> = [
    [
      "a definition that nothing else refers to",
      { ...object({ it: { $ref: "#/$defs/It" } }), $defs: { It: object({ kind: text, b: text }) } },
      object({ it: object({ kind: text, b: text }) })
    ],
    [
      "a list of branches that it told apart, of which several hold now",
      { oneOf: [kind("a"), kind("b")] },
      { allOf: [{ anyOf: [object({}), object({})] }] }
    ],
    [
      "a condition on it",
      conditional(kind("a"), { required: ["a"] }, { else: { required: ["b", "kind"] } }),
      { allOf: [{ anyOf: [{ required: ["a"] }, { required: ["b"] }] }] }
    ],
    [
      "one side of another condition",
      conditional({ required: ["a"] }, kind("a")),
      conditional({ required: ["a"] }, object({}))
    ],
    ["what must not be", { type: "object", not: kind("a") }, { type: "object" }],
    [
      "what depends on it",
      { dependentRequired: { kind: ["a"], b: ["kind", "c"] } },
      { dependentRequired: { b: ["c"] } }
    ],
    [
      "the schemas that depend on it",
      { dependentSchemas: { kind: object({ a: text }) } },
      {
        dependentSchemas: {}
      }
    ],
    [
      "the names that members may have",
      object({ b: text }, { propertyNames: { enum: ["kind", "b"] } }),
      object({ b: text }, { propertyNames: { enum: ["b"] } })
    ],
    [
      "the one name that a member may have",
      object({ b: text }, { propertyNames: { const: "kind" } }),
      object({ b: text })
    ],
    [
      "a number of members",
      object({ kind: text, b: text }, { minProperties: 2 }),
      object({ b: text })
    ],
    [
      "defaults and examples",
      object(
        { kind: text, b: text },
        { default: { kind: "x" }, examples: [{ kind: "x", b: "y" }] }
      ),
      object({ b: text }, { default: {}, examples: [{ b: "y" }] })
    ],
    ["a fixed value of the whole", { const: { kind: "a", b: 1 } }, {}],
    ["a list of values of the whole", { enum: [{ kind: "a" }, { b: 1 }] }, {}]
  ]
  it.each(cases.slice(1))("AG-26 is taken out of %s", (_, schema, shown) => {
    const before = JSON.stringify(schema)
    assert.deepStrictEqual(strippedSchema(schema, [["kind"]]), shown)
    assert.strictEqual(JSON.stringify(schema), before)
  })

  it("AG-26 is not left in a definition that nothing refers to any more", () => {
    const [, schema] = cases[0]!
    assert.deepStrictEqual(
      strippedSchema(schema, [["it", "kind"]]),
      object({ it: object({ b: text }) })
    )
  })

  it("AG-26 stays in a definition for another place, and in an object of the same kind within it", () => {
    const node = object({ id: text, next: { $ref: "#/$defs/Node" } })
    const schema: JsonObject = {
      ...object({ first: { $ref: "#/$defs/Node" } }),
      $defs: { Node: node }
    }
    assert.deepStrictEqual(strippedSchema(schema, [["first", "id"]]), {
      ...object({ first: object({ next: { $ref: "#/$defs/Node" } }) }),
      $defs: { Node: node }
    })
  })

  it("AG-26 stays in the nested objects of a schema that refers to itself", () => {
    const tree = object({ id: text, child: { $ref: "#" } }, { required: ["id"] })
    const whole = object({ id: text, child: { $ref: "#/$defs/Whole" } }, { required: ["id"] })
    const shown = strippedSchema(tree, [["id"]])
    assert.deepStrictEqual(shown, {
      ...object({ child: { $ref: "#/$defs/Whole" } }),
      $defs: { Whole: whole }
    })
    const check = new Ajv2020({ strict: false }).compile(shown)
    assert.isTrue(check({ child: { id: "x" } }))
    assert.isFalse(check({ child: {} }))
  })

  it("AG-26 is found behind an anchor, and behind a pointer into a list", () => {
    const anchored: JsonObject = {
      ...object({ it: { $ref: "#it" } }),
      $defs: { It: object({ kind: text, b: text }, { $anchor: "it" }) }
    }
    assert.deepStrictEqual(
      strippedSchema(anchored, [["it", "kind"]]),
      object({ it: object({ b: text }) })
    )
    const pointed: JsonObject = {
      anyOf: [object({ kind: text })],
      ...object({ it: { $ref: "#/anyOf/0" } })
    }
    assert.deepStrictEqual(strippedSchema(pointed, [["it", "kind"]]), {
      anyOf: pointed["anyOf"]!,
      ...object({})
    })
  })

  it("AG-26 gives the schema itself back where it says nothing of the field", () => {
    const tree = object({ child: { $ref: "#" } })
    assert.strictEqual(strippedSchema(tree, [["kind"]]), tree)
  })

  it("AG-26 is refused where nobody can tell what a schema says of it", () => {
    const refused: ReadonlyArray<readonly [JsonObject, RegExp]> = [
      [object({ it: { $ref: "https://example.org/it" } }), /example\.org/],
      [object({ it: { $ref: "#/$defs/none" } }), /none/],
      [{ ...object({ it: { $dynamicRef: "#it" } }) }, /#it/],
      [
        { anyOf: [{ $ref: "#/$defs/A" }], $defs: { A: { anyOf: [{ $ref: "#/$defs/A" }] } } },
        /back to itself/
      ],
      [
        {
          anyOf: [{ $ref: "#/$defs/0" }],
          $defs: Object.fromEntries(
            Array.from({ length: 20 }, (_, n) => [
              n,
              { anyOf: [{ $ref: `#/$defs/${n + 1}` }, { $ref: `#/$defs/${n + 1}` }] }
            ])
          )
        },
        /10000|nothing is known/
      ]
    ]
    for (const [schema, problem] of refused) {
      assert.match(stripProblem(schema, ["it", "kind"]) ?? "", problem)
    }
    assert.isUndefined(stripProblem(refused[0]![0], ["it"]))
  })
})

/** Numbers that look random, the same for the same seed. */
const numbers = (seed: number) => {
  let state = seed >>> 0
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const names = ["a", "b", "c"]

/** A schema of objects with every keyword that can speak of a member, and references into its definitions. */
const randomSchema = (below: (n: number) => number): JsonObject => {
  const pick = () => names[below(names.length)]!
  const some = (depth: number, least = 0): JsonObject => {
    switch (depth === 0 ? below(2) : least + below(10 - least)) {
      case 0:
        return { type: "string" }
      case 1:
        return { enum: ["x", { [pick()]: "x" }] }
      case 2:
        return { $ref: `#/$defs/${pick()}` }
      case 3:
        return { [["anyOf", "oneOf", "allOf"][below(3)]!]: [some(depth - 1), some(depth - 1)] }
      case 4:
        return conditional(some(depth - 1), some(depth - 1), { else: some(depth - 1) })
      case 5:
        return { not: some(depth - 1) }
      default:
        return {
          type: "object",
          properties: { [pick()]: some(depth - 1), [pick()]: some(depth - 1) },
          ...(below(2) === 0 ? { required: [pick()] } : undefined),
          ...(below(4) === 0 ? { additionalProperties: false } : undefined),
          ...(below(4) === 0 ? { dependentRequired: { [pick()]: [pick()] } } : undefined),
          ...(below(4) === 0 ? { dependentSchemas: { [pick()]: some(depth - 1) } } : undefined),
          ...(below(4) === 0 ? { minProperties: below(3) } : undefined)
        }
    }
  }
  return { ...some(4), $defs: Object.fromEntries(names.map((name) => [name, some(1, 6)])) }
}

const randomValue = (below: (n: number) => number, depth = 3): Json =>
  depth === 0 || below(4) === 0
    ? "x"
    : Object.fromEntries(
        names.flatMap((name) => (below(2) === 0 ? [[name, randomValue(below, depth - 1)]] : []))
      )

const withoutLeaf = (value: JsonObject, [name = "", ...rest]: BodyPath): JsonObject => {
  const { [name]: inner, ...others } = value
  if (rest.length === 0) return others
  return isJsonObject(inner) ? { ...others, [name]: withoutLeaf(inner, rest) } : value
}

describe("the schema that a model is shown", () => {
  const paths: ReadonlyArray<BodyPath> = [["a"], ["b"], ["a", "b"], ["b", "c"]]

  it.effect.prop(
    "AG-26 AG-27 says nothing of the field, and takes what the endpoint takes without it",
    { seed: Schema.Int },
    ({ seed }) =>
      Effect.sync(() => {
        const below = numbers(seed)
        const schema = randomSchema(below)
        const ajv = new Ajv2020({ strict: false })
        const takes = ajv.compile(schema)
        for (const path of paths) {
          if (stripProblem(schema, path) !== undefined) continue
          const shown = strippedSchema(schema, [path])
          assert.strictEqual(strippedSchema(shown, [path]), shown)
          const shows = ajv.compile(shown)
          for (let tries = 0; tries < 10; tries++) {
            const value = randomValue(below)
            if (!isJsonObject(value) || valueAt(value, path) === undefined || !takes(value))
              continue
            const said = [withoutLeaf(value, path), withoutValueAt(value, path)]
            assert.isTrue(
              said.some((each) => shows(each)),
              JSON.stringify({ schema, shown, path, value })
            )
          }
        }
      }),
    { arbitrary: { runs: either(30, 80) } }
  )
})
