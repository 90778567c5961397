/**
 * Resolves the tools of a configuration: what a model is shown of each, and the request that its calls become. A configuration
 * that cannot work is refused here, before anything runs.
 */
import { Result, Struct } from "effect"
import { defined } from "../value/PlainObject.ts"
import type { Permission } from "../tool/SideEffects.ts"
import { permissionOf } from "../tool/SideEffects.ts"
import { partsConflict } from "./BodyAssembly.ts"
import {
  assembledSchema,
  contentProblem,
  fixedProblem,
  isSupplied,
  placeProblem,
  queryProblem,
  sentSchema,
  showsPath,
  unsuppliedFields
} from "./RequestSchema.ts"
import type { BodyPath, JsonObject } from "./BodyPath.ts"
import { isPrefix, leafPaths, withValueAt } from "./BodyPath.ts"
import type { DirectRequest, Repeating } from "./CallDescriptor.ts"
import { repeatingOf } from "./CallDescriptor.ts"
import { parameterPaths, parameterValues, sentPaths } from "./CallRequest.ts"
import { modelNameOf, parseCallRef } from "./CallRef.ts"
import type { CallProfile } from "./CallTarget.ts"
import { parametersOf, targetOf } from "./CallTarget.ts"
import type { OpHandler, PlatformCatalogue, PlatformOp } from "./PlatformOp.ts"
import {
  bindingsOf,
  defaultPermissionOf,
  platformOp,
  reservedId,
  schemaOfOp
} from "./PlatformOp.ts"
import { isImmutableToken, isOwnToken, tokenValue, unknownToken } from "./HostContext.ts"
import { strippedSchema, stripProblem } from "./SchemaStrip.ts"
import type {
  CallbackTool,
  GatewayTool,
  PlatformTool,
  ReferenceTool,
  ToolConfig,
  ToolConfigRefused,
  WorkflowRevision
} from "./ToolConfig.ts"
import { invocationOf, referenceIdentity, referenceName, refuseConfig } from "./ToolConfig.ts"

/** A request that the runtime sends itself. */
export interface DirectTarget {
  readonly _tag: "Direct"
  readonly call: DirectRequest
  /** JSON Schema of the merged body without the parameters of the path and the query. */
  readonly request_schema: JsonObject
  /** The paths of fixed and bound fields. A fault in one of them is not the model's. */
  readonly set: ReadonlyArray<BodyPath>
  /**
   * The reference of a workflow. Each run asks for its revision, and the model reads the workflow's outputs and trace. Absent =
   * the call is not of a workflow.
   */
  readonly reference?: string
  /** The handler of the gateway that is called, with the body as its arguments. Absent = the call has an endpoint of its own. */
  readonly handler?: OpHandler
}

/** A reference that the platform's gateway runs. */
export interface GatewayTarget {
  readonly _tag: "Gateway"
  readonly ref: string
}

export interface ResolvedTool extends Repeating {
  readonly name: string
  readonly namespace: "platform" | "gateway" | "reference" | "callback"
  /** The name by which policies know the tool's server. */
  readonly provider: string
  /** The stable id on the platform. */
  readonly id: string
  readonly description: string
  /** The schema that the model is shown. */
  readonly input_schema: JsonObject
  readonly read_only: boolean
  readonly permission?: Permission
  readonly needs_approval?: boolean
  /** The timeout of a call, in ms. Absent = that of the configuration. */
  readonly timeout_ms?: number
  readonly target: DirectTarget | GatewayTarget
}

export interface ToolResolution {
  readonly catalogue: PlatformCatalogue
  /** The URL of the platform's callback; undefined = there is none, and no call can be made. */
  readonly endpoint: string | undefined
  readonly profile: CallProfile
  /** The revisions for which references stand, by the references. */
  readonly revisions: ReadonlyMap<string, WorkflowRevision>
  /** Values of tokens that hold for the whole deployment; they are written into the fixed body. */
  readonly identity: JsonObject
  /** Whether there is a host that can be asked about a turn. */
  readonly hasContext: boolean
}

type Refused = Result.Result<never, ToolConfigRefused>

const open_schema: JsonObject = { type: "object", properties: {}, additionalProperties: true }

const pathOf = (text: string): BodyPath => text.split(".")

