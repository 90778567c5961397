/**
 * Questions to a person that are about no call: whether a run may go beyond a limit, and whether a text may pass its guards. Like
 * every approval such a question has one record and one decision, bound to exactly what was shown.
 */
import { Effect } from "effect"
import type { Digest, SecureRandom } from "effect/crypto"
import { argsSummary } from "../../../src/approval/ArgsSummary.ts"
import { shownByRequest } from "../../../src/approval/ShownApproval.ts"
import { ApprovalId } from "../../../src/value/Ids.ts"
import type { CallId, RunId, Tenant } from "../../../src/value/Ids.ts"
import type { Roles } from "../../../src/principal/Principal.ts"
import type { ApprovalRequested } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { Json } from "../../../src/value/Canonical.ts"
import { stepKey } from "../../../src/value/Ids.ts"
import type { Proposal } from "../tool/CallDigests.ts"
import { approvalDigest, proposalDigest, shownDigest } from "../tool/CallDigests.ts"

export interface Services {
  readonly digest: Digest.Digest["Service"]
  readonly random: SecureRandom.SecureRandom["Service"]
  readonly policy_version: string
}

interface Subject {
  readonly tenant: Tenant
  /** Stands in the place of a call's id: no call has such an id. */
  readonly call: CallId
  readonly tool_name: string
  readonly agent_name: string
  readonly arguments: { readonly [name: string]: Json }
  /** Absent = the arguments. */
  readonly summarised?: object
  readonly effect_description: string
  readonly approvers: Roles
}

export const requestOf = Effect.fnUntraced(function* (
  { digest, policy_version, random }: Services,
  run: RunId,
  subject: Subject
) {
  const { agent_name, approvers, arguments: args, call, tenant, tool_name } = subject
  const { effect_description, summarised = args } = subject
  const tool_key = `troupe.${tool_name}@1`
  const proposal: Proposal = { tenant, tool: tool_key, arguments: args, policy_version }
  const approval = ApprovalId.make(yield* random.uuidV4())
  const request = {
    call,
    approval,
    digest: yield* approvalDigest(digest, proposal, run, call),
    proposal: yield* proposalDigest(digest, proposal),
    tool_key,
    arguments: args,
    policy_version,
    approvers,
    payload: {
      tool_name,
      agent_name,
      args_summary: argsSummary(summarised),
      effect_description,
      correlation_id: approval
    }
  }
  return {
    ...request,
    shown_digest: yield* shownDigest(digest, shownByRequest(run, tenant, request))
  }
})

/** Makes the question whether a text may pass. */
export type RequestGuardApproval = (
  run: RunId,
  state: RunState,
  about: {
    readonly guarded: NonNullable<ApprovalRequested["guarded"]>
    readonly text: string
    readonly reason: string
    readonly agent: string
    readonly approvers: Roles
  }
) => Effect.Effect<Omit<ApprovalRequested, "_tag">>

export const guardApproval =
  (services: Services): RequestGuardApproval =>
  (run, { accepted: { tenant } }, { agent, approvers, guarded, reason, text }) => {
    const { by, call, frame, on, step } = guarded
    const request = requestOf(services, run, {
      tenant,
      call: `guard/${on}/${call ?? stepKey(frame, step)}` as CallId,
      tool_name: `pass_${on}`,
      agent_name: agent,
      arguments: { text },
      effect_description: `Passes this ${on}, about which ${by} asks: ${reason}`,
      approvers
    })
    return Effect.map(request, (made) => ({ ...made, guarded }))
  }
