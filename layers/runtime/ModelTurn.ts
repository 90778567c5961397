/**
 * One turn of a frame's model, as an input for the decider: a turn that fails is an event like any other.
 */
import { Effect, Exit } from "effect"
import { copyJson } from "../../src/Canonical.ts"
import type { Prices } from "../../src/cost/PriceTable.ts"
import { costOf } from "../../src/cost/PriceTable.ts"
import type { FrameId, RunId } from "../../src/Ids.ts"
import type { RunInput, Turn } from "../../src/run/RunDecider.ts"
import type { ModelTurned, ProposedCall } from "../../src/run/RunEvent.ts"
import type { AskModel } from "../../src/run/RunWork.ts"
import type {
  ModelDelta,
  ModelError,
  ModelGateway,
  ModelRequest
} from "../../services/ModelGateway.ts"
import { attempt } from "./Attempt.ts"
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

const finished = ({ agent, asked, services }: Turning, turn: Turn): RunInput => {
  const { frame, step } = asked
  const { prices } = services
  const calls = ownCalls(turn.calls)
  // The spread comes first: a literal that begins with one is copied at once, any other member by member.
  const turned: ModelTurned = { ...turn, _tag: "ModelTurned", frame, step, calls }
  if (prices === undefined) return { _tag: "TurnFinished", turned }
  // The cost is the turn's own from here on: prices change.
  const cost = costOf(prices, agent.spec.name, turn, agent.spec.model)
  return { _tag: "TurnFinished", turned: { ...turned, cost } }
}

export const unknownAgent = (asked: AskModel): RunInput =>
  turnFailed(asked, "unknown_agent", "the agent is not defined in this process")

/** What a person approves must be what runs, so nobody outside holds the arguments any more (ST-29). */
const ownCalls = (calls: Turn["calls"]): Turn["calls"] =>
  calls.length === 1 ? [ownCall(calls[0]!)] : calls.map(ownCall)

const ownCall = (call: ProposedCall): ProposedCall => ({
  ...call,
  arguments: copyJson(call.arguments)
})

const failed = (asked: AskModel, { kind, message }: ModelError): RunInput =>
  turnFailed(asked, `model_${kind}`, message, kind === "transient")

/** Everything that a turn is asked by. */
interface Turning extends Asking {
  readonly services: Services
  readonly asked: AskModel
}

const ask = (services: Services, turning: Turning): Effect.Effect<RunInput> => {
  const { agent, asked, frame: place, meter, run, state } = turning
  if (meter.isOver(state, agent, place)) {
    const made = compaction(services, turning, "bound")
    if (made !== undefined) return made
  }
  const { frame, step } = asked
  const { spec } = agent
  const request: ModelRequest = {
    run,
    trace_id: state.accepted?.trace_id,
    agent: spec.name,
    frame,
    step,
    model: spec.model,
    system: spec.instructions,
    history: meter.history(state, place),
    transcript: place.transcript,
    tools: asked.tools ? agent.modelTools : [],
    settings: spec.model_settings
  }
  const turn = services.model.turn(request, (delta) => services.delta(run, frame, step, delta))
  // A turn that is there already stays an Exit, which the loop takes without a fiber.
  return isReady(turn) ? Exit.succeed(finished(turning, turn.value)) : later(turning, turn)
}

const later = (turning: Turning, turn: Effect.Effect<Turn, ModelError>): Effect.Effect<RunInput> =>
  Effect.matchEffect(turn, {
    onSuccess: (said) => Exit.succeed(finished(turning, said)),
    onFailure: (error) =>
      (error.reason === "context_length"
        ? compaction(turning.services, turning, "refused")
        : undefined) ?? Exit.succeed(failed(turning.asked, error))
  })

/**
 * Asks for the turn, or makes room for it first: then the turn is wanted again once that is journaled. A gateway that
 * throws, or gives what is not JSON, fails this turn and not the loop.
 */
export const askModel = (turning: Turning): Effect.Effect<RunInput> =>
  attempt(ask, turning.services, turning, Exit.die)

const isReady = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Success<A, E> =>
  Exit.isExit(effect) && Exit.isSuccess(effect)
