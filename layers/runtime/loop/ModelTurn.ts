/**
 * One turn of a frame's model. Its end is an input for the decider, also where it failed: a failed turn is an event like any
 * other.
 */
import { Cause, Effect, Exit, Option, Predicate, Result, Schema } from "effect"
import { budget_reason } from "../../../src/cost/Budget.ts"
import { costOf } from "../../../src/cost/PriceTable.ts"
import type { Usage } from "../../../src/cost/TurnCost.ts"
import type { FilePart } from "../../../src/conversation/Part.ts"
import { graph_model } from "../../../src/graph/ToolGraph.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { rootFrame } from "../../../src/value/Ids.ts"
import type { AnswerSchema } from "../../../src/run/AnswerSchema.ts"
import { answerInstruction, fitAnswer } from "../../../src/run/AnswerSchema.ts"
import type { ProviderTool } from "../../../src/agent/ProviderTools.ts"
import { undeclaredOf } from "../../../src/agent/ProviderTools.ts"
import { entrySize } from "../../../src/conversation/PromptSize.ts"
import { filtered_reason } from "../../../src/run/IncompleteTurn.ts"
import type { RunInput, Turn } from "../../../src/run/RunDecider.ts"
import type { ModelTurned, TurnInputs } from "../../../src/run/RunEvent.ts"
import { sideRunText } from "../../../src/run/SideRun.ts"
import type { FrameState, RunState } from "../../../src/run/RunState.ts"
import type { CallModel } from "../../../src/run/RunWork.ts"
import { ignoreRejection } from "../../../src/value/IgnoredRejection.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { ModelDelta, ModelRequest } from "../../../services/ModelGateway.ts"
import { media_unsupported, ModelError } from "../../../services/ModelGateway.ts"
import type { InputWork, StartedWork, TimedWork } from "../tool/CallHost.ts"
import { callCatching } from "../fiber/Catching.ts"
import { storeFileInput } from "../tool/StoredParts.ts"
import { exceptionOf } from "../tool/FaultReport.ts"
import { none_offered } from "../tool/ProviderToolGate.ts"
import { readingTools, sideRunSettings } from "../tool/SideRunTools.ts"
import { judgedRun } from "../tool/ToolGate.ts"
import type { CompactionSubject } from "./Compactor.ts"
import { compaction } from "./Compactor.ts"
import { isDone } from "../fiber/Coroutine.ts"
import type { LoopServices } from "./LoopServices.ts"
import { checkedTurn } from "./CheckedTurn.ts"
import { guardAnswer, guardBefore } from "./GuardedTexts.ts"
import { recallBefore } from "./PromptMemory.ts"
import type { PromptMeter } from "./PromptMeter.ts"
import type { TurnBudgets } from "./TurnBudgets.ts"

/** A wanted turn, with all that it needs. One object per turn (bench row `step`). */
export class ModelTurn implements CompactionSubject, TimedWork<Turn, ModelError> {
  readonly services: Pick<
    LoopServices,
    | "budgets"
    | "prices"
    | "report"
    | "model"
    | "deadlines"
    | "delta"
    | "recall"
    | "files"
    | "parts"
    | "providerTools"
    | "requestGuardApproval"
  >
  readonly work: CallModel
  readonly run: RunId
  readonly state: RunState
  readonly frame: FrameState
  /** With the instructions and tools of this turn. */
  agent: ResolvedAgent
  /** What the functions of the agent gave. Absent = it has none. */
  inputs: TurnInputs | undefined = undefined
  readonly meter: PromptMeter
  /** What the provider may run by itself. */
  offered: ReadonlyArray<ProviderTool> = none_offered
  effect: Effect.Effect<Turn, ModelError> = Effect.never
  constructor(
    services: ModelTurn["services"],
    work: CallModel,
    run: RunId,
    state: RunState,
    frame: FrameState,
    agent: ResolvedAgent,
    meter: PromptMeter
  ) {
    this.services = services
    this.work = work
    this.run = run
    this.state = state
    this.frame = frame
    this.agent = agent
    this.meter = meter
  }

