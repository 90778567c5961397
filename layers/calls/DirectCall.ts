/**
 * Direct calls: the runtime assembles the body of each call, checks it against the endpoint's schema and sends one request to the
 * platform. If any part is refused, nothing is sent.
 */
import { Cause, Effect, Exit, Option, Result, Schema } from "effect"
import type { Json } from "../../src/value/Canonical.ts"
import { isSameJson } from "../../src/value/Canonical.ts"
import { truncateUnits } from "../../src/value/CutText.ts"
import { bounds_result, readJson } from "../../src/value/BoundedJson.ts"
import { firstSchemaIssue, refusalText } from "../../src/schema/SchemaIssues.ts"
import { classifyName } from "../../src/error/Classify.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import { ToolTerminalError, ToolUserError } from "../../src/error/ToolError.ts"
import { bodyAssembler } from "../../src/call/BodyAssembly.ts"
import type { BodyPath, JsonObject } from "../../src/call/BodyPath.ts"
import { isPrefix, memberOf, merged, withValueAt } from "../../src/call/BodyPath.ts"
import type { RequestRefusal } from "../../src/call/CallRequest.ts"
import { bodyOfRequest, parameterPaths, requestOf } from "../../src/call/CallRequest.ts"
import type { CallProfile } from "../../src/call/CallTarget.ts"
import type { DirectTarget, ResolvedTool } from "../../src/call/ResolvedTool.ts"
import {
  decodeHostContext,
  tokenPath,
  tokenValue,
  withBothForms
} from "../../src/call/HostContext.ts"
import { invocationOf, isRevisionId, revision_place } from "../../src/call/ToolConfig.ts"
import { nestingRefusal } from "../../src/run/NestedRuns.ts"
import type {
  CallContext,
  CallOfRun,
  EffectHandler,
  GovernedTool
} from "../../src/tool/GovernedTool.ts"
import type { MisdeclaredTool } from "../../src/tool/MisdeclaredTool.ts"
import type { InputCodec } from "../../src/tool/ToolCodec.ts"
import { jsonSchemaInput } from "../../src/tool/ToolCodec.ts"
import type { PlatformClient } from "./PlatformClient.ts"
import { spanOfCall } from "./PlatformClient.ts"
import type { GatewayRef } from "./GatewayCall.ts"
import { callRef } from "./GatewayCall.ts"
import type { AskContext } from "./HostQuestions.ts"
import type { CallerOf } from "./OncePerRun.ts"
import type { Spend } from "../../src/cost/Spending.ts"
import { Usage } from "../../src/cost/TurnCost.ts"

/** What a workflow's run spent on models, by `usage` in its answer: one entry for each model, at most 64. */
const Uses = Schema.Array(
  Schema.Struct({
    /** Absent = not known; its tokens then count without a price. */
    model: Schema.optionalKey(Schema.String),
    turns: Schema.optionalKey(Schema.Int),
    /** The tokens. Absent = not known. */
    usage: Schema.optionalKey(Usage)
  })
).check(Schema.isMaxLength(64))
const decode = Schema.decodeUnknownOption(Uses)

/** Without `usage`, nothing known was spent; one that cannot be read counts as one turn without a price. */
const reportNested = (answer: Json, spent: Spend): void => {
  const given = memberOf(answer, "usage")
  if (given === undefined || given === null) return
  const uses = Option.getOrUndefined(decode(given))
  if (uses === undefined) return spent({})
  for (const use of uses) spent(use)
}

export interface Services {
  readonly client: PlatformClient
  readonly context: AskContext | undefined
  /** Values that hold for the whole deployment, for tokens that are not in the fixed body. */
  readonly identity: JsonObject
  readonly profile: CallProfile
  readonly revisionOf: RevisionOf
}

/** Gives the same revision for every call of a run. */
export type RevisionOf = (identity: string, caller: CallerOf) => Effect.Effect<string, ToolError>

const what = "direct tool call"

/** Of the kind `external`, because to a failure of the kind `internal` the runtime adds that the call may have taken effect. */
const notSent = (reason: string, problem: string): ToolError =>
  new ToolTerminalError({
    kind: "external",
    reason,
    message: `${what} was not sent: ${problem}`
  })

const reasonOf = (name: string): string => name.toUpperCase().replaceAll("-", "_")

const setUpWrongly = (name: string): ToolError =>
  notSent(reasonOf(name), "this tool is set up wrongly")

