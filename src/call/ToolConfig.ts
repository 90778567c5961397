/**
 * Tools as an agent's configuration names them, by `type`: builtin, gateway, code, client, reference, platform. A host that
 * resolves tools itself gives them as callbacks instead, with the request of each. Unknown members are refused.
 */
import { Record, Result, Schema } from "effect"
import { Permission } from "../tool/SideEffects.ts"
import { readJsonValue } from "../value/BoundedJson.ts"
import { issueText } from "../schema/SchemaIssues.ts"
import { isJsonObject } from "./BodyPath.ts"
import { CallDescriptor, repeating, WrittenSchema } from "./CallDescriptor.ts"
import { isRefSegment, parseCallRef } from "./CallRef.ts"
import { truncateUnits } from "../value/CutText.ts"

/** A tool's configuration, or a catalogue entry, that cannot work. With it, the start of the runtime fails. */
export class ToolConfigRefused extends Schema.TaggedError<ToolConfigRefused>()(
  "ToolConfigRefused",
  {
    /** What kind of mistake it is. */
    reason: Schema.Literals([
      "InvalidToolConfig",
      "InvalidPlatformOp",
      "UnknownPlatformOp",
      "DuplicateTool",
      "MissingCallback",
      "UnsuppliedField",
      "PathConflict",
      "NotOffered",
      "UnknownTool"
    ]),
    /** The tool's name, or its place in the list. */
    tool: Schema.String,
    /** What is wrong with it, and what to write instead. */
    message: Schema.String
  }
) {}

export const refuseConfig = (
  reason: ToolConfigRefused["reason"],
  tool: string,
  message: string
): ToolConfigRefused =>
  new ToolConfigRefused({ reason, tool, message: `tool "${truncateUnits(tool, 100)}": ${message}` })

/** The error of a configuration that has no name; `place` says where it is. */
export const refusePlace = (
  reason: ToolConfigRefused["reason"],
  place: string,
  message: string
): ToolConfigRefused =>
  new ToolConfigRefused({ reason, tool: place, message: `${place}: ${message}` })

const Name = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { expected: "1 to 64 letters, digits, _ or -" })
)
const Part = Schema.String.check(
  Schema.makeFilter((text) => isRefSegment(text) || "it is no part of a reference")
)
const Text = Schema.String.check(Schema.isMaxLength(4_000))

/** The members that every type accepts. `needs_approval: true` stands for the permission `ask`. */
const common = {
  /** Whether calls are allowed, ask a person, or are denied. Absent = what the tool's side effects say. */
  permission: Schema.optionalKey(Permission),
  /** True = calls ask a person, as `permission: "ask"`. */
  needs_approval: Schema.optionalKey(Schema.Boolean)
} as const
/** The members of a type whose name, description and schema the configuration may give. */
const described = {
  ...common,
  /** The name that the model uses: 1 to 64 letters, digits, `_` or `-`. */
  name: Schema.optionalKey(Name),
  /** What the model reads, at most 4,000 characters. */
  description: Schema.optionalKey(Text),
  /** JSON Schema of the arguments. Absent = any object. */
  input_schema: Schema.optionalKey(WrittenSchema)
} as const
const named = {
  ...described,
  /** The name that the model uses: 1 to 64 letters, digits, `_` or `-`. */
  name: Name
} as const

/** A tool that is registered in the runtime, or one of those that it includes without being registered. */
const BuiltinTool = Schema.Struct({
  ...common,
  /** A tool of this runtime. */
  type: Schema.Literal("builtin"),
  /** Its plain name. */
  name: Name
})

/** An action of a provider, which the platform's gateway runs with its own secrets. */
const GatewayTool = Schema.Struct({
  ...described,
  /** An action of a provider, run by the platform's gateway. */
  type: Schema.Literal("gateway"),
  /** The provider of the gateway. Absent = `composio`. */
  provider: Schema.optionalKey(Part),
  /** The integration, such as `github`. */
  integration: Part,
  /** The action of the integration. */
  action: Part,
  /** The connection whose secrets the gateway uses. */
  connection: Part,
  /** Absent = it may write. */
  read_only: Schema.optionalKey(Schema.Boolean),
  /** True = the endpoint takes each `Idempotency-Key` once, so a lost call is sent again. Absent = its outcome is unknown. */
  idempotent: repeating.idempotent,
  /** How often one call is attempted, always with its key. More than once needs `idempotent` or `read_only`. Absent = once. */
  retry: repeating.retry
})

