/**
 * The body of an OpenAPI operation: which of its types of content is sent, and what of it becomes arguments.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import { truncateUnits } from "../value/CutText.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject, isUnsafeName, listOf, memberOf } from "./BodyPath.ts"
import type { RequestContent, SentField } from "./CallDescriptor.ts"
import { contentKind, isMediaType } from "./CallDescriptor.ts"
import type { Dialect, WrittenOperation } from "./OpenApiDocument.ts"
import type { OpenApiRefused } from "./OpenApiRefused.ts"
import { refuseOpenApi } from "./OpenApiRefused.ts"
import { isWritable } from "./OpenApiParameter.ts"
import { isFileSchema, isScalarSchema, isUntyped, schema2020 } from "./OpenApiSchema.ts"
import { definitionOf } from "../schema/SchemaDefinitions.ts"

/** The property names that every provider accepts. */
const legal = /^[A-Za-z0-9_.-]{1,64}$/

export const isLegalName = (name: string): boolean => legal.test(name) && !isUnsafeName(name)

/** A name for a value in the arguments that no other argument has. `where` says what it is, such as `query`. */
export const aliasOf = (name: string, where: string, taken: ReadonlySet<string>): string => {
  const plain = name.replaceAll(/[^A-Za-z0-9_]/g, "_").replace(/^(?=\d|$)/, "_")
  const wanted = isUnsafeName(plain) ? `${where}_${plain}` : plain
  let alias = wanted.slice(0, 50)
  if (taken.has(alias)) alias = `${where}_${alias}`
  for (let n = 2; taken.has(alias); n++) alias = `${where}_${wanted.slice(0, 40)}_${n}`
  return alias
}

interface ObjectParts {
  readonly properties: JsonObject
  readonly required: ReadonlyArray<string>
  /** `additionalProperties`; undefined = the schema does not have it. */
  readonly others: Json | undefined
}

/** The properties of several parts. Different schemas of one property are combined by `keyword`. */
const joined = (keyword: "allOf" | "anyOf", all: ReadonlyArray<ObjectParts>): JsonObject => {
  const found = new Map<string, Map<string, Json>>()
  for (const { properties } of all) {
    for (const [name, schema] of Object.entries(properties)) {
      const each = found.get(name) ?? new Map<string, Json>()
      found.set(name, each.set(JSON.stringify(schema), schema))
    }
  }
  return Object.fromEntries(
    [...found].map(([name, each]) => {
      const [first = {}, ...more] = each.values()
      return [name, more.length === 0 ? first : { [keyword]: [first, ...more] }] as const
    })
  )
}

/** That of the only part that says something of properties; of several, false if all are closed, and otherwise undefined. */
const othersOf = (all: ReadonlyArray<ObjectParts>): Json | undefined => {
  const telling = all.filter(
    ({ others, properties }) => others !== undefined || Object.keys(properties).length > 0
  )
  const [first, ...more] = telling
  if (more.length === 0) return first?.others
  return telling.every(({ others }) => others === false) ? false : undefined
}

const withAll = (all: ReadonlyArray<ObjectParts>): ObjectParts => ({
  properties: joined("allOf", all),
  required: [...new Set(all.flatMap(({ required }) => required))],
  others: othersOf(all)
})

const withOne = (all: ReadonlyArray<ObjectParts>): ObjectParts => ({
  properties: joined("anyOf", all),
  required: (all[0]?.required ?? []).filter((name) =>
    all.every(({ required }) => required.includes(name))
  ),
  others: othersOf(all)
})

/**
 * What a schema says about objects; undefined = no object fits it. Providers refuse a tool whose schema is a union or an
 * intersection at its top, so the members of all parts are in one object, and the endpoint decides which of them may be combined.
 * Call it only if `checkDefinitions` found no fault.
 */
const objectParts = (schema: Json, definitions: JsonObject): ObjectParts | undefined => {
  const known = new Map<string, ObjectParts | undefined>()
  const partsOf = (given: Json): ObjectParts | undefined => {
    if (given === true) return { properties: {}, required: [], others: undefined }
    if (!isJsonObject(given)) return undefined
    const name = definitionOf(given)
    if (name === undefined) return ownParts(given, partsOf)
    // Many references may lead to one definition, and from there to others, so each definition is examined once.
    if (!known.has(name)) known.set(name, partsOf(memberOf(definitions, name) ?? true))
    return known.get(name)
  }
  return partsOf(schema)
}

const ownParts = (
  schema: JsonObject,
  partsOf: (schema: Json) => ObjectParts | undefined
): ObjectParts | undefined => {
  const { additionalProperties, allOf, anyOf, oneOf, required, type } = schema
  if (type !== undefined && !(Array.isArray(type) ? type : [type]).includes("object"))
    return undefined
  const properties = memberOf(schema, "properties")
  const own: ObjectParts = {
    properties: isJsonObject(properties) ? properties : {},
    required: listOf(required).filter((name): name is string => typeof name === "string"),
    others: additionalProperties
  }
  const parts = [own]
  for (const each of listOf(allOf)) {
    const part = partsOf(each)
    if (part === undefined) return undefined
    parts.push(part)
  }
  for (const union of [anyOf, oneOf]) {
    if (union === undefined) continue
    const some = listOf(union).flatMap((each) => partsOf(each) ?? [])
    if (some.length === 0) return undefined
    parts.push(withOne(some))
  }
  return parts.length === 1 ? own : withAll(parts)
}