  /** The gateway bounds its own time. */
  get timeout_ms(): number {
    return 0
  }

  inputOfExit(exit: Exit.Exit<Turn, ModelError>): RunInput {
    return callCatching(inputOf, this, exit, (defect) => reportDefect(this, Cause.die(defect)))
  }

  /** A prompt that the provider finds too long is cut, and the turn is wanted again. */
  workAfterFailure(cause: Cause.Cause<ModelError>): InputWork | undefined {
    return callCatching(cutIfTooLong, this, cause, defectWork)
  }

  /** Guards judge the text, and files that the model made are stored, before the journal has them. */
  workAfterSuccess(turn: Turn): InputWork | undefined {
    return callCatching(judgedTurn, this, turn, defectWork)
  }

  inputOfTimeout(): RunInput {
    return defectTurn(this.work)
  }
}

/**
 * Calls the model, or makes room in its prompt first: then the turn is wanted again once that is journaled. A gateway that
 * throws, or that gives what is not JSON, fails this turn and not the loop.
 */
export const callModel = (turn: ModelTurn): StartedWork =>
  callCatching(begin, turn, undefined, defectWork)

/** The agent as this turn has it. Whatever its functions throw ends the frame, and operators are told. */
const agentOfTurn = (turn: ModelTurn, forTurn: NonNullable<ResolvedAgent["forTurn"]>) => {
  const { accepted } = turn.state
  return callCatching(forTurn, turn.agent, judgedRun(turn.run, accepted), (defect) => {
    report(turn, "a function of an agent broke", Cause.die(defect))
    return undefined
  })
}

const begin = (turn: ModelTurn): StartedWork => {
  const { guards } = turn.agent
  const guarding = guards === undefined ? undefined : guardBefore(turn, guards)
  if (guarding !== undefined) return guarding
  const recall = turn.agent.spec.memory === undefined ? undefined : recallBefore(turn)
  if (recall !== undefined) return recall
  const { forTurn } = turn.agent
  if (forTurn === undefined) return beginWith(turn)
  const found = agentOfTurn(turn, forTurn)
  if (found === undefined) return { effect: Effect.succeed(functionFailed(turn.work)) }
  turn.agent = found.agent
  return beginWith(turn, found.inputs)
}

const no_tools: ModelRequest["tools"] = []

/** The instructions of the turn: the agent's, the form of the answer, and what a side run is told. */
const systemOf = (
  { agent: { spec }, state, work }: ModelTurn,
  asked: AnswerSchema | undefined
): string => {
  const { instructions } = spec
  const system = asked === undefined ? instructions : instructions + answerInstruction(asked)
  return state.beside === undefined || work.frame !== rootFrame
    ? system
    : system + sideRunText(state.beside)
}

const beginWith = (turn: ModelTurn, inputs?: Effect.Effect<TurnInputs>): StartedWork => {
  const { agent, frame, meter, run, services, state, work } = turn
  if (meter.isOver(state, agent, frame)) {
    const work = cut(turn, "bound")
    if (work !== undefined) return work
  }
  const { step } = work
  const { spec } = agent
  const { beside } = state
  if (
    work.tools &&
    beside === undefined &&
    spec.provider_tools !== undefined &&
    services.providerTools !== undefined
  ) {
    turn.offered = services.providerTools.offered(spec, run, state.accepted)
  }
  const asked = work.frame === rootFrame ? state.accepted.answer_schema : undefined
  const plain: ModelRequest = {
    run,
    trace_id: state.accepted.trace_id,
    agent: spec.name,
    frame: work.frame,
    step,
    model: spec.model,
    system: systemOf(turn, asked),
    history: meter.history(state, frame),
    transcript: frame.transcript,
    tools: !work.tools ? no_tools : beside === undefined ? agent.modelTools : readingTools(agent),
    settings: beside === undefined ? spec.model_settings : sideRunSettings(spec.model_settings)
  }
  // A spread within the literal would make every request anew at each member behind it (bench row `send`, 1,000 runs).
  const request: ModelRequest =
    turn.offered === none_offered && asked === undefined
      ? plain
      : {
          ...plain,
          ...(turn.offered === none_offered ? undefined : { provider_tools: turn.offered }),
          ...(asked === undefined ? undefined : { answer_schema: asked })
        }
  const effect =
    services.budgets === undefined
      ? called(turn, request)
      : withinBudgets(turn, services.budgets, request)
  turn.effect = inputs === undefined ? effect : withTurnInputs(turn, inputs, effect)
  return turn
}

