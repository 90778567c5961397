/**
 * Operations of a host's OpenAPI document as entries of the catalogue. Needs the package
 * `@seriousme/openapi-schema-validator`. Nothing is fetched, and no file is read.
 *
 * ```ts
 * const operations = yield* OpenApiImport.operations(text, ["getItem", { operation: "createItem", permission: "allow" }])
 * ```
 */
import type { Validator } from "@seriousme/openapi-schema-validator"
import { Effect, Result } from "effect"
import type { Json } from "../../src/Canonical.ts"
import type { JsonObject } from "../../src/call/BodyPath.ts"
import type { OpenApiDocument, WrittenOperation } from "../../src/call/OpenApiDocument.ts"
import {
  documentOf,
  openApiDocument,
  operationOf,
  operationsOf,
  writtenOperation
} from "../../src/call/OpenApiDocument.ts"
import type { Choice } from "../../src/call/OpenApiOperation.ts"
import { baseOf, basePath, decodeChoice, platformOpOf } from "../../src/call/OpenApiOperation.ts"
import type { OpenApiRefused } from "../../src/call/OpenApiRefused.ts"
import { refuseOpenApi } from "../../src/call/OpenApiRefused.ts"
import type { PlatformOp } from "../../src/call/PlatformOp.ts"
import type { JsonBounds, JsonRefused } from "../../src/entry/BoundedJson.ts"
import { depth_max, readJson, readJsonValue } from "../../src/entry/BoundedJson.ts"
import { jsonSchemaInput } from "../../src/tool/ToolCodec.ts"

export type { Choice } from "../../src/call/OpenApiOperation.ts"
export { OpenApiRefused } from "../../src/call/OpenApiRefused.ts"

export interface ImportOptions {
  /** The prefix of each path, such as `/api`. Absent = the path of the operation's own first server, or else of the document's. */
  readonly base_path?: string
}

/**
 * The bounds of a document. For comparison, GitHub's document has 13,000,000 characters and 560,000 values. Limits such as
 * 9223372036854775807, which many documents have, are rounded: no argument beyond what a double holds reaches them.
 */
const bounds: JsonBounds = {
  depth_max,
  values_max: 2_000_000,
  units_max: 32_000_000,
  inexact: "round"
}
/** The most UTF-16 units of a YAML document, which takes ten times as long to read as JSON. */
const yaml_units_max = 4_000_000
/** The most operations of one import, as many as a catalogue has. */
const choices_max = 1_000

type Imported<A> = Effect.Effect<A, OpenApiRefused>

const refuse = (reason: OpenApiRefused["reason"], message: string): OpenApiRefused =>
  refuseOpenApi(reason, "document", message)

const notRead = ({ message, reason }: JsonRefused): OpenApiRefused =>
  refuse(reason === "too_large" ? "TooLarge" : "NotOpenApi", message)

const load = <A>(name: string, from: () => Promise<A>): Imported<A> =>
  Effect.tryPromise({
    try: from,
    catch: () =>
      refuse("MissingPackage", `reading it needs the package ${name}: npm install ${name}`)
  })

const readYaml = Effect.fnUntraced(function* (
  text: string
): Effect.fn.Return<unknown, OpenApiRefused> {
  if (text.length > yaml_units_max) {
    return yield* refuse(
      "TooLarge",
      `as YAML it may have ${yaml_units_max} characters: give it as JSON`
    )
  }
  const { parse } = yield* load("yaml", () => import("yaml"))
  // YAML's core schema gives only what JSON has. Aliases are refused, because a small text could use them to write a very large
  // value.
  return yield* Effect.try({
    try: (): unknown => parse(text, { maxAliasCount: 0, schema: "core", logLevel: "silent" }),
    catch: (error) =>
      refuse(
        "NotOpenApi",
        `it is no YAML: ${error instanceof Error ? error.message.slice(0, 300) : ""}`
      )
  })
})