export interface ImportedBody extends ObjectParts {
  /** Undefined = JSON, of all fields; null = no body is sent. */
  readonly content: RequestContent | null | undefined
  /** What of the body cannot be given, each with the reason. */
  readonly left_out: ReadonlyArray<string>
}

type Tried = Result.Result<ImportedBody, string>

interface Offered {
  readonly type: string
  readonly schema: JsonObject
  readonly isSchemaGiven: boolean
  readonly encoding: JsonObject
  readonly description: string | undefined
}

const body_field = "body"
const get_body = "its body: GET sends none"
const nothing = { properties: {}, required: [], others: false, content: null }

/** A body that is one value, as the one argument `body`. */
const oneField = (
  { description, schema, type }: Offered,
  isRequired: boolean,
  left_out: ReadonlyArray<string> = []
): Tried =>
  Result.succeed({
    properties: {
      [body_field]: { ...(description === undefined ? undefined : { description }), ...schema }
    },
    required: isRequired ? [body_field] : [],
    others: false,
    content: { type, field: body_field },
    left_out
  })

const shownName = (name: string): string => `"${truncateUnits(name, 64)}"`
const noName = (name: string): string =>
  `the member ${shownName(name)} of its body: that is no name that models may be given`

/** Whether a union at the top of a body has a branch that is no object. It is not offered where another one is an object. */
const hasOtherBranch = (schema: JsonObject, definitions: JsonObject): boolean =>
  [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])].some(
    (each) => memberOf(each, "type") !== "null" && objectParts(each, definitions) === undefined
  )

const jsonBody = (offered: Offered, isRequired: boolean, definitions: JsonObject): Tried => {
  const { schema, type } = offered
  const parts = objectParts(schema, definitions)
  // A member whose name no model may be given can be a member of the one argument.
  if (parts === undefined || parts.required.some((name) => !isLegalName(name))) {
    const unsafe = parts?.required.find(isUnsafeName)
    return unsafe === undefined
      ? oneField(offered, isRequired)
      : Result.fail(`it requires ${shownName(unsafe)}, which is never sent`)
  }
  const names = Object.keys(parts.properties)
  const other = "the other forms of its body: an object is offered"
  return Result.succeed({
    ...parts,
    properties: Object.fromEntries(
      Object.entries(parts.properties).filter(([name]) => isLegalName(name))
    ),
    content: type === "application/json" ? undefined : { type },
    left_out: [
      ...names.filter((name) => !isLegalName(name)).map(noName),
      ...(hasOtherBranch(schema, definitions) ? [other] : [])
    ]
  })
}

/** Why the field of a form cannot be given; otherwise how it is written. */
const fieldOf = (
  schema: JsonObject,
  encoding: Json | undefined,
  isStyled: boolean
): Result.Result<Omit<SentField, "field">, string> => {
  const type = memberOf(encoding, "contentType")
  const media = typeof type === "string" ? type.toLowerCase() : "text/plain"
  if (isFileSchema(schema)) return Result.fail("it is a file")
  if (!/^\s*(?:text\/|application\/(?:[\w.-]+\+)?json)/.test(media)) {
    return Result.fail(`it is of the type ${truncateUnits(media, 60)}`)
  }
  const style = memberOf(encoding, "style")
  const explode = memberOf(encoding, "explode")
  if (isStyled && (style !== undefined || explode !== undefined)) {
    const given = (style ?? "form") as NonNullable<SentField["style"]>
    if (!isWritable(schema, given)) return Result.fail("its style has no form for its value")
    return Result.succeed({
      style: given,
      ...(typeof explode === "boolean" ? { explode } : undefined)
    })
  }
  const isText = typeof type === "string" && contentKind(media) === "json"
  return Result.succeed(isText ? { style: "json" } : {})
}

const formBody = (
  { encoding, schema, type }: Offered,
  isStyled: boolean,
  definitions: JsonObject
): Tried => {
  const found = objectParts(schema, definitions)
  if (found === undefined) return Result.fail("it is no object")
  const properties = new Map<string, Json>()
  const parts: Record<string, SentField> = {}
  const left_out: Array<string> = []
  const names = new Map<string, string>()
  const taken = new Set(Object.keys(found.properties).filter(isLegalName))
  const all = {
    ...Object.fromEntries(found.required.map((name) => [name, {}])),
    ...found.properties
  }
  for (const [name, member] of Object.entries(all)) {
    if (isUnsafeName(name)) continue
    const given = isJsonObject(member) ? member : {}
    const field = fieldOf(given, memberOf(encoding, name), isStyled)
    if (Result.isFailure(field)) {
      if (found.required.includes(name)) {
        return Result.fail(`${shownName(name)} is required, and ${field.failure}`)
      }
      left_out.push(`the field ${shownName(name)} of its body: ${field.failure}`)
      continue
    }
    const alias = isLegalName(name) ? name : aliasOf(name, "field", taken)
    taken.add(alias)
    names.set(name, alias)
    if (Object.hasOwn(found.properties, name)) properties.set(alias, member)
    if (alias !== name || Object.keys(field.success).length > 0) {
      parts[name] = { field: alias, ...field.success }
    }
  }
  const unsafe = found.required.find(isUnsafeName)
  if (unsafe !== undefined)
    return Result.fail(`it requires ${shownName(unsafe)}, which is never sent`)
  return Result.succeed({
    properties: Object.fromEntries(properties),
    required: found.required.map((name) => names.get(name) ?? name),
    others: found.others,
    content: { type, ...(Object.keys(parts).length === 0 ? undefined : { parts }) },
    left_out
  })
}

