/**
 * Helpers that bring a run to the state where a test begins, through the decider alone.
 */
import type { Decision } from "../../src/approval/Approval.ts"
import type { TurnCost } from "../../src/cost/TurnCost.ts"
import type { CallId, FrameId } from "../../src/value/Ids.ts"
import { AgentName, callId, frameOpenedBy, rootFrame } from "../../src/value/Ids.ts"
import type { RunInput } from "../../src/run/RunDecider.ts"
import { decideApproval } from "../../src/run/RunCommand.ts"
import type { ModelTurned, Outcome, ProposedCall, RunEvent } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { wantedWork } from "../../src/run/RunWork.ts"
import * as Samples from "../contracts/Samples.ts"
import type { Play } from "./Interleaving.ts"
import { begin, command, give, nextApproval } from "./Interleaving.ts"

export const first = callId(rootFrame, 1, 0)
export const second = callId(rootFrame, 1, 1)
export const analyst = AgentName.make("analyst")

export const started = (limits: Partial<RunLimits> = {}): Play => begin(RunLimits.make(limits))

/** The events that `body` adds to the run. */
export const added = (play: Play, body: () => void): ReadonlyArray<RunEvent> => {
  const { length } = play.events
  body()
  return play.events.slice(length)
}

export const proposal = (name: string, args: ProposedCall["arguments"] = {}): ProposedCall => ({
  model_id: "m",
  name,
  arguments: args
})

/** The next turn of a frame, as it is decided: with text `said` and no call, unless `given` says otherwise. */
export const says = (
  play: Play,
  given: Partial<ModelTurned> = {},
  frame: FrameId = rootFrame
): ReadonlyArray<RunEvent> =>
  added(play, () => {
    const step = (play.state.frames.get(frame)?.step ?? 0) + 1
    const calls = given.calls ?? []
    const finish = calls.length === 0 ? "stop" : "tool_calls"
    const turned = { text: "said", finish, ...given, calls } as const
    give(play, { _tag: "TurnFinished", turned: { _tag: "ModelTurned", frame, step, ...turned } })
  })

/** A turn with so many different calls. */
export const proposes = (play: Play, calls: number, frame: FrameId = rootFrame) =>
  says(
    play,
    { calls: Array.from({ length: calls }, (_, n) => proposal("write", { n: n + 1 })) },
    frame
  )

export const value: Outcome = { _tag: "Value", json: "1" }

export const ends = (play: Play, call: CallId, outcome: Outcome = value) =>
  added(play, () =>
    give(play, { _tag: "Finished", settled: { _tag: "CallSettled", call, outcome } })
  )

export const delegates = (play: Play, call: CallId) =>
  added(play, () => give(play, { _tag: "Delegates", call, agent: analyst, input: "look into it" }))

/** A run whose first call is with a specialist. */
export const delegated = (limits: Partial<RunLimits> = {}) => {
  const play = started(limits)
  proposes(play, 1)
  delegates(play, first)
  return { play, frame: frameOpenedBy(first) }
}

/** Puts the question of a run that has reached a limit, as its owner does. */
export const requestLimitApproval = (play: Play, limit: keyof typeof places) => {
  const { _tag, ...request } = Samples.approvalRequested(places[limit], {
    approval: nextApproval(play),
    limit
  })
  return {
    request,
    events: added(play, () => give(play, { _tag: "RequestsLimitApproval", request }))
  }
}

/** The id that stands for a call in the first question about each limit. */
const places = {
  steps_max: "limit/steps_max.1" as CallId,
  calls_max: "limit/calls_max.1" as CallId,
  tokens_max: "limit/tokens_max.1" as CallId,
  cost_max: "limit/cost_max.1" as CallId,
  wall_ms_max: "limit/wall_ms_max.1" as CallId,
  repeats_max: "limit/repeats_max.1" as CallId,
  mistakes_max: "limit/mistakes_max.1" as CallId
}

/** A person's decision on the open question about a limit. */
export const answersLimit = (play: Play, decision: Decision = { _tag: "Approve" }) =>
  added(play, () => {
    const { approval, call, digest } = play.state.question!
    const by = Samples.principal(["operator"])
    command(play, (state) => decideApproval(state, { call, approval, decision, by, digest }, 0))
  })

/** One turn with one call, equal each time, and this outcome. */
export const step = (play: Play, given: Partial<ModelTurned> = {}, outcome?: Outcome): void => {
  says(play, { calls: [proposal("write", { n: 1 })], ...given })
  const { id } = play.state.open[0]!
  ends(play, id, outcome)
}

/** What a turn cost. */
export const priced = (amount: string, currency = "USD"): TurnCost => ({
  _tag: "Priced",
  agent: Samples.operations,
  prices: "v1",
  currency,
  amount
})

/** A cut of a frame's prompt. */
export const compaction = (
  given: Partial<Extract<RunInput, { _tag: "Compacts" }>["compaction"]> = {}
): Extract<RunInput, { _tag: "Compacts" }>["compaction"] => ({
  frame: rootFrame,
  step: 1,
  cause: "bound",
  how: "truncated",
  tokens_before: 90,
  tokens_after: 50,
  tokens_max: 60,
  ...given
})

/** May a frame have a turn now, with tools? */
export const wantsTurn = (play: Play): boolean =>
  wantedWork(play.state).some((each) => each._tag === "CallModel" && each.start && each.tools)