const argumentRefused = (name: string): ToolError =>
  new ToolUserError({
    kind: "invalid_args",
    reason: reasonOf(name),
    message: `${what} was not sent: an argument cannot be part of the request (${name})`
  })

/** The error of a body that cannot be assembled, in the class to which the name of the refusal belongs. */
const refusalError = (name: string): ToolError =>
  classifyName(name).class === "ToolUserError" ? argumentRefused(name) : setUpWrongly(name)

/** The path was checked at the start, so a value is at fault: the model can correct it, unless all of the path are filled in. */
const requestError = ({ call, set }: DirectTarget, refusal: RequestRefusal): ToolError => {
  const isSet = (path: BodyPath) => set.some((each) => isPrefix(each, path) || isPrefix(path, each))
  const isOfModel = of_value.has(refusal) || !parameterPaths(call.path).every(isSet)
  return isOfModel ? argumentRefused(refusal) : setUpWrongly(refusal)
}

const of_value: ReadonlySet<RequestRefusal> = new Set([
  "ill-formed-text",
  "non-scalar-argument",
  "query-too-long",
  "repeated-parameter",
  "unsafe-header"
])

const noContext = notSent(
  "MISSING_RUN_CONTEXT",
  "the run does not have what the platform needs to know of it"
)

/** Asks what the host knows about the turn. Gives each id in both forms. Fails with MISSING_RUN_CONTEXT. */
const askHost = Effect.fnUntraced(function* (
  ask: AskContext,
  { call, conversation, principal, run, tenant, trace_id }: CallOfRun
): Effect.fn.Return<JsonObject, ToolError> {
  const asking = ask({ call, conversation, principal, run, tenant, trace_id })
  const given = yield* Effect.mapError(asking, () => noContext)
  const decoded = decodeHostContext(given)
  if (Result.isFailure(decoded)) return yield* noContext
  return withBothForms(decoded.success)
})

/** The values that the host gives for bound fields, also for those that the runtime knows by itself. */
const valuesOf = (
  { call }: DirectTarget,
  asked: JsonObject
): ReadonlyArray<readonly [place: string, value: Json]> =>
  Object.entries(call.context ?? {}).flatMap(([place, token]) => {
    const value = tokenValue(token, asked)
    return value === undefined ? [] : [[place, value] as const]
  })

/** Asks the host once; undefined = there is nothing to ask. Fails before a person is asked about a call that could not be sent. */
export const fillInOf = (
  { context: ask, identity, revisionOf }: Services,
  target: DirectTarget
): GovernedTool["fillIn"] => {
  const { reference } = target
  if (reference !== undefined) {
    return (call) =>
      Effect.map(revisionOf(reference, call), (revision) => ({ [revision_place]: revision }))
  }
  const bound = target.call.context ?? {}
  if (ask === undefined || Object.keys(bound).length === 0) return undefined
  const own = merged(own_example, identity)
  const isOwn = (token: string) => tokenValue(token, own) !== undefined
  return Effect.fnUntraced(function* (call) {
    const values = Object.fromEntries(valuesOf(target, yield* askHost(ask, call)))
    const isWhole = Object.entries(bound).every(
      ([place, token]) => values[place] !== undefined || isOwn(token)
    )
    return isWhole ? values : yield* noContext
  })
}

const ownOf = (
  trace: { readonly trace_id: string; readonly span_id: string },
  session_id: string
) => withBothForms({ trace, session_id })

const own_example = ownOf({ trace_id: "0", span_id: "0" }, "0")

/** The run's own values, overridden by the deployment's identity, and both by what the host filled in. */
const contextOf = Effect.fnUntraced(function* (
  { context: ask, identity }: Services,
  target: DirectTarget,
  call: CallContext
): Effect.fn.Return<JsonObject, ToolError> {
  const { conversation, filled, trace_id } = call
  const { spanId } = yield* spanOfCall(call)
  const known = merged(ownOf({ trace_id, span_id: spanId }, conversation), identity)
  if (ask === undefined) return known
  const places =
    filled === undefined ? valuesOf(target, yield* askHost(ask, call)) : Object.entries(filled)
  return places.reduce((context, [place, value]) => {
    const token = tokenPath(target.call.context?.[place] ?? "")
    return token === undefined ? context : withValueAt(context, token, value)
  }, known)
})

const pathOfFault = (error: unknown): BodyPath | undefined =>
  Schema.isSchemaError(error) ? firstSchemaIssue(error.issue).path : undefined

