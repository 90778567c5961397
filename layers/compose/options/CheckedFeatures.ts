/** Checks features together. A start loads it only if it has some. */
import { Effect, Schema } from "effect"
import { HttpApi } from "effect/http-api"
import type { Operation } from "../../../src/operation/Operation.ts"
import { partsOf } from "../../../src/operation/Operation.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import type { AnyRight, DeclaredRoles } from "../../../src/principal/Rights.ts"
import { isRight, rights, unknownRole } from "../../../src/principal/Rights.ts"
import { InvalidInput, shapeReader } from "../../../src/schema/InvalidInput.ts"
import type { AnyTable } from "../../stores/TypedRows.ts"
import type { AnyFeature } from "./Feature.ts"
import {
  EventHandlersShape,
  family,
  func,
  is,
  isObject,
  layer,
  text,
  texts
} from "./OptionShapes.ts"

const named = (what: string, pattern: RegExp) =>
  is<string>(what, (value) => typeof value === "string" && pattern.test(value))
const absent = <S extends Schema.Constraint>(shape: S) => Schema.optional(shape)
const schema = absent(is<Schema.Top>("a schema", Schema.isSchema))

const OperationShape = Schema.Struct({
  id: text,
  name: text,
  method: Schema.Literals(["GET", "POST", "PUT", "DELETE"]),
  path: named(
    "a path such as /v1/notes/:id",
    /^\/v1(?:\/(?:[a-z0-9][a-z0-9_.-]*|:[a-z][a-z0-9_]*))+$/i
  ),
  params: schema,
  query: schema,
  payload: schema,
  takes: schema,
  success: schema,
  status: absent(Schema.Literal(201)),
  problems: absent(Schema.Array(Schema.Literals([404, 409, 410, 422]))),
  right: is<AnyRight>(
    `a right of every service (${Object.keys(rights).join(", ")}) or one such as { operator: "all" }`,
    isRight
  ),
  args: absent(texts),
  gives: absent(Schema.Literals(["items", "messages"])),
  summary: text,
  description: absent(text)
})

const ServedShape = Schema.Struct({ operation: OperationShape, perform: func }).annotate({
  message: "Expected the effect of an operation, as `serve` makes it"
})

const cells = ["text", "uuid", "digest", "int2", "int4", "int8", "float8", "boolean"]
const column = is<AnyTable["columns"][string]>(
  "a column, such as `flag` or `text(schema)`",
  (value) =>
    isObject(value) &&
    cells.includes(String(Reflect.get(value, "type"))) &&
    ["read", "write"].every((name) => typeof Reflect.get(value, name) === "function")
)
const marks = is<"text" | "said" | ReadonlySet<string>>(
  'a Set of members, "text" or "said"',
  (value) => value === "text" || value === "said" || value instanceof Set
)

const TableShape = Schema.Struct({
  name: named("a name such as notes", /^[a-z][a-z0-9_]{0,62}$/),
  what: text,
  key: Schema.NonEmptyArray(text),
  columns: Schema.Record(Schema.String, column),
  erased: absent(
    Schema.Struct({
      removed: absent(texts),
      marked: absent(Schema.Record(Schema.String, marks))
    })
  ),
  group: absent(texts),
  kept: absent(Schema.Struct({ rows_max: Schema.Int, spares: absent(func) }))
})

const read = shapeReader(
  Schema.Struct({
    name: named("lower-case letters, digits and _, at most 31", /^[a-z][a-z0-9_]{0,30}$/),
    groups: Schema.Array(
      Schema.Struct({ id: text, title: text, effects: Schema.Record(Schema.String, ServedShape) })
    ),
    tools: Schema.Array(family),
    deliveries: Schema.Array(is("an Effect of handlers", Effect.isEffect)),
    events: Schema.Struct({ handlers: EventHandlersShape, topics: texts }),
    tables: absent(Schema.Array(TableShape)),
    of_all: absent(texts),
    migrations: absent(Schema.Record(Schema.String, Schema.Array(text))),
    layer,
    over: layer
  })
)

/** What is wrong, and in which member. */
type Fault = readonly [member: string, message: string] | undefined

