/**
 * Runs the body of a call that the gate let through: its tool's handler, by the strategy that follows from what the tool
 * declares. A read runs within its timeout (`ReadBody`), a write behind its journaled dispatch (`WriteBody`), one whose tool
 * has a `reconcile` by `ReconcilableWrite`, a transactional one in the journal's transaction (`TransactionBody`). Each
 * strategy is a `StartBody` made once for a tool; whatever a body does becomes an outcome.
 */
import type { Context } from "effect"
import { Effect } from "effect"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import { isDispatched, onLossOf } from "../../../src/tool/ToolSpec.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { BodyRunner, BodyServices } from "./BodyRunner.ts"
import * as BodyRunnerOf from "./BodyRunner.ts"
import { killSwitchEnd } from "./BodyRunner.ts"
import type { AgentTool, CallHost, StartBody, StartedWork } from "./CallHost.ts"
import * as ReadBody from "./ReadBody.ts"
import * as ReconcilableWrite from "./ReconcilableWrite.ts"
import type { Reconciliation } from "./Reconciliation.ts"
import type { ToolGuards } from "./ToolGuards.ts"
import * as TransactionBody from "./TransactionBody.ts"
import * as WriteBody from "./WriteBody.ts"

export interface Services extends BodyServices {
  /** Absent = no tool has limits of its own. */
  readonly guards?: ToolGuards
}

export interface ToolBody {
  /** How the calls of a tool start: decided once, from what the tool declares. */
  readonly starterOf: (tool: AgentTool) => StartBody
  /** Runs started work inside the call's own fiber. */
  readonly run: (started: StartedWork) => Effect.Effect<RunInput | undefined, never, AgentMemory>
  /** The end of a call that its tool's precondition refuses; undefined = it may run now. */
  readonly refusal: BodyRunner["refusal"]
  /** Has the tool say within its timeout what became of this lost call, which was over at `over_at` (ms since 1970). */
  readonly reconcile: (
    host: CallHost,
    tool: AgentTool,
    args: unknown,
    over_at: number
  ) => Effect.Effect<Reconciliation, never, AgentMemory>
}

const strategyOf = (runner: BodyRunner, tool: AgentTool): StartBody => {
  const { spec } = tool
  if (spec.transactional) return TransactionBody.make(runner, tool)
  if (!isDispatched(spec)) return ReadBody.make(runner, tool)
  const on_loss = onLossOf(spec)
  return on_loss === "ask"
    ? ReconcilableWrite.make(runner, tool)
    : WriteBody.make(runner, tool, on_loss)
}

export const make = (services: Services): ToolBody => {
  const runner = BodyRunnerOf.make(services)

  const run: ToolBody["run"] = (started) =>
    started.inputOfExit === undefined
      ? started.effect
      : Effect.contextWith((context: Context.Context<AgentMemory>) => {
          const fork = started.fork ?? Effect.runForkWith(context)
          return Effect.map(runner.exitWithin(started.effect, started.timeout_ms, fork), (exit) =>
            exit === undefined ? started.inputOfTimeout() : started.inputOfExit(exit)
          )
        })

  return {
    run,
    refusal: runner.refusal,
    starterOf: (tool) => {
      const start = strategyOf(runner, tool)
      const guard = services.guards?.(tool)
      if (guard === undefined) return start
      return (host, call, args) => ({
        effect: guard(
          host,
          call,
          Effect.suspend(() => {
            // The call may have waited for its turn.
            const stopped = killSwitchEnd(services, host, call)
            return stopped === undefined ? run(start(host, call, args)) : Effect.succeed(stopped)
          })
        )
      })
    },
    reconcile: (host, tool, args, over_at) => {
      const call = host.call().id
      return Effect.flatMap(runner.keyOf(host, call, tool), (key) =>
        runner.reconcile({ host, call, tool, args, key }, over_at)
      )
    }
  }
}