/** Reads the document as plain data. Fails if it exceeds the bounds or is neither JSON nor YAML. */
const readDocument = Effect.fnUntraced(function* (
  document: unknown
): Effect.fn.Return<Json, OpenApiRefused> {
  if (typeof document !== "string") {
    return yield* Effect.fromResult(Result.mapError(readJsonValue(document, bounds), notRead))
  }
  if (document.length > bounds.units_max || /^\s*\{/.test(document)) {
    return yield* Effect.fromResult(Result.mapError(readJson(document, bounds), notRead))
  }
  const value = yield* readYaml(document)
  return yield* Effect.fromResult(Result.mapError(readJsonValue(value, bounds), notRead))
})

const validator_name = "@seriousme/openapi-schema-validator"

/** The validator. It is made once, because it compiles the schemas of OpenAPI. */
let validator: Promise<Validator> | undefined

const makeValidator = async (): Promise<Validator> => {
  const { Validator } = await import("@seriousme/openapi-schema-validator")
  return new Validator()
}

/** Validates the chosen operations. Fails with the validator's first complaint. */
const validated = Effect.fnUntraced(function* (
  document: OpenApiDocument,
  chosen: ReadonlyArray<WrittenOperation>
): Effect.fn.Return<void, OpenApiRefused> {
  const made = yield* load(validator_name, () => (validator ??= makeValidator()))
  // The validator gets an object, because it could take a text for the name of a file.
  const { errors, valid } = yield* Effect.promise(() =>
    made.validate({ ...documentOf(document, chosen) })
  )
  if (valid) return
  const [first] = typeof errors === "string" ? [] : (errors ?? [])
  const fault =
    first === undefined
      ? String(errors)
      : `${first.instancePath || "its root"} ${first.message ?? "is wrong"}`
  return yield* refuse("InvalidDocument", `it breaks the schema of OpenAPI: ${fault.slice(0, 500)}`)
})

const choicesOf = (
  given: ReadonlyArray<string | Choice>
): Result.Result<ReadonlyArray<Choice>, OpenApiRefused> => {
  // An untyped program may pass anything.
  if (!Array.isArray(given)) {
    return Result.fail(refuse("InvalidChoice", "the chosen operations are no list"))
  }
  if (given.length > choices_max) {
    return Result.fail(refuse("TooLarge", `at most ${choices_max} operations can be chosen`))
  }
  const choices: Array<Choice> = []
  for (const [at, value] of given.entries()) {
    const choice = decodeChoice(value, at)
    if (Result.isFailure(choice)) return Result.fail(choice.failure)
    choices.push(choice.success)
  }
  return Result.succeed(choices)
}

const writtenOf = (
  document: OpenApiDocument,
  choices: ReadonlyArray<Choice>
): Result.Result<ReadonlyArray<WrittenOperation>, OpenApiRefused> => {
  const all = operationsOf(document)
  const places = new Set<string>()
  const found: Array<WrittenOperation> = []
  for (const { operation: id } of choices) {
    const operation = operationOf(all, id)
    if (Result.isFailure(operation)) return Result.fail(operation.failure)
    const place = `${operation.success.method} ${operation.success.path}`
    if (places.has(place)) {
      return Result.fail(refuseOpenApi("DuplicateOperation", id, "it is chosen twice"))
    }
    places.add(place)
    const written = writtenOperation(document, operation.success)
    if (Result.isFailure(written)) return Result.fail(written.failure)
    found.push(written.success)
  }
  return Result.succeed(found)
}

const checkedBase = (base: string | undefined, root: JsonObject) =>
  base === undefined
    ? basePath(root)
    : /^(?:\/[^/{}?#]+)*$/.test(base)
      ? Result.succeed(base)
      : Result.fail(refuse("InvalidChoice", "base_path is a path without a slash at its end"))

/**
 * Makes the catalogue entries of the chosen operations, for `operations` of `ConfiguredTools` and of `toolConfigs`. A choice is
 * an operation's id, or its method and path, either alone or with members that override the document. The document is a text in
 * JSON or YAML, or a value.
 */
export const operations = Effect.fnUntraced(function* (
  document: unknown,
  chosen: ReadonlyArray<string | Choice>,
  { base_path }: ImportOptions = {}
): Effect.fn.Return<ReadonlyArray<PlatformOp>, OpenApiRefused> {
  const choices = yield* Effect.fromResult(choicesOf(chosen))
  const read = yield* Effect.fromResult(openApiDocument(yield* readDocument(document)))
  const { dialect, root } = read
  const base = yield* Effect.fromResult(checkedBase(base_path, root))
  const written = yield* Effect.fromResult(writtenOf(read, choices))
  yield* validated(read, written)
  const entries = new Map<string, PlatformOp>()
  for (const [at, operation] of written.entries()) {
    const { id } = operation
    const choice = choices[at] ?? { operation: id }
    const own =
      base_path === undefined ? yield* Effect.fromResult(baseOf(operation, root, base)) : base
    const entry = yield* Effect.fromResult(platformOpOf(operation, choice, { base: own, dialect }))
    const { input_schema = {}, op } = entry
    if (entries.has(op)) {
      return yield* refuseOpenApi(
        "DuplicateOperation",
        id,
        `another has the name "${op}": give it one`
      )
    }
    yield* jsonSchemaInput(op, input_schema).pipe(
      Effect.mapError(({ message }) =>
        refuseOpenApi("UnsupportedSchema", id, message.slice(0, 500))
      )
    )
    entries.set(op, entry)
  }
  return [...entries.values()]
})