/** Names of members that any object or promise has, or is asked for: whoever awaits an object calls its `then`. */
const everywhere: ReadonlySet<string> = new Set([
  ...[Object.prototype, Promise.prototype].flatMap(Object.getOwnPropertyNames),
  "prototype",
  "toJSON"
])

/** What is wrong with a name that becomes a member of an object. */
const nameFault = (what: string, name: string): string | undefined =>
  everywhere.has(name)
    ? `${what} has the name ${JSON.stringify(name)}, which is a member of other objects or of promises: choose another`
    : undefined

/** What is wrong with an operation, whose shape is right, under this name. */
const operationFault = (key: string, operation: Operation, declared: DeclaredRoles): Fault => {
  const { args = [], id, method, name, params, path, payload, right } = operation
  for (const [member, given] of Object.entries({ id, name })) {
    const fault = nameFault(`the operation ${method} ${path}`, given)
    if (fault !== undefined) return [member, fault]
  }
  if (typeof right !== "string" && Object.keys(right).length === 0) {
    return ["right", 'it names no role, so nobody but an admin has it: { operator: "all" }, say']
  }
  const [, noRole] =
    unknownRole(typeof right === "string" ? [] : Object.keys(right), declared) ?? []
  if (noRole !== undefined) return ["right", noRole]
  if (key !== name) return ["name", `its effect has another name: ${key}`]
  if (method === "GET" && payload !== undefined) return ["payload", "a GET has none: use `query`"]
  const members = partsOf(operation).flatMap((part) => part.members)
  const twice = members.find((member, at) => members.indexOf(member) !== at)
  if (twice !== undefined) return ["query", `two parts of the request have a member ${twice}`]
  const inPath = path.split("/").flatMap((part) => (part.startsWith(":") ? [part.slice(1)] : []))
  if (
    inPath.toSorted().join() !==
    Object.keys(params?.fields ?? {})
      .toSorted()
      .join()
  ) {
    return ["params", `they have to be the members of its path ${path}`]
  }
  const unknown = args.find((each) => !["input", "by", ...members].includes(each))
  return unknown === undefined ? undefined : ["args", `the request has no member ${unknown}`]
}

/** What every store has in the schema `troupe` but the lists of migrations: no feature makes a table of such a name. */
const of_every_store: ReadonlySet<string> = new Set(
  `access_tokens agent_tasks approvals authorizations blob_shares blob_totals blob_uses blobs budget_accounts
  budget_holds call_records channel_bindings
  conversation_messages conversations dead_letters digest_items erasures event_inbox feature_tables idempotency_keys
  mcp_pin_changes mcp_pins memory_canonical_texts memory_rows memory_scopes memory_words notice_preferences notices outbox
  outbox_keys outbox_place processes quarantine question_posts run_details run_events run_pairs runs tool_messages tool_stops
  tool_workers turn_costs unknown_calls webhook_deliveries webhook_secrets webhooks`.split(/\s+/)
)

const isOfEveryStore = (name: string): boolean =>
  of_every_store.has(name) || name.startsWith("migrations")

/** What is wrong with a table, whose shape is right. */
const tableFault = (of_all: ReadonlyArray<string>, table: AnyTable): Fault => {
  const { columns, erased: { marked, removed } = {}, group = [], key, name } = table
  if (isOfEveryStore(name)) {
    return ["name", `every store has a table or a view ${name} of its own`]
  }
  const isOfAll = of_all.includes(name)
  if (isOfAll === Object.hasOwn(columns, "tenant")) {
    return [
      "columns",
      isOfAll
        ? "it has a column tenant, so it is not of all tenants"
        : "it has no column tenant, so nothing keeps tenants apart in it: `of_all` says so if it has to be"
    ]
  }
  if (removed !== undefined && marked !== undefined) {
    return ["erased", "rows are removed or marked, not both"]
  }
  const texts = removed ?? Object.keys(marked ?? {})
  for (const [member, list] of Object.entries({
    key,
    group,
    [`erased.${removed === undefined ? "marked" : "removed"}`]: texts
  })) {
    const missing = list.find((each) => !Object.hasOwn(columns, each))
    if (missing !== undefined) return [member, `there is no column ${missing}`]
  }
  if (isOfAll && texts.length > 0) return ["erased", "rows of all tenants are of no subject"]
  const other = texts.find((each) => columns[each]?.type !== "text")
  return other === undefined ? undefined : ["erased", `the column ${other} is no text`]
}