/** Checks the merged body. A fault at a fixed or bound field is not reported as the model's to correct. */
const checkBody = (
  { decode }: InputCodec,
  { set }: DirectTarget,
  body: JsonObject
): Effect.Effect<void, ToolError> => {
  const checked = decode(body)
  if (Exit.isSuccess(checked)) return Effect.void
  const error = Cause.squash(checked.cause)
  const path = pathOfFault(error)
  if (path === undefined || set.some((filled) => isPrefix(filled, path))) {
    return Effect.fail(
      notSent("POST_MERGE_SCHEMA", "a field that is filled in does not fit the endpoint")
    )
  }
  return new ToolUserError({
    kind: "invalid_args",
    reason: "POST_MERGE_SCHEMA",
    message: `${what} was not sent: ${truncateUnits(refusalText(error), 500)}`
  })
}

/** The revision that was filled in for the call; undefined if none was, as in a worker of another process. */
const revisionIn = ({ filled }: CallContext): string | undefined => {
  const found = filled?.[revision_place]
  return isRevisionId(found) ? found : undefined
}

/** The outputs of a workflow's run, with the trace in which it can be found; both are null where the answer lacks them. */
const outputsOf = (value: Json): Json => ({
  outputs: memberOf(memberOf(value, "data"), "outputs") ?? null,
  trace_id: memberOf(value, "trace_id") ?? null
})

/** The answer of one of the platform's handlers, which the gateway gives as the text of its JSON. */
const handled = Effect.fnUntraced(function* (
  client: PlatformClient,
  ref: GatewayRef,
  body: JsonObject,
  call: CallContext
): Effect.fn.Return<Json, ToolError> {
  const content = yield* callRef(client, ref, body, call)
  const read = typeof content === "string" ? readJson(content, bounds_result) : undefined
  return read !== undefined && Result.isSuccess(read) ? read.success : content
})

type DirectTool = Pick<ResolvedTool, "name" | "input_schema" | "timeout_ms"> & {
  readonly input: InputCodec
  readonly target: DirectTarget
}

/** Makes the handler of a direct tool, whose arguments `input` decodes. Fails where the endpoint's schema cannot be checked. */
export const handlerOf = Effect.fnUntraced(function* (
  services: Services,
  endpoint: string,
  { input, input_schema, name, target, timeout_ms }: DirectTool
): Effect.fn.Return<EffectHandler, MisdeclaredTool> {
  const { client, profile, revisionOf } = services
  const { handler, reference, request_schema } = target
  const startsRuns = reference !== undefined || handler === "tools.agenta.test_run"
  // Where nothing is filled in, the body consists of the arguments, and only one schema is compiled.
  const request = isSameJson(request_schema, input_schema)
    ? input
    : yield* jsonSchemaInput(name, request_schema, true)
  const needsContext = Object.keys(target.call.context ?? {}).length > 0
  const assembler = bodyAssembler(target.call)
  const timeout = timeout_ms === undefined ? undefined : { timeout_ms }
  return Effect.fnUntraced(function* (args, { call }) {
    const refusal = startsRuns ? nestingRefusal(call.nested) : undefined
    if (refusal !== undefined) return yield* refusal
    const context = needsContext ? yield* contextOf(services, target, call) : undefined
    const descriptor =
      reference === undefined
        ? target.call
        : invocationOf(revisionIn(call) ?? (yield* revisionOf(reference, call)))
    const assemble = descriptor === target.call ? assembler : bodyAssembler(descriptor)
    const body = Result.flatMap(assemble, (bodyOf) => bodyOf(args, context))
    if (Result.isFailure(body)) {
      return yield* body.failure === "missing-run-context" ? noContext : refusalError(body.failure)
    }
    yield* checkBody(request, target, bodyOfRequest(descriptor, body.success))
    if (handler !== undefined) {
      const ref = { endpoint, ref: handler, ...timeout }
      const value = yield* handled(client, ref, body.success, call)
      if (startsRuns) reportNested(value, call.spent)
      return value
    }
    const made = requestOf(endpoint, descriptor, body.success, profile)
    if (Result.isFailure(made)) return yield* requestError(target, made.failure)
    const value = yield* client.send(what, { ...made.success, ...timeout }, call)
    if (reference === undefined) return value
    reportNested(value, call.spent)
    return outputsOf(value)
  })
})
