/**
 * Operations of the platform: existing endpoints and handlers that an agent may be given as tools. Each call is one request. A
 * catalogue of operations is data, and is validated when it is loaded.
 */
import { Result, Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import type { Permission } from "../tool/SideEffects.ts"
import { Permission as PermissionSchema, permissionOf } from "../tool/SideEffects.ts"
import { readJsonValue } from "../value/BoundedJson.ts"
import { didYouMean } from "../value/Nearest.ts"
import { partsConflict } from "./BodyAssembly.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject, parsePath } from "./BodyPath.ts"
import {
  Bindings,
  bindings_max,
  CallMethod,
  CallPath,
  fieldsOf,
  HeaderFields,
  isWithinUnits,
  path_units_max,
  PathText,
  QueryFields,
  repeating,
  RequestContent,
  WrittenSchema
} from "./CallDescriptor.ts"
import { platform_prefix } from "./CallRef.ts"
import { issueText } from "../schema/SchemaIssues.ts"
import type { ToolConfigRefused } from "./ToolConfig.ts"
import { refuseConfig } from "./ToolConfig.ts"
import type { Json } from "../value/Canonical.ts"
import { schemaFault } from "../schema/SchemaShape.ts"
import { isPlainPath } from "./CallTarget.ts"
import { tokenPath } from "./HostContext.ts"

/** What names a type in a schema. Types are expanded from here, never from a fetched document. */
const marker = "x-ag-type-ref"

const message: JsonObject = {
  type: "object",
  properties: {
    role: { type: "string", enum: ["system", "developer", "user", "assistant", "tool"] },
    content: { type: ["string", "array", "null"], description: "The text, or a list of parts." },
    name: { type: "string" },
    tool_call_id: { type: "string" }
  },
  required: ["role"]
}

const call_types: Readonly<Record<string, JsonObject>> = {
  message,
  messages: { type: "array", items: message, description: "A conversation, oldest first." },
  references: {
    type: "object",
    description: "Entities of the platform, each by its id or its slug.",
    additionalProperties: {
      type: "object",
      properties: { id: { type: "string" }, slug: { type: "string" }, version: { type: "string" } }
    }
  }
}

const isCallType = (name: string): boolean => Object.hasOwn(call_types, name)

/** Whether a schema names a type at any depth. Most schemas name none, and then nothing is expanded (bench row `calls`). */
const namesTypes = (schema: Json): boolean => {
  if (typeof schema !== "object" || schema === null) return false
  if (Array.isArray(schema)) return schema.some(namesTypes)
  for (const name in schema) {
    if (name === marker || namesTypes((schema as JsonObject)[name] ?? null)) return true
  }
  return false
}

/** Members beside an `x-ag-type-ref` override those of its type. Fails with the first unknown name. */
const expandedTypes = (schema: Json): Result.Result<Json, string> =>
  namesTypes(schema) ? expanded(schema) : Result.succeed(schema)

const expanded = (schema: Json): Result.Result<Json, string> => {
  if (Array.isArray(schema)) {
    return Result.all((schema as ReadonlyArray<Json>).map(expanded))
  }
  if (!isJsonObject(schema)) return Result.succeed(schema)
  const { [marker]: ref, ...beside } = schema
  const members: Array<readonly [string, Json]> = []
  for (const [name, member] of Object.entries(beside)) {
    const inner = expanded(member)
    if (Result.isFailure(inner)) return inner
    members.push([name, inner.success])
  }
  const rest = Object.fromEntries(members)
  if (ref === undefined) return Result.succeed(rest)
  return typeof ref === "string" && isCallType(ref)
    ? Result.succeed({ ...call_types[ref], ...rest })
    : Result.fail(truncateUnits(String(ref), 100))
}

const methods: ReadonlySet<unknown> = new Set(CallMethod.literals)

const isFlag = (value: unknown): boolean => typeof value === "boolean"

const isText = (value: unknown, least: number, most: number): value is string =>
  typeof value === "string" && value.length >= least && value.length <= most

const isBindings = (value: unknown): boolean => {
  if (!isJsonObject(value)) return false
  const names = Object.keys(value)
  return (
    names.length <= bindings_max &&
    names.every((name) => {
      const token = value[name]
      return isText(name, 1, 500) && isText(token, 0, 500) && tokenPath(token) !== undefined
    })
  )
}

/** The fields that can be checked here, each with its check. An entry with any other field has to be decoded. */
const fields: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["op", (value: unknown) => typeof value === "string" && /^[A-Za-z0-9_-]{1,64}$/.test(value)],
  ["description", (value: unknown) => isText(value, 1, 4_000)],
  ["method", (value: unknown) => methods.has(value)],
  ["path", (value: unknown) => isText(value, 1, path_units_max) && isPlainPath(value)],
  [
    "input_schema",
    (value: unknown) =>
      isJsonObject(value) && isWithinUnits(value) && schemaFault(value) === undefined
  ],
  ["bind", isBindings],
  ["precondition", isBindings],
  ["allow_nested_bind", isFlag],
  ["read_only", isFlag],
  ["idempotent", isFlag],
  ["default_needs_approval", isFlag]
])
const required = ["op", "description", "method", "path", "input_schema"]

