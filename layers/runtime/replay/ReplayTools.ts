/**
 * Tools as a replay runs them: the same names, schemas and permissions, so that the same gate judges each call, and in
 * place of the body whatever the routing table gives.
 */
import { Effect, Exit } from "effect"
import type { Digest } from "effect/crypto"
import type { ToolFailure } from "../../../src/error/ToolError.ts"
import { failureOf, ToolPolicyError, ToolTerminalError } from "../../../src/error/ToolError.ts"
import type { Spending } from "../../../src/cost/Spending.ts"
import type { CallId } from "../../../src/Ids.ts"
import { Cassette } from "../../../src/replay/Cassette.ts"
import { isErased } from "../../../src/replay/Erased.ts"
import type { Recording } from "../../../src/replay/Recording.ts"
import type { ReplayError, Situation } from "../../../src/replay/ReplayRoute.ts"
import { erasedReplay, refusedReplay, routeOf } from "../../../src/replay/ReplayRoute.ts"
import type { CallSettled, Outcome } from "../../../src/run/RunEvent.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import { digestOf } from "../tool/CallDigests.ts"
import type { AgentTool } from "../tool/CallHost.ts"
import { handlerEffect } from "../tool/HandlerEffect.ts"

/** What became of one call of a replay. */
export interface ReplayedCall {
  readonly call: CallId
  readonly tool: string
  /** `replayed`: given from the recording; `run`: its body ran; otherwise why it could do neither. */
  readonly how: "replayed" | "run" | ReplayError["reason"]
}

export interface ReplayTools {
  /** The agent with the tools of the replay; the same one each time. */
  readonly agent: (agent: ResolvedAgent) => ResolvedAgent
  /** What a call has in place of what the gate made of its body, if it came that far. */
  readonly served: (settled: CallSettled) => CallSettled
  /** In the order in which they came past the gate. */
  readonly calls: ReadonlyArray<ReplayedCall>
  /** Calls that the table refused. */
  readonly refused: ReadonlyMap<CallId, ReplayError>
}

/** What stands for a body's result on its way to the gate's end. */
class Given {
  readonly exit: () => Exit.Exit<unknown, unknown>

  constructor(exit: () => Exit.Exit<unknown, unknown>) {
    this.exit = exit
  }
}

const nothing = new Given(() => Exit.succeed(null))

/** A tool that may not be replayed is refused by its policy; what is not there, or no more, is nobody's to fix. */
const stopped = ({ message, reason: why }: ReplayError): ToolFailure => {
  const reason = `REPLAY_${why.toUpperCase()}`
  return failureOf(
    why === "fail_loud"
      ? new ToolPolicyError({ kind: "permission", reason, message })
      : new ToolTerminalError({ kind: "internal", reason, message })
  )
}

/** A result as the cassette keeps it: what it was, and what it cost, which limits know of and no ledger is told again. */
type Kept = Pick<CallSettled, "outcome" | "spent">

/** The recorded results by tool name and arguments. */
const cassetteOf = Effect.fnUntraced(function* (
  digest: Digest.Digest["Service"],
  { calls }: Recording
) {
  const cassette = new Cassette()
  for (const call of calls) {
    if (call.outcome === undefined) continue
    const hash = yield* digestOf(digest, call.arguments)
    const { outcome, spent } = call
    const kept: Kept = spent === undefined ? { outcome } : { outcome, spent }
    cassette.record(call.name, hash, kept as never)
  }
  return cassette
})

export const make = Effect.fnUntraced(function* (
  digest: Digest.Digest["Service"],
  recording: Recording
): Effect.fn.Return<ReplayTools> {
  const cassette = yield* cassetteOf(digest, recording)
  const outcomes = new Map<CallId, Outcome>()
  /** What recorded calls had spent, by the call that has their result. */
  const spendings = new Map<CallId, Spending>()
  const calls: Array<ReplayedCall> = []
  /** The arguments that were decoded, by what they became. */
  const givens = new WeakMap<object, unknown>()

  const refusals = new Map<CallId, ReplayError>()

  const refused = (call: CallId, error: ReplayError): Given => {
    calls.push({ call, tool: error.tool, how: error.reason })
    outcomes.set(call, { _tag: "Failed", error: stopped(error) })
    refusals.set(call, error)
    return nothing
  }

  const replayed = (tool: AgentTool, call: CallId, outcome: Outcome): Given => {
    calls.push({ call, tool: tool.key, how: "replayed" })
    outcomes.set(call, outcome)
    if (outcome._tag !== "Value") return nothing
    const json: unknown = JSON.parse(outcome.json)
    return new Given(() => Exit.map(tool.check(json), () => json))
  }

  const replayTool = (tool: AgentTool): AgentTool => {
    const { rate_limit: _none, ...spec } = tool.spec
    const { reconcile: _nobody, ...parts } = tool
    return {
      ...parts,
      // What a recording gives uses up nothing, holds no row and is never lost.
      spec: { ...spec, transactional: false, reconcile: false },
      decode: (args) => {
        const exit = tool.decode(args)
        if (Exit.isSuccess(exit) && typeof exit.value === "object" && exit.value !== null) {
          givens.set(exit.value, args)
        }
        return exit
      },
      encode: (result) => (result instanceof Given ? result.exit() : tool.encode(result)),
      handler: Effect.fnUntraced(function* (args, context) {
        const { call } = context.call
        const given = typeof args === "object" && args !== null ? (givens.get(args) ?? args) : args
        const found = cassette.take(spec.name, yield* digestOf(digest, given)) as Kept | undefined
        if (found?.spent !== undefined) spendings.set(call, found.spent)
        const situation: Situation = { ...spec, recorded: found !== undefined }
        switch (routeOf(situation)) {
          case "run": {
            calls.push({ call, tool: tool.key, how: "run" })
            return yield* handlerEffect(tool.handler, args, context)
          }
          case "stub":
          case "recorded": {
            const { outcome } = found!
            return outcome._tag === "Value" && isErased(outcome.json)
              ? refused(call, erasedReplay(tool.key))
              : replayed(tool, call, outcome)
          }
          case "fail":
            return refused(call, refusedReplay(tool.key, situation))
        }
      })
    }
  }

  const agents = new WeakMap<ResolvedAgent, ResolvedAgent>()
  return {
    calls,
    refused: refusals,
    agent: (agent) => {
      let known = agents.get(agent)
      if (known === undefined) {
        const tools = new Map([...agent.tools].map(([name, tool]) => [name, replayTool(tool)]))
        agents.set(agent, (known = { ...agent, tools }))
      }
      return known
    },
    served: ({ spent: own, ...settled }) => {
      const { call, outcome: made } = settled
      // The gate may still have refused what was recorded: by its output schema, or its size.
      const outcome = made._tag === "Value" ? (outcomes.get(call) ?? made) : made
      const spent = spendings.get(call) ?? own
      return spent === undefined ? { ...settled, outcome } : { ...settled, outcome, spent }
    }
  }
})