const called = (turn: ModelTurn, request: ModelRequest): ModelTurn["effect"] => {
  const { frame, meter, services, state } = turn
  const sink = sinkOf(turn)
  const { files } = services
  return files !== undefined && meter.hasFiles(state, frame)
    ? withFiles(turn, files, request, sink)
    : modelEffect(services, request, sink)
}

/** A gateway may begin as soon as it is asked for the turn, so it is asked once its budgets have room. */
const withinBudgets = (
  turn: ModelTurn,
  budgets: TurnBudgets,
  request: ModelRequest
): ModelTurn["effect"] => {
  const reserved = budgets.reserve(turn, "turn")
  if (!isDone(reserved)) return Effect.flatMap(reserved, () => called(turn, request))
  return Exit.isSuccess(reserved) ? called(turn, request) : Exit.failCause(reserved.cause)
}

/** From JavaScript a gateway may give anything, such as a promise. */
const modelEffect = (
  { model }: ModelTurn["services"],
  request: ModelRequest,
  sink: (delta: ModelDelta) => void
): ModelTurn["effect"] => {
  const given: unknown = model.turn(request, sink)
  if (isDone(given as ModelTurn["effect"]) || Effect.isEffect(given))
    return given as ModelTurn["effect"]
  ignoreRejection(given)
  return Exit.die(new TypeError("the gateway gave no Effect"))
}

// Functions of their own: what their closures need would be allocated for each turn, also where there is neither (bench row `step`).

/** Nothing of a turn is shown while it may still be refused. */
const sinkOf = (turn: ModelTurn) =>
  turn.agent.holdsAnswers === true
    ? noDelta
    : (delta: ModelDelta): void =>
        turn.services.delta(turn.run, turn.work.frame, turn.work.step, delta)

const noDelta = (): void => {}

const withFiles = (
  { services, state }: ModelTurn,
  files: NonNullable<LoopServices["files"]>,
  request: ModelRequest,
  sink: (delta: ModelDelta) => void
) =>
  Effect.flatMap(files.load(state.accepted.tenant, request.history, request.transcript), (loaded) =>
    modelEffect(services, { ...request, files: loaded }, sink)
  )

const withTurnInputs = (
  turn: ModelTurn,
  inputs: Effect.Effect<TurnInputs>,
  effect: ModelTurn["effect"]
): ModelTurn["effect"] =>
  Effect.flatMap(inputs, (found) => {
    turn.inputs = found
    return effect
  })

/** Makes room in the prompt. Undefined if there is nothing to leave out. */
const cut = (turn: ModelTurn, cause: Parameters<typeof compaction>[2]): InputWork | undefined => {
  const effect = compaction(turn.services, turn, cause)
  if (effect === undefined) return undefined
  const { budgets } = turn.services
  // What needs no summary calls no model.
  if (budgets === undefined || isDone(effect)) return { effect }
  return {
    effect: Effect.matchEffect(budgets.reserve(turn, "summary"), {
      onFailure: (error) => Effect.succeed(failed(turn.work, error)),
      onSuccess: () => effect
    })
  }
}