/** False = it has to be decoded. Most entries are plain, and this takes a third of the time of decoding (bench row `calls`). */
export const isPlainOp = (entry: JsonObject): boolean => {
  for (const name of required) if (entry[name] === undefined) return false
  for (const name of Object.keys(entry)) {
    if (fields.get(name)?.(entry[name]) !== true) return false
  }
  return true
}

const ops_max = 1_000

/** The handlers of the platform: operations without an endpoint of their own, which its gateway takes by these names. */
export const OpHandler = Schema.Literals(["tools.agenta.read_config", "tools.agenta.test_run"])
export type OpHandler = typeof OpHandler.Type

/** An operation of the host platform that becomes a tool. */
export const PlatformOp = Schema.Struct({
  /** The name that models use; the stable id is `tools.agenta.<op>`. */
  op: Schema.String.check(
    Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { expected: "1 to 64 letters, digits, _ or -" })
  ),
  /** What the model reads, 1 to 4,000 characters. */
  description: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(4_000)),
  /** The endpoint. Absent = there is none, and a handler answers. */
  method: Schema.optionalKey(CallMethod),
  /** The path of the endpoint. Given with `method`. */
  path: Schema.optionalKey(CallPath),
  /** The platform's handler that answers, by one call of the gateway whose arguments are the assembled body. */
  handler: Schema.optionalKey(OpHandler),
  /** The timeout of a call, in ms, 1 to 600,000. Absent = that of the configuration. */
  timeout_ms: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 600_000 }))
  ),
  /** JSON Schema of the endpoint's request, or of its part at `args_into`. May name types by `x-ag-type-ref`. */
  input_schema: Schema.optionalKey(WrittenSchema),
  /** The name of a type that is the whole schema. */
  input_schema_ref: Schema.optionalKey(Schema.String),
  /** Fields of the body that the run's context fills in; the model does not see them. */
  bind: Schema.optionalKey(Bindings),
  /** Bound fields by which the endpoint refuses a run whose view of the platform is out of date. */
  precondition: Schema.optionalKey(Bindings),
  /** The path of the body at which the model's arguments are placed. Absent = at its root. */
  args_into: Schema.optionalKey(PathText),
  /** Parameters of the query, such as `{ dry_run: "dry_run" }`; each is taken out of the body. */
  query: Schema.optionalKey(QueryFields),
  /**
   * Headers: `{ "Api-Version": "7" }` sends this value with every call, `{ "If-Match": { field: "etag" } }` a field's. What
   * stands here is shown to approvers and kept in journals, so no credential belongs here.
   */
  headers: Schema.optionalKey(HeaderFields),
  /** The content of the body; null = no body is sent. Absent = JSON for POST, PUT and PATCH, and no body for GET and DELETE. */
  content: Schema.optionalKey(Schema.NullOr(RequestContent)),
  /** True = a bound field may lie within `args_into`. Absent = none does. */
  allow_nested_bind: Schema.optionalKey(Schema.Boolean),
  /** True = the endpoint only reads. Absent = it may write. */
  read_only: Schema.optionalKey(Schema.Boolean),
  /** True = the endpoint takes each `Idempotency-Key` once, so a lost call is sent again. Absent = its outcome is unknown. */
  idempotent: repeating.idempotent,
  /** How often one call is attempted, always with its key. More than once needs `idempotent` or `read_only`. Absent = once. */
  retry: repeating.retry,
  /** Absent = a read is allowed, and a person is asked about anything else. */
  default_permission: Schema.optionalKey(PermissionSchema),
  /** `true` stands for the default permission `ask`. */
  default_needs_approval: Schema.optionalKey(Schema.Boolean)
}).check(
  Schema.makeFilter(
    ({ handler, method, path }) =>
      (handler === undefined
        ? method !== undefined && path !== undefined
        : method === undefined && path === undefined) ||
      "either method and path have to be given, or a handler"
  ),
  Schema.makeFilter(
    ({ content, handler, headers, query }) =>
      handler === undefined ||
      (content === undefined && headers === undefined && query === undefined) ||
      "the gateway takes a handler's arguments as they are: leave query, headers and content out"
  ),
  Schema.makeFilter(
    ({ input_schema, input_schema_ref }) =>
      (input_schema === undefined) !== (input_schema_ref === undefined) ||
      "exactly one of input_schema and input_schema_ref has to be given"
  ),
  Schema.makeFilter(
    ({ input_schema_ref: ref }) =>
      ref === undefined || isCallType(ref) || `"${truncateUnits(ref, 100)}" is no known type`
  )
)
export interface PlatformOp extends Schema.Schema.Type<typeof PlatformOp> {}

