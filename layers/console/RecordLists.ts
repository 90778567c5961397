/**
 * The lists of records that features bring, read from the declarations of their operations: what lists, what gives one, and what
 * may be done with one. Their pages have no rule of their own.
 */
import { Result, Schema } from "effect"
import type { Members, Operation } from "../../src/operation/Operation.ts"
import { isObject } from "../../src/value/PlainObject.ts"
import type { AddedGroup } from "../service/AddedGroups.ts"
import type { AnyServed } from "../service/Served.ts"
import { resolved } from "./ArgumentFields.ts"

/** How a value is shown. */
export type LeafKind = "choice" | "moment" | "number" | "text"

/** A value that no other is in, and where it stands in an item. */
export interface Leaf {
  readonly path: ReadonlyArray<string>
  readonly kind: LeafKind
}

/** What may be done with one item: an operation whose path begins with the item's. */
export interface RecordAct {
  /** What it is called, from the name of its method. */
  readonly name: string
  readonly served: AnyServed
  /** The JSON Schema of what it takes. Absent = it takes nothing more. */
  readonly schema?: unknown
}

/** One item of a list. */
export interface RecordItem {
  readonly served: AnyServed
  readonly acts: ReadonlyArray<RecordAct>
  /** Lists that belong to one item. */
  readonly lists: ReadonlyArray<RecordList>
}

/** A list that an operation gives. */
export interface RecordList {
  /** Its path below that of the console, with the parameters of its operation. */
  readonly path: `/records/${string}`
  readonly name: string
  readonly served: AnyServed
  /** The members of its query that choose one of some words. */
  readonly filters: ReadonlyArray<{
    readonly name: string
    readonly words: ReadonlyArray<string>
  }>
  readonly leaves: ReadonlyArray<Leaf>
  /** The rows of a page; undefined = the operation bounds nothing. */
  readonly rows_max: number | undefined
  readonly item?: RecordItem
}

/** The first letter is a capital one: `cluster_id` becomes `Cluster id`, and `reviewChangeset` `Review changeset`. */
export const inWords = (name: string): string => {
  const words = name.replaceAll(/[_-]+/g, " ").replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
  return words.slice(0, 1).toUpperCase() + words.slice(1).toLowerCase()
}

/** Whether a whole number of this name is a moment, in ms since 1970. */
export const isMoment = (name: string): boolean => /(^|_)at$/.test(name)

/** The parameter that names one item of a list. */
export const parameterOf = ({ served }: RecordItem): string =>
  served.operation.path.split("/:").at(-1) ?? ""

type JsonSchema = Readonly<Record<string, unknown>>

/** The JSON Schema of what is sent or given; undefined = there is none for it. */
export const jsonSchemaOf = (schema: Schema.Top | undefined): JsonSchema | undefined => {
  if (schema === undefined) return undefined
  const found = Result.try(() => Schema.toJsonSchemaDocument(schema))
  if (Result.isFailure(found)) return undefined
  const { definitions, schema: root } = found.success
  return { ...root, $defs: definitions }
}

/** Down to which depth of an item its values have columns of their own. */
const depth_max = 2

const kindOf = (name: string, schema: JsonSchema): LeafKind | undefined => {
  if ("enum" in schema || "const" in schema) return "choice"
  const { type } = schema
  if (type === "integer" && isMoment(name)) return "moment"
  if (type === "integer" || type === "number") return "number"
  return type === "string" || type === "boolean" ? "text" : undefined
}

const leavesOf = (
  given: unknown,
  definitions: unknown,
  path: ReadonlyArray<string>
): ReadonlyArray<Leaf> => {
  const { schema } = resolved(given, definitions)
  // Of a union of objects, the members of each.
  const some = isObject(given) ? (given["anyOf"] ?? given["oneOf"]) : undefined
  if (Array.isArray(some) && schema["type"] === undefined) {
    return some.flatMap((each) => leavesOf(each, definitions, path))
  }
  const { properties } = schema
  if (isObject(properties)) {
    return path.length >= depth_max
      ? []
      : Object.entries(properties).flatMap(([name, each]) =>
          leavesOf(each, definitions, [...path, name])
        )
  }
  const kind = kindOf(path.at(-1) ?? "", schema)
  return kind === undefined ? [] : [{ path, kind }]
}

