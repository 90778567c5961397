/**
 * A request to an endpoint of the host platform that the runtime sends itself. The descriptor names a method and a path, never a
 * host, and contains the values that the model may not choose.
 */
import { Schema, Struct } from "effect"
import type { RetryConfig } from "../tool/RetryPolicy.ts"
import { RetryPolicy } from "../tool/RetryPolicy.ts"
import { schemaFault } from "../schema/SchemaShape.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject, isUnsafeName } from "./BodyPath.ts"
import { parameter, pathRefusal } from "./CallTarget.ts"
import { tokenPath } from "./HostContext.ts"

/** The longest JSON text of a fixed body or a schema, in UTF-16 units. */
export const body_units_max = 65_536
/** The greatest number of bound fields of a call, and of parameters in its query. */
export const bindings_max = 64
export const path_units_max = 2_000

export const CallPath = Schema.String.check(
  Schema.isMaxLength(path_units_max),
  Schema.isPattern(/^\/(?!\/)/, { expected: "a path that begins with one slash" }),
  Schema.makeFilter(
    (path) =>
      !/[{}]/.test(path.replaceAll(parameter, "")) ||
      "a brace in it begins or ends no parameter: write one as {name}"
  ),
  Schema.makeFilter((path) => {
    const refusal = pathRefusal(path)
    return refusal === undefined || `no request can have this path: ${refusal}`
  })
)

/** A path into the body, such as `data.inputs`. */
export const PathText = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))

/** A reference to the run's context, such as `$ctx.trace.trace_id`. */
const ContextToken = Schema.String.check(
  Schema.isMaxLength(500),
  Schema.makeFilter((text) => tokenPath(text) !== undefined || "it is no $ctx.<path> token")
)

/** Fields of the body, by path, that are filled from the run's context. */
export const Bindings = Schema.Record(PathText, ContextToken).check(
  Schema.isMaxProperties(bindings_max)
)

/** A JSON object. Its members are not checked, because every configuration was read as JSON before. */
const ReadObject = Schema.Unknown.pipe(Schema.refine(isJsonObject, { expected: "a JSON object" }))

/** An upper bound of the length of a value's JSON text. Each unit of a text may be escaped as six. */
const unitsAtMost = (value: unknown): number => {
  if (typeof value === "string") return 6 * value.length + 3
  if (typeof value !== "object" || value === null) return 26
  let units = 3
  if (Array.isArray(value)) for (const item of value) units += unitsAtMost(item)
  else {
    for (const name in value) {
      units += 6 * name.length + 4 + unitsAtMost((value as JsonObject)[name])
    }
  }
  return units
}

/**
 * Whether the JSON text of a value has at most `body_units_max` units. For most values the upper bound shows it, and no text is
 * made (bench row `calls`).
 */
export const isWithinUnits = (body: JsonObject): boolean =>
  unitsAtMost(body) <= body_units_max || JSON.stringify(body).length <= body_units_max

const Bounded = ReadObject.check(
  Schema.makeFilter(
    (body) => isWithinUnits(body) || `it has more than ${body_units_max} characters`
  )
)

/** Whether a value has, at any depth, a member whose name reaches a prototype. Such a member is never sent. */
const reachesPrototype = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.entries(value).some(
    ([name, member]) => (!Array.isArray(value) && isUnsafeName(name)) || reachesPrototype(member)
  )

export const FixedBody = Bounded.check(
  Schema.makeFilter(
    (body) =>
      !reachesPrototype(body) ||
      "a member of it is called __proto__, constructor or prototype, which is never sent"
  )
)

/** A JSON Schema, in the form of 2020-12. */
export const WrittenSchema = Bounded.check(
  Schema.makeFilter((schema) => schemaFault(schema) ?? true)
)

/** A configuration's settings for repeated requests. */
export const repeating = {
  /**
   * True = the endpoint accepts each `Idempotency-Key` once and answers a repeated one as it did the first, so a lost call is
   * sent again with its key. Absent = this is not known, and the outcome of a lost call is unknown.
   */
  idempotent: Schema.optionalKey(Schema.Boolean),
  /**
   * How often one call is attempted, always with its key. Absent = once. More attempts need `idempotent`, unless the tool only
   * reads.
   */
  retry: Schema.optionalKey(RetryPolicy.mapFields(Struct.map(Schema.optionalKey)))
}

/** A resolved tool's settings for repeated requests. */
export interface Repeating {
  readonly idempotent?: boolean
  readonly retry?: RetryConfig
}

export const repeatingOf = ({ idempotent, retry }: Repeating): Repeating => ({
  ...(idempotent === undefined ? undefined : { idempotent }),
  ...(retry === undefined ? undefined : { retry })
})

export const CallMethod = Schema.Literals(["GET", "POST", "PUT", "PATCH", "DELETE"])
export type CallMethod = typeof CallMethod.Type

export const CallDescriptor = Schema.Struct({
  method: CallMethod,
  path: CallPath,
  /** Fixed values of the body, which the model's arguments cannot override. */
  body: Schema.optionalKey(FixedBody),
  /** Fields that are filled from the run's context at dispatch, after everything else. */
  context: Schema.optionalKey(Bindings),
  /** Where the model's arguments are placed. Absent = at the root. */
  args_into: Schema.optionalKey(PathText)
})
export interface CallDescriptor extends Schema.Schema.Type<typeof CallDescriptor> {}

/** The parts of a descriptor from which its body is assembled. */
export interface BodyParts {
  readonly body?: JsonObject
  readonly context?: Readonly<Record<string, string>>
  readonly args_into?: string
}
