/**
 * What a runtime reserves in budgets before it calls a model, or a tool that says its cost, and what an append of the run settles. A runtime without budgets has
 * none of it.
 */
import type { Clock } from "effect"
import { BigDecimal, Effect, Exit, Schedule } from "effect"
import type { Budget, BudgetAccount, Span, Taken } from "../../../src/cost/Budget.ts"
import { amountOf, budget_reason, maxOf, spanOf, unitOf } from "../../../src/cost/Budget.ts"
import type { Prices } from "../../../src/cost/PriceTable.ts"
import { worstCost } from "../../../src/cost/PriceTable.ts"
import type { Spending } from "../../../src/cost/Spending.ts"
import type { TurnCost, Usage } from "../../../src/cost/TurnCost.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { storeUnavailable, ToolPolicyError } from "../../../src/error/ToolError.ts"
import { isLimitedToOwn } from "../../../src/principal/Rights.ts"
import type { CallSettled, RunEvent } from "../../../src/run/RunEvent.ts"
import type { CallState, FrameState, RunState } from "../../../src/run/RunState.ts"
import { findCall, findFrame } from "../../../src/run/RunState.ts"
import { decimalText, parseDecimal } from "../../../src/value/Decimal.ts"
import type { AgentName, CallId, FrameId, RunId } from "../../../src/value/Ids.ts"
import type { AgentDirectory, ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { BudgetLine, BudgetRefusal, BudgetSettlement } from "../../../services/BudgetLedger.ts"
import { BudgetLedger } from "../../../services/BudgetLedger.ts"
import { ModelError } from "../../../services/ModelGateway.ts"
import type { ModelGateway } from "../../../services/ModelGateway.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { isDone } from "../fiber/Coroutine.ts"
import type { CallHost } from "../tool/CallHost.ts"
import type { PromptMeter } from "./PromptMeter.ts"

/** The turn whose model is about to be called. */
interface BudgetedTurn {
  readonly run: RunId
  readonly state: RunState
  readonly agent: ResolvedAgent
  readonly frame: FrameState
  readonly meter: PromptMeter
}

/** The output that a call is taken to have at most, in tokens, where its agent's settings have no `max_output_tokens`. */
const output_tokens_default = 4_096

/** How often a reservation is tried again where the store does not answer. */
const retrying = { schedule: Schedule.exponential("50 millis"), times: 6 }

const placeOf = (what: "turn" | "summary", frame: FrameId, step: number): string =>
  `${what} ${frame} ${step}`

const placeOfCall = (call: CallId): string => `call ${call}`

/** A budget that a call is under, and its line; undefined where the amount is not known. */
interface Wanted {
  readonly budget: Budget
  readonly line: BudgetLine | undefined
}

interface Options {
  readonly directory: AgentDirectory["Service"]
  readonly model: ModelGateway["Service"]
  readonly prices: Prices | undefined
  readonly clock: Clock.Clock
}

/** The account that a call of the agent uses; undefined = the budget is not for this run. */
const accountOf = (
  budget: Budget,
  { accepted }: RunState,
  agent: AgentName,
  span: (budget: Budget) => Span
): BudgetAccount | undefined => {
  const { by: id, conversation, roles = [], tenant } = accepted
  const { name, scope } = budget
  if (scope === "customer" && !isLimitedToOwn({ roles }, "send")) return undefined
  const holder = { customer: id, conversation, agent, tenant: "" }[scope]
  return { tenant, budget: name, scope, unit: unitOf(budget), holder, ...span(budget) }
}

const takenBy = (usage: Usage | undefined, cost: TurnCost | undefined, calls = 1): Taken => ({
  calls,
  tokens:
    usage === undefined || usage.estimated === true
      ? undefined
      : usage.input_tokens + usage.output_tokens,
  cost: cost?._tag === "Priced" ? cost.amount : undefined
})

type CallUnknown = Extract<RunEvent, { readonly _tag: "CallUnknown" }>

/** What its reservation took: nothing where no body ran, or what it cost is charged; else, undefined, all of it. */
const keptOf = (event: CallSettled | CallUnknown): string | undefined => {
  const isCharged = event.spent?.uses.some(({ cost }) => cost?._tag === "Priced") === true
  const hasRun = event._tag === "CallUnknown" || event.started_at !== undefined
  return isCharged || !hasRun ? "0" : undefined
}

/** What the uses of a tool's body took. What nobody counted is not in it. */
const takenByTool = ({ uses }: Spending): Taken => {
  let cost = BigDecimal.make(0n, 0)
  let tokens = 0
  let calls = 0
  for (const use of uses) {
    const taken = takenBy(use.usage, use.cost, use.turns)
    calls += taken.calls
    tokens += taken.tokens ?? 0
    if (taken.cost !== undefined) cost = BigDecimal.sum(cost, parseDecimal(taken.cost))
  }
  return { calls, tokens, cost: decimalText(cost) }
}

const wordOf = (budget: Budget, holder: string): string =>
  budget.scope === "tenant" ? "the tenant" : `${budget.scope} ${JSON.stringify(holder)}`

/** For operators: which budget, and how it stands. */
const refusalText = (budget: Budget, { account, amount, max }: BudgetLine, use: BudgetRefusal) => {
  const { ends_at, holder, unit } = account
  const until =
    ends_at === undefined ? "" : `. Its next period begins at ${new Date(ends_at).toISOString()}`
  return (
    `the budget ${JSON.stringify(budget.name)} of ${wordOf(budget, holder)} has too little left for a call that may take ` +
    `${amount} (${unit}): of ${max} it has spent ${use.spent} and reserved ${use.reserved}${until}`
  )
}

/** For the model and whoever reads it: not which budget, nor whose. */
const callRefused = ({ account: { ends_at } }: BudgetLine): ToolPolicyError => {
  const until =
    ends_at === undefined ? "" : `; there is more from ${new Date(ends_at).toISOString()} on`
  return new ToolPolicyError({
    reason: "BUDGET",
    message: `a budget has too little left for this call${until}.`
  })
}

const refused = (message: string, retry_after_ms?: number): ModelError =>
  new ModelError({
    kind: "refused",
    reason: budget_reason,
    message,
    ...(retry_after_ms === undefined ? undefined : { retry_after_ms })
  })

export class TurnBudgets {
  readonly #ledger: BudgetLedger["Service"]
  readonly #options: Options
  readonly #spans = new WeakMap<Budget, Span>()

  private constructor(ledger: BudgetLedger["Service"], options: Options) {
    this.#ledger = ledger
    this.#options = options
  }

  /** Undefined where no agent is under a budget. */
  static make(options: Options): Effect.Effect<TurnBudgets | undefined, never, BudgetLedger> {
    const isNone = options.directory.all.every(({ budgets }) => budgets === undefined)
    return BudgetLedger.useSync((ledger) => (isNone ? undefined : new TurnBudgets(ledger, options)))
  }

  /** The current period. Kept, because the calendar of a time zone takes longer than a reservation (bench row `send`). */
  readonly #span = (budget: Budget): Span => {
    const now = this.#options.clock.currentTimeMillisUnsafe()
    const kept = this.#spans.get(budget)
    if (kept !== undefined && kept.starts_at <= now && now < (kept.ends_at ?? Infinity)) return kept
    const span = spanOf(budget, now)
    this.#spans.set(budget, span)
    return span
  }

  #of(agent: AgentName): ReadonlyArray<Budget> {
    return this.#options.directory.get(agent)?.budgets ?? []
  }

  /** What a run reserves for an agent, one line for each budget that it is under; undefined where an amount is not known. */
  #linesOf(
    state: RunState,
    agent: AgentName,
    isFor: (budget: Budget) => boolean,
    most: () => Taken
  ): ReadonlyArray<Wanted> {
    let taken: Taken | undefined
    return this.#of(agent).flatMap((budget) => {
      const account = isFor(budget) ? accountOf(budget, state, agent, this.#span) : undefined
      if (account === undefined) return []
      taken ??= most()
      const amount = amountOf(taken, account.unit)
      const line = amount === undefined ? undefined : { account, amount, max: maxOf(budget) }
      return [{ budget, line }]
    })
  }

  /** Reserves all lines or none: the line that has too little left. Is done where a ledger without waits has room (bench row `send`). */
  #reserveLines(
    run: RunId,
    place: string,
    lines: ReadonlyArray<BudgetLine>
  ): Effect.Effect<BudgetRefusal | undefined, StoreError> {
    const wanted = { run, place, lines }
    const reserved = this.#ledger.reserve(wanted)
    return isDone(reserved) && Exit.isSuccess(reserved)
      ? reserved
      : Effect.retry(
          Effect.suspend(() => this.#ledger.reserve(wanted)),
          retrying
        )
  }

  /**
   * Reserves what the next call of the frame's model may take, in one statement; a call that is under no budget waits for nothing.
   * Fails with the reason `budget` where one has too little left. One reservation serves all tries of the call.
   */
  reserve(subject: BudgetedTurn, what: "turn" | "summary"): Effect.Effect<void, ModelError> {
    const { agent, frame, run, state } = subject
    const wanted = this.#linesOf(
      state,
      agent.spec.name,
      () => true,
      () => this.#mostOf(subject)
    )
    const unknown = wanted.find(({ line }) => line === undefined)
    if (unknown !== undefined) {
      return Effect.fail(refused(`what a turn may cost is not known (${unknown.budget.name})`))
    }
    const lines = wanted.flatMap(({ line }) => line ?? [])
    if (lines.length === 0) return Effect.void
    const reserved = this.#reserveLines(run, placeOf(what, frame.id, frame.step + 1), lines)
    if (isDone(reserved) && Exit.isSuccess(reserved) && reserved.value === undefined)
      return Exit.void
    return reserved.pipe(
      Effect.mapError(
        ({ message }) =>
          new ModelError({ kind: "transient", message: `budgets cannot be read: ${message}` })
      ),
      Effect.flatMap((refusal) => {
        const { budget, line } = wanted[refusal?.line ?? -1] ?? {}
        if (refusal === undefined || budget === undefined || line === undefined) return Effect.void
        const { ends_at } = line.account
        const now = this.#options.clock.currentTimeMillisUnsafe()
        return Effect.fail(
          refused(
            refusalText(budget, line, refusal),
            ends_at === undefined ? undefined : ends_at - now
          )
        )
      })
    )
  }

  /** Reserves what a call costs, in the budgets in cost alone. The refusal where one has too little left. */
  reserveCall(
    host: Pick<CallHost, "agent" | "call" | "run" | "state">,
    cost: string
  ): Effect.Effect<ToolError | undefined> {
    const { agent, run, state } = host
    const wanted = this.#linesOf(
      state,
      agent.spec.name,
      (budget) => unitOf(budget) === "cost",
      () => ({ calls: 0, cost })
    )
    const lines = wanted.flatMap(({ line }) => line ?? [])
    if (lines.length === 0) return Effect.undefined
    const { id, proposed } = host.call()
    return this.#reserveLines(run, placeOfCall(id), lines).pipe(
      Effect.flatMap((refusal) => {
        const { budget, line } = wanted[refusal?.line ?? -1] ?? {}
        if (refusal === undefined || budget === undefined || line === undefined) {
          return Effect.undefined
        }
        const { tenant } = state.accepted
        return Effect.as(
          Effect.logWarning(refusalText(budget, line, refusal)).pipe(
            Effect.annotateLogs({ run_id: run, call_id: id, tool: proposed.name, tenant })
          ),
          callRefused(line)
        )
      }),
      Effect.catch(() => Effect.succeed(storeUnavailable("the store of budgets")))
    )
  }

  /** What these events took; undefined = nothing. `seq`: the place of the first of them in the journal. */
  settlement(
    state: RunState,
    events: ReadonlyArray<RunEvent>,
    seq: number
  ): BudgetSettlement | undefined {
    const settled: Array<BudgetSettlement["settled"][number]> = []
    const charged: Array<BudgetSettlement["charged"][number]> = []
    for (const [index, event] of events.entries()) {
      if (event._tag === "ModelTurned") {
        const place = placeOf("turn", event.frame, event.step)
        settled.push({ place, ...takenBy(event.usage, event.cost) })
      } else if (event._tag === "Compacted") {
        const place = placeOf("summary", event.frame, event.step)
        settled.push({ place, ...takenBy(event.usage, event.cost) })
      } else if (event._tag === "CallSettled" || event._tag === "CallUnknown") {
        const call = findCall(state, event.call)
        const frame = call === undefined ? undefined : findFrame(state, call.frame)
        const agent = frame?.agent ?? state.accepted.address.agent
        if (call !== undefined && this.#hasCost(agent, call)) {
          settled.push({ place: placeOfCall(event.call), calls: 0, cost: keptOf(event) })
        }
        if (event.spent !== undefined) {
          const place = `event ${seq + index}`
          charged.push(
            ...this.#charges(state, agent, event.spent).map((charge) => ({ ...charge, place }))
          )
        }
      }
    }
    return settled.length + charged.length === 0 ? undefined : { settled, charged }
  }

  /** Whether a call of this tool reserves its cost. */
  #hasCost(agent: AgentName, { proposed }: CallState): boolean {
    const tool = this.#options.directory.get(agent)?.tools.get(proposed.name)
    return (
      tool !== undefined &&
      tool.spec.cost_estimate !== null &&
      this.#of(agent).some((budget) => unitOf(budget) === "cost")
    )
  }

  #charges(state: RunState, agent: AgentName, spent: Spending) {
    const taken = takenByTool(spent)
    return this.#of(agent).flatMap((budget) => {
      const account = accountOf(budget, state, agent, this.#span)
      const amount = account && amountOf(taken, account.unit)
      return account === undefined || amount === undefined ? [] : [{ account, amount }]
    })
  }

  /** The most that a call may take: the prompt as the runtime counts it, and the longest answer. */
  #mostOf({ agent, frame, meter, state }: BudgetedTurn): Taken {
    const { model, prices } = this.#options
    const { spec } = agent
    const output = spec.model_settings?.max_output_tokens ?? output_tokens_default
    // The prompt is counted for budgets in tokens or in money alone (bench row `send`).
    const input = () => meter.tokens(state, agent, frame)
    return {
      calls: 1,
      get tokens() {
        return input() + output
      },
      get cost() {
        const models =
          model.modelsFor?.(spec.model) ?? (spec.model === undefined ? [] : [spec.model])
        return prices && worstCost(prices, models, input(), output)
      }
    }
  }
}
