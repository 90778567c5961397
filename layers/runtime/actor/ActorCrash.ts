/**
 * What becomes of an actor whose fiber failed. In this order:
 *
 * - Another process has claimed its run: the actor is removed.
 * - It is interrupted: so is its fiber.
 * - Its run's journal does not fold: the run is in quarantine, and the actor is removed.
 * - It crashed at most `restarts_max` times within `window_ms`: it starts again after a backoff, and claims the run anew.
 * - It crashed more often: its run fails with `restart_intensity_exceeded`, and the actor is stopped. A message, or the
 *   sweep that follows after `sweep_ms`, starts it again where there is work at its address.
 */
import { Effect, Random, Result } from "effect"
import type { Cause } from "effect"
import { defaultSupervision } from "../../../src/agent/AgentSpec.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { cancelRun } from "../../../src/run/RunCommand.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { amend } from "../feed/Observers.ts"
import type { LoopFailure } from "../loop/RunWriter.ts"
import { logCrash } from "../tool/FaultReport.ts"
import type { Actor } from "./Actor.ts"
import type { ActorHost } from "./ActorHost.ts"

type Crash = Cause.Cause<LoopFailure | StoreError>

/** Has the journal fold the run, which changes nothing. Where it does not fold it is put in quarantine, and this fails. */
export const failIfUnfoldable = (host: ActorHost, run: RunId) =>
  host.loop.journal.amend(run, () => ({ events: [], answer: Result.succeed(undefined) }))

const failedWith = <E extends { readonly _tag: string }>(
  cause: Cause.Cause<E>,
  tag: E["_tag"]
): boolean => cause.reasons.some((reason) => reason._tag === "Fail" && reason.error._tag === tag)

/** Did the journal not answer? That says nothing of the run: it goes on when the journal answers again. */
const isJournalAway = (cause: Crash): boolean =>
  cause.reasons.some(
    (reason) => reason._tag === "Fail" && reason.error._tag === "JournalError" && reason.error.lost
  )

/**
 * Fails the run of an actor that crashed too often. The run is claimed once more, because calls of the present claim would
 * be waited for, and nothing here runs them any more. A run that another process has claimed is left alone. Where the
 * journal does not answer, a sweep starts the actor again.
 */
const failRun = Effect.fnUntraced(function* (host: ActorHost, run: RunId) {
  const { journal, reader } = host.loop
  const head = yield* reader.head(run)
  if (head.owner !== undefined && head.owner !== host.owner) return
  yield* host.ownership.claim(run, host.owner, head.epoch)
  yield* amend(journal, host.onDurable, run, (state) =>
    cancelRun(state, run, "runtime:supervisor", "restart_intensity_exceeded", "failed")
  )
})

/** Did the actor crash because its run does not fold? A defect does not say so: the journal folds it. */
const isQuarantined = Effect.fnUntraced(function* (host: ActorHost, run: RunId, cause: Crash) {
  if (failedWith(cause, "RunQuarantined")) return true
  if (isJournalAway(cause)) return false
  const folded = yield* Effect.exit(failIfUnfoldable(host, run))
  return folded._tag === "Failure" && failedWith(folded.cause, "RunQuarantined")
})

/** Waits, longer after each crash, and gives true; or fails the run and gives false, after too many crashes. */
const waitToRestart = Effect.fnUntraced(function* (host: ActorHost, actor: Actor, cause: Crash) {
  const agent = host.loop.directory.get(actor.address.agent)
  const { backoff_initial_ms, backoff_max_ms, restarts_max, window_ms } =
    agent?.spec.supervision ?? defaultSupervision
  const now = host.loop.clock.currentTimeMillisUnsafe()
  actor.crashes = [...actor.crashes.filter((at) => at > now - window_ms), now]
  actor.restarts++
  const crashes = actor.crashes.length
  const about = { address: actor.key, crashes }
  if (crashes > restarts_max) {
    if (actor.run !== undefined && !isJournalAway(cause)) {
      yield* Effect.ignoreCause(failRun(host, actor.run))
    }
    yield* logCrash("an actor crashed too often and was stopped", cause, about, "Error")
    // Messages may wait behind its run, and nobody else wakes it for them.
    host.sweepAlarm.set(now + host.config.sweep_ms)
    return false
  }
  yield* logCrash("an actor crashed and is started again", cause, about, "Warn")
  const ms = Math.min(backoff_initial_ms * 2 ** (crashes - 1), backoff_max_ms)
  yield* Effect.sleep(ms + (yield* Random.nextIntBetween(0, Math.ceil(ms / 4) + 1)))
  return true
})

/** True: the actor starts again. False: it was removed from the table. */
export const handleCrash = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  cause: Crash
): Effect.fn.Return<boolean> {
  const { table } = host
  if (failedWith(cause, "FencedOff")) {
    yield* Effect.logWarning("another process took this actor's run", { address: actor.key })
    table.remove(actor, undefined)
    return false
  }
  if (cause.reasons.every((reason) => reason._tag === "Interrupt")) return yield* Effect.interrupt
  const { run } = actor
  if (run !== undefined && (yield* isQuarantined(host, run, cause))) {
    table.releaseRun(run)
    table.remove(actor, undefined)
    return false
  }
  if (yield* waitToRestart(host, actor, cause)) return true
  actor.state = "stopped"
  table.remove(actor, undefined)
  return false
})
