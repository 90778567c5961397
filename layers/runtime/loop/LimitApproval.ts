/**
 * The question to a person whether a run may go beyond a limit that it has reached, as an input for the decider.
 */
import { Effect } from "effect"
import type { RunId } from "../../../src/value/Ids.ts"
import { extensionOf, extensionText, limitPlace } from "../../../src/run/RunBreach.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { LimitName } from "../../../src/run/RunLimits.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { Services } from "./RunQuestion.ts"
import { requestOf } from "./RunQuestion.ts"

export type RequestLimitApproval = (
  run: RunId,
  state: RunState,
  limit: LimitName
) => Effect.Effect<RunInput>

/** At most four decimals: the redaction takes a longer amount for a card's number. The description has all of it. */
const shownUse = (used: number | string): number | string =>
  typeof used === "string" ? used.replace(/(\.\d{4})\d+$/, "$1") : used

export const make =
  (services: Services): RequestLimitApproval =>
  (run, state, limit) => {
    const { address, tenant } = state.accepted
    const extension = extensionOf(state, limit)
    const args = { ...extension }
    const request = requestOf(services, run, {
      tenant,
      call: limitPlace(state, limit),
      tool_name: "extend_run",
      agent_name: address.agent,
      arguments: args,
      summarised: { ...args, used: shownUse(args.used) },
      effect_description: extensionText(extension),
      approvers: []
    })
    return Effect.map(request, (made) => ({
      _tag: "RequestsLimitApproval",
      request: { ...made, limit }
    }))
  }
