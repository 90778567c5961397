/**
 * Reads operations of an OpenAPI 3.0 or 3.1 document. The references of each are written out, and schemas that refer to
 * themselves are beside it as definitions. A reference leads to a place in the same document; nothing is ever fetched or read
 * from a file.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import { truncateUnits } from "../value/CutText.ts"
import { suggestNames } from "../value/Nearest.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject, listOf, memberOf } from "./BodyPath.ts"
import type { References } from "./OpenApiReference.ts"
import {
  definitionName,
  definitions_place,
  isRecursive,
  memberKind,
  namedBy,
  referencesOf
} from "./OpenApiReference.ts"
import { OpenApiRefused, refuseOpenApi } from "./OpenApiRefused.ts"

export type Dialect = "3.0" | "3.1"

export interface OpenApiDocument {
  readonly dialect: Dialect
  readonly root: JsonObject
  readonly references: References
}

export interface FoundOperation {
  /** The id by which it was found: the `operationId`, or the method and path. */
  readonly id: string
  readonly method: string
  readonly path: string
  /** The path item's parameters, which apply unless the operation has one with the same name and place. */
  readonly shared: Json | undefined
  /** Its own servers, or those of its path item, which take the place of the document's; undefined = it has none. */
  readonly servers: Json | undefined
  readonly operation: JsonObject
}

/** The greatest number of values in one operation with its references written out, and the greatest depth. */
const values_max = 20_000
const depth_max = 128

const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]

/** Recognises a document by its version. Fails if that is neither 3.0 nor 3.1, or if there are no paths. */
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
    ? Result.succeed({ dialect, root: value, references: referencesOf(value) })
    : Result.fail(refuseOpenApi("NotOpenApi", "document", "it has no paths"))
}

/** All operations, by `operationId` and by method and path such as `GET /items`. */
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
      const hasOwn = typeof own === "string" && own !== "" && own !== place
      for (const id of hasOwn ? [own, place] : [place]) {
        const servers = memberOf(operation, "servers") ?? memberOf(item, "servers")
        const found = { id, method, path, shared, servers, operation }
        const same = all.get(id)
        if (same === undefined) all.set(id, [found])
        else same.push(found)
      }
    }
  }
  return all
}

/** The id of each operation: its `operationId`, or its method and path where it has none, or where another one has the same. */
export const idsOf = (
  all: ReadonlyMap<string, ReadonlyArray<FoundOperation>>
): ReadonlyArray<string> => {
  const ids = new Map<string, string>()
  for (const [id, [found, second]] of all) {
    if (found === undefined || second !== undefined) continue
    const place = `${found.method} ${found.path}`
    if (id !== place || !ids.has(place)) ids.set(place, id)
  }
  return [...ids.values()]
}

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
  const problem = `the document has it twice, at ${truncateUnits(places, 300)}: choose it by its method and path`
  return Result.fail(refuseOpenApi("DuplicateOperation", id, problem))
}

/** What adds nothing to check beside a reference. In 3.0 all others beside one are ignored, except `nullable`. */
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
  /** The references that lead to themselves, by the names of their definitions. */
  readonly definitions: Map<string, string>
  values: number
}

interface Place {
  readonly depth: number
  /** True = the document's author chose the names of the value's members. */
  readonly isMap: boolean
  /** True = the value is a schema or inside one. */
  readonly inSchema: boolean
}

const fail = ({ id }: Walk, reason: OpenApiRefused["reason"], message: string): OpenApiRefused =>
  refuseOpenApi(reason, id, message)

/** What a reference names. Throws an `OpenApiRefused` if it leads out of the document or nowhere. */
const named = (walk: Walk, reference: string): Json => {
  const shown = `"${truncateUnits(reference, 200)}"`
  if (!reference.startsWith("#")) {
    throw fail(walk, "ExternalReference", `${shown} leads out of the document`)
  }
  const found = namedBy(walk.document.references, reference)
  if (found === undefined) throw fail(walk, "UnknownReference", `${shown} leads nowhere`)
  return found
}

