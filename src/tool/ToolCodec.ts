/**
 * The codecs that decode a tool's arguments and encode its result. They are made once from an Effect Schema, any Standard Schema
 * (zod, valibot, arktype and others), or plain JSON Schema.
 */
import {
  Effect,
  Exit,
  JsonSchema,
  Predicate,
  Result,
  Schema,
  SchemaAST,
  SchemaRepresentation
} from "effect"
import type { StandardSchema } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import { ignoreRejection } from "../value/IgnoredRejection.ts"
import { copyWithin, depth_max, bounds_result, isWithinBounds } from "../value/BoundedJson.ts"
import {
  effectDecoder,
  jsonDecoder,
  strictly,
  flatNames,
  hasOnly,
  withFiniteNumbers,
  asMeant,
  nullsRead
} from "../schema/EffectDecoder.ts"
import { isPlainSchema } from "../schema/SchemaShape.ts"
import {
  checkDefinitions,
  definitionOf,
  valueDepthMax,
  withDefinitions
} from "../schema/SchemaDefinitions.ts"
import { resultJson } from "./ResultJson.ts"
import { withLinearPatterns, withReadablePatterns } from "../schema/LinearPattern.ts"
import { ValueRefused } from "../schema/SchemaIssues.ts"
import { keepFlags } from "../schema/ZodFlags.ts"
import type { MisdeclaredTool } from "./MisdeclaredTool.ts"
import { misdeclared } from "./MisdeclaredTool.ts"

type JsonObject = Readonly<Record<string, unknown>>
type Standard = StandardSchema.StandardSchemaV1

/** An Effect Schema or a Standard Schema. It may need no services, because arguments are decoded before anything else. */
export type AnySchema = Schema.Codec<unknown, unknown> | Standard

/** The type that the handler receives: the decoded type of an Effect Schema, or the output of a Standard Schema. */
export type Decoded<S> = S extends Schema.Constraint
  ? S["Type"]
  : S extends StandardSchema.StandardTypedV1<infer _, infer Output>
    ? Output
    : never

/** The type that the handler returns: the decoded type of an Effect Schema, or the input of a Standard Schema. */
export type HandlerOutput<S> = S extends Schema.Constraint
  ? S["Type"]
  : S extends StandardSchema.StandardTypedV1<infer Input, infer _>
    ? Input
    : never

export interface InputCodec {
  readonly json_schema: JsonObject
  readonly decode: (args: unknown) => Exit.Exit<unknown, unknown>
}

export interface OutputCodec {
  readonly json_schema: JsonObject
  readonly encode: (result: unknown) => Exit.Exit<unknown, unknown>
  /** Checks that JSON is a valid result; used for examples and recordings. */
  readonly check: (json: unknown) => Exit.Exit<unknown, unknown>
}

const isEffectSchema = (schema: AnySchema): schema is Schema.Codec<unknown, unknown> =>
  Schema.isSchema(schema)

/** Whether a value is a schema. Code in JavaScript may pass anything else, such as a JSON Schema. */
const isSchema = (schema: unknown): schema is AnySchema =>
  Schema.isSchema(schema) || Predicate.hasProperty(schema, "~standard")

const issueText = (issues: ReadonlyArray<StandardSchema.StandardSchemaV1.Issue>): string =>
  issues
    .slice(0, 5)
    .map(({ message, path = [] }) => {
      const at = path.map((step) => String(typeof step === "object" ? step.key : step)).join(".")
      return truncateUnits(at === "" ? message : `${message} at ${at}`, 300)
    })
    .join("; ")

const refused = (message: string) => Exit.fail(new ValueRefused({ message }))

/**
 * Decodes a value with a Standard Schema. An asynchronous schema is refused. Zod also returns a promise if a function of the
 * schema throws, which a model's arguments can cause: that promise is rejected, and nobody waits for it.
 */
const validated = (schema: Standard, value: unknown): Exit.Exit<unknown, ValueRefused> =>
  Result.getOrElse(
    Result.try(() => validatedBy(schema, value)),
    () => refused(schema_failed)
  )

