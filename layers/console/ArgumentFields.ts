/**
 * The arguments of a call as the fields of a form, by the tool's JSON Schema, and what was written in them as arguments again. A
 * field that was not touched gives exactly the value that it stands for; what no field can hold is edited as JSON.
 */
import { Result } from "effect"
import { isSameJson } from "../../src/value/Canonical.ts"
import { readJson } from "../../src/value/BoundedJson.ts"
import { withVisible } from "../../src/value/InvisibleText.ts"
import { isObject } from "../../src/value/PlainObject.ts"
import { boundedJson } from "./Html.ts"

type Json = unknown
type JsonSchema = Readonly<Record<string, unknown>>

/** What a field stands for beside a value: a member that is left out, or null. */
export type FieldState = "value" | "absent" | "null"

/** One value, edited as a text. */
export interface ArgumentField {
  readonly kind: "text" | "number" | "lines" | "json" | "choice"
  /** Its name in the form. */
  readonly name: string
  /** Where the value stands in the arguments. */
  readonly path: ReadonlyArray<string>
  readonly description: string
  /** What the schema says of it, such as `at most 20 characters`. */
  readonly hints: ReadonlyArray<string>
  readonly isRequired: boolean
  /** What it may stand for. One = nothing has to be chosen. */
  readonly states: ReadonlyArray<FieldState>
  readonly state: FieldState
  /** The text of the value as it was proposed. */
  readonly text: string
  /** The values of a choice, as JSON. */
  readonly options: ReadonlyArray<string>
  /** The items of lines are numbers. */
  readonly isOfNumbers: boolean
  readonly proposed: Json
}

/** An object within the arguments, with its own fields. */
export interface ArgumentGroup {
  readonly kind: "group"
  readonly path: ReadonlyArray<string>
  readonly description: string
  readonly fields: ReadonlyArray<ArgumentPart>
}

export type ArgumentPart = ArgumentField | ArgumentGroup

/** A form with more fields is no help: the arguments are edited as JSON. */
const fields_max = 60
/** Objects within the arguments that have fields of their own; deeper ones are JSON. */
const depth_max = 2
const options_max = 50
const json_units_max = 20_000
const references_max = 8

/** A value may not stand in a field as it is: browsers change some line ends, and nobody sees what is invisible. */
const isPlainText = (text: string): boolean =>
  !text.includes("\r") && text.isWellFormed() && withVisible(text) === text

const isPlain = (value: Json): boolean => typeof value !== "object" || value === null