/** The call, with the bound fields that the identity fills in moved to the fixed body. */
const withIdentity = (call: DirectRequest, identity: JsonObject): DirectRequest => {
  const { body = {}, context = {}, ...rest } = call
  let fixed: JsonObject = body
  const left: Record<string, string> = {}
  for (const [path, token] of Object.entries(context)) {
    const value = isImmutableToken(token) ? tokenValue(token, identity) : undefined
    if (value === undefined) left[path] = token
    else fixed = withValueAt(fixed, pathOf(path), value)
  }
  return {
    ...rest,
    ...(Object.keys(fixed).length === 0 ? undefined : { body: fixed }),
    ...(Object.keys(left).length === 0 ? undefined : { context: left })
  }
}

const bindingProblem = (
  { context = {} }: DirectRequest,
  { hasContext, identity }: ToolResolution
): string | undefined => {
  for (const [place, token] of Object.entries(context)) {
    const unknown = unknownToken(token)
    if (unknown !== undefined) return `"${place}" is bound to what is not there: ${unknown}`
    if (hasContext || isOwnToken(token) || tokenValue(token, identity) !== undefined) continue
    return `"${place}" is bound to ${token}, which nobody gives: neither "identity" has it, nor is there a "context" that is asked`
  }
  return undefined
}

/** Checks the path against the platform's endpoint, which it returns, with stand-ins for its parameters. */
const checkTarget = (
  { call: { body = {}, method, path }, handler, name }: Direct,
  { endpoint, profile }: ToolResolution
): Result.Result<string, ToolConfigRefused> => {
  if (endpoint === undefined) {
    const problem = "it needs the API base URL of the platform: give the callback's endpoint"
    return Result.fail(refuseConfig("MissingCallback", name, problem))
  }
  if (handler !== undefined) return Result.succeed(endpoint)
  const values: JsonObject = {
    ...Object.fromEntries(parametersOf(path).map((each) => [each, "x"])),
    ...parameterValues(path, body)
  }
  const target = targetOf(endpoint, { method, path }, values, profile)
  return Result.isSuccess(target)
    ? Result.succeed(endpoint)
    : Result.fail(
        refuseConfig("InvalidToolConfig", name, `${method} ${path} is refused: ${target.failure}`)
      )
}

interface Direct {
  readonly name: string
  readonly call: DirectRequest
  /** The endpoint's schema of the arguments. */
  readonly schema: JsonObject
  /** The schema of the whole body. Absent = it follows from `schema`. */
  readonly request_schema?: JsonObject | undefined
  readonly allowNestedBind: boolean
  readonly handler?: OpHandler | undefined
}

const directTarget = (
  direct: Direct,
  resolution: ToolResolution
): Result.Result<
  { readonly target: DirectTarget; readonly input_schema: JsonObject },
  ToolConfigRefused
> => {
  const { allowNestedBind, call: given, handler, name, request_schema, schema } = direct
  const refuse = (reason: ToolConfigRefused["reason"], problem: string): Refused =>
    Result.fail(refuseConfig(reason, name, problem))
  const checked = checkTarget(direct, resolution)
  if (Result.isFailure(checked)) return Result.fail(checked.failure)
  const conflict = partsConflict(given, { allowNestedBind })
  if (conflict !== undefined) return refuse("PathConflict", conflict)
  const call = withIdentity(given, resolution.identity)
  const unbound = bindingProblem(call, resolution)
  if (unbound !== undefined) return refuse("InvalidToolConfig", unbound)
  const problem = queryProblem(call) ?? contentProblem(call)
  if (problem !== undefined) return refuse("InvalidToolConfig", problem)
  const args_into = call.args_into === undefined ? [] : pathOf(call.args_into)
  const bound = Object.keys(call.context ?? {}).map(pathOf)
  const set = [...leafPaths(call.body ?? {}), ...bound]
  const within = set.flatMap((path) =>
    isPrefix(args_into, path) ? [path.slice(args_into.length)] : []
  )
  for (const path of within) {
    const reason = stripProblem(schema, path)
    if (reason !== undefined) {
      const field = `the field "${path.join(".")}", which is filled in for the model`
      return refuse("PathConflict", `${field}, cannot be taken out of its schema: ${reason}`)
    }
  }
  const input_schema = strippedSchema(schema, within)
  const assembled = request_schema ?? assembledSchema({ schema, args_into, set })
  const parameters = parameterPaths(call.path)
  const suppliers = { model: input_schema, args_into, set }
  const lacking = [
    ...unsuppliedFields(assembled, suppliers),
    ...parameters.filter((path) => !isSupplied(suppliers, path)).map((path) => path.join("."))
  ]
  if (lacking.length > 0) {
    const names = [...new Set(lacking)].slice(0, 10).join(", ")
    return refuse("UnsuppliedField", `nobody supplies what the endpoint requires: ${names}`)
  }
  const sent = sentSchema(assembled, [...parameters, ...sentPaths(call)])
  const misfit = fixedProblem(call, sent)
  if (misfit !== undefined) return refuse("InvalidToolConfig", misfit)
  const misplaced =
    placeProblem(schema, within) ??
    (request_schema === undefined ? undefined : placeProblem(request_schema, [...bound, args_into]))
  if (misplaced !== undefined) return refuse("PathConflict", misplaced)
  return Result.succeed({
    input_schema,
    target: {
      _tag: "Direct",
      call,
      request_schema: sent,
      set,
      ...(handler === undefined ? undefined : { handler })
    }
  })
}