const schema_failed = "the schema failed on this value"

/** Validates with the schema; throws whatever the schema throws. */
const validatedBy = (schema: Standard, value: unknown): Exit.Exit<unknown, ValueRefused> => {
  const validation = schema["~standard"].validate(value)
  // A promise of another realm, or of a library, is one too.
  if ("then" in validation) {
    ignoreRejection(validation)
    return refused(`${schema_failed}, or is asynchronous: it has to answer at once`)
  }
  if (validation.issues === undefined) {
    return "value" in validation ? Exit.succeed(validation.value) : refused(schema_failed)
  }
  const paths = validation.issues.slice(0, paths_max).map(pathOf)
  const path = paths[0] ?? []
  return Exit.fail(new ValueRefused({ message: issueText(validation.issues), path, paths }))
}

const paths_max = 1_000

/** A plain list: a library's own kind of one would map to its kind again. */
const pathOf = ({ path = [] }: StandardSchema.StandardSchemaV1.Issue): ReadonlyArray<string> =>
  Array.from(path, (step) => String(typeof step === "object" ? step.key : step))

/** The member names that an object may have; undefined unless the schema describes a plain object that is not declared open. */
const closedNames = (json_schema: JsonObject): ReadonlySet<string> | undefined => {
  const { properties, type } = json_schema
  const open = ["patternProperties", "anyOf", "oneOf", "allOf", "$ref"]
  return type === "object" &&
    typeof properties === "object" &&
    properties !== null &&
    (json_schema["additionalProperties"] ?? false) === false &&
    !open.some((keyword) => json_schema[keyword] !== undefined)
    ? new Set(Object.keys(properties))
    : undefined
}

/** The refusal of the first member that is none of these; undefined = there is none, or the value is no object. */
const strayIn = (args: unknown, names: ReadonlySet<string>) => {
  if (typeof args !== "object" || args === null) return undefined
  const stray = Object.keys(args).find((name) => !names.has(name))
  return stray === undefined ? undefined : refused(`Unexpected key at ${truncateUnits(stray, 64)}`)
}

const standardDecoder = (schema: Standard, json_schema: JsonObject): InputCodec["decode"] => {
  const names = closedNames(json_schema)
  const read = nullsRead(json_schema)
  return (args) => {
    if (names === undefined || hasOnly(args, names)) return validated(schema, read(args))
    return strayIn(args, names) ?? validated(schema, read(args))
  }
}

/** The JSON Schema that a Standard Schema provides, without `$schema`. */
const offered = (schema: Standard, side: "input" | "output"): JsonObject | undefined => {
  const { jsonSchema, vendor } = schema[
    "~standard"
  ] as Partial<StandardSchema.StandardJSONSchemaV1.Props>
  if (jsonSchema === undefined) return undefined
  const { $schema: _, ...rest } = jsonSchema[side]({
    target: "draft-2020-12",
    ...(vendor === "zod" ? { libraryOptions: { override: keepFlags } } : undefined)
  })
  return rest
}

/** The JSON Schema of an Effect Schema. That of an input tells the model that excess properties are refused. */
const documented = (schema: Schema.Codec<unknown, unknown>, side: "input" | "output") => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(
    schema,
    side === "input" ? strictly : {}
  )
  const whole = Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions }
  return side === "input" ? withFiniteNumbers(whole) : whole
}

/** The JSON Schema of the input or output side of a schema. Fails with a text that says why there is none. */
const derived = (
  side: "input" | "output",
  schema: AnySchema
): Result.Result<JsonObject, string> => {
  const found = Result.try(() =>
    isEffectSchema(schema) ? documented(schema, side) : offered(schema, side)
  )
  if (Result.isFailure(found)) {
    const why = truncateUnits(String(found.failure), 300)
    return Result.fail(`the schema cannot be said in JSON Schema: ${why}`)
  }
  return found.success === undefined
    ? Result.fail("the schema offers no JSON Schema")
    : Result.succeed(found.success)
}