const CodeTool = Schema.Struct({
  ...named,
  /** A script that runs in a process of its own. */
  type: Schema.Literal("code"),
  /** The name of what runs the script. */
  runtime: Schema.optionalKey(Text),
  /** The text of the script, at most 262,144 characters. */
  script: Schema.String.check(Schema.isMaxLength(262_144)),
  /** The names of the secrets that its process is given. */
  secrets: Schema.optionalKey(Schema.Array(Name).check(Schema.isMaxLength(64)))
})

/** A tool whose results the client of the conversation gives, such as a browser. */
const ClientTool = Schema.Struct({
  ...named,
  /** A tool whose results the client of the conversation gives. */
  type: Schema.Literal("client"),
  /** JSON Schema of the result. Absent = any JSON. */
  output_schema: Schema.optionalKey(WrittenSchema),
  /** How long a call waits for its result, 1,000 to 2,592,000,000 ms (30 days). Absent = an hour. */
  expires_ms: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1_000, maximum: 2_592_000_000 }))
  ),
  /** Absent = it may write. */
  read_only: Schema.optionalKey(Schema.Boolean)
})

/** A workflow that is stored on the platform, as a tool. */
const ReferenceTool = Schema.Struct({
  ...described,
  /** A workflow that is stored on the platform. */
  type: Schema.Literal("reference"),
  /** Absent = variant. */
  ref_by: Schema.optionalKey(Schema.Literals(["variant", "environment"])),
  /** The name of the workflow. */
  slug: Part,
  /** The version of the variant. Absent = its latest revision. */
  version: Schema.optionalKey(Part),
  /** The environment whose revision runs, with `ref_by: "environment"`. */
  environment: Schema.optionalKey(Part),
  /** True = the endpoint takes each `Idempotency-Key` once, so a lost call is sent again. Absent = its outcome is unknown. */
  idempotent: repeating.idempotent,
  /** How often one call is attempted, always with its key. More than once needs `idempotent` or `read_only`. Absent = once. */
  retry: repeating.retry
}).check(
  Schema.makeFilter(({ environment, ref_by = "variant", version }) => {
    if (ref_by === "variant") {
      return environment === undefined || "a variant is not chosen by environment"
    }
    if (environment === undefined) return "the environment is missing"
    return version === undefined || "an environment has one revision: leave version out"
  })
)

/** An endpoint of the platform, by its name in the catalogue. */
const PlatformTool = Schema.Struct({
  ...common,
  /** An endpoint of the platform. */
  type: Schema.Literal("platform"),
  /** Its name in the catalogue, 1 to 200 characters. */
  op: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
})

const GatewayRef = Schema.String.check(
  Schema.isMaxLength(1_000),
  Schema.makeFilter((text) => Result.isSuccess(parseCallRef(text)) || "it is no reference")
)

/** A tool that a host has resolved, either to the request that the runtime sends or to a reference of the gateway. */
export const CallbackTool = Schema.Struct({
  ...named,
  /** A tool that the host has resolved. */
  kind: Schema.Literal("callback"),
  /** The request that the runtime sends. Either this or `callRef`. */
  call: Schema.optionalKey(CallDescriptor),
  /** The reference that the gateway resolves, at most 1,000 characters. Either this or `call`. */
  callRef: Schema.optionalKey(GatewayRef),
  /** JSON Schema of the whole body. Absent = it follows from `input_schema`, and fixed and bound fields may be anything. */
  request_schema: Schema.optionalKey(WrittenSchema),
  /** True = a bound field may lie within `args_into`, and `input_schema` must not show it. Absent = none may. */
  allow_nested_bind: Schema.optionalKey(Schema.Boolean),
  /** Absent = it may write. */
  read_only: Schema.optionalKey(Schema.Boolean),
  /** True = the endpoint takes each `Idempotency-Key` once, so a lost call is sent again. Absent = its outcome is unknown. */
  idempotent: repeating.idempotent,
  /** How often one call is attempted, always with its key. More than once needs `idempotent` or `read_only`. Absent = once. */
  retry: repeating.retry
}).check(
  Schema.makeFilter(
    ({ call, callRef }) =>
      (call === undefined) !== (callRef === undefined) ||
      "exactly one of call and callRef has to be given"
  )
)
export interface CallbackTool extends Schema.Schema.Type<typeof CallbackTool> {}

const types = {
  builtin: BuiltinTool,
  gateway: GatewayTool,
  code: CodeTool,
  client: ClientTool,
  reference: ReferenceTool,
  platform: PlatformTool
}