/** All fields that the run's context fills in. */
export const bindingsOf = ({
  bind,
  precondition
}: PlatformOp): Readonly<Record<string, string>> => ({
  ...bind,
  ...precondition
})

/** The endpoint's own schema, with every type expanded. Fails with the name of an unknown type. */
export const schemaOfOp = ({
  input_schema,
  input_schema_ref
}: PlatformOp): Result.Result<JsonObject, string> =>
  Result.map(expandedTypes(input_schema ?? { "x-ag-type-ref": input_schema_ref ?? "" }), (schema) =>
    isJsonObject(schema) ? schema : {}
  )

export const reservedId = (op: string): string => `${platform_prefix}${op}`

/** The permission of an op if neither a configuration nor a policy sets one. */
export const defaultPermissionOf = ({
  default_needs_approval,
  default_permission,
  read_only = false
}: PlatformOp): Permission =>
  default_permission ??
  (default_needs_approval === true
    ? "ask"
    : permissionOf({ category: read_only ? "read" : "mutate" }))

const decode = Schema.decodeUnknownResult(PlatformOp, { onExcessProperty: "error" })

const nameOf = (entry: unknown, at: number): string =>
  isJsonObject(entry) && typeof entry["op"] === "string" && entry["op"] !== ""
    ? entry["op"]
    : `catalogue.${at}`

/** Decodes one entry; `at` is its place in the catalogue, for errors. An unknown member is refused. */
export const decodePlatformOp = (
  entry: unknown,
  at = 0
): Result.Result<PlatformOp, ToolConfigRefused> => {
  // This makes a copy within bounds, because reading the given value may throw.
  const read = readJsonValue(entry)
  const name = nameOf(Result.isSuccess(read) ? read.success : undefined, at)
  const refuse = (message: string) => Result.fail(refuseConfig("InvalidPlatformOp", name, message))
  if (Result.isFailure(read)) return refuse(read.failure.message)
  const entire = read.success
  const decoded =
    isJsonObject(entire) && isPlainOp(entire)
      ? Result.succeed(entire as unknown as PlatformOp)
      : decode(entire)
  if (Result.isFailure(decoded)) return refuse(issueText(decoded.failure))
  const op = decoded.success
  const schema = schemaOfOp(op)
  if (Result.isFailure(schema)) return refuse(`"${schema.failure}" is no known type`)
  const { allow_nested_bind = false, args_into } = op
  const conflict = partsConflict(
    { context: bindingsOf(op), ...(args_into === undefined ? undefined : { args_into }) },
    { allowNestedBind: allow_nested_bind }
  )
  const problem = conflict ?? bindingProblem(op) ?? sentProblem(op)
  return problem === undefined ? Result.succeed(op) : refuse(problem)
}

