/**
 * Asks functions of a host, which may never answer: for each call, or once for each run, even if several of its calls need the
 * answer at the same time.
 */
import type { Cause } from "effect"
import { Effect } from "effect"
import type { BoundRun } from "../../src/tool/GovernedTool.ts"

/** The run for which something is asked. None of it comes from the model. */
export type CallerOf = BoundRun

/** The most runs whose answers are kept. For a forgotten run, the host is asked again. */
const runs_max = 1_000

/** The answer of a host's function. Fails where the function throws, rejects, or does not answer within `timeout_ms`. */
export const askedWithin = <A>(
  timeout_ms: number,
  ask: () => A | PromiseLike<A>
): Effect.Effect<A, Cause.UnknownError | Cause.TimeoutError> =>
  Effect.timeout(
    Effect.tryPromise(async () => ask()),
    timeout_ms
  )

export interface OncePerRun<A, E> {
  (caller: CallerOf): Effect.Effect<A, E>
  /** Has the next call of the run ask again. */
  readonly forget: (caller: CallerOf) => void
}

/** Asks the host once for each run. Where it gives no answer, this fails with `failure`, and the next call asks again. */
export const oncePerRun = <A, E>(
  timeout_ms: number,
  ask: (caller: CallerOf) => A | PromiseLike<A>,
  failure: () => E
): OncePerRun<A, E> => {
  const known = new Map<string, Promise<A>>()
  const asked = async ({ conversation, principal, run, tenant, trace_id }: CallerOf) =>
    ask({ conversation, principal, run, tenant, trace_id })
  const forget = (run: string, answer: Promise<A>) => {
    // The answer may have been forgotten meanwhile and asked for again.
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
  const once = (caller: CallerOf) =>
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
  return Object.assign(once, { forget: ({ run }: CallerOf) => void known.delete(run) })
}
