/**
 * Makes room in a prompt that is too long. The cut, with its summary, is an input for the decider, so that a restart takes it
 * from the journal and calls no model again.
 */
import { Effect, Exit } from "effect"
import type { Plan } from "../../../src/conversation/CompactionPlan.ts"
import { planCompaction, summarisedBy } from "../../../src/conversation/CompactionPlan.ts"
import {
  fitTokens,
  summaryRecord,
  summary_instructions
} from "../../../src/conversation/Compaction.ts"
import { costOf } from "../../../src/cost/PriceTable.ts"
import type { Usage } from "../../../src/cost/TurnCost.ts"
import { rootFrame } from "../../../src/value/Ids.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import type { RunInput, Turn } from "../../../src/run/RunDecider.ts"
import { mayCompact } from "../../../src/run/StepFold.ts"
import type { Compacted } from "../../../src/run/RunEvent.ts"
import type { FrameState, RunState } from "../../../src/run/RunState.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { ModelGateway } from "../../../services/ModelGateway.ts"
import type { LoopServices } from "./LoopServices.ts"
import type { PromptMeter } from "./PromptMeter.ts"
import { contextMax } from "./PromptMeter.ts"

/** The turn whose prompt is too long. */
export interface CompactionSubject {
  readonly run: RunId
  readonly state: RunState
  readonly agent: ResolvedAgent
  readonly frame: FrameState
  readonly meter: PromptMeter
}

type Services = Pick<LoopServices, "prices" | "model">

const summary_tokens = { least: 64, most: 2_000 }
/** A summary may take an eighth of the room beside system text and tools. */
const of_room = 8

type CompactionFacts = Pick<Compacted, "how"> &
  Partial<Pick<Compacted, "usage" | "model" | "cost" | "fallback">>

const input = (
  subject: CompactionSubject,
  cause: Compacted["cause"],
  plan: Plan,
  found: CompactionFacts
): RunInput => ({
  _tag: "Compacts",
  compaction: {
    frame: subject.frame.id,
    step: subject.frame.step + 1,
    cause,
    ...found,
    ...(plan.history === undefined ? undefined : { history: plan.history }),
    ...(plan.own === undefined ? undefined : { own: plan.own }),
    tokens_before: plan.tokens_before,
    tokens_after: plan.tokens_after,
    tokens_max: contextMax(subject.agent, subject.frame)
  }
})

/** What the summary has cost; its tokens are estimated where nobody counted them and they are bounded. `record`: what it read. */
const spent = (
  { prices }: Services,
  { agent, meter, state }: CompactionSubject,
  record: string,
  turn: Turn
): Pick<CompactionFacts, "usage" | "model" | "cost"> => {
  const measure = meter.measure(agent)
  const usage: Usage | undefined =
    turn.usage === undefined && state.accepted.limits.tokens_max > 0
      ? { input_tokens: measure(record), output_tokens: measure(turn.text), estimated: true }
      : turn.usage
  const { model, name } = agent.spec
  return {
    ...(usage === undefined ? undefined : { usage }),
    ...(turn.model === undefined ? undefined : { model: turn.model }),
    ...(prices === undefined ? undefined : { cost: costOf(prices, name, turn, model) })
  }
}

/** The compaction that the turn needs, finished unless a model has to summarise. Undefined: there is nothing to leave out. */
export const compaction = (
  services: Services,
  subject: CompactionSubject,
  cause: Compacted["cause"]
): Effect.Effect<RunInput> | undefined => {
  const { agent, frame, meter, state } = subject
  if (!mayCompact(frame, cause)) return undefined
  const { spec } = agent
  const measure = meter.measure(agent)
  const prompt = meter.prompt(state, agent, frame)
  const most = contextMax(agent, frame)
  const summary_tokens_max = Math.max(
    summary_tokens.least,
    Math.min(
      summary_tokens.most,
      Math.floor((most - prompt.fixed) / of_room),
      frame.id === rootFrame ? Math.floor(spec.history_tokens_max / of_room) : Infinity
    )
  )
  const bounds = {
    context_tokens_max: most,
    history_tokens_max: frame.id === rootFrame ? spec.history_tokens_max : Infinity,
    refused: cause === "refused"
  }
  const cut = planCompaction(prompt, { ...bounds, summary_tokens_max: 0 }, measure)
  if (cut === undefined) return undefined
  const truncated = (found: Omit<CompactionFacts, "how">): RunInput =>
    input(subject, cause, cut, { how: "truncated", ...found })
  const planned =
    spec.compaction === "summarise"
      ? planCompaction(prompt, { ...bounds, summary_tokens_max }, measure)
      : undefined
  if (planned === undefined || planned.dropped.length === 0) return Exit.succeed(truncated({}))
  const record = summaryRecord(planned.dropped, Math.floor((most * 3) / 4), measure)
  const instead = (fallback: string, turn?: Turn): RunInput =>
    truncated({
      fallback,
      ...(turn === undefined ? undefined : spent(services, subject, record, turn))
    })
  return Effect.match(summary(services.model, subject, record), {
    onFailure: (error) => instead(`the model was not able to summarise: ${error.message}`),
    onSuccess: (turn) => {
      const text = fitTokens(turn.text.trim(), summary_tokens_max, measure)
      return text === "" || turn.finish === "refusal" || turn.finish === "content_filter"
        ? instead("the model gave no summary", turn)
        : input(subject, cause, summarisedBy(planned, text, prompt, measure), {
            how: "summarised",
            ...spent(services, subject, record, turn)
          })
    }
  })
}

/** One turn of the agent's own model. Its pieces reach no watcher. */
const summary = (
  model: ModelGateway["Service"],
  { agent, frame, run, state }: CompactionSubject,
  text: string
) =>
  Effect.suspend(() =>
    model.turn(
      {
        run,
        trace_id: state.accepted.trace_id,
        agent: agent.spec.name,
        frame: frame.id,
        step: frame.step + 1,
        purpose: "summary",
        model: agent.spec.model,
        system: summary_instructions,
        history: [],
        transcript: [{ role: "user", text }],
        tools: []
      },
      () => {}
    )
  )