const derivedFor = (
  tool: string,
  side: "input" | "output",
  schema: AnySchema,
  given: JsonObject | undefined
): Effect.Effect<JsonObject, MisdeclaredTool> => {
  if (!isSchema(schema)) {
    const problem = "it is neither an Effect Schema nor a Standard Schema, such as one of zod"
    return Effect.fail(misdeclared(tool, side, problem, `Give a JSON Schema as ${side}_schema`))
  }
  if (given !== undefined) return Effect.succeed(given)
  const found = derived(side, schema)
  if (Result.isSuccess(found)) return Effect.succeed(found.success)
  const fix = `Give ${side}_schema beside it, or wrap it with its library's JSON Schema package`
  return Effect.fail(misdeclared(tool, side, found.failure, fix))
}

/** Inlines the reference that a class or a schema with an identifier has at its top: providers read only the top. */
const atTop = (json_schema: JsonObject): JsonObject => {
  const { $defs, $ref: _, ...beside } = json_schema
  const name = definitionOf(json_schema)
  if (name === undefined || typeof $defs !== "object" || $defs === null) return json_schema
  if (!Object.hasOwn($defs, name)) return json_schema
  const inlined = { ...($defs as Readonly<Record<string, JsonObject>>)[name], ...beside }
  return JSON.stringify(inlined).includes('"#/$defs/') ? { ...inlined, $defs } : inlined
}

/**
 * Returns the JSON Schema if it describes an object, and fails otherwise: providers take a tool's arguments as one object, and
 * refuse a whole request because of one tool with another schema. A union of objects is refused too, because some providers
 * refuse `anyOf` at the top even with a `type` beside it. An author whose provider accepts a union writes `input_schema`.
 */
const objectSchema = (
  tool: string,
  field: "input" | "input_schema",
  json_schema: JsonObject
): Effect.Effect<JsonObject, MisdeclaredTool> => {
  if (json_schema["type"] === "object") return Effect.succeed(json_schema)
  return Effect.fail(
    misdeclared(
      tool,
      field,
      'its JSON Schema has to be of type "object" at its top, because a model gives a tool one object',
      field === "input"
        ? "Wrap it in an object: Schema.Struct({ value: ... })"
        : 'Wrap it in an object: { type: "object", properties: { value: ... } }'
    )
  )
}

const no_arguments: JsonObject = { type: "object", properties: {}, additionalProperties: false }

/** Whether the schema is `Schema.Struct({})`, which decodes everything but null and stands for a tool without arguments. */
const isEmpty = (schema: AnySchema): schema is Schema.Codec<unknown, unknown> => {
  if (!isEffectSchema(schema)) return false
  const { ast } = Schema.toEncoded(schema)
  return (
    SchemaAST.isObjects(ast) &&
    ast.propertySignatures.length === 0 &&
    ast.indexSignatures.length === 0
  )
}

const none = new Set<string>()

const emptyDecoder = (schema: Schema.Decoder<unknown>): InputCodec["decode"] => {
  const decode = Schema.decodeUnknownExit(schema)
  return (args) => {
    if (hasOnly(args, none) && !Array.isArray(args)) return decode(args)
    return strayIn(args, none) ?? refused("the arguments are no object")
  }
}

/** A decoder that names all faults, for what is decoded again without its nulls. */
const allFaults = (schema: Schema.Decoder<unknown>): InputCodec["decode"] =>
  Schema.decodeUnknownExit(schema, { ...strictly, errors: "all" })

/**
 * Decodes a copy of the arguments. A schema with an open member returns that member itself, and changes that a body makes to it
 * must not reach the run's own arguments, which are journaled, approved and shown to the model.
 */
const decodingCopy =
  (decode: InputCodec["decode"]): InputCodec["decode"] =>
  (args) =>
    decode(copyWithin(args, depth_max, { values: Infinity, units: 0 }) ?? args)

