/**
 * Asks a host for something once for each run, also where several of its calls need it at the same time.
 */
import { Effect } from "effect"
import type { BoundRun } from "../../src/tool/GovernedTool.ts"

/** The run for which something is asked. None of it comes from the model. */
export type CallerOf = BoundRun

/** Runs whose answers are kept; for one that is forgotten the host is asked again. */
const runs_max = 1_000

/** A host that fails is asked again by the next call; the failure says nothing of why. */
export const oncePerRun = <A, E>(
  ask: (caller: CallerOf) => A | PromiseLike<A>,
  failure: () => E
): ((caller: CallerOf) => Effect.Effect<A, E>) => {
  const known = new Map<string, Promise<A>>()
  const asked = async ({ conversation, principal, run, tenant, trace_id }: CallerOf) =>
    ask({ conversation, principal, run, tenant, trace_id })
  return (caller) =>
    Effect.tryPromise({
      try: () => {
        // A worker may not know the run of a call.
        if (caller.run === "") return asked(caller)
        const found = known.get(caller.run)
        if (found !== undefined) return found
        const answer = asked(caller)
        const [oldest] = known.keys()
        if (known.size >= runs_max && oldest !== undefined) known.delete(oldest)
        known.set(caller.run, answer)
        answer.catch(() => {
          // It may have been forgotten meanwhile, and asked for again.
          if (known.get(caller.run) === answer) known.delete(caller.run)
        })
        return answer
      },
      catch: failure
    })
}