const itemSchema = ({ success }: Operation): readonly [item: unknown, definitions: unknown] => {
  const whole = jsonSchemaOf(success)
  const definitions = whole?.["$defs"]
  const { properties } = resolved(whole, definitions).schema
  const items = isObject(properties) ? resolved(properties["items"], definitions).schema : {}
  return [items["items"], definitions]
}

const membersOf = (schema: Members | undefined) => {
  const whole = jsonSchemaOf(schema)
  const definitions = whole?.["$defs"]
  const { properties } = resolved(whole, definitions).schema
  return isObject(properties)
    ? Object.entries(properties).map(([name, each]) => ({
        name,
        schema: resolved(each, definitions).schema
      }))
    : []
}

const first = (leaves: ReadonlyArray<Leaf>): ReadonlyArray<Leaf> =>
  [...new Map(leaves.toReversed().map((leaf) => [leaf.path.join("."), leaf])).values()].toReversed()

/** A list that can be asked for without knowing what to look for. */
const isList = ({ gives, method, query }: Operation): boolean => {
  const needed = jsonSchemaOf(query)?.["required"]
  return method === "GET" && gives === "items" && !(Array.isArray(needed) && needed.length > 0)
}

/** The words after a path that another begins with; undefined = it does not. */
const below = (path: string, other: string): ReadonlyArray<string> | undefined =>
  other.startsWith(`${path}/`) ? other.slice(path.length + 1).split("/") : undefined

const isParameter = (parts: ReadonlyArray<string> | undefined): boolean =>
  parts?.length === 1 && parts[0]?.startsWith(":") === true

const itemOf = (path: string, all: ReadonlyArray<AnyServed>): RecordItem | undefined => {
  const served = all.find(
    ({ operation }) =>
      operation.method === "GET" &&
      operation.gives === undefined &&
      isParameter(below(path, operation.path))
  )
  if (served === undefined) return undefined
  const own = served.operation.path
  const within = all.filter(({ operation }) => below(own, operation.path)?.length === 1)
  return {
    served,
    acts: [...within, ...all.filter(({ operation }) => operation.path === own)].flatMap((each) => {
      const { method, name, payload } = each.operation
      if (method === "GET") return []
      return [{ name: inWords(name), served: each, schema: jsonSchemaOf(payload) }]
    }),
    lists: within.flatMap((each) => (isList(each.operation) ? [listOf(each, all)] : []))
  }
}

const listOf = (served: AnyServed, all: ReadonlyArray<AnyServed>): RecordList => {
  const { operation } = served
  const [item, definitions] = itemSchema(operation)
  const query = membersOf(operation.query)
  const most = query.find(({ name }) => name === "limit")?.schema["maximum"]
  const found = itemOf(operation.path, all)
  return {
    path: `/records/${operation.path.replace(/^\/(v1\/)?/, "")}`,
    name: inWords(operation.path.split("/").at(-1) ?? ""),
    served,
    filters: query.flatMap(({ name, schema }) => {
      const words = schema["enum"]
      return Array.isArray(words) ? [{ name, words: words.map(String) }] : []
    }),
    leaves: first(leavesOf(item, definitions, [])),
    rows_max: typeof most === "number" ? most : undefined,
    ...(found === undefined ? undefined : { item: found })
  }
}

/** The lists of groups that stand by themselves; those of one item are with it. */
export const recordLists = (groups: ReadonlyArray<AddedGroup>): ReadonlyArray<RecordList> =>
  groups.flatMap(({ effects }) => {
    const all: ReadonlyArray<AnyServed> = Object.values(effects)
    return all.flatMap((each) =>
      isList(each.operation) && each.operation.params === undefined ? [listOf(each, all)] : []
    )
  })
