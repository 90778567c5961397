/**
 * The JSON Schemas of servers, compiled: their patterns by an engine of linear time, so that no schema of a server and no
 * text of a model can hold the process. Private to this room.
 */
import { Ajv } from "ajv"
import { Ajv2019 } from "ajv/dist/2019.js"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { Exit, Result } from "effect"
import { linearPattern } from "../../src/entry/LinearPattern.ts"
import { ValueRefused } from "../../src/tool/ToolCodec.ts"

type JsonObject = Readonly<Record<string, unknown>>

export type Validate = (value: unknown) => Exit.Exit<unknown, ValueRefused>

class PatternRefused extends Error {}

/** Ajv's place for another engine; it is asked once for each pattern, while the schema is compiled. */
const engine = Object.assign(
  (source: string) =>
    Result.getOrThrowWith(linearPattern(source), (why) => new PatternRefused(why)),
  { code: "linearPattern" }
)

/** Whoever names no dialect means 2020-12. Undefined = not one of these. */
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
  const ajv = new Dialect({
    strict: false,
    validateSchema: false,
    // One mistake is enough to refuse, and a large value could make very many.
    allErrors: false,
    code: { regExp: engine as never }
  })
  addFormats.default(ajv)
  return { ajv, validate: ajv.compile(schema) }
}

/** Compiles a server's schema, or says why it cannot be. */
export const compiled = (schema: JsonObject): Result.Result<Validate, string> => {
  const Dialect = dialectOf(schema)
  if (Dialect === undefined) {
    return Result.fail("its dialect is none of draft 6, draft 7, 2019-09 and 2020-12")
  }
  const made = Result.try(() => validatorOf(Dialect, schema))
  if (Result.isFailure(made)) {
    const why: unknown = made.failure
    return Result.fail(why instanceof PatternRefused ? why.message : "it is no schema that we know")
  }
  const { ajv, validate } = made.success
  return Result.succeed((value) =>
    validate(value) === true
      ? Exit.succeed(value)
      : Exit.fail(new ValueRefused({ message: ajv.errorsText(validate.errors).slice(0, 1_000) }))
  )
}