/** A definition is written out later, once for the operation. Throws an `OpenApiRefused` outside schemas. */
const defined = (walk: Walk, reference: string, { inSchema }: Place): JsonObject => {
  if (!inSchema) {
    const problem = `"${truncateUnits(reference, 200)}" leads to itself, and only a schema can`
    throw fail(walk, "CircularReference", problem)
  }
  const name = definitionName(walk.document.references, reference)
  walk.definitions.set(name, reference)
  const $ref = `${definitions_place}${name}`
  // The property says whether only answers have it, and the property is this reference.
  const isAnswered = memberOf(named(walk, reference), "readOnly") === true
  return isAnswered ? { $ref, readOnly: true } : { $ref }
}

const followed = (walk: Walk, reference: string, beside: JsonObject, place: Place): Json => {
  const target = isRecursive(walk.document.references, reference)
    ? defined(walk, reference, place)
    : written(walk, named(walk, reference), { ...place, isMap: false })
  const members = Object.entries(beside)
  const isPlain = ([name]: readonly [string, Json]): boolean => annotations.has(name)
  if (!isJsonObject(target) || members.length === 0) return target
  // OpenAPI 3.0 ignores `nullable` beside a reference, but authors write it and mean it.
  const { nullable } = beside
  const note = nullable === true && walk.document.dialect === "3.0" ? { nullable } : undefined
  if (walk.document.dialect === "3.0" || members.every(isPlain)) {
    return { ...target, ...Object.fromEntries(members.filter(isPlain)), ...note }
  }
  const { allOf } = beside
  return { ...beside, allOf: [...(Array.isArray(allOf) ? allOf : []), target] }
}

/** Copies a value and writes its references out. Throws an `OpenApiRefused` if it cannot be read. */
const written = (walk: Walk, value: Json, { depth, inSchema, isMap }: Place): Json => {
  if (++walk.values > values_max || depth > depth_max) {
    throw fail(
      walk,
      "TooLarge",
      `with its references it has over ${values_max} values, or is too deep`
    )
  }
  const within = { depth: depth + 1, inSchema, isMap: false }
  if (Array.isArray(value)) return value.map((item: Json) => written(walk, item, within))
  if (!isJsonObject(value)) return value
  const reference = isMap ? undefined : memberOf(value, "$ref")
  const members = Object.entries(value).flatMap(
    ([name, member]): Array<readonly [string, Json]> => {
      const kind = memberKind(name, isMap)
      if (kind === "dropped") return []
      if (!isMap && typeof reference === "string" && name === "$ref") return []
      if (kind === "data") {
        walk.values += JSON.stringify(member).length >> 3
        return [[name, member]]
      }
      const isSchema = inSchema || (!isMap && name === "schema")
      const place = { depth: depth + 1, inSchema: isSchema, isMap: kind === "map" }
      return [[name, written(walk, member, place)]]
    }
  )
  const own = Object.fromEntries(members)
  return typeof reference === "string" ? followed(walk, reference, own, within) : own
}

export interface WrittenOperation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly description: string
  /** Its own servers; undefined = it has those of the document. */
  readonly servers: Json | undefined
  readonly parameters: ReadonlyArray<JsonObject>
  /** Absent = the operation has no body. */
  readonly requestBody?: JsonObject
  readonly definitions: JsonObject
}

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value.trim() : "")

const described = (operation: JsonObject): string => {
  const [summary, description] = [textOf(operation["summary"]), textOf(operation["description"])]
  if (summary === "" || description === "") return summary + description
  return description.startsWith(summary) ? description : `${summary}\n\n${description}`
}