const binary_type =
  /^(?:image|audio|video|font|model)\/|octet-stream|\b(?:pdf|zip|gzip|tar|protobuf|msgpack|wasm)\b/

const textBody = (offered: Offered, isRequired: boolean): Tried => {
  const { isSchemaGiven, schema, type } = offered
  if (isFileSchema(schema) || binary_type.test(type)) return Result.fail("it is a file")
  const [, charset = "utf-8"] = /;\s*charset="?([^";]+)/.exec(type) ?? []
  if (!/^(?:utf-?8|us-ascii)$/.test(charset.trim())) {
    return Result.fail("its characters are not sent in UTF-8")
  }
  const isText = type.startsWith("text/")
    ? !isSchemaGiven || isUntyped(schema) || isScalarSchema(schema)
    : [schema["type"]].flat().includes("string")
  if (!isText) return Result.fail("only JSON and forms are made of objects and lists")
  return oneField(
    isUntyped(schema) ? { ...offered, schema: { type: "string" } } : offered,
    isRequired
  )
}

/** The kinds of content, from the one that says most about its values. */
const order = ["json", "form", "multipart", "text"] as const

/** The media type that is sent for one that stands for several. */
const typeOf = (written: string): string => {
  const type = written.trim().toLowerCase()
  if (/^(?:application|\*)\/\*/.test(type) || /^application\/json\s*(?:;|$)/.test(type)) {
    return "application/json"
  }
  return type.startsWith("text/*") ? "text/plain" : type
}

const offeredIn = (requestBody: JsonObject, dialect: Dialect): ReadonlyArray<Offered> => {
  const { content, description } = requestBody
  const all = Object.entries(isJsonObject(content) ? content : {}).map(([written, given]) => {
    const schema = memberOf(given, "schema")
    const encoding = memberOf(given, "encoding")
    return {
      type: typeOf(written),
      schema: schema2020(schema, dialect),
      isSchemaGiven: schema !== undefined,
      encoding: isJsonObject(encoding) ? encoding : {},
      description: typeof description === "string" ? truncateUnits(description, 1_000) : undefined
    }
  })
  const place = ({ type }: Offered) => order.indexOf(contentKind(type))
  return all.toSorted((one, other) => place(one) - place(other))
}

const triedBody = (
  offered: Offered,
  isRequired: boolean,
  definitions: JsonObject,
  dialect: Dialect
): Tried => {
  if (!isMediaType(offered.type)) return Result.fail("it is no media type")
  switch (contentKind(offered.type)) {
    case "json":
      return jsonBody(offered, isRequired, definitions)
    case "form":
      return formBody(offered, true, definitions)
    case "multipart":
      // In 3.0 a style counts in forms of the other type alone.
      return formBody(offered, dialect === "3.1", definitions)
    case "text":
      return textBody(offered, isRequired)
  }
}

/** Of the first type of content that can be made: JSON, a form, a multipart form, a text. Fails if none can be. */
export const bodyOf = (
  { id, method, requestBody }: WrittenOperation,
  definitions: JsonObject,
  dialect: Dialect
): Result.Result<ImportedBody, OpenApiRefused> => {
  if (requestBody === undefined) return Result.succeed({ ...nothing, left_out: [] })
  const refuse = (problem: string) => Result.fail(refuseOpenApi("UnsupportedBody", id, problem))
  const isRequired = requestBody["required"] === true
  if (method === "GET") {
    // In 3.0 such a body shall be ignored.
    if (dialect === "3.1" || isRequired) return refuse("GET sends no body")
    // Generators write an empty object where there is no body.
    const isEmpty = ({ schema: { properties } }: Offered) =>
      isJsonObject(properties) && Object.keys(properties).length === 0
    const left_out = offeredIn(requestBody, dialect).every(isEmpty) ? [] : [get_body]
    return Result.succeed({ ...nothing, left_out })
  }
  const reasons: Array<string> = []
  for (const offered of offeredIn(requestBody, dialect)) {
    const tried = triedBody(offered, isRequired, definitions, dialect)
    if (Result.isSuccess(tried)) return Result.succeed(tried.success)
    reasons.push(`as ${truncateUnits(offered.type, 60)} ${tried.failure}`)
  }
  return refuse(
    reasons.length === 0
      ? "its body has no type of content"
      : `its body cannot be made: ${reasons.slice(0, 5).join("; ")}`
  )
}
