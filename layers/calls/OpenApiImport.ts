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
import type { Json } from "../../src/value/Canonical.ts"
import type { JsonObject } from "../../src/call/BodyPath.ts"
import type { OpenApiDocument, WrittenOperation } from "../../src/call/OpenApiDocument.ts"
import {
  baseOf,
  basePath,
  documentOf,
  idsOf,
  openApiDocument,
  operationOf,
  operationsOf,
  writtenOperation
} from "../../src/call/OpenApiDocument.ts"
import type { Choice, Imported } from "../../src/call/OpenApiOperation.ts"
import { decodeChoice, platformOpOf } from "../../src/call/OpenApiOperation.ts"
import type { OpenApiRefused } from "../../src/call/OpenApiRefused.ts"
import { refuseOpenApi } from "../../src/call/OpenApiRefused.ts"
import type { PlatformOp } from "../../src/call/PlatformOp.ts"
import type { JsonBounds, JsonRefused } from "../../src/value/BoundedJson.ts"
import { depth_max, readJson, readJsonValue } from "../../src/value/BoundedJson.ts"
import { jsonSchemaInput } from "../../src/tool/ToolCodec.ts"

export type { Choice } from "../../src/call/OpenApiOperation.ts"
export { OpenApiRefused } from "../../src/call/OpenApiRefused.ts"

export interface ImportOptions {
  /** The prefix of each path, such as `/api`. Absent = the path of the operation's own first server, or else of the document's. */
  readonly base_path?: string
  /** Headers that are sent with every call of every operation, such as `{ "Api-Version": "7" }`. Those of a choice come before. */
  readonly headers?: Readonly<Record<string, string>>
}

/** GitHub's document has 13,000,000 characters and 560,000 values. Limits beyond a double, which many have, are rounded. */
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

type Reading<A> = Effect.Effect<A, OpenApiRefused>

const refuse = (reason: OpenApiRefused["reason"], message: string): OpenApiRefused =>
  refuseOpenApi(reason, "document", message)

const notRead = ({ message, reason }: JsonRefused): OpenApiRefused =>
  refuse(reason === "too_large" ? "TooLarge" : "NotOpenApi", message)

const load = <A>(name: string, from: () => Promise<A>): Reading<A> =>
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

const faultOf = Effect.fnUntraced(function* (
  document: OpenApiDocument,
  chosen: ReadonlyArray<WrittenOperation>
): Effect.fn.Return<string | undefined, OpenApiRefused> {
  const made = yield* load(validator_name, () => (validator ??= makeValidator()))
  // The validator gets an object, because it could take a text for the name of a file.
  const { errors, valid } = yield* Effect.promise(() =>
    made.validate({ ...documentOf(document, chosen) })
  )
  if (valid) return undefined
  const [first] = typeof errors === "string" ? [] : (errors ?? [])
  return first === undefined
    ? String(errors)
    : `${first.instancePath || "its root"} ${first.message ?? "is wrong"}`
})

const choicesOf = (
  given: ReadonlyArray<string | Choice>,
  headers: ImportOptions["headers"]
): Result.Result<ReadonlyArray<Choice>, OpenApiRefused> => {
  // An untyped program may pass anything.
  if (!Array.isArray(given)) {
    return Result.fail(refuse("InvalidChoice", "the chosen operations are no list"))
  }
  if (given.length > choices_max) {
    return Result.fail(refuse("TooLarge", `at most ${choices_max} operations can be chosen`))
  }
  return Result.all(given.map((value, at) => decodeChoice(value, at, headers)))
}

interface Chosen {
  readonly choice: Choice
  readonly written: WrittenOperation
}

type Found = Result.Result<Chosen, OpenApiRefused>

const chosenOf = (
  document: OpenApiDocument,
  all: ReturnType<typeof operationsOf>,
  choices: ReadonlyArray<Choice>
): ReadonlyArray<Found> => {
  const places = new Set<string>()
  return choices.map((choice): Found => {
    const id = choice.operation
    const operation = operationOf(all, id)
    if (Result.isFailure(operation)) return Result.fail(operation.failure)
    const place = `${operation.success.method} ${operation.success.path}`
    if (places.has(place)) {
      return Result.fail(refuseOpenApi("DuplicateOperation", id, "it is chosen twice"))
    }
    places.add(place)
    return Result.map(writtenOperation(document, operation.success), (written) => ({
      choice,
      written
    }))
  })
}

