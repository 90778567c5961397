/**
 * Asks functions of a host, which may never answer: for something of one call, or once for each run, also where several of its
 * calls need it at the same time.
 */
import type { Cause } from "effect"
import { Effect } from "effect"
import type { BoundRun } from "../../src/tool/GovernedTool.ts"

/** The run for which something is asked. None of it comes from the model. */
export type CallerOf = BoundRun

/** Runs whose answers are kept; for one that is forgotten the host is asked again. */
const runs_max = 1_000

/** What a function of a host answers within `timeout_ms`. Fails where it throws, rejects, or does not answer in time. */
export const askedWithin = <A>(
  timeout_ms: number,
  ask: () => A | PromiseLike<A>
): Effect.Effect<A, Cause.UnknownError | Cause.TimeoutError> =>
  Effect.timeout(
    Effect.tryPromise(async () => ask()),
    timeout_ms
  )

/**
 * A host that fails, or does not answer within `timeout_ms`, is asked again by the next call; the failure says nothing of why.
 */
export const oncePerRun = <A, E>(
  timeout_ms: number,
  ask: (caller: CallerOf) => A | PromiseLike<A>,
  failure: () => E
): ((caller: CallerOf) => Effect.Effect<A, E>) => {
  const known = new Map<string, Promise<A>>()
  const asked = async ({ conversation, principal, run, tenant, trace_id }: CallerOf) =>
    ask({ conversation, principal, run, tenant, trace_id })
  const forget = (run: string, answer: Promise<A>) => {
    // It may have been forgotten meanwhile, and asked for again.
    if (known.get(run) === answer) known.delete(run)
  }
  const answerOf = (caller: CallerOf): Promise<A> => {
    const found = known.get(caller.run)
    if (found !== undefined) return found
    const answer = asked(caller)
    // A worker may not know the run of a call.
    if (caller.run === "") return answer
    const [oldest] = known.keys()
    if (known.size >= runs_max && oldest !== undefined) known.delete(oldest)
    known.set(caller.run, answer)
    answer.catch(() => forget(caller.run, answer))
    return answer
  }
  return (caller) =>
    Effect.suspend(() => {
      const answer = answerOf(caller)
      return Effect.mapError(
        Effect.tapError(
          askedWithin(timeout_ms, () => answer),
          () => Effect.sync(() => forget(caller.run, answer))
        ),
        failure
      )
    })
}