const permissionsOf = ({
  needs_approval,
  permission
}: Pick<ToolConfig, "needs_approval" | "permission">) => defined({ permission, needs_approval })

/** The permission of an op: the configuration's, or else the catalogue's if that is not the default of its kind of tool. */
const opPermission = (op: PlatformOp, config: PlatformTool) => {
  const given = permissionsOf(config)
  if (given.permission !== undefined || given.needs_approval === true) return given
  const permission = defaultPermissionOf(op)
  const usual = permissionOf({ category: op.read_only === true ? "read" : "mutate" })
  return permission === usual ? given : { ...given, permission }
}

/** The path of the gateway in descriptions. A call of it goes to the callback's own URL. */
const gateway_path = "/api/tools/call"

const resolvePlatform = (
  config: PlatformTool,
  resolution: ToolResolution
): Result.Result<ResolvedTool, ToolConfigRefused> => {
  const found = platformOp(resolution.catalogue, config.op)
  if (Result.isFailure(found)) return Result.fail(found.failure)
  const op = found.success
  const schema = schemaOfOp(op)
  if (Result.isFailure(schema)) {
    return Result.fail(refuseConfig("InvalidPlatformOp", op.op, `no type "${schema.failure}"`))
  }
  const context = bindingsOf(op)
  const { handler } = op
  const call: DirectRequest = {
    method: op.method ?? "POST",
    path: op.path ?? gateway_path,
    ...(Object.keys(context).length === 0 ? undefined : { context }),
    ...Struct.pick(op, ["args_into", "query", "headers", "content"])
  }
  const allowNestedBind = op.allow_nested_bind === true
  return Result.map(
    directTarget(
      { name: op.op, call, schema: schema.success, allowNestedBind, handler },
      resolution
    ),
    ({ input_schema, target }): ResolvedTool => ({
      name: op.op,
      namespace: "platform",
      provider: "platform",
      id: reservedId(op.op),
      description: op.description,
      input_schema,
      read_only: op.read_only === true,
      ...Struct.pick(op, ["timeout_ms"]),
      ...repeatingOf(op),
      ...opPermission(op, config),
      target
    })
  )
}

/** `tools.{provider}.{integration}.{action}.{connection}` */
export const gatewayRefOf = ({
  action,
  connection,
  integration,
  provider = "composio"
}: GatewayTool): string => ["tools", provider, integration, action, connection].join(".")

interface Gateway extends Pick<ToolConfig, "needs_approval" | "permission">, Repeating {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly input_schema?: JsonObject | undefined
  readonly read_only?: boolean | undefined
  readonly ref: string
}

const resolveGateway = (
  {
    description,
    input_schema = open_schema,
    name: given,
    read_only = false,
    ref,
    ...rest
  }: Gateway,
  { endpoint }: ToolResolution
): Result.Result<ResolvedTool, ToolConfigRefused> => {
  const name = given === undefined ? modelNameOf(ref) : Result.succeed(given)
  if (Result.isFailure(name)) {
    return Result.fail(refuseConfig("InvalidToolConfig", ref, `give it a name: ${name.failure}`))
  }
  const refuse = (reason: ToolConfigRefused["reason"], problem: string): Refused =>
    Result.fail(refuseConfig(reason, name.success, problem))
  if (endpoint === undefined) {
    return refuse("MissingCallback", "it needs the platform's callback: give its endpoint")
  }
  const parsed = parseCallRef(ref)
  if (Result.isFailure(parsed)) return refuse("InvalidToolConfig", parsed.failure)
  if (parsed.success._tag !== "Gateway") {
    return refuse("NotOffered", `the gateway does not serve "${ref}": it is called directly`)
  }
  const { action, integration, provider } = parsed.success
  return Result.succeed({
    name: name.success,
    namespace: "gateway",
    provider: `gateway:${provider}`,
    id: ref,
    description: description ?? `Runs "${action}" of ${integration}.`,
    input_schema,
    read_only,
    ...repeatingOf(rest),
    ...permissionsOf(rest),
    target: { _tag: "Gateway", ref }
  })
}

