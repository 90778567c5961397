/**
 * The questions to a host: what it knows about a turn, and which revision a workflow's reference stands for. A function of the
 * program answers, or an endpoint of the platform, which a file of tools can name.
 */
import { Effect, Result, Schema } from "effect"
import type { Json } from "../../src/value/Canonical.ts"
import type { JsonObject } from "../../src/call/BodyPath.ts"
import { isJsonObject, memberOf } from "../../src/call/BodyPath.ts"
import { CallPath } from "../../src/call/CallDescriptor.ts"
import { parseCallRef } from "../../src/call/CallRef.ts"
import type { CallProfile } from "../../src/call/CallTarget.ts"
import { targetOf } from "../../src/call/CallTarget.ts"
import type { HostContext } from "../../src/call/HostContext.ts"
import type { WorkflowRevision } from "../../src/call/ToolConfig.ts"
import { decodeWorkflowRevision } from "../../src/call/ToolConfig.ts"
import { readJsonValue } from "../../src/value/BoundedJson.ts"
import { issueText } from "../../src/schema/SchemaIssues.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import type { CallOfRun } from "../../src/tool/GovernedTool.ts"
import type { CallerOf } from "./OncePerRun.ts"
import { askedWithin } from "./OncePerRun.ts"
import type { PlatformClient } from "./PlatformClient.ts"

/** An endpoint of the platform that is asked by POST. */
const HostPath = Schema.Struct({ path: CallPath })
export interface HostPath extends Schema.Schema.Type<typeof HostPath> {}

/** Gives what the host knows about the turn to which a call belongs. No model sees it. */
export type HostContextOf = (call: CallOfRun) => HostContext | PromiseLike<HostContext>

/**
 * Gives the revision of a reference: for the start of the runtime, without a caller, and for each run. Undefined = there is none.
 */
export type RevisionsOf = (
  identity: string,
  caller?: CallerOf
) => WorkflowRevision | undefined | PromiseLike<WorkflowRevision | undefined>

/** Revisions by their references, such as `workflow.variant.summarize`. */
export type Revisions = Readonly<Record<string, WorkflowRevision>>

/** Asks what the host knows about a call. The answer is not checked yet. */
export type AskContext = (call: CallOfRun) => Effect.Effect<unknown, unknown>

/** Asks for a revision. The answer is not checked yet. */
export type AskRevision = (identity: string, caller?: CallerOf) => Effect.Effect<unknown, unknown>

export interface Platform {
  readonly client: PlatformClient
  readonly endpoint: string
  readonly profile: CallProfile
  readonly identity: JsonObject
}

/** The caller when the runtime starts and asks without a run. */
const noCall = {
  call: "",
  conversation: "",
  principal: "",
  run: "",
  tenant: "",
  trace_id: ""
} as unknown as CallOfRun

type Post = (question: JsonObject, caller: CallerOf | undefined) => Effect.Effect<Json, ToolError>

const decodePath = Schema.decodeUnknownResult(HostPath, { onExcessProperty: "error" })

const posting = (
  what: string,
  given: Json,
  platform: Platform | undefined
): Result.Result<Post, string> => {
  const decoded = decodePath(given)
  if (Result.isFailure(decoded)) return Result.fail(issueText(decoded.failure))
  if (platform === undefined) {
    return Result.fail("it needs the platform's callback: give its endpoint")
  }
  const { client, endpoint, identity, profile } = platform
  const { path } = decoded.success
  const target = targetOf(endpoint, { method: "POST", path }, {}, profile)
  if (Result.isFailure(target)) return Result.fail(`POST ${path} is refused: ${target.failure}`)
  return Result.succeed((question, caller) => {
    const body = JSON.stringify({ ...question, ...caller, identity })
    const request = { method: "POST", url: target.success, body } as const
    return client.send(what, request, { ...noCall, ...caller })
  })
}

const copied = (given: object): Result.Result<Json, string> =>
  Result.mapError(readJsonValue(given), ({ message }) => message)

/** Fails with the reason why nobody can be asked. A host function must answer within `timeout_ms`, otherwise the question fails. */
export const contextAsker = (
  given: HostContextOf | HostPath,
  platform: Platform | undefined,
  timeout_ms: number
): Result.Result<AskContext, string> => {
  if (typeof given === "function") {
    return Result.succeed((call) => askedWithin(timeout_ms, () => given(call)))
  }
  const post = Result.flatMap(copied(given), (path) =>
    posting("the question about a run's context", path, platform)
  )
  return Result.map(post, (post) => (call) => post({}, call))
}

/** Makes the function that looks revisions up in a record, by reference. Fails with what is wrong in the record. */
const written = (given: Json): Result.Result<AskRevision, string> => {
  const known = new Map<string, WorkflowRevision>()
  for (const [identity, revision] of Object.entries(isJsonObject(given) ? given : {})) {
    const parsed = parseCallRef(identity)
    if (Result.isFailure(parsed)) return Result.fail(parsed.failure)
    if (parsed.success._tag !== "Variant" && parsed.success._tag !== "Environment") {
      return Result.fail(`"${identity}" is no reference to a workflow`)
    }
    const decoded = decodeWorkflowRevision(revision)
    if (Result.isFailure(decoded)) return Result.fail(`${identity}: ${decoded.failure}`)
    known.set(identity, decoded.success)
  }
  return Result.succeed((identity) => Effect.succeed(known.get(identity)))
}

/** As `contextAsker`, for revisions. */
export const revisionAsker = (
  given: RevisionsOf | HostPath | Revisions,
  platform: Platform | undefined,
  timeout_ms: number
): Result.Result<AskRevision, string> => {
  if (typeof given === "function") {
    return Result.succeed((identity, caller) =>
      askedWithin(timeout_ms, () => given(identity, caller))
    )
  }
  return Result.flatMap(copied(given), (read) => {
    if (memberOf(read, "path") === undefined) return written(read)
    const post = posting("the question about a workflow", read, platform)
    return Result.map(post, (post) => (reference, caller) => post({ reference }, caller))
  })
}
