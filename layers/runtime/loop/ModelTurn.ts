/**
 * One turn of a frame's model, as an input for the decider: a turn that fails is an event like any other.
 */
import { Cause, Effect, Exit, Option } from "effect"
import { copyJson } from "../../../src/Canonical.ts"
import { bounds_default, isWithin } from "../../../src/entry/BoundedJson.ts"
import type { Prices } from "../../../src/cost/PriceTable.ts"
import { costOf } from "../../../src/cost/PriceTable.ts"
import type { FrameId, RunId } from "../../../src/Ids.ts"
import type { RunInput, Turn } from "../../../src/run/RunDecider.ts"
import type { ModelTurned, ProposedCall } from "../../../src/run/RunEvent.ts"
import type { FrameState, RunState } from "../../../src/run/RunState.ts"
import type { AskModel } from "../../../src/run/RunWork.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { ModelDelta, ModelError, ModelGateway } from "../../../services/ModelGateway.ts"
import { callCatching } from "../tool/Catching.ts"
import type { Asking } from "./Compactor.ts"
import type { TimedWork, InputWork, StartedWork } from "../tool/CallHost.ts"
import { compaction } from "./Compactor.ts"
import type { ReportFault } from "../tool/Faults.ts"
import { exceptionOf } from "../tool/Faults.ts"
import type { PromptMeter } from "./PromptMeter.ts"

interface Services {
  readonly prices: Prices | undefined
  readonly report: ReportFault
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

const finished = (asking: ModelTurn, turn: Turn): RunInput => {
  const { agent, asked, services } = asking
  const { frame, step } = asked
  const { prices } = services
  if (!isTurn(turn)) return broke(asking, Cause.die(new TypeError("the gateway gave no turn")))
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

const ownCall = (call: ProposedCall): ProposedCall =>
  isWithin(call.arguments, bounds_default, true)
    ? { ...call, arguments: copyJson(call.arguments) }
    : { ...call, arguments: null, malformed: call.malformed ?? beyond }

/** What the model is told in the place of a text that was no JSON. */
const beyond = `they nest deeper than ${bounds_default.depth_max}, hold more than ${bounds_default.values_max} values, or a number that JSON cannot say`

/** A gateway may be anybody's: what is written of a turn has to be what its event says that it is. */
const isTurn = ({ calls, text, usage }: Turn): boolean =>
  typeof text === "string" &&
  Array.isArray(calls) &&
  calls.every(({ model_id, name }) => typeof model_id === "string" && typeof name === "string") &&
  (usage === undefined || Object.values(usage).every(Number.isSafeInteger))

const failed = (asked: AskModel, { kind, message, reason }: ModelError): RunInput =>
  turnFailed(
    asked,
    reason === "graph_stopped"
      ? // No model was asked.
        reason
      : reason === "content_filter"
        ? "content_filtered"
        : `model_${kind}`,
    message,
    kind === "transient"
  )

export const died = (asked: AskModel): RunInput =>
  turnFailed(asked, "model_defect", "the model gateway failed by a defect")

/** A turn on its way, and everything that it is asked by. One object a turn. */
export class ModelTurn implements Asking, TimedWork {
  readonly services: Services
  readonly asked: AskModel
  readonly run: RunId
  readonly state: RunState
  readonly frame: FrameState
  readonly agent: ResolvedAgent
  readonly meter: PromptMeter
  effect: Effect.Effect<Turn, ModelError> = Effect.never
  readonly timeout_ms = 0

  constructor(
    services: Services,
    asked: AskModel,
    run: RunId,
    state: RunState,
    frame: FrameState,
    agent: ResolvedAgent,
    meter: PromptMeter
  ) {
    this.services = services
    this.asked = asked
    this.run = run
    this.state = state
    this.frame = frame
    this.agent = agent
    this.meter = meter
  }

  ended(exit: Exit.Exit<unknown, unknown>): RunInput {
    return callCatching(said, this, exit, (defect) => broke(this, Cause.die(defect)))
  }

  instead(cause: Cause.Cause<unknown>): InputWork | undefined {
    return callCatching(shorter, this, cause, (defect) => ({ effect: Exit.die(defect) }))
  }

  late(): RunInput {
    return died(this.asked)
  }
}

/** What broke is an operator's to know: the run is told that it did. */
const broke = ({ agent, asked, run, services, state }: ModelTurn, cause: Cause.Cause<unknown>) => {
  services.report("a turn of a model broke", exceptionOf(cause), {
    run_id: run,
    tenant: state.accepted.tenant,
    trace_id: state.accepted.trace_id,
    agent: agent.spec.name,
    frame: asked.frame,
    step: asked.step
  })
  return died(asked)
}

const said = (turn: ModelTurn, exit: Exit.Exit<unknown, unknown>): RunInput => {
  if (Exit.isSuccess(exit)) return finished(turn, exit.value as Turn)
  const error = Cause.findErrorOption(exit.cause)
  return Option.isSome(error)
    ? failed(turn.asked, error.value as ModelError)
    : broke(turn, exit.cause)
}

const shorter = (turn: ModelTurn, cause: Cause.Cause<unknown>): InputWork | undefined => {
  const error = Cause.findErrorOption(cause)
  return Option.isSome(error) && (error.value as ModelError).reason === "context_length"
    ? cut(turn.services, turn, "refused")
    : undefined
}

const begun = (services: Services, turn: ModelTurn): StartedWork => {
  const { agent, asked, frame: place, meter, run, state } = turn
  if (meter.isOver(state, agent, place)) {
    const piece = cut(services, turn, "bound")
    if (piece !== undefined) return piece
  }
  const { frame, step } = asked
  const { spec } = agent
  turn.effect = services.model.turn(
    {
      run,
      trace_id: state.accepted.trace_id,
      agent: spec.name,
      frame,
      step,
      model: spec.model,
      system: spec.instructions,
      history: meter.history(state, place),
      transcript: place.transcript,
      tools: asked.tools ? agent.modelTools : [],
      settings: spec.model_settings
    },
    (delta) => services.delta(run, frame, step, delta)
  )
  return turn
}

/** Makes room in the prompt, if there is room to be made. */
const cut = (
  services: Services,
  asking: Asking,
  cause: Parameters<typeof compaction>[2]
): InputWork | undefined => {
  const effect = compaction(services, asking, cause)
  return effect === undefined ? undefined : { effect }
}

/**
 * Asks for the turn, or makes room for it first: then the turn is wanted again once that is journaled. A gateway that
 * throws, or gives what is not JSON, fails this turn and not the loop.
 */
export const askModel = (turn: ModelTurn): StartedWork =>
  callCatching(begun, turn.services, turn, defective)

const defective = (defect: unknown): StartedWork => ({ effect: Exit.die(defect) })