const resolveCallback = (
  config: CallbackTool,
  resolution: ToolResolution
): Result.Result<ResolvedTool, ToolConfigRefused> => {
  const { allow_nested_bind = false, call, callRef, name, request_schema } = config
  const { description = "", input_schema: schema = open_schema, read_only = false } = config
  if (callRef !== undefined) return resolveGateway({ ...config, ref: callRef }, resolution)
  if (call === undefined) {
    return Result.fail(refuseConfig("InvalidToolConfig", name, "it has neither call nor callRef"))
  }
  const shown = Object.keys(call.context ?? {}).find((text) => {
    const into = call.args_into === undefined ? [] : pathOf(call.args_into)
    return isPrefix(into, pathOf(text)) && showsPath(schema, pathOf(text).slice(into.length))
  })
  if (shown !== undefined && call.args_into !== undefined) {
    const problem = `the model is shown "${shown}", which the run's context fills in`
    return Result.fail(refuseConfig("PathConflict", name, problem))
  }
  const direct = { name, call, schema, request_schema, allowNestedBind: allow_nested_bind }
  return Result.map(directTarget(direct, resolution), ({ input_schema, target }): ResolvedTool => ({
    name,
    namespace: "callback",
    provider: "platform",
    id: name,
    description,
    input_schema,
    read_only,
    ...repeatingOf(config),
    ...permissionsOf(config),
    target
  }))
}

const elsewhere = {
  builtin: "a registered tool does not call the platform: resolve it with BuiltinTools",
  code: "code does not call the platform: register it with CodeTool",
  client: "a client does not call the platform: register it with ClientTools"
}

const resolveReference = (
  config: ReferenceTool,
  resolution: ToolResolution
): Result.Result<ResolvedTool, ToolConfigRefused> => {
  const name = referenceName(config)
  const identity = referenceIdentity(config)
  const found = resolution.revisions.get(identity)
  if (found === undefined) {
    return Result.fail(refuseConfig("NotOffered", name, `no revision is known for "${identity}"`))
  }
  const schema = config.input_schema ?? found.input_schema
  const call = invocationOf(found.revision)
  return Result.map(
    directTarget({ name, call, schema, allowNestedBind: false }, resolution),
    ({ input_schema, target }): ResolvedTool => ({
      name,
      namespace: "reference",
      provider: "platform",
      id: identity,
      description: config.description ?? found.description ?? `Runs the workflow ${config.slug}.`,
      input_schema,
      read_only: false,
      ...repeatingOf(config),
      ...permissionsOf(config),
      target: { ...target, reference: identity }
    })
  )
}

const resolveOne = (
  config: ToolConfig,
  resolution: ToolResolution
): Result.Result<ResolvedTool, ToolConfigRefused> => {
  if ("kind" in config) return resolveCallback(config, resolution)
  switch (config.type) {
    case "platform":
      return resolvePlatform(config, resolution)
    case "gateway":
      return resolveGateway({ ...config, ref: gatewayRefOf(config) }, resolution)
    case "reference":
      return resolveReference(config, resolution)
    case "builtin":
    case "code":
    case "client":
      return Result.fail(refuseConfig("NotOffered", config.name, elsewhere[config.type]))
  }
}

/** Resolves a list of configurations. Fails with the first that cannot work or repeats a name. */
export const resolveTools = (
  configs: ReadonlyArray<ToolConfig>,
  resolution: ToolResolution
): Result.Result<ReadonlyArray<ResolvedTool>, ToolConfigRefused> => {
  const tools = new Map<string, ResolvedTool>()
  for (const config of configs) {
    const resolved = resolveOne(config, resolution)
    if (Result.isFailure(resolved)) return Result.fail(resolved.failure)
    const { name, namespace } = resolved.success
    if (tools.has(name)) {
      const problem =
        namespace === "platform"
          ? "Duplicate platform tool: it is listed twice"
          : "two tools have this name"
      return Result.fail(refuseConfig("DuplicateTool", name, problem))
    }
    tools.set(name, resolved.success)
  }
  return Result.succeed([...tools.values()])
}