/** Why an entry's bindings conflict: a field would get two values. Undefined = they do not. */
const bindingProblem = ({ bind = {}, precondition = {} }: PlatformOp): string | undefined => {
  const twice = Object.keys(precondition).find((place) => Object.hasOwn(bind, place))
  return twice === undefined
    ? undefined
    : `bind and precondition both fill "${truncateUnits(twice, 100)}" in`
}

/** Why an entry cannot have its `query`, its `headers` or its `content`; undefined = it can. */
const sentProblem = ({ content, headers = {}, method, path = "", query = {} }: PlatformOp) => {
  if (method === "GET" && content !== undefined && content !== null) {
    return "content: GET sends no body"
  }
  const own = new URLSearchParams(path.split("?", 2)[1] ?? "")
  const inQuery = Object.keys(query).find((name) => own.has(name))
  if (inQuery !== undefined) {
    return `query.${truncateUnits(inQuery, 64)}: the path has a parameter of this name`
  }
  const parts = content?.parts ?? {}
  const placed = [
    ...fieldsOf(query, () => true).map(([name, sent]) => [`query.${name}`, sent] as const),
    ...fieldsOf(headers, () => false).map(([name, sent]) => [`headers.${name}`, sent] as const),
    ...Object.entries(parts).map(([name, sent]) => [`content.parts.${name}`, sent] as const),
    ...(content?.field === undefined ? [] : [["content", { field: content.field }] as const])
  ]
  const names = Object.keys(headers).map((name) => name.toLowerCase())
  if (new Set(names).size < names.length) return "headers: one of them stands twice"
  const [wrong] = placed.find(([, { field }]) => Result.isFailure(parsePath(field))) ?? []
  return wrong === undefined ? undefined : `${truncateUnits(wrong, 100)}: it is no path of a field`
}

export type PlatformCatalogue = ReadonlyMap<string, PlatformOp>

/** Loads a catalogue of at most 1,000 entries. Fails with the first entry that is invalid or repeats an op. */
export const loadCatalogue = (
  entries: ReadonlyArray<unknown>
): Result.Result<PlatformCatalogue, ToolConfigRefused> => {
  const ops = new Map<string, PlatformOp>()
  if (entries.length > ops_max) {
    return Result.fail(
      refuseConfig("InvalidPlatformOp", "catalogue", `it has more than ${ops_max} entries`)
    )
  }
  for (const [at, entry] of entries.entries()) {
    const decoded = decodePlatformOp(entry, at)
    if (Result.isFailure(decoded)) return Result.fail(decoded.failure)
    const { op } = decoded.success
    if (ops.has(op)) {
      return Result.fail(refuseConfig("InvalidPlatformOp", op, "the catalogue has it twice"))
    }
    ops.set(op, decoded.success)
  }
  return Result.succeed(ops)
}

export const platformOp = (
  catalogue: PlatformCatalogue,
  op: string
): Result.Result<PlatformOp, ToolConfigRefused> => {
  const found = catalogue.get(op)
  return found === undefined
    ? Result.fail(
        refuseConfig(
          "UnknownPlatformOp",
          op,
          `the catalogue has no such op.${didYouMean(op, catalogue.keys())} ` +
            `Available: ${[...catalogue.keys()].slice(0, 50).join(", ")}.`
        )
      )
    : Result.succeed(found)
}