export type BuiltinTool = typeof BuiltinTool.Type
export type ClientTool = typeof ClientTool.Type
export type CodeTool = typeof CodeTool.Type
export type GatewayTool = typeof GatewayTool.Type
export type ReferenceTool = typeof ReferenceTool.Type
export type PlatformTool = typeof PlatformTool.Type
/** A tool as a host configures it; `type` says which kind, or `kind` of one that is resolved. */
export type ToolConfig =
  | BuiltinTool
  | GatewayTool
  | CodeTool
  | ClientTool
  | ReferenceTool
  | PlatformTool
  | CallbackTool

const strictly = { onExcessProperty: "error" } as const
const decoders: {
  readonly [type: string]: (value: unknown) => Result.Result<ToolConfig, Schema.SchemaError>
} = Record.map(types, (type: Schema.Decoder<ToolConfig>) =>
  Schema.decodeUnknownResult(type, strictly)
)
const decodeCallback = Schema.decodeUnknownResult(CallbackTool, strictly)

const nameIn = (record: { readonly [name: string]: unknown }): string | undefined =>
  [record["name"], record["op"], record["slug"]].find(
    (each): each is string => typeof each === "string" && each !== ""
  )

/** Decodes one configuration. `at` is its place, which the error names if the configuration has no name. */
export const decodeToolConfig = (
  value: unknown,
  at: string
): Result.Result<ToolConfig, ToolConfigRefused> => {
  // The copy is within bounds and has no undefined members, and nobody can change it later.
  const read = readJsonValue(value)
  if (Result.isFailure(read)) {
    return Result.fail(refusePlace("InvalidToolConfig", at, read.failure.message))
  }
  const record: { readonly [name: string]: unknown } = isJsonObject(read.success)
    ? read.success
    : {}
  const type = record["type"]
  const decode =
    record["kind"] === "callback"
      ? decodeCallback
      : typeof type === "string" && Object.hasOwn(decoders, type)
        ? decoders[type]
        : undefined
  const name = nameIn(record)
  const refused = (problem: string) =>
    name === undefined
      ? refusePlace("InvalidToolConfig", at, problem)
      : refuseConfig("InvalidToolConfig", name, problem)
  if (decode === undefined) {
    const known = [...Object.keys(decoders), "callback (as its kind)"].join(", ")
    return Result.fail(refused(`its type is none of ${known}`))
  }
  return Result.mapError(decode(record), (error) => refused(issueText(error)))
}

const tools_max = 1_000

/** Decodes a list of at most 1,000 configurations. Fails with the first that cannot be read. */
export const decodeToolConfigs = (
  values: ReadonlyArray<unknown>
): Result.Result<ReadonlyArray<ToolConfig>, ToolConfigRefused> => {
  if (values.length > tools_max) {
    const problem = `there may be at most ${tools_max}`
    return Result.fail(refusePlace("InvalidToolConfig", "tools", problem))
  }
  return Result.all(values.map((value, at) => decodeToolConfig(value, `tools.${at}`)))
}

/** The reference of a workflow that is stored on the platform: `workflow.variant.{slug}[.{version}]` or `workflow.environment.{environment}.{slug}`. */
export const referenceIdentity = ({
  environment,
  ref_by = "variant",
  slug,
  version
}: ReferenceTool): string =>
  ref_by === "environment"
    ? `workflow.environment.${environment ?? ""}.${slug}`
    : `workflow.variant.${slug}${version === undefined ? "" : `.${version}`}`

export const referenceName = ({ name, slug }: ReferenceTool): string => name ?? slug

const RevisionId = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))
export const isRevisionId = Schema.is(RevisionId)

/** The platform's answer about a reference. */
const WorkflowRevision = Schema.Struct({
  revision: RevisionId,
  /** JSON Schema of the workflow's own inputs. */
  input_schema: WrittenSchema,
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(4_000)))
})
export interface WorkflowRevision extends Schema.Schema.Type<typeof WorkflowRevision> {}

const decode = Schema.decodeUnknownResult(WorkflowRevision)

/** Decodes a copy of a host's answer about a reference. Fails with a sentence. */
export const decodeWorkflowRevision = (value: unknown): Result.Result<WorkflowRevision, string> => {
  const read = readJsonValue(value)
  return Result.isFailure(read)
    ? Result.fail(read.failure.message)
    : Result.mapError(decode(read.success), issueText)
}

/** The path of the body's field that names the revision. */
export const revision_place = "references.workflow_revision.id"

/** The request that runs a revision: the arguments are its inputs. */
export const invocationOf = (revision: string): CallDescriptor => ({
  method: "POST",
  path: "/api/workflows/invoke",
  body: { references: { workflow_revision: { id: revision } } },
  args_into: "data.inputs"
})