/** A schema without its reference and without null, and whether null was in it. */
export const resolved = (
  given: unknown,
  definitions: unknown,
  references = 0
): { readonly schema: JsonSchema; readonly isNullable: boolean } => {
  const schema = isObject(given) ? given : {}
  const { $ref, allOf, anyOf, type } = schema
  if (typeof $ref === "string" && references < references_max && isObject(definitions)) {
    const name = $ref.replace(/^#\/\$defs\//, "")
    const { $ref: _, ...beside } = schema
    const found = Object.hasOwn(definitions, name) ? definitions[name] : undefined
    if (!isObject(found)) return { schema: {}, isNullable: true }
    return resolved({ ...found, ...beside }, definitions, references + 1)
  }
  if (Array.isArray(anyOf)) {
    const others = anyOf.filter((each) => !(isObject(each) && each["type"] === "null"))
    const { anyOf: _, ...beside } = schema
    if (others.length !== 1) return { schema: {}, isNullable: true }
    const inner = resolved(others[0], definitions, references + 1)
    return {
      schema: { ...inner.schema, ...beside },
      isNullable: inner.isNullable || others.length < anyOf.length
    }
  }
  if (Array.isArray(allOf)) {
    const { allOf: _, ...beside } = schema
    const isOfChecks = allOf.every(
      (each) => isObject(each) && !("properties" in each) && !("$ref" in each)
    )
    return isOfChecks
      ? resolved(Object.assign({}, beside, ...(allOf as Array<object>)), definitions)
      : { schema: {}, isNullable: true }
  }
  if (Array.isArray(type)) {
    const types = type.filter((each) => each !== "null")
    return types.length === 1
      ? { schema: { ...schema, type: types[0] }, isNullable: types.length < type.length }
      : { schema: {}, isNullable: true }
  }
  return { schema, isNullable: type === "null" || type === undefined }
}

const bounds: ReadonlyArray<readonly [keyword: string, says: (value: unknown) => string]> = [
  ["minLength", (value) => `at least ${value} characters`],
  ["maxLength", (value) => `at most ${value} characters`],
  ["minimum", (value) => `at least ${value}`],
  ["maximum", (value) => `at most ${value}`],
  ["exclusiveMinimum", (value) => `more than ${value}`],
  ["exclusiveMaximum", (value) => `less than ${value}`],
  ["multipleOf", (value) => `a multiple of ${value}`],
  ["minItems", (value) => `at least ${value} items`],
  ["maxItems", (value) => `at most ${value} items`],
  ["pattern", (value) => `like ${value}`],
  ["format", (value) => String(value)]
]

const hintsOf = (schema: JsonSchema): ReadonlyArray<string> =>
  bounds.flatMap(([keyword, says]) => {
    const value = schema[keyword]
    return typeof value === "string" || typeof value === "number" ? [says(value)] : []
  })

const optionsOf = ({ const: only, enum: some, type }: JsonSchema): ReadonlyArray<Json> => {
  if (type === "boolean") return [true, false]
  if (only !== undefined) return [only]
  return Array.isArray(some) ? (some as ReadonlyArray<Json>) : []
}

const itemType = (schema: JsonSchema, definitions: unknown): unknown => {
  const { isNullable, schema: item } = resolved(schema["items"], definitions)
  return isNullable || "prefixItems" in schema || "enum" in item ? undefined : item["type"]
}

const isLine = (value: Json): boolean =>
  typeof value === "string" && value !== "" && !value.includes("\n") && isPlainText(value)

/** How a value of the schema is edited; an absent one is edited as an empty text. */
const kindOf = (schema: JsonSchema, value: Json, definitions: unknown): ArgumentField["kind"] => {
  const isNone = value === undefined || value === null
  const options = optionsOf(schema)
  if (options.length > 0) {
    const isKnown = isNone || options.some((each) => isSameJson(each, value))
    return isKnown && options.length <= options_max && options.every(isPlain) ? "choice" : "json"
  }
  switch (schema["type"]) {
    case "string":
      return isNone || (typeof value === "string" && isPlainText(value)) ? "text" : "json"
    case "number":
    case "integer":
      return isNone || typeof value === "number" ? "number" : "json"
    case "array": {
      const type = itemType(schema, definitions)
      const fits =
        type === "string"
          ? isLine
          : (each: Json) => typeof each === "number" && /^(number|integer)$/.test(String(type))
      const isKnown = type === "string" || type === "number" || type === "integer"
      return isKnown && (isNone || (Array.isArray(value) && value.every(fits))) ? "lines" : "json"
    }
    default:
      return "json"
  }
}

const textOf = (kind: ArgumentField["kind"], value: Json): string => {
  if (value === undefined) return ""
  // What nests deep is mostly indents: then it is on one line.
  if (kind === "json") {
    return boundedJson(value, Math.max(json_units_max, JSON.stringify(value).length)).text
  }
  if (kind === "choice") return JSON.stringify(value)
  if (value === null) return ""
  return Array.isArray(value) ? value.map(String).join("\n") : String(value)
}

/** The name of a field: the place of its value, as a JSON pointer. */
export const fieldName = (path: ReadonlyArray<string>): string =>
  `argument${path.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")}`

/** The field that says what another stands for. */
export const stateName = ({ name }: Pick<ArgumentField, "name">): string => `state-of-${name}`

const words = (value: unknown): string => (typeof value === "string" ? value : "")

const partOf = (
  given: unknown,
  value: Json,
  at: {
    readonly path: ReadonlyArray<string>
    readonly isRequired: boolean
    readonly definitions: unknown
  }
): ArgumentPart => {
  const { definitions, isRequired, path } = at
  const { isNullable, schema } = resolved(given, definitions)
  const description = words(schema["description"])
  if (
    schema["type"] === "object" &&
    isObject(schema["properties"]) &&
    isObject(value) &&
    path.length <= depth_max
  ) {
    return { kind: "group", path, description, fields: partsIn(schema, value, path, definitions) }
  }
  const kind = kindOf(schema, value, definitions)
  const state =
    value === undefined ? "absent" : value === null && kind !== "json" ? "null" : "value"
  const others: ReadonlyArray<FieldState> = [
    "value",
    ...(isNullable && kind !== "json" ? (["null"] as const) : []),
    ...(isRequired ? [] : (["absent"] as const))
  ]
  return {
    kind,
    name: fieldName(path),
    path,
    description,
    hints: hintsOf(schema),
    isRequired,
    states: others.includes(state) ? others : [...others, state],
    state,
    text: textOf(kind, value),
    options: kind === "choice" ? optionsOf(schema).map((each) => JSON.stringify(each)) : [],
    isOfNumbers: kind === "lines" && itemType(schema, definitions) !== "string",
    proposed: value
  }
}

/** The parts of an object: the members that its schema has, and those that only the value has. */
const partsIn = (
  schema: JsonSchema,
  value: Readonly<Record<string, Json>>,
  path: ReadonlyArray<string>,
  definitions: unknown
): ReadonlyArray<ArgumentPart> => {
  const { properties, required } = schema
  const known = isObject(properties) ? properties : {}
  const needed = Array.isArray(required) ? required : []
  const more = Object.keys(value).filter((name) => !Object.hasOwn(known, name))
  return [...Object.keys(known), ...more].map((name) =>
    partOf(Object.hasOwn(known, name) ? known[name] : {}, own(value, name), {
      path: [...path, name],
      isRequired: needed.includes(name),
      definitions
    })
  )
}

const own = (value: Readonly<Record<string, Json>>, name: string): Json =>
  Object.hasOwn(value, name) ? value[name] : undefined

/** All fields, those of groups too. */
export const fieldsIn = (parts: ReadonlyArray<ArgumentPart>): ReadonlyArray<ArgumentField> =>
  parts.flatMap((part) => (part.kind === "group" ? fieldsIn(part.fields) : [part]))

/** The fields for arguments of a tool; undefined = they are edited as JSON, all of them at once. */
export const argumentParts = (
  schema: unknown,
  args: unknown
): ReadonlyArray<ArgumentPart> | undefined => {
  if (!isObject(schema) || !isObject(args)) return undefined
  const definitions = schema["$defs"]
  const whole = resolved(schema, definitions).schema
  if (whole["type"] !== "object" || !isObject(whole["properties"])) return undefined
  const parts = partsIn(whole, args, [], definitions)
  const fields = fieldsIn(parts)
  const isNamed = fields.every(({ path }) =>
    path.every((part) => isPlainText(part) && !part.includes("\n"))
  )
  return isNamed && fields.length > 0 && fields.length <= fields_max ? parts : undefined
}

/** Why a field cannot be read. */
export interface FieldProblem {
  readonly name: string
  readonly message: string
}

const numberOf = (text: string): Result.Result<Json, string> => {
  const read = readJson(text.trim())
  if (Result.isSuccess(read) && typeof read.success === "number")
    return Result.succeed(read.success)
  return Result.fail(
    Result.isFailure(read) && read.failure.message !== "it is not JSON"
      ? read.failure.message
      : "It is no number, such as 12 or 12.50."
  )
}

const linesOf = ({ isOfNumbers }: ArgumentField, text: string): Result.Result<Json, string> => {
  const lines = text.split("\n").filter((line) => line !== "")
  return isOfNumbers ? Result.all(lines.map(numberOf)) : Result.succeed(lines)
}

const valueOf = (field: ArgumentField, text: string): Result.Result<Json, string> => {
  switch (field.kind) {
    case "text":
      return Result.succeed(text)
    case "number":
      return numberOf(text)
    case "lines":
      return linesOf(field, text)
    default:
      return Result.mapError(readJson(text), ({ message }) => `It is not JSON: ${message}.`)
  }
}

/** What was chosen: one of the values, null or nothing, each where the field has it. */
const chosenIn = (
  { options, proposed, states, text: before }: ArgumentField,
  text: string
): Result.Result<Json, string> => {
  if (text === before) return Result.succeed(proposed)
  if (text === "" && states.includes("absent")) return Result.succeed(undefined)
  if (options.includes(text) || (text === "null" && states.includes("null"))) {
    return Result.succeed(JSON.parse(text) as Json)
  }
  return Result.fail("It is none of the choices.")
}

/** What a field stands for, once it was sent; undefined = the member is left out. */
const written = (
  field: ArgumentField,
  sent: Readonly<Record<string, string>>
): Result.Result<Json, string> => {
  const given = Object.hasOwn(sent, field.name) ? sent[field.name] : undefined
  if (given === undefined) return Result.fail("It was not sent. Load the page again.")
  // Forms send every line end as two characters.
  const text = given.replaceAll(/\r\n?/g, "\n")
  if (field.kind === "choice") return chosenIn(field, text)
  const chosen = field.states.find((each) => each === sent[stateName(field)]) ?? field.state
  const isSameText = text === field.text
  if (isSameText && chosen === field.state) return Result.succeed(field.proposed)
  // Whoever writes into a member that was left out means what was written.
  const state = !isSameText && chosen === field.state ? "value" : chosen
  if (state === "absent") return Result.succeed(undefined)
  return state === "null" ? Result.succeed(null) : valueOf(field, text)
}

/** The arguments that a form has sent, in the order of its parts; or what of it cannot be read. */
export const argumentsIn = (
  parts: ReadonlyArray<ArgumentPart>,
  sent: Readonly<Record<string, string>>
): Result.Result<Readonly<Record<string, Json>>, ReadonlyArray<FieldProblem>> => {
  const problems: Array<FieldProblem> = []
  const read = (some: ReadonlyArray<ArgumentPart>): Readonly<Record<string, Json>> =>
    // From entries, so that a member with the name `__proto__` stays a member.
    Object.fromEntries(
      some.flatMap((part) => {
        const name = part.path.at(-1) ?? ""
        if (part.kind === "group") return [[name, read(part.fields)]]
        const value = written(part, sent)
        if (Result.isSuccess(value))
          return value.success === undefined ? [] : [[name, value.success]]
        problems.push({ name: part.name, message: value.failure })
        return []
      })
    )
  const all = read(parts)
  return problems.length === 0 ? Result.succeed(all) : Result.fail(problems)
}
