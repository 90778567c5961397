/**
 * Requests approval of a call, unless a person has approved exactly this call of this tool, or its workspace has authorised the
 * action in advance. The request ends the work of the call: whatever is decided, the call passes the gate again from its
 * arguments on, in this process or another.
 */
import type { Clock, Schema } from "effect"
import { Cause, Effect } from "effect"
import type { Digest, SecureRandom } from "effect/crypto"
import type { ClientResult, Decision } from "../../../src/approval/Approval.ts"
import { argsSummary } from "../../../src/approval/ArgsSummary.ts"
import { shownByRequest } from "../../../src/approval/ShownApproval.ts"
import { ApprovalId } from "../../../src/value/Ids.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import type { Authorized, AuthorizedAction } from "../../../src/permission/Authorization.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { ToolSpec } from "../../../src/tool/ToolSpec.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { Proposal } from "./CallDigests.ts"
import { approvalDigest, proposalDigest, shownDigest, toolDigest } from "./CallDigests.ts"
import type { AgentTool, CallHost } from "./CallHost.ts"
import { callFinished } from "./CallOutcome.ts"
import { failedOutcome } from "./FailedOutcome.ts"
import { hostValuesFor } from "./BodyRunner.ts"
import type { ToolGate } from "./ToolGate.ts"

export interface ApprovalServices {
  readonly clock: Clock.Clock
  readonly digest: Digest.Digest["Service"]
  readonly random: SecureRandom.SecureRandom["Service"]
  /** Part of every approval digest: a changed policy requests approval again. */
  readonly policy_version: string
  /**
   * Uses what the workspace has authorised for this action, once; undefined = nothing. Absent = nothing is ever authorised in
   * advance.
   */
  readonly authorize?: (
    action: AuthorizedAction
  ) => Effect.Effect<Authorized | undefined, StoreError>
}

/** The two decisions that let a call run. */
const isApproving = ({ _tag }: Decision): boolean => _tag === "Approve" || _tag === "Modify"

/** The digests of specs of a runtime's tools, which are the same for all of their calls (bench row `answers`). */
const spec_digests = new WeakMap<ApprovalServices, WeakMap<ToolSpec, Effect.Effect<string>>>()

const specDigest = (services: ApprovalServices, spec: ToolSpec): Effect.Effect<string> => {
  const digests = spec_digests.get(services) ?? new WeakMap<ToolSpec, Effect.Effect<string>>()
  spec_digests.set(services, digests)
  const known = digests.get(spec)
  if (known !== undefined) return known
  return Effect.tap(toolDigest(services.digest, spec), (text) =>
    Effect.sync(() => digests.set(spec, Effect.succeed(text)))
  )
}

/** The digests that bind a decision to this call of this tool. */
const digestsOf = Effect.fnUntraced(function* (
  services: ApprovalServices,
  host: CallHost,
  tool: AgentTool
) {
  const { digest, policy_version } = services
  const call = host.call()
  const filled = yield* hostValuesFor(host, tool)
  const proposal: Proposal = {
    tenant: host.accepted.tenant,
    tool: tool.key,
    arguments: call.arguments,
    policy_version
  }
  return {
    proposal,
    approval: yield* approvalDigest(digest, proposal, host.run, call.id),
    filled,
    tool: yield* filled === undefined
      ? specDigest(services, tool.spec)
      : toolDigest(digest, tool.spec, filled.values)
  }
})

const isEmpty = (record: object): boolean => Object.keys(record).length === 0

/** What the call does, with what the host filled in for it. */
const effectDescription = ({ spec }: AgentTool, { filled }: Digests): string =>
  filled === undefined || isEmpty(filled.values)
    ? spec.effect_description
    : `Filled in: ${argsSummary(filled.values)}. ${spec.effect_description}`

type Digests = Effect.Success<ReturnType<typeof digestsOf>>

