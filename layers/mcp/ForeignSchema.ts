/**
 * Compiles the JSON Schemas of servers. Patterns run on an engine of linear time and everything else counts its steps,
 * so that no schema and no value can block the process. Private to this room.
 */
import { Ajv } from "ajv"
import { Ajv2019 } from "ajv/dist/2019.js"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { Exit, JsonPointer, Number, Result } from "effect"
import { isWithinBounds } from "../../src/value/BoundedJson.ts"
import { ValueRefused } from "../../src/schema/SchemaIssues.ts"
import { countSteps, PatternRefused, Steps, StepsSpent } from "./CountedCode.ts"

type JsonObject = Readonly<Record<string, unknown>>

export type Validate = (value: unknown) => Exit.Exit<unknown, ValueRefused>

type AddedFormat = NonNullable<Ajv["formats"][string]>

/** All objects of a schema; compiling so many takes some 100 ms. A schema with a hundred properties has a few hundred. */
const schema_members_max = 2_000
/** The bound with the names of `required` and the values of `enum`, which are cheap; and the bound on nesting. */
const bounds = { depth_max: 64, values_max: 20_000, units_max: Infinity }

const membersOf = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 0
  const inner = Object.values(value).reduce((all: number, each) => all + membersOf(each), 0)
  return Array.isArray(value) ? inner : inner + Object.keys(value).length
}

const tooLarge = (schema: JsonObject): string | undefined => {
  if (!isWithinBounds(schema, bounds)) {
    return `it has more than ${bounds.values_max} values, or nests deeper than ${bounds.depth_max}`
  }
  return membersOf(schema) > schema_members_max
    ? `its objects have more than ${schema_members_max} members`
    : undefined
}

/** Longer texts do not match these formats, whose check takes quadratic time or compiles the text. */
const short_units_max = 2_000
const steps_per_short_unit = 20
const searched: ReadonlySet<string> = new Set(["url", "regex"])

const countedFormat = (name: string, format: AddedFormat, steps: Steps): AddedFormat => {
  if (typeof format === "boolean" || typeof format === "string") return format
  if (format instanceof RegExp || typeof format === "function") {
    const is = format instanceof RegExp ? (text: string) => format.test(text) : format
    return (text: string) => {
      if (!searched.has(name)) return is(steps.formatted(text))
      if (text.length > short_units_max) return false
      steps.take(text.length * steps_per_short_unit)
      return is(text)
    }
  }
  const { validate } = format
  return format.type === "number" || !(validate instanceof RegExp || typeof validate === "function")
    ? format
    : countedFormat(name, validate as RegExp | ((text: string) => boolean), steps)
}

/** A schema without a dialect is of 2020-12. Undefined = an unknown dialect. */
const dialects: ReadonlyArray<readonly [RegExp, typeof Ajv | typeof Ajv2019 | typeof Ajv2020]> = [
  [/json-schema\.org\/draft-0[67]\//, Ajv],
  [/json-schema\.org\/draft\/2019-09\//, Ajv2019],
  [/json-schema\.org\/draft\/2020-12\//, Ajv2020]
]

const dialectOf = ({ $schema }: JsonObject) =>
  $schema === undefined
    ? Ajv2020
    : dialects.find(([name]) => name.test(String($schema).slice(0, 200)))?.[1]

const validatorOf = (Dialect: NonNullable<ReturnType<typeof dialectOf>>, schema: JsonObject) => {
  const steps = new Steps()
  const ajv = new Dialect({
    strict: false,
    validateSchema: false,
    // Ajv must not write a server's text to standard error.
    logger: false,
    // One error is enough to refuse a value; a large value could have very many.
    allErrors: false,
    // References are called and not inlined: nested inlining would grow the code exponentially.
    inlineRefs: false,
    // Inherited properties are not members.
    ownProperties: true,
    code: { optimize: false, regExp: steps.engine as never, process: countSteps }
  })
  addFormats.default(ajv)
  for (const [name, format] of Object.entries(ajv.formats)) {
    if (format !== undefined) ajv.formats[name] = countedFormat(name, format, steps)
  }
  // On decimals, as effect's schemas check it: in doubles, 19.99 is no multiple of 0.01.
  ajv.removeKeyword("multipleOf")
  ajv.addKeyword({
    keyword: "multipleOf",
    type: "number",
    schemaType: "number",
    validate: (divisor: number, value: number) => Number.remainder(value, divisor) === 0,
    errors: false,
    error: { message: ({ schema }) => `must be a multiple of ${String(schema)}` }
  })
  ajv.removeKeyword("uniqueItems")
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    validate: (isRequired: boolean, items: ReadonlyArray<unknown>) =>
      !isRequired || steps.areUnique(items),
    errors: false,
    error: { message: "must NOT have duplicate items" }
  })
  // The generated code finds the steps by this name.
  return { ajv, steps, validate: Object.assign(ajv, { steps }).compile(schema) }
}

const pathOf = (pointer: string): ReadonlyArray<string> =>
  pointer.split("/").slice(1).map(JsonPointer.unescapeToken)

export const compileForeignSchema = (schema: JsonObject): Result.Result<Validate, string> => {
  const Dialect = dialectOf(schema)
  if (Dialect === undefined) {
    return Result.fail("its dialect is none of draft 6, draft 7, 2019-09 and 2020-12")
  }
  const large = tooLarge(schema)
  if (large !== undefined) return Result.fail(large)
  const made = Result.try(() => validatorOf(Dialect, schema))
  if (Result.isFailure(made)) {
    const why: unknown = made.failure
    return Result.fail(why instanceof PatternRefused ? why.message : "it is no schema that we know")
  }
  const { ajv, steps, validate } = made.success
  return Result.succeed((value) => {
    let place = ""
    const checked = Result.try(() => {
      steps.begin()
      if (validate(value) === true) return undefined
      place = validate.errors?.[0]?.instancePath ?? ""
      return ajv.errorsText(validate.errors?.slice(0, 1)).slice(0, 1_000)
    })
    // Anything but exhausted steps is an exhausted stack: a schema that refers to itself.
    const message = Result.isSuccess(checked)
      ? checked.success
      : checked.failure instanceof StepsSpent
        ? checked.failure.message
        : "its schema refers to itself without end"
    if (message === undefined) return Exit.succeed(value)
    return Exit.fail(new ValueRefused({ message, path: pathOf(place) }))
  })
}
