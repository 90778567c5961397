/**
 * A program that checks values by schemas which were made to be checked for ever, and says of each what came of it. It is
 * a process of its own, so that the test can end it.
 */
import { Exit, Result } from "effect"
import { compileForeignSchema } from "../../layers/mcp/ForeignSchema.ts"
import { refusalText } from "../../src/schema/SchemaIssues.ts"

const many = <A>(count: number, each: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, index) => each(index))

const named = (count: number, each: (index: number) => unknown) =>
  Object.fromEntries(many(count, (index) => [`n${index}`, each(index)]))

/** Each schema leads to the next one twice: 2 to the power of 60 ways to the last one. */
const chain = (keyword: string, last: object) => ({
  $ref: "#/$defs/n0",
  $defs: {
    ...named(60, (index) => ({
      [keyword]: [{ $ref: `#/$defs/n${index + 1}` }, { $ref: `#/$defs/n${index + 1}` }]
    })),
    n60: last
  }
})

const nested = (depth: number): unknown => (depth === 0 ? "x" : [nested(depth - 1)])
const member = (schema: object) => ({ properties: { l: schema } })
const objects = many(300_000, (a) => ({ a, b: "x" }))
const large = named(300_000, () => 1)
const long = "x".repeat(4_000_000)
const list = many(900, (index) => index)

const cases: Record<string, readonly [schema: object, value: unknown]> = {
  allOf: [chain("allOf", { type: "object" }), {}],
  anyOf: [chain("anyOf", { type: "string" }), {}],
  oneOf: [chain("oneOf", { type: "string" }), {}],
  "a branching for each level of a value": [
    {
      ...member({ $ref: "#/$defs/n" }),
      $defs: {
        n: {
          anyOf: [
            { items: { $ref: "#/$defs/n" }, $comment: "one" },
            { items: { $ref: "#/$defs/n" }, $comment: "two" }
          ],
          not: { const: "x" }
        }
      }
    },
    { l: nested(100) }
  ],
  "no end": [{ $ref: "#" }, {}],
  "no end in a branch": [{ allOf: [{ $ref: "#" }] }, {}],
  contains: [
    { ...member({ contains: { $ref: "#/$defs/a" } }), $defs: { a: { type: "string" } } },
    { l: objects }
  ],
  uniqueItems: [member({ allOf: many(100, () => ({ uniqueItems: true })) }), { l: objects }],
  const: [
    {
      ...member({ contains: { anyOf: many(300, () => ({ $ref: "#/$defs/c" })) } }),
      $defs: { c: { const: { v: list, z: 1 } } }
    },
    { l: many(1_000, () => ({ v: list, z: 2 })) }
  ],
  propertyNames: [
    {
      propertyNames: { anyOf: many(400, (index) => ({ pattern: `^x${index}` })) },
      anyOf: many(400, (index) => ({
        patternProperties: { [`^y${index}`]: false },
        minProperties: 1e9
      }))
    },
    large
  ],
  minProperties: [{ anyOf: many(600, () => ({ minProperties: 1e9 })) }, large],
  additionalProperties: [{ anyOf: many(600, () => ({ additionalProperties: false })) }, large],
  unevaluatedProperties: [
    {
      anyOf: many(300, () => ({
        allOf: [{ patternProperties: { "^n": true } }],
        unevaluatedProperties: false,
        minProperties: 1e9
      }))
    },
    large
  ],
  "a long name": [
    { additionalProperties: { anyOf: many(600, () => ({ type: "string" })) } },
    { ["~/".repeat(4_000_000)]: 1 }
  ],
  maxLength: [member({ anyOf: many(600, (index) => ({ maxLength: index })) }), { l: long }],
  "a pattern in a long text": [
    member({ anyOf: many(200, (index) => ({ pattern: `(x+x+)+y${index}` })) }),
    { l: "x".repeat(900_000) }
  ],
  "a format of a long text": [
    member({ anyOf: many(600, () => ({ format: "uri", maxLength: 1 })) }),
    { l: `http://${":".repeat(900_000)}` }
  ],
  "a format that is searched": [member({ format: "url" }), { l: `http://${":".repeat(900_000)}` }],
  "large patterns": [
    member({ anyOf: many(20, (index) => ({ pattern: `x{900}y${index}` })) }),
    { l: "" }
  ],
  "one large pattern": [member({ pattern: "\\p{L}{500}".repeat(100) }), { l: "é".repeat(100_000) }],
  "many members": [{ properties: named(3_000, () => ({ type: "string" })) }, {}],
  "copies of a definition": [
    {
      $defs: { x: { properties: named(900, () => ({})) } },
      allOf: many(1_200, () => ({ $ref: "#/$defs/x" }))
    },
    {}
  ]
}

for (const [name, [schema, value]] of Object.entries(cases)) {
  const made = compileForeignSchema({ type: "object", ...schema })
  const said = Result.isFailure(made)
    ? `no schema: ${made.failure}`
    : Exit.match(made.success(value), {
        onSuccess: () => "fits",
        onFailure: (cause) =>
          refusalText(cause.reasons.map((each) => ("error" in each ? each.error : undefined))[0])
      })
  console.log(`${name} => ${said}`)
}