const checkedBase = (base: string | undefined, root: JsonObject) =>
  base === undefined
    ? basePath(root)
    : /^(?:\/[^/{}?#]+)*$/.test(base)
      ? Result.succeed(base)
      : Result.fail(refuse("InvalidChoice", "base_path is a path without a slash at its end"))

/** Refuses the operations that the validator refuses. One after the other is validated only where not all are valid. */
const validatedOf = Effect.fnUntraced(function* (
  document: OpenApiDocument,
  found: ReadonlyArray<Found>
): Effect.fn.Return<ReadonlyArray<Found>, OpenApiRefused> {
  const written = found.flatMap((one) => (Result.isSuccess(one) ? [one.success.written] : []))
  if ((yield* faultOf(document, written)) === undefined) return found
  return yield* Effect.forEach(found, (one) =>
    Result.isFailure(one)
      ? Effect.succeed(one)
      : Effect.map(faultOf(document, [one.success.written]), (fault): Found => {
          if (fault === undefined) return one
          const problem = `it breaks the schema of OpenAPI: ${fault.slice(0, 500)}`
          return Result.fail(refuseOpenApi("InvalidDocument", one.success.written.id, problem))
        })
  )
})

/** Makes the entry of an operation, whose schema has to be one that calls can be checked with. */
const entryOf = Effect.fnUntraced(function* (
  { choice, written }: Chosen,
  { dialect, root }: OpenApiDocument,
  base: string,
  isBaseGiven: boolean
): Effect.fn.Return<Imported, OpenApiRefused> {
  const own = isBaseGiven ? base : yield* Effect.fromResult(baseOf(written, root, base))
  const made = yield* Effect.fromResult(platformOpOf(written, choice, { base: own, dialect }))
  const { input_schema = {}, op } = made.op
  yield* jsonSchemaInput(op, input_schema).pipe(
    Effect.mapError(({ message }) =>
      refuseOpenApi("UnsupportedSchema", written.id, message.slice(0, 500))
    )
  )
  return made
})

/** An optional part of an operation that its entry does not offer. */
export interface LeftOut {
  /** The operation's id. */
  readonly operation: string
  /** What is left out, and why. */
  readonly what: string
}

/** What became of a document's operations. */
export interface Survey {
  readonly operations: ReadonlyArray<PlatformOp>
  readonly left_out: ReadonlyArray<LeftOut>
  readonly refused: ReadonlyArray<OpenApiRefused>
}

/**
 * Makes the catalogue entries of those operations that can have one, and says of all others why they cannot. `chosen` is as for
 * `operations`; absent = all operations of the document, at most 1,000. Fails only if the document or a choice cannot be read.
 */
export const survey = Effect.fnUntraced(function* (
  document: unknown,
  chosen?: ReadonlyArray<string | Choice>,
  { base_path, headers }: ImportOptions = {}
): Effect.fn.Return<Survey, OpenApiRefused> {
  const given =
    chosen === undefined ? undefined : yield* Effect.fromResult(choicesOf(chosen, headers))
  const read = yield* Effect.fromResult(openApiDocument(yield* readDocument(document)))
  const base = yield* Effect.fromResult(checkedBase(base_path, read.root))
  const all = operationsOf(read)
  const choices = given ?? (yield* Effect.fromResult(choicesOf(idsOf(all), headers)))
  const found = yield* validatedOf(read, chosenOf(read, all, choices))
  const entries = new Map<string, PlatformOp>()
  const left_out: Array<LeftOut> = []
  const refused: Array<OpenApiRefused> = []
  for (const one of found) {
    const made = Result.isFailure(one)
      ? Result.fail(one.failure)
      : yield* Effect.result(entryOf(one.success, read, base, base_path !== undefined))
    if (Result.isFailure(made)) {
      refused.push(made.failure)
      continue
    }
    const { op } = made.success
    const id = Result.isSuccess(one) ? one.success.written.id : op.op
    if (entries.has(op.op)) {
      const problem = `another has the name "${op.op}": give it one`
      refused.push(refuseOpenApi("DuplicateOperation", id, problem))
      continue
    }
    entries.set(op.op, op)
    left_out.push(...made.success.left_out.map((what) => ({ operation: id, what })))
  }
  return { operations: [...entries.values()], left_out, refused }
})

const logged_max = 50

/**
 * Makes the catalogue entries of the chosen operations, for `operations` of `ConfiguredTools` and of `toolConfigs`. A choice is
 * an operation's id, or its method and path, either alone or with members that override the document. The document is a text in
 * JSON or YAML, or a value. Fails with the first operation that cannot have an entry; what optional parts of them are left out is
 * logged.
 */
export const operations = Effect.fnUntraced(function* (
  document: unknown,
  chosen: ReadonlyArray<string | Choice>,
  options: ImportOptions = {}
): Effect.fn.Return<ReadonlyArray<PlatformOp>, OpenApiRefused> {
  const { left_out, operations: entries, refused } = yield* survey(document, chosen, options)
  const [first] = refused
  if (first !== undefined) return yield* first
  if (left_out.length > 0) {
    const said = left_out.slice(0, logged_max).map(({ operation, what }) => `${operation}: ${what}`)
    const more = left_out.length > said.length ? [`and ${left_out.length - said.length} more`] : []
    yield* Effect.logWarning(
      ["the OpenAPI import leaves out what no call can send:", ...said, ...more].join("\n  ")
    )
  }
  return entries
})