/** The parameters of an operation, and those of its path for which the operation has none with the same place and name. */
const parametersOf = (
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
  { id, method, operation, path, servers, shared }: FoundOperation
): Result.Result<WrittenOperation, OpenApiRefused> => {
  const walk: Walk = { document, id, definitions: new Map(), values: 0 }
  const top: Place = { depth: 0, isMap: false, inSchema: false }
  const list = (value: Json | undefined): ReadonlyArray<JsonObject> => {
    const items = written(walk, value ?? [], top)
    return Array.isArray(items) ? (items as ReadonlyArray<Json>).filter(isJsonObject) : []
  }
  const read = Result.try((): WrittenOperation => {
    const parameters = parametersOf(list(memberOf(operation, "parameters")), list(shared))
    const body = memberOf(operation, "requestBody")
    const requestBody = body === undefined ? undefined : written(walk, body, top)
    const description = described(operation)
    const definitions: Record<string, Json> = {}
    // Writing a definition out may add further ones, which the loop reaches too.
    for (const [name, reference] of walk.definitions) {
      definitions[name] = written(walk, named(walk, reference), { ...top, inSchema: true })
    }
    const parts = { id, method, path, description, servers, parameters, definitions }
    return isJsonObject(requestBody) ? { ...parts, requestBody } : parts
  })
  if (Result.isSuccess(read)) return Result.succeed(read.success)
  const thrown = read.failure
  if (thrown instanceof OpenApiRefused) return Result.fail(thrown)
  throw thrown
}

/** A complete document with these operations only, for a validator. */
export const documentOf = (
  { dialect, root }: OpenApiDocument,
  operations: ReadonlyArray<WrittenOperation>
): JsonObject => {
  const paths = new Map<string, JsonObject>()
  const schemas: Record<string, Json> = {}
  for (const { definitions, method, parameters, path, requestBody } of operations) {
    Object.assign(schemas, definitions)
    const operation = {
      parameters,
      ...(requestBody === undefined ? undefined : { requestBody }),
      responses: { default: { description: "not read" } }
    }
    paths.set(path, { ...paths.get(path), [method.toLowerCase()]: operation })
  }
  const version = root["openapi"] ?? dialect
  const info = { title: "chosen operations", version: "1" }
  return { openapi: version, info, paths: Object.fromEntries(paths), components: { schemas } }
}

const variable = /\{([^{}]*)\}/g

/** What a relative URL of a server is read against. */
const no_origin = "https://host.invalid"

/** The first of these servers, with its variables filled in; undefined = there is none. Fails with what is wrong with it. */
const firstServer = (servers: Json | undefined): Result.Result<URL | undefined, string> => {
  const [first] = listOf(servers)
  const text = memberOf(first, "url")
  if (typeof text !== "string") return Result.succeed(undefined)
  const variables = memberOf(first, "variables")
  const filled = text.replaceAll(variable, (whole, name: string) => {
    const value = memberOf(memberOf(variables, name), "default")
    return typeof value === "string" ? value : whole
  })
  const url = URL.parse(filled, no_origin)
  return url === null || /[{}]|%7b/i.test(url.pathname)
    ? Result.fail("its first server is no URL: give base_path")
    : Result.succeed(url)
}

const pathOfServer = (url: URL | undefined): string => url?.pathname.replace(/\/+$/, "") ?? ""

/** The path of the document's first server; empty if there is none. Fails if its URL cannot be read. */
export const basePath = (root: JsonObject): Result.Result<string, OpenApiRefused> =>
  Result.mapBoth(firstServer(memberOf(root, "servers")), {
    onFailure: (problem) => refuseOpenApi("NotOpenApi", "document", problem),
    onSuccess: pathOfServer
  })

const areApart = (one: URL | undefined, other: URL | undefined): boolean => {
  const origins = [one?.origin ?? no_origin, other?.origin ?? no_origin]
  return !origins.includes(no_origin) && origins[0] !== origins[1]
}

/** That of the operation's own first server, or else `base`. Fails where its server is at another origin: all calls go to one. */
export const baseOf = (
  { id, servers }: WrittenOperation,
  root: JsonObject,
  base: string
): Result.Result<string, OpenApiRefused> => {
  const refuse = (problem: string) => refuseOpenApi("UnsupportedServer", id, problem)
  const own = Result.mapError(firstServer(servers), refuse)
  if (Result.isFailure(own)) return Result.fail(own.failure)
  if (own.success === undefined) return Result.succeed(base)
  const document = Result.getOrElse(firstServer(memberOf(root, "servers")), () => undefined)
  return areApart(own.success, document)
    ? Result.fail(refuse("its own server is at another origin than the document's: give base_path"))
    : Result.succeed(pathOfServer(own.success))
}