/** What is wrong with a feature, whose shape is right. */
const featureFault = (
  { groups, migrations = {}, of_all = [], tables = [] }: AnyFeature,
  declared: DeclaredRoles
): Fault => {
  for (const [at, { effects, id }] of groups.entries()) {
    const named = nameFault("a group", id)
    if (named !== undefined) return [`groups.${at}.id`, named]
    for (const [key, { operation }] of Object.entries(effects)) {
      const fault = operationFault(key, operation, declared)
      if (fault !== undefined) {
        return [`groups.${at}.effects.${key}.operation.${fault[0]}`, fault[1]]
      }
    }
  }
  for (const [at, table] of tables.entries()) {
    const fault = tableFault(of_all, table)
    if (fault !== undefined) return [`tables.${at}.${fault[0]}`, fault[1]]
  }
  const unknown = of_all.find((name) => !tables.some((table) => table.name === name))
  if (unknown !== undefined) return ["of_all", `there is no table ${unknown}`]
  const unnumbered = Object.keys(migrations).find((name) => !/^\d{4}_[a-z0-9_]+$/.test(name))
  if (unnumbered !== undefined) {
    return [`migrations.${unnumbered}`, "its name is a number and a name, such as 0001_notes"]
  }
  const isMade = Object.keys(migrations).length > 0
  if (isMade === tables.length > 0) return undefined
  return isMade
    ? ["tables", "none is declared of its migrations"]
    : ["migrations", "none makes its tables"]
}

/** A path as a router knows it, which looks at no names of members. */
const routeOf = (method: string, path: string): string =>
  `route ${method} ${path.replaceAll(/:\w+/g, ":")}`

/** What a service has once, and which member of the feature brings it. */
const broughtBy = ({ events, groups, name, tables = [] }: AnyFeature) => [
  ["name", `feature ${name}`] as const,
  ...groups.flatMap(({ effects, id }, at) => [
    [`groups.${at}.id`, `group ${id}`] as const,
    ...Object.entries(effects).flatMap(([key, { operation }]) =>
      [
        routeOf(operation.method, operation.path),
        `method ${name}.${key}`,
        `operation ${id}.${operation.id}`
      ].map((each) => [`groups.${at}.effects.${key}`, each] as const)
    )
  ]),
  ...tables.map((table, at) => [`tables.${at}.name`, `table ${table.name}`] as const),
  ...Object.keys(events.handlers).map(
    (type) => ["events.handlers", `handler of events ${type}`] as const
  )
]

/**
 * Fails where a part of one is none, or does not fit another; and where two have one name, one type of event, one table, or one
 * group or route of operations, also where it is one of every service.
 */
export const checkFeatures = Effect.fnUntraced(function* (
  features: ReadonlyArray<AnyFeature>,
  declared: DeclaredRoles
) {
  const taken = new Set(Object.keys(TroupeApi.groups).map((id) => `group ${id}`))
  HttpApi.reflect(TroupeApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint }) => void taken.add(routeOf(endpoint.method, endpoint.path))
  })
  for (const [at, feature] of features.entries()) {
    const of =
      typeof feature.name === "string"
        ? `the feature ${JSON.stringify(feature.name)}`
        : "a feature without a name"
    const field = `features.${at}`
    yield* Effect.mapError(
      read(feature, field),
      ({ field, reason }) => new InvalidInput({ field, reason, owner: of })
    )
    const fault = featureFault(feature, declared)
    if (fault !== undefined) {
      return yield* new InvalidInput({
        field: `${field}.${fault[0]}`,
        reason: fault[1],
        owner: of
      })
    }
    for (const [member, each] of broughtBy(feature)) {
      if (taken.has(each)) {
        const reason = `it has the ${each}, which there is already`
        return yield* new InvalidInput({ field: `${field}.${member}`, reason, owner: of })
      }
      taken.add(each)
    }
  }
})
