/**
 * Operations of an OpenAPI 3.0 or 3.1 document, each with its own references written out. A reference leads to a place in
 * the same document; nothing is ever fetched or read from a file.
 */
import { Result } from "effect"
import type { Json } from "../Canonical.ts"
import { suggestNames } from "../tool/Nearest.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject, isUnsafeName, memberOf } from "./BodyPath.ts"
import { OpenApiRefused, refuseOpenApi } from "./OpenApiRefused.ts"

export type Dialect = "3.0" | "3.1"

export interface OpenApiDocument {
  readonly dialect: Dialect
  readonly root: JsonObject
}

export interface FoundOperation {
  /** As it was asked for. */
  readonly id: string
  readonly method: string
  readonly path: string
  /** The path item's parameters, which hold where the operation has none of the same name. */
  readonly shared: Json | undefined
  readonly operation: JsonObject
}

/** Values of one operation with its references written out. */
const values_max = 20_000
const depth_max = 128

const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]

/** The document by its version; fails where it is none of 3.0 and 3.1. */
export const openApiDocument = (value: Json): Result.Result<OpenApiDocument, OpenApiRefused> => {
  const version = memberOf(value, "openapi")
  const dialect = typeof version === "string" ? /^3\.[01](?=\.\d+$)/.exec(version)?.[0] : undefined
  if (!isJsonObject(value) || (dialect !== "3.0" && dialect !== "3.1")) {
    const found = version ?? memberOf(value, "swagger")
    const said = typeof found === "string" ? `, it says "${found.slice(0, 20)}"` : ""
    return Result.fail(
      refuseOpenApi("NotOpenApi", "document", `it is not OpenAPI 3.0 or 3.1${said}`)
    )
  }
  return isJsonObject(memberOf(value, "paths"))
    ? Result.succeed({ dialect, root: value })
    : Result.fail(refuseOpenApi("NotOpenApi", "document", "it has no paths"))
}

/** All operations by their ids, and by `GET /path`. */
export const operationsOf = ({
  root
}: OpenApiDocument): ReadonlyMap<string, ReadonlyArray<FoundOperation>> => {
  const all = new Map<string, Array<FoundOperation>>()
  for (const [path, item] of Object.entries(memberOf(root, "paths") ?? {})) {
    if (!isJsonObject(item)) continue
    const shared = memberOf(item, "parameters")
    for (const name of methods) {
      const operation = memberOf(item, name)
      if (!isJsonObject(operation)) continue
      const method = name.toUpperCase()
      const own = memberOf(operation, "operationId")
      const place = `${method} ${path}`
      for (const id of typeof own === "string" && own !== place ? [own, place] : [place]) {
        const found = { id, method, path, shared, operation }
        const same = all.get(id)
        if (same === undefined) all.set(id, [found])
        else same.push(found)
      }
    }
  }
  return all
}

/** The operation of an id; fails where the document has none, or several. */
export const operationOf = (
  all: ReadonlyMap<string, ReadonlyArray<FoundOperation>>,
  id: string
): Result.Result<FoundOperation, OpenApiRefused> => {
  const [found, second] = all.get(id) ?? []
  if (found === undefined) {
    const names = [...all.keys()].filter((name) => !name.includes(" "))
    const problem = `the document has none of this id.${suggestNames(id, names)}`
    return Result.fail(refuseOpenApi("UnknownOperation", id, problem))
  }
  if (second === undefined) return Result.succeed(found)
  const places = `${found.method} ${found.path} and ${second.method} ${second.path}`
  const problem = `the document has it twice, at ${places.slice(0, 300)}: choose it by its method and path`
  return Result.fail(refuseOpenApi("DuplicateOperation", id, problem))
}

/** Members whose own members are names of an author and no keywords. */
const maps = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
  "content"
])
/** Members whose values are data, in which nothing is a reference. */
const data = new Set(["default", "enum", "const"])
/** Members that say nothing of what is sent. */
const dropped = new Set([
  "example",
  "examples",
  "externalDocs",
  "xml",
  "discriminator",
  "encoding",
  "headers",
  "links"
])
/** What may stand beside a reference and adds nothing to check. In 3.0 nothing else beside it counts. */
const annotations = new Set([
  "description",
  "summary",
  "title",
  "default",
  "deprecated",
  "readOnly"
])

interface Walk {
  readonly document: OpenApiDocument
  readonly id: string
  /** The references that lead to where the walk is. */
  readonly open: Array<string>
  values: number
}

const fail = ({ id }: Walk, reason: OpenApiRefused["reason"], message: string): OpenApiRefused =>
  refuseOpenApi(reason, id, message)

/** What a reference names. Throws where it leads out of the document or nowhere. */
const named = (walk: Walk, reference: string): Json => {
  const shown = `"${reference.slice(0, 200)}"`
  if (!reference.startsWith("#")) {
    throw fail(walk, "ExternalReference", `${shown} leads out of the document`)
  }
  const parts = reference.startsWith("#/") ? reference.slice(2).split("/") : undefined
  let found: Json | undefined = parts === undefined ? undefined : walk.document.root
  for (const part of parts ?? []) {
    const decoded = Result.try(() => decodeURIComponent(part))
    if (Result.isFailure(decoded)) {
      found = undefined
      break
    }
    const name = decoded.success.replaceAll("~1", "/").replaceAll("~0", "~")
    found = Array.isArray(found)
      ? /^(?:0|[1-9]\d{0,6})$/.test(name)
        ? (found as ReadonlyArray<Json>)[Number(name)]
        : undefined
      : memberOf(found, name)
  }
  if (found === undefined) throw fail(walk, "UnknownReference", `${shown} leads nowhere`)
  return found
}

