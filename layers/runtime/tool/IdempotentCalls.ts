/**
 * Calls of a run that are one side effect, because their tool's `idempotency_key` gives them one identity: the body runs for
 * the first, and the others get its result. Calls of earlier steps are found in the run's state, calls in flight in its loop.
 */
import { Deferred, Effect, Exit } from "effect"
import { ToolUserError } from "../../../src/error/ToolError.ts"
import type { CallId } from "../../../src/Ids.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { CallState } from "../../../src/run/RunState.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentTool, CallHost, StartedWork } from "./CallHost.ts"
import { duplicateFinished } from "./CallOutcome.ts"
import { failedOutcome } from "./FailedOutcome.ts"
import * as IdempotencyIndex from "./IdempotencyIndex.ts"
import type { ToolBody } from "./ToolBody.ts"

export interface Services {
  readonly agentOf: (name: string) => ResolvedAgent | undefined
  readonly body: Pick<ToolBody, "run">
}

const refusedAsDuplicate = (first: CallId, how: string): Outcome =>
  failedOutcome(
    new ToolUserError({
      kind: "invalid_args",
      reason: "DUPLICATE_CALL",
      message: `this is the same effect as call ${first}, ${how}. It is not done twice.`
    })
  )

/** The outcome of a call that waited for the same side effect of `first`; undefined = `first` has no end and may run again. */
const sharedOutcome = (first: CallId, end: RunInput | undefined): Outcome | undefined => {
  switch (end?._tag) {
    case undefined:
      return undefined
    case "Finished":
      return end.settled.outcome
    default:
      return refusedAsDuplicate(first, "which waits for a person")
  }
}

/** The outcome of an earlier call of the same side effect that has one, or that a person has to decide first. */
const earlierOutcome = (others: Iterable<CallState>): Outcome | undefined => {
  for (const { id, phase } of others) {
    if (phase._tag === "AwaitingApproval" || phase._tag === "Unknown") {
      return refusedAsDuplicate(id, "which waits for a person")
    }
    if (phase._tag !== "Settled") continue
    // A long result was cut to the model's copy, and the whole one is not in the state.
    return phase.copy === true
      ? refusedAsDuplicate(id, "whose result was shown to you")
      : phase.outcome
  }
  return undefined
}

export const make = ({ agentOf, body }: Services) => {
  const indexOf = IdempotencyIndex.make(agentOf)

  /** Runs the first call, and gives its end to the calls that wait for it. */
  const runFirst = (host: CallHost, identity: string, begin: () => StartedWork): StartedWork => {
    const { begunSideEffects } = host
    const done = Deferred.makeUnsafe<RunInput | undefined>()
    begunSideEffects.set(identity, { call: host.call().id, done })
    return {
      effect: Effect.onExit(body.run(begin()), (exit) =>
        Effect.sync(() => {
          const end = Exit.isSuccess(exit) ? exit.value : undefined
          // Without an end there is nothing to share, and the next call runs the body.
          if (end === undefined) begunSideEffects.delete(identity)
          Deferred.doneUnsafe(done, Exit.succeed(end))
        })
      )
    }
  }

  /** Starts a call whose side effect happens once in its run; `begin` starts its body where it is the first. */
  return (
    host: CallHost,
    tool: AgentTool,
    identity: string,
    begin: () => StartedWork
  ): StartedWork => {
    const own = host.call()
    const { begunSideEffects } = host
    const index = indexOf(host.state)
    index.file(tool, own, identity)
    const begun = begunSideEffects.get(identity)
    if (begun !== undefined && begun.call !== own.id) {
      if (host.state.calls.get(begun.call)?.phase._tag !== "Settled") {
        return {
          effect: Effect.map(Deferred.await(begun.done), (end) => {
            const outcome = sharedOutcome(begun.call, end)
            return outcome === undefined ? undefined : duplicateFinished(tool, own.id, outcome)
          })
        }
      }
      begunSideEffects.delete(identity)
    }
    // A call that was dispatched before is sent again under its key, whatever others came to.
    const known =
      own.phase._tag === "Dispatched"
        ? undefined
        : earlierOutcome(index.others(tool, own, identity))
    return known === undefined
      ? runFirst(host, identity, begin)
      : { effect: Exit.succeed(duplicateFinished(tool, own.id, known)) }
  }
}
