/**
 * One turn of a frame's model, as an input for the decider: a turn that fails is an event like any other.
 */
import { Effect, Exit, Result } from "effect"
import { copyJson } from "../../src/Canonical.ts"
import type { Prices } from "../../src/cost/PriceTable.ts"
import { costOf } from "../../src/cost/PriceTable.ts"
import type { FrameId, RunId } from "../../src/Ids.ts"
import type { RunInput, Turn } from "../../src/run/RunDecider.ts"
import type { ModelTurned, ProposedCall } from "../../src/run/RunEvent.ts"
import type { AskModel } from "../../src/run/RunWork.ts"
import type { ResidentAgent } from "../../services/AgentDirectory.ts"
import type {
  ModelDelta,
  ModelError,
  ModelGateway,
  ModelRequest
} from "../../services/ModelGateway.ts"
import type { Asking } from "./Compactor.ts"
import { compaction } from "./Compactor.ts"

interface Services {
  readonly prices: Prices | undefined
  readonly model: ModelGateway["Service"]
  readonly delta: (run: RunId, frame: FrameId, step: number, delta: ModelDelta) => void
}

export const turnFailed = (
  asked: AskModel,
  reason: string,
  message: string,
  transient = false
): RunInput => ({
  _tag: "TurnFailed",
  frame: asked.frame,
  step: asked.step,
  reason,
  message,
  transient
})

const finished = (
  { prices }: Services,
  { spec }: ResidentAgent,
  { frame, step }: AskModel,
  turn: Turn
): RunInput => {
  const calls = ownCalls(turn.calls)
  // The spread comes first: a literal that begins with one is copied at once, any other member by member.
  const turned: ModelTurned = { ...turn, _tag: "ModelTurned", frame, step, calls }
  if (prices === undefined) return { _tag: "TurnFinished", turned }
  // The cost is the turn's own from here on: prices change.
  const cost = costOf(prices, spec.name, turn, spec.model)
  return { _tag: "TurnFinished", turned: { ...turned, cost } }
}

/** What a person approves must be what runs, so nobody outside holds the arguments any more (ST-29). */
const ownCalls = (calls: Turn["calls"]): Turn["calls"] =>
  calls.length === 1 ? [ownCall(calls[0]!)] : calls.map(ownCall)

const ownCall = (call: ProposedCall): ProposedCall => ({
  ...call,
  arguments: copyJson(call.arguments)
})

const failed = (asked: AskModel, { kind, message }: ModelError): RunInput =>
  turnFailed(asked, `model_${kind}`, message, kind === "transient")

/** Asks for the turn, or makes room for it first: then the turn is wanted again once that is journaled. */
export const askModel = (
  services: Services,
  place: Omit<Asking, "agent">,
  agent: ResidentAgent | undefined,
  asked: AskModel
): Effect.Effect<RunInput> => {
  if (agent === undefined) {
    return Effect.succeed(
      turnFailed(asked, "unknown_agent", "the agent is not defined in this process")
    )
  }
  const { meter, run, state } = place
  if (meter.isOver(state, agent, place.frame)) {
    const made = compaction(services, { ...place, agent }, "bound")
    if (made !== undefined) return made
  }
  const { frame, step } = asked
  const request: ModelRequest = {
    run,
    trace_id: state.accepted?.trace_id,
    agent: agent.spec.name,
    frame,
    step,
    model: agent.spec.model,
    system: agent.spec.instructions,
    history: meter.history(state, place.frame),
    transcript: place.frame.transcript,
    tools: asked.tools ? agent.modelTools : [],
    settings: agent.spec.model_settings
  }
  const sink = (delta: ModelDelta) => services.delta(run, frame, step, delta)
  // A gateway that throws, or gives what is not JSON, fails this turn and not the loop.
  const asking = Result.try((): Effect.Effect<RunInput> => {
    const turn = services.model.turn(request, sink)
    // A turn that is there already stays an Exit, which the loop takes without a fiber.
    return isReady(turn)
      ? Exit.succeed(finished(services, agent, asked, turn.value))
      : Effect.matchEffect(turn, {
          onSuccess: (said) => Exit.succeed(finished(services, agent, asked, said)),
          onFailure: (error) =>
            (error.reason === "context_length"
              ? compaction(services, { ...place, agent }, "refused")
              : undefined) ?? Exit.succeed(failed(asked, error))
        })
  })
  return Result.isSuccess(asking) ? asking.success : Exit.die(asking.failure)
}

const isReady = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Success<A, E> =>
  Exit.isExit(effect) && Exit.isSuccess(effect)
