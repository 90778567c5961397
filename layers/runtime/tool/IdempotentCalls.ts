/**
 * Calls of a run that their tool's `idempotency_key` says are one effect: the body runs for the first, and the others get
 * its result. What a tool did in an earlier step is found in the run's state, what is on its way in its loop.
 */
import { Deferred, Effect, Exit } from "effect"
import { ToolUserError } from "../../../src/error/ToolError.ts"
import type { CallId } from "../../../src/Ids.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { CallState } from "../../../src/run/RunState.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import { duplicateFinished } from "./CallOutcome.ts"
import type { CallHost, AgentTool, StartedWork } from "./CallHost.ts"
import * as IdempotencyIndex from "./IdempotencyIndex.ts"
import { failedOutcome } from "./Failures.ts"
import type { ToolBody } from "./ToolBody.ts"

export interface Services {
  readonly agentOf: (name: string) => ResolvedAgent | undefined
  readonly body: Pick<ToolBody, "run">
}

const twice = (first: CallId, how: string): Outcome =>
  failedOutcome(
    new ToolUserError({
      kind: "invalid_args",
      reason: "DUPLICATE_CALL",
      message: `this is the same effect as call ${first}, ${how}. It is not done twice.`
    })
  )

/** What another call's end means for one that is the same effect; undefined = it has no end yet, and may begin anew. */
const shared = (first: CallId, input: RunInput | undefined): Outcome | undefined => {
  switch (input?._tag) {
    case undefined:
      return undefined
    case "Finished":
      return input.settled.outcome
    default:
      return twice(first, "which waits for a person")
  }
}

export const make = ({ agentOf, body }: Services) => {
  const indexOf = IdempotencyIndex.make(agentOf)

  /** The outcome of an earlier call that is the same effect and has one, or that somebody has to decide about first. */
  const earlier = (others: Iterable<CallState>): Outcome | undefined => {
    for (const { id, phase } of others) {
      if (phase._tag === "Asking" || phase._tag === "Unknown") {
        return twice(id, "which waits for a person")
      }
      if (phase._tag !== "Settled") continue
      // A long result was cut for the model: what is left of it here is not the result.
      return phase.copy === true ? twice(id, "whose result was shown to you") : phase.outcome
    }
    return undefined
  }

  /** The piece of a call whose effect happens once; `begin` is what it does if it is the first. */
  return (
    host: CallHost,
    tool: AgentTool,
    identity: string,
    begin: () => StartedWork
  ): StartedWork => {
    const own = host.call()
    const { begunSideEffects: effects } = host
    const index = indexOf(host.state)
    index.file(tool, own, identity)
    const begun = effects.get(identity)
    if (begun !== undefined && begun.call !== own.id) {
      if (host.state.calls.get(begun.call)?.phase._tag !== "Settled") {
        return {
          effect: Effect.map(Deferred.await(begun.done), (input) => {
            const outcome = shared(begun.call, input)
            return outcome === undefined ? undefined : duplicateFinished(tool, own.id, outcome)
          })
        }
      }
      effects.delete(identity)
    }
    const isSent = own.phase._tag === "Dispatched"
    const known = isSent ? undefined : earlier(index.others(tool, own, identity))
    if (known !== undefined) return { effect: Exit.succeed(duplicateFinished(tool, own.id, known)) }
    const done = Deferred.makeUnsafe<RunInput | undefined>()
    effects.set(identity, { call: own.id, done })
    return {
      effect: Effect.onExit(body.run(begin()), (exit) =>
        Effect.sync(() => {
          const input = Exit.isSuccess(exit) ? exit.value : undefined
          // Without an end there is nothing to share, and whoever comes next begins.
          if (input === undefined) effects.delete(identity)
          Deferred.doneUnsafe(done, Exit.succeed(input))
        })
      )
    }
  }
}