const cutIfTooLong = (turn: ModelTurn, cause: Cause.Cause<ModelError>): InputWork | undefined => {
  const error = Cause.findErrorOption(cause)
  return Option.isSome(error) && error.value.reason === "context_length"
    ? cut(turn, "refused")
    : undefined
}

const inputOf = (turn: ModelTurn, exit: Exit.Exit<Turn, ModelError>): RunInput => {
  if (Exit.isSuccess(exit)) return finished(turn, exit.value)
  const error = Cause.findErrorOption(exit.cause)
  return Option.isSome(error) && isModelError(error.value)
    ? failed(turn.work, error.value)
    : reportDefect(turn, exit.cause)
}

const defectWork = (defect: unknown): InputWork => ({ effect: Exit.die(defect) })

/** What a turn needs before it is finished; undefined = nothing. A value that is not a turn has nothing; `finished` refuses it. */
const judgedTurn = (wanted: ModelTurn, turn: Turn): InputWork | undefined =>
  (wanted.agent.guards === undefined
    ? undefined
    : guardAnswer(
        wanted,
        turn,
        (left) => filesOf(wanted, left)?.effect ?? Effect.succeed(finished(wanted, left))
      )) ?? filesOf(wanted, turn)

/** Stores the files of the turn first, if it has any. */
const filesOf = (wanted: ModelTurn, turn: Turn | null | undefined): InputWork | undefined =>
  turn?.generated === undefined ? undefined : storeGenerated(wanted, turn)

const storeGenerated = (wanted: ModelTurn, { generated, ...turn }: Turn): InputWork => {
  const { run, services, state, work } = wanted
  const { parts } = services
  if (parts === undefined || generated === undefined)
    return { effect: Exit.succeed(finished(wanted, turn)) }
  const { by: id, conversation, roles = [], tenant } = state.accepted
  const holder = { run, conversation, as: "answer" } as const
  const stored = Effect.forEach(generated, (file) =>
    storeFileInput(parts, { tenant, holder, by: { id, roles } }, file, "generated")
  )
  return {
    effect: Effect.match(stored, {
      onSuccess: (files) => finished(wanted, turn, files),
      onFailure: ({ _tag, message }) =>
        turnFailed(
          work,
          "model_files",
          `files that the model made could not be stored: ${message}`,
          _tag === "StoreError"
        )
    })
  }
}

const finished = (
  wanted: ModelTurn,
  turn: Omit<Turn, "generated">,
  files?: ReadonlyArray<FilePart>
): RunInput => {
  const { agent, services, work } = wanted
  const { frame, step } = work
  const { prices } = services
  const turned = checkedTurn(withUsage(wanted, turn), frame, step)
  if (typeof turned === "string") return reportDefect(wanted, Cause.die(new TypeError(turned)))
  if (files !== undefined) Object.assign(turned, { files })
  if (wanted.inputs !== undefined) Object.assign(turned, { given: wanted.inputs })
  const schema = answerSchemaOf(wanted)
  const judged = turn.ran === undefined ? turned : withDeclared(wanted, turned)
  const fitted = schema === undefined ? judged : withFit(schema, judged)
  // A graph asks no model: a bound on cost would take a turn without usage for one whose cost nobody knows.
  if (prices === undefined || agent.spec.model === graph_model)
    return { _tag: "TurnFinished", turned: fitted }
  // Priced now, because prices change.
  const cost = costOf(prices, agent.spec.name, turn, agent.spec.model)
  return { _tag: "TurnFinished", turned: { ...fitted, cost } }
}

/**
 * The turn with an estimate of its tokens, where its provider counted none and the run has a bound on them. Without a bound
 * nobody asks, and a prompt is not counted for nothing (bench row `step`).
 */