/** Whether decoding is known to make a new object: it does for an Effect Schema of scalars (bench row `step`). */
const isOfScalars = (schema: AnySchema, json_schema: JsonObject): boolean =>
  isEffectSchema(schema) && flatNames(json_schema) !== undefined

/** Decodes arguments with `schema`. Models are shown `given` in place of its JSON Schema. Both must describe an object. */
export const inputCodec = (
  tool: string,
  schema: AnySchema,
  given?: JsonObject
): Effect.Effect<InputCodec, MisdeclaredTool> => {
  if (given === undefined && isEmpty(schema)) {
    return Effect.succeed({ json_schema: no_arguments, decode: decodingCopy(emptyDecoder(schema)) })
  }
  return derivedFor(tool, "input", schema, given).pipe(
    Effect.flatMap((found) =>
      objectSchema(tool, given === undefined ? "input" : "input_schema", atTop(found))
    ),
    Effect.map((json_schema) => {
      const { decode } = codecOf(schema, json_schema)
      return given === undefined && isOfScalars(schema, json_schema)
        ? { json_schema, decode }
        : { json_schema, decode: decodingCopy(decode) }
    })
  )
}

const codecOf = (schema: AnySchema, json_schema: JsonObject): InputCodec => ({
  json_schema,
  decode: isEffectSchema(schema)
    ? asMeant(effectDecoder(schema, json_schema), () => allFaults(schema))
    : asMeant(standardDecoder(schema, json_schema))
})

/** A decoder for JSON that does not come from a model. Excess members are left out, and so are refused nulls. */
export const plainDecoder = (schema: AnySchema): InputCodec["decode"] => {
  if (isEffectSchema(schema)) {
    const codec = Schema.toCodecJson(schema) as Schema.Codec<unknown, unknown>
    return asMeant(Schema.decodeUnknownExit(codec), () =>
      Schema.decodeUnknownExit(codec, { errors: "all" })
    )
  }
  const read = nullsRead(Result.getOrElse(derived("input", schema), () => ({})))
  return asMeant((value) => validated(schema, read(value)))
}

/** Like `plainDecoder`, but excess members are refused; for a Standard Schema only if it provides its JSON Schema. */
export const closedDecoder = (schema: AnySchema): InputCodec["decode"] =>
  asMeant(
    isEffectSchema(schema)
      ? jsonDecoder(schema)
      : standardDecoder(
          schema,
          Result.getOrElse(derived("input", schema), () => ({}))
        )
  )

/**
 * The codec for a value that a model gives outside of a tool call, such as an answer. Fails with a text if the schema has no
 * JSON Schema to show to a model.
 */
export const givenCodec = (schema: AnySchema): Result.Result<InputCodec, string> =>
  Result.map(derived("input", schema), (found) => codecOf(schema, atTop(found)))

/**
 * A check of encoded results. A Standard Schema validates what a body returns, not its encoded form, so a result that it does
 * not accept is checked by its JSON Schema.
 */
const standardCheck = (
  encode: OutputCodec["encode"],
  json_schema: JsonObject
): OutputCodec["check"] => {
  let byJson: OutputCodec["check"] | undefined
  return (json) => {
    const encoded = encode(json)
    if (Exit.isSuccess(encoded)) return encoded
    byJson ??= Result.getOrElse(jsonSchemaCheck(json_schema), () => () => encoded)
    return Exit.isSuccess(byJson(json)) ? Exit.succeed(json) : encoded
  }
}

export const outputCodec = (
  tool: string,
  schema: AnySchema,
  given?: JsonObject
): Effect.Effect<OutputCodec, MisdeclaredTool> =>
  Effect.map(derivedFor(tool, "output", schema, given), (json_schema): OutputCodec => {
    if (!isEffectSchema(schema)) {
      const encode = (value: unknown) => {
        const given = validated(schema, value)
        if (Exit.isFailure(given)) return given
        const json = resultJson(given.value)
        return Result.isSuccess(json) ? Exit.succeed(json.success) : Exit.fail(json.failure)
      }
      return { json_schema, encode, check: standardCheck(encode, json_schema) }
    }
    const codec = Schema.toCodecJson(schema) as Schema.Codec<unknown, unknown>
    return {
      json_schema,
      encode: Schema.encodeUnknownExit(codec),
      check: Schema.decodeUnknownExit(codec, strictly)
    }
  })

