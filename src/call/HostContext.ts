/**
 * What the host platform knows about a run: its workflow, its trace and its session. A call binds fields of its request to these
 * values by tokens such as `$ctx.workflow.variant.id`. No model can read them, and no model can set a bound field. The context
 * that a message passes to its run's tools is something else: `RunContext`.
 */
import { Result, Schema } from "effect"
import type { Json } from "../value/Canonical.ts"
import { readJsonValue } from "../value/BoundedJson.ts"
import { issueText } from "../schema/SchemaIssues.ts"
import type { BodyPath, JsonObject } from "./BodyPath.ts"
import { parsePath, safeCopy, valueAt, withValueAt } from "./BodyPath.ts"

const Id = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))
const Named = Schema.Struct({
  /** 1 to 500 characters. Absent = not known. */
  id: Schema.optionalKey(Id)
})

const workflow_ids = {
  /** The workflow's artifact, in place of `artifact_id`. */
  artifact: Schema.optionalKey(Named),
  /** The variant of the workflow, in place of `variant_id`. */
  variant: Schema.optionalKey(Named),
  /** The revision of the variant, in place of `revision_id`. */
  revision: Schema.optionalKey(Named)
}
const workflow = {
  /** The id of the workflow's artifact. */
  artifact_id: Schema.optionalKey(Id),
  /** The id of the variant that runs. */
  variant_id: Schema.optionalKey(Id),
  /** The name of the variant that runs. */
  variant_name: Schema.optionalKey(Id),
  /** The id of the revision that runs. */
  revision_id: Schema.optionalKey(Id),
  /** The id of the variant's latest revision. */
  latest_revision_id: Schema.optionalKey(Id),
  /** The version of the revision: a number or a text. */
  version: Schema.optionalKey(Schema.Union([Id, Schema.Int])),
  /** True = the revision was not committed. */
  is_draft: Schema.optionalKey(Schema.Boolean),
  ...workflow_ids
}
const trace = {
  /** The id of the platform's trace. */
  trace_id: Schema.optionalKey(Id),
  /** The id of the span from which the run is started. */
  span_id: Schema.optionalKey(Id)
}

/** An id may be given in either form: `workflow.variant_id` and `workflow.variant.id` are the same one. */
export const HostContext = Schema.Struct({
  /** The workflow that the run is of. Absent = none. */
  workflow: Schema.optionalKey(Schema.Struct(workflow)),
  /** The trace of the platform in which the run is. Absent = none. */
  trace: Schema.optionalKey(Schema.Struct(trace)),
  /** The id of the user's session. Absent = none. */
  session_id: Schema.optionalKey(Id),
  /** The user's session, in place of `session_id`. */
  session: Schema.optionalKey(Named)
})
export interface HostContext extends Schema.Schema.Type<typeof HostContext> {}

const decode = Schema.decodeUnknownResult(HostContext, { onExcessProperty: "error" })

/** Decodes a context from outside. Fails with a sentence; an unknown member is refused. */
export const decodeHostContext = (value: unknown): Result.Result<HostContext, string> => {
  // This makes a copy, because reading a host's object may throw.
  const read = readJsonValue(value)
  return Result.isFailure(read)
    ? Result.fail(read.failure.message)
    : Result.mapError(decode(read.success), issueText)
}

/** The two forms of one id. */
const forms = [
  ["workflow.artifact_id", "workflow.artifact.id"],
  ["workflow.variant_id", "workflow.variant.id"],
  ["workflow.revision_id", "workflow.revision.id"],
  ["session_id", "session.id"]
] as const
const form_paths = forms.map(([flat, nested]) => [flat.split("."), nested.split(".")] as const)

/** The context with each id in both forms. If the two forms differ, the nested one counts. */
export const withBothForms = (context: HostContext): JsonObject => {
  let whole: JsonObject = { ...context } as JsonObject
  for (const [flat, nested] of form_paths) {
    const id = valueAt(whole, nested) ?? valueAt(whole, flat)
    if (id !== undefined) whole = withValueAt(withValueAt(whole, flat, id), nested, id)
  }
  return whole
}

/** The values that stay the same for a whole deployment: the workflow and its variant. Everything else may change with a turn. */
const immutable: ReadonlySet<string> = new Set(forms.slice(0, 2).flat())

const written = /^\$ctx\.(.+)$/s

/** The path in the context that a token names; undefined = the text is not a token. */
export const tokenPath = (token: string): BodyPath | undefined => {
  const [, text] = written.exec(token) ?? []
  const path = text === undefined ? undefined : parsePath(text)
  return path === undefined || Result.isFailure(path) ? undefined : path.success
}

/** Whether the token names an identity that is the same for the whole deployment. */
export const isImmutableToken = (token: string): boolean =>
  immutable.has(tokenPath(token)?.join(".") ?? "")

const places: ReadonlyArray<string> = [
  ...Object.keys(workflow).flatMap((name) =>
    name in workflow_ids ? [`workflow.${name}.id`] : [`workflow.${name}`]
  ),
  ...Object.keys(trace).map((name) => `trace.${name}`),
  "session_id",
  "session.id"
]

/** Why a token can never have a value, in a sentence; undefined = it can. An object, such as `$ctx.workflow`, is a value too. */
export const unknownToken = (token: string): string | undefined => {
  const path = tokenPath(token)?.join(".") ?? ""
  return places.some((each) => each === path || each.startsWith(`${path}.`))
    ? undefined
    : `no context has ${token}; there are ${places.map((each) => `$ctx.${each}`).join(", ")}`
}

/** Whether the runtime itself knows the token's value for every run, without the host. */
export const isOwnToken = (token: string): boolean =>
  ["trace", "session", "session_id"].includes(tokenPath(token)?.[0] ?? "")

/** The value at a token's path. Undefined = there is none. Null counts as absent, because it identifies nothing. */
export const contextValue = (path: BodyPath, context: JsonObject | undefined): Json | undefined => {
  const found = valueAt(context, path)
  return found === undefined || found === null ? undefined : safeCopy(found)
}

export const tokenValue = (token: string, context: JsonObject | undefined): Json | undefined => {
  const path = tokenPath(token)
  return path === undefined ? undefined : contextValue(path, context)
}