const withUsage = (
  { agent, frame, meter, state }: ModelTurn,
  turn: Omit<Turn, "generated">
): Omit<Turn, "generated"> => {
  if (state.accepted.limits.tokens_max === 0 || !isUncounted(turn)) return turn
  const { calls, reasoning, text } = turn
  const said = { role: "assistant", text, calls, ...(reasoning && { reasoning }) } as const
  const usage: Usage = {
    input_tokens: meter.tokens(state, agent, frame),
    output_tokens: entrySize(said, meter.measure(agent)),
    estimated: true
  }
  return { ...turn, usage }
}

/** A gateway without types may give anything, which is refused afterwards. */
const isUncounted = (turn: Partial<Turn> | null | undefined): boolean =>
  Predicate.isObject(turn) &&
  turn.usage === undefined &&
  Array.isArray(turn.calls) &&
  typeof turn.text === "string"

/** Names the first tool that the provider ran though the turn was not offered it. */
const withDeclared = ({ offered, services }: ModelTurn, turned: ModelTurned): ModelTurned => {
  const { providerTools } = services
  const undeclared =
    providerTools === undefined ? undefined : undeclaredOf(turned.ran ?? [], offered)
  return undeclared === undefined ? turned : { ...turned, undeclared }
}

/** The schema that an answer of the frame has to fit: the message's, else the one in the settings of the agent. */
const answerSchemaOf = ({ agent, state, work }: ModelTurn): AnswerSchema | undefined =>
  (work.frame === rootFrame ? state.accepted.answer_schema : undefined) ??
  agent.spec.model_settings?.output?.schema

/** Whether the turn is an answer that fits. One with calls, and one without a text, is no answer. */
const withFit = (schema: AnswerSchema, turned: ModelTurned): ModelTurned => {
  if (turned.calls.length > 0 || turned.text.trim() === "") return turned
  const fit = fitAnswer(schema, turned.text)
  if (Result.isFailure(fit)) return { ...turned, unfit: fit.failure }
  return fit.success === turned.text ? turned : { ...turned, answer: fit.success }
}

/** A gateway without types may fail with anything. */
const isModelError = Schema.is(ModelError)

const failed = (
  work: CallModel,
  { kind, message, reason, retry_after_ms, text }: ModelError
): RunInput => {
  const why =
    reason === "graph_stopped" || reason === media_unsupported || reason === budget_reason
      ? // No model was called.
        reason
      : reason === "content_filter"
        ? filtered_reason
        : `model_${kind}`
  const input = turnFailed(work, why, message, kind === "transient")
  return {
    ...input,
    ...(retry_after_ms === undefined ? undefined : { retry_after_ms }),
    ...(text === undefined ? undefined : { text })
  }
}

const report = (
  { agent, run, services, state, work }: ModelTurn,
  what: string,
  cause: Cause.Cause<unknown>
) =>
  services.report(what, exceptionOf(cause), {
    run_id: run,
    tenant: state.accepted.tenant,
    trace_id: state.accepted.trace_id,
    agent: agent.spec.name,
    frame: work.frame,
    step: work.step
  })

/** Operators get the defect; the run is told that there was one. */
const reportDefect = (turn: ModelTurn, cause: Cause.Cause<unknown>) => {
  report(turn, "a turn of a model broke", cause)
  return defectTurn(turn.work)
}

const functionFailed = (work: CallModel): RunInput =>
  turnFailed(
    work,
    "agent_function",
    "a function of the agent, for its instructions or tools, failed on this run"
  )

/** The input of a turn whose gateway failed by a defect. */
export const defectTurn = (work: CallModel): RunInput =>
  turnFailed(work, "model_defect", "the model gateway failed by a defect")

/** The input of a turn whose agent is not defined here. */
export const unknownAgent = (work: CallModel): RunInput =>
  turnFailed(work, "unknown_agent", "the agent is not defined in this process")

const turnFailed = (
  { frame, step }: CallModel,
  reason: string,
  message: string,
  transient = false
): Extract<RunInput, { _tag: "TurnFailed" }> => ({
  _tag: "TurnFailed",
  frame,
  step,
  reason,
  message,
  transient
})