const followed = (walk: Walk, reference: string, beside: JsonObject, depth: number): Json => {
  if (walk.open.includes(reference)) {
    const problem = `"${reference.slice(0, 200)}" leads to itself, and a tool's schema has to end`
    throw fail(walk, "CircularReference", problem)
  }
  walk.open.push(reference)
  const target = written(walk, named(walk, reference), depth, false)
  walk.open.pop()
  const members = Object.entries(beside)
  const isPlain = ([name]: readonly [string, Json]): boolean => annotations.has(name)
  if (!isJsonObject(target) || members.length === 0) return target
  // A reference beside nullable is no OpenAPI 3.0, and is written all the same, by people who mean it.
  const { nullable } = beside
  const note = nullable === true && walk.document.dialect === "3.0" ? { nullable } : undefined
  if (walk.document.dialect === "3.0" || members.every(isPlain)) {
    return { ...target, ...Object.fromEntries(members.filter(isPlain)), ...note }
  }
  const { allOf } = beside
  return { ...beside, allOf: [...(Array.isArray(allOf) ? allOf : []), target] }
}

/** A copy with references written out. `isMap`: its members' names are an author's. Throws what refuses it. */
const written = (walk: Walk, value: Json, depth: number, isMap: boolean): Json => {
  if (++walk.values > values_max || depth > depth_max) {
    throw fail(
      walk,
      "TooLarge",
      `with its references it has over ${values_max} values, or is too deep`
    )
  }
  if (Array.isArray(value)) {
    return value.map((item: Json) => written(walk, item, depth + 1, false))
  }
  if (!isJsonObject(value)) return value
  const reference = isMap ? undefined : memberOf(value, "$ref")
  const members = Object.entries(value).flatMap(
    ([name, member]): Array<readonly [string, Json]> => {
      if (isUnsafeName(name) || (!isMap && (dropped.has(name) || name.startsWith("x-")))) return []
      if (!isMap && typeof reference === "string" && name === "$ref") return []
      if (!isMap && data.has(name)) {
        walk.values += JSON.stringify(member).length >> 3
        return [[name, member]]
      }
      return [[name, written(walk, member, depth + 1, !isMap && maps.has(name))]]
    }
  )
  const own = Object.fromEntries(members)
  return typeof reference === "string" ? followed(walk, reference, own, depth + 1) : own
}

export interface WrittenOperation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly description: string
  readonly parameters: ReadonlyArray<JsonObject>
  /** Absent = it has none. */
  readonly requestBody?: JsonObject
}

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value.trim() : "")

const described = (operation: JsonObject): string => {
  const [summary, description] = [textOf(operation["summary"]), textOf(operation["description"])]
  if (summary === "" || description === "") return summary + description
  return description.startsWith(summary) ? description : `${summary}\n\n${description}`
}

/** The parameters of an operation and, where it has none of the same place and name, those of its path. */
const together = (
  own: ReadonlyArray<JsonObject>,
  shared: ReadonlyArray<JsonObject>
): ReadonlyArray<JsonObject> => [
  ...shared.filter(
    (one) => !own.some((other) => other["in"] === one["in"] && other["name"] === one["name"])
  ),
  ...own
]

/** The parts of an operation that say what is sent, with their references written out. */
export const writtenOperation = (
  document: OpenApiDocument,
  { id, method, operation, path, shared }: FoundOperation
): Result.Result<WrittenOperation, OpenApiRefused> => {
  const walk: Walk = { document, id, open: [], values: 0 }
  const list = (value: Json | undefined): ReadonlyArray<JsonObject> => {
    const items = written(walk, value ?? [], 0, false)
    return Array.isArray(items) ? (items as ReadonlyArray<Json>).filter(isJsonObject) : []
  }
  const read = Result.try((): WrittenOperation => {
    const parameters = together(list(memberOf(operation, "parameters")), list(shared))
    const body = memberOf(operation, "requestBody")
    const requestBody = body === undefined ? undefined : written(walk, body, 0, false)
    const description = described(operation)
    const parts = { id, method, path, description, parameters }
    return isJsonObject(requestBody) ? { ...parts, requestBody } : parts
  })
  if (Result.isSuccess(read)) return Result.succeed(read.success)
  const thrown = read.failure
  if (thrown instanceof OpenApiRefused) return Result.fail(thrown)
  throw thrown
}

/** A whole document of these operations alone, for a validator. */
export const documentOf = (
  { dialect, root }: OpenApiDocument,
  operations: ReadonlyArray<WrittenOperation>
): JsonObject => {
  const paths = new Map<string, JsonObject>()
  for (const { method, parameters, path, requestBody } of operations) {
    const operation = {
      parameters,
      ...(requestBody === undefined ? undefined : { requestBody }),
      responses: { default: { description: "not read" } }
    }
    paths.set(path, { ...paths.get(path), [method.toLowerCase()]: operation })
  }
  const version = root["openapi"] ?? dialect
  const info = { title: "chosen operations", version: "1" }
  return { openapi: version, info, paths: Object.fromEntries(paths) }
}