/** What is shown of the call; `wait_ms`: how long it waits, absent = for ever. */
const approvalRequestOf = Effect.fnUntraced(function* <
  More extends { readonly client?: ClientResult }
>(
  { clock, digest, policy_version, random }: ApprovalServices,
  host: CallHost,
  tool: AgentTool,
  digests: Digests,
  wait_ms: number | undefined,
  more: More
) {
  const { spec } = tool
  const call = host.call()
  const approval = ApprovalId.make(yield* random.uuidV4())
  const request = {
    call: call.id,
    approval,
    digest: digests.approval,
    proposal: yield* proposalDigest(digest, digests.proposal),
    tool_key: tool.key,
    tool_digest: digests.tool,
    // Decoded from the model's JSON, or from an approver's.
    arguments: call.arguments as Schema.Json,
    policy_version,
    approvers: spec.approvers,
    payload: {
      tool_name: spec.name,
      agent_name: host.agent.spec.name,
      args_summary: argsSummary(call.arguments),
      effect_description: effectDescription(tool, digests),
      correlation_id: approval
    },
    ...(wait_ms === undefined
      ? undefined
      : { expires_at: clock.currentTimeMillisUnsafe() + wait_ms }),
    ...(digests.filled === undefined ? undefined : { filled: digests.filled }),
    ...more
  }
  const shown = shownByRequest(host.run, host.accepted.tenant, request)
  return { ...request, shown_digest: yield* shownDigest(digest, shown) }
})

/** What the workspace authorised. A store that does not answer, or fails in any way, authorises nothing. */
const findAuthorization = (
  authorize: NonNullable<ApprovalServices["authorize"]>,
  action: AuthorizedAction
): Effect.Effect<Authorized | undefined> =>
  Effect.suspend(() => authorize(action)).pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterrupts(cause)
        ? Effect.interrupt
        : Effect.as(
            Effect.annotateLogs(
              Effect.logWarning(
                "what a workspace has authorised could not be looked up: a person is asked"
              ),
              { tenant: action.tenant, tool: action.tool_key }
            ),
            undefined
          )
    )
  )

/** Has the call run by what its workspace authorised, if it may; not for a proposal that a person denied in this run. */
const isAuthorized = Effect.fnUntraced(function* (
  services: ApprovalServices,
  host: CallHost,
  { mayBeAuthorized, tool }: ApprovalSubject,
  proposal: Proposal
) {
  const { authorize, digest } = services
  if (authorize === undefined || host.authorize === undefined || !mayBeAuthorized) return false
  const { refused } = host.state
  if (refused !== undefined && refused.has(yield* proposalDigest(digest, proposal))) return false
  const found = yield* findAuthorization(authorize, {
    tenant: host.accepted.tenant,
    agent: host.agent.spec.name,
    tool_key: tool.key,
    tool_digest: yield* specDigest(services, tool.spec)
  })
  if (found !== undefined) host.authorize(found)
  return found !== undefined
})

/** A tool whose calls ask, and whether they may be authorised in advance. */
type ApprovalSubject = Pick<ToolGate, "mayBeAuthorized" | "tool">

/**
 * The approval that the call has to request, or its failure where nobody can say what it is bound to; undefined = it is
 * approved, as it is and of the tool as it is, or authorised in advance.
 */
export const approvalFor = (
  services: ApprovalServices,
  host: CallHost,
  subject: ApprovalSubject
): Effect.Effect<RunInput | undefined> =>
  Effect.catch(requestFor(services, host, subject), (error) =>
    Effect.succeed(callFinished(host.call().id, failedOutcome(error)))
  )

const requestFor = Effect.fnUntraced(function* (
  services: ApprovalServices,
  host: CallHost,
  subject: ApprovalSubject
): Effect.fn.Return<RunInput | undefined, ToolError> {
  const { tool } = subject
  const digests = yield* digestsOf(services, host, tool)
  const { phase } = host.call()
  const isApproved =
    phase._tag === "Decided" &&
    phase.tool_digest === digests.tool &&
    isApproving(phase.decision) &&
    phase.digest === digests.approval
  if (isApproved) return undefined
  if (yield* isAuthorized(services, host, subject, digests.proposal)) return undefined
  const { approval_expires_ms } = tool.spec
  return {
    _tag: "RequestsApproval",
    request: yield* approvalRequestOf(services, host, tool, digests, approval_expires_ms, {})
  }
})

/**
 * Asks the client of the conversation for the call's result, which ends the work of the call like a request for approval. The
 * gate has let the call through, so nothing else comes between it and its result.
 */
export const clientRequest = (
  services: ApprovalServices,
  host: CallHost,
  tool: AgentTool,
  expires_ms: number
): Effect.Effect<RunInput> =>
  Effect.gen(function* (): Effect.fn.Return<RunInput, ToolError> {
    const digests = yield* digestsOf(services, host, tool)
    const client: ClientResult = {
      output_schema: tool.spec.output_schema as ClientResult["output_schema"] & object
    }
    const request = yield* approvalRequestOf(services, host, tool, digests, expires_ms, { client })
    return { _tag: "RequestsClient", request }
  }).pipe(
    Effect.catch((error) => Effect.succeed(callFinished(host.call().id, failedOutcome(error))))
  )