const definition_faults = {
  endless: "a definition refers to itself with no object or list between, so nothing fits it",
  large: "its definitions refer to too many others"
}

/** Refuses values nested deeper than `depth_max`, whose check would take too long. */
const boundedDepth = (depth_max: number, decode: InputCodec["decode"]): InputCodec["decode"] =>
  depth_max === Infinity
    ? decode
    : (args) =>
        !isWithinBounds(args, { ...bounds_result, depth_max, values_max: Infinity })
          ? refused(`the value nests deeper than ${depth_max}, which this schema does not allow`)
          : decode(args)

/** The reason why a schema cannot be used for checks, and how to fix it. */
interface Unchecked {
  readonly problem: string
  readonly fix: string
}

/**
 * A check of values by their JSON Schema. Patterns run in linear time. Fails for a schema with a pattern that cannot, or with
 * definitions whose check would not end.
 */
export const jsonSchemaCheck = (
  given: JsonObject
): Result.Result<OutputCodec["check"], Unchecked> => {
  const json_schema = withReadablePatterns(withDefinitions(given))
  const { $defs } = json_schema
  const definitions = typeof $defs === "object" && $defs !== null ? ($defs as JsonObject) : {}
  const fault = checkDefinitions(definitions)
  if (fault !== undefined) {
    return Result.fail({ problem: definition_faults[fault], fix: "Give it another schema" })
  }
  const schema = Result.try(() =>
    withLinearPatterns(
      SchemaRepresentation.fromJsonSchemaDocument(
        JsonSchema.fromSchemaDraft2020_12(json_schema as JsonSchema.JsonSchema),
        { patterns: "apply" }
      ),
      json_schema
    )
  )
  return Result.mapBoth(schema, {
    onSuccess: (found) => {
      const schema = found as Schema.Decoder<unknown>
      const absent = asMeant(Schema.decodeUnknownExit(schema, strictly), () => allFaults(schema))
      const read = nullsRead(json_schema)
      return boundedDepth(valueDepthMax(definitions), (value) => absent(read(value)))
    },
    onFailure: (failure) => ({
      problem: truncateUnits(String(failure), 300),
      fix: "Say it with the part of JSON Schema 2020-12 that can be checked, or give input a schema"
    })
  })
}

/** Makes the check of a plain schema when it is first used, because most processes never call most tools of a long list. */
const deferredCheck = (json_schema: JsonObject): ReturnType<typeof jsonSchemaCheck> => {
  if (!isPlainSchema(json_schema)) return jsonSchemaCheck(json_schema)
  let check: OutputCodec["check"] | undefined
  return Result.succeed((value) => {
    check ??= Result.getOrElse(
      jsonSchemaCheck(json_schema),
      ({ problem }) =>
        () =>
          refused(`the schema cannot be checked: ${problem}`)
    )
    return check(value)
  })
}

/**
 * A codec for arguments that only a JSON Schema describes, checked as in `jsonSchemaCheck`. `deferred` = the schema never
 * changes later, so its check may be made when it is first used; a schema that cannot be checked is refused at once all the
 * same.
 */
export const jsonSchemaInput = (
  tool: string,
  json_schema: JsonObject,
  deferred = false
): Effect.Effect<InputCodec, MisdeclaredTool> => {
  const check = deferred ? deferredCheck(json_schema) : jsonSchemaCheck(json_schema)
  if (Result.isFailure(check)) {
    const { fix, problem } = check.failure
    return Effect.fail(misdeclared(tool, "input_schema", problem, fix))
  }
  return Effect.map(objectSchema(tool, "input_schema", atTop(json_schema)), (shown) => ({
    json_schema: shown,
    decode: decodingCopy(check.success)
  }))
}
