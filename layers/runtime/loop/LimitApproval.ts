/**
 * The question to a person whether a run may go beyond a limit that it has reached, as an input for the decider. Like every
 * approval it has one record and one decision, bound to exactly what was shown.
 */
import { Effect } from "effect"
import type { Digest, SecureRandom } from "effect/crypto"
import { argsSummary } from "../../../src/approval/ArgsSummary.ts"
import { shownByRequest } from "../../../src/approval/ShownApproval.ts"
import { ApprovalId } from "../../../src/value/Ids.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { extensionOf, extensionText, limitPlace } from "../../../src/run/RunBreach.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { LimitName } from "../../../src/run/RunLimits.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { Proposal } from "../tool/CallDigests.ts"
import { approvalDigest, proposalDigest, shownDigest } from "../tool/CallDigests.ts"

export interface Services {
  readonly digest: Digest.Digest["Service"]
  readonly random: SecureRandom.SecureRandom["Service"]
  readonly policy_version: string
}

export type RequestLimitApproval = (
  run: RunId,
  state: RunState,
  limit: LimitName
) => Effect.Effect<RunInput>

const tool_name = "extend_run"
const tool_key = `troupe.${tool_name}@1`

/** At most four decimals: the redaction takes a longer amount for a card's number. The description has all of it. */
const shownUse = (used: number | string): number | string =>
  typeof used === "string" ? used.replace(/(\.\d{4})\d+$/, "$1") : used

export const make = ({ digest, policy_version, random }: Services): RequestLimitApproval =>
  Effect.fnUntraced(function* (run: RunId, state: RunState, limit: LimitName) {
    const { address, tenant } = state.accepted
    const extension = extensionOf(state, limit)
    const call = limitPlace(state, limit)
    const args = { ...extension }
    const proposal: Proposal = { tenant, tool: tool_key, arguments: args, policy_version }
    const approval = ApprovalId.make(yield* random.uuidV4())
    const request = {
      call,
      limit,
      approval,
      digest: yield* approvalDigest(digest, proposal, run, call),
      proposal: yield* proposalDigest(digest, proposal),
      tool_key,
      arguments: args,
      policy_version,
      approvers: [],
      payload: {
        tool_name,
        agent_name: address.agent,
        args_summary: argsSummary({ ...args, used: shownUse(args.used) }),
        effect_description: extensionText(extension),
        correlation_id: approval
      }
    }
    const shown_digest = yield* shownDigest(digest, shownByRequest(run, tenant, request))
    return { _tag: "RequestsLimitApproval", request: { ...request, shown_digest } }
  })
