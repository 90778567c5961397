/**
 * What becomes of an actor that crashed: it starts again, or its run is in quarantine, or it has crashed too often.
 */
import { Effect, Random, Result } from "effect"
import type { Cause } from "effect"
import { defaultSupervision } from "../../../src/agent/AgentSpec.ts"
import type { RunId } from "../../../src/Ids.ts"
import { cancelRun } from "../../../src/run/RunCommand.ts"
import type { StoreError } from "../../../services/TaskStore.ts"
import type { Actor } from "./Actor.ts"
import type { ActorHost } from "./ActorHost.ts"
import { logCrash } from "../tool/Faults.ts"
import { amend } from "../desk/Observers.ts"
import type { Lost } from "../loop/RunWriter.ts"

/** Folds the run and changes nothing: where it does not fold it is in quarantine afterwards, and this fails. */
export const check = (host: ActorHost, run: RunId) =>
  host.loop.journal.amend(run, () => ({ events: [], answer: Result.succeed(undefined) }))

/**
 * Ends the run in hand of an actor that crashed too often: a typed reason, and nothing is guessed. It is claimed once
 * more, because what was dispatched by an owner that still counts is waited for, and here nobody waits any more. A run
 * that another process has by now is that one's; where the journal does not answer, a sweep begins again.
 */
const giveUp = Effect.fnUntraced(function* (host: ActorHost, run: RunId) {
  const { journal } = host.loop
  const head = yield* journal.head(run)
  if (head.owner !== undefined && head.owner !== host.owner) return
  yield* journal.claim(run, host.owner, head.epoch)
  yield* amend(journal, host.onDurable, run, (state) =>
    cancelRun(state, run, "runtime:supervisor", "restart_intensity_exceeded", "failed")
  )
})

/** A journal that was away says nothing of the run: it goes on when the journal is back. */
const isAway = (cause: Cause.Cause<Lost | StoreError>): boolean =>
  cause.reasons.some(
    (reason) => reason._tag === "Fail" && reason.error._tag === "JournalError" && reason.error.lost
  )

/** Has it crashed too often, or may it start again? Then it has waited, longer each time. */
export const mayStartAgain = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  cause: Cause.Cause<Lost | StoreError>
) {
  const agent = host.loop.directory.get(actor.address.agent)
  const { backoff_initial_ms, backoff_max_ms, restarts_max, window_ms } =
    agent?.spec.supervision ?? defaultSupervision
  const at = host.loop.clock.currentTimeMillisUnsafe()
  actor.crashes = [...actor.crashes.filter((each) => each > at - window_ms), at]
  actor.restarts++
  const about = { address: actor.key, crashes: actor.crashes.length }
  if (actor.crashes.length > restarts_max) {
    if (actor.run !== undefined && !isAway(cause)) {
      yield* Effect.ignoreCause(giveUp(host, actor.run))
    }
    yield* logCrash("an actor crashed too often and was stopped", cause, about, "Error")
    return false
  }
  yield* logCrash("an actor crashed and is started again", cause, about, "Warn")
  const ms = Math.min(backoff_initial_ms * 2 ** (actor.crashes.length - 1), backoff_max_ms)
  yield* Effect.sleep(ms + (yield* Random.nextIntBetween(0, Math.ceil(ms / 4) + 1)))
  return true
})

/** Did the run in hand end it because its journal does not fold? What broke a fold anywhere is a defect, so it is asked. */
export const isInQuarantine = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  cause: Cause.Cause<Lost | StoreError>
) {
  const { run } = actor
  if (run === undefined) return false
  const found = cause.reasons.some(
    (reason) => reason._tag === "Fail" && reason.error._tag === "RunQuarantined"
  )
  const asked = found || isAway(cause) ? undefined : yield* Effect.exit(check(host, run))
  const isIn =
    found ||
    (asked?._tag === "Failure" &&
      asked.cause.reasons.some(
        (reason) => reason._tag === "Fail" && reason.error._tag === "RunQuarantined"
      ))
  if (isIn) host.table.releaseRun(run)
  return isIn
})
