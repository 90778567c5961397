/**
 * The actor of one address: it handles the address's runs in the order of their messages, one at a time.
 *
 * `supervise` is what its fiber runs. It calls `runUntilPause`, which claims the first unfinished run and runs it, then the
 * next. Where there is none the actor is idle; where its run waits only for people the fiber waits for a decision
 * (`DecisionWait.ts`). After `idle_ms` or `park_ms` the actor is removed from the process, and its state is in the journal
 * only. A message or a decision starts it again (`Ingress.ts`, `Recovery.ts`).
 *
 * A crash is a failure of `runUntilPause`: `handleCrash` (`ActorCrash.ts`) decides whether it is called again, which then
 * starts from the journal.
 *
 * What an actor holds while its run waits is bounded by the bench row `waiting`.
 */
import { Effect } from "effect"
import type { Context } from "effect"
import type { Past } from "../../../src/conversation/Compaction.ts"
import type { Address, RunId, Tenant } from "../../../src/Ids.ts"
import { actorKey } from "../../../src/Ids.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { ActorInfo } from "../../../services/AgentRuntime.ts"
import type { RunHead } from "../../../services/RunJournal.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import * as OpenQuestions from "../desk/OpenQuestions.ts"
import type { RunWakeup } from "../loop/RunWakeup.ts"
import { makeWakeup, wakeRun } from "../loop/RunWakeup.ts"
import type { LoopFailure } from "../loop/RunWriter.ts"
import { handleCrash } from "./ActorCrash.ts"
import type { ActorHost } from "./ActorHost.ts"
import type { HeldRun } from "./ActorRun.ts"
import { beginGiven, claimRun, continueRun } from "./ActorRun.ts"
import { awaitsDecision, DecisionWait } from "./DecisionWait.ts"
import type { HeldTask } from "./HeldDispatches.ts"
import { handOverUnhosted } from "./Hosting.ts"

export interface Actor {
  readonly tenant: Tenant
  readonly address: Address
  readonly key: string
  readonly wakeup: RunWakeup
  state: Exclude<ActorInfo["state"], "parked">
  /** The run that the actor has claimed. */
  run: RunId | undefined
  /** The same run with its state, while it waits here for people and nothing of it is in flight. */
  waiting: HeldRun | undefined
  /** Messages may have come since the actor last looked for them. */
  hasMail: boolean
  /** Ends its wait for messages; undefined while it does not wait for any. */
  endIdleWait: (() => void) | undefined
  restarts: number
  /** When it crashed, within the window of its supervision; ms since 1970. */
  crashes: Array<number>
  /** The conversation up to and including the run of the ordinal `past_to`, loaded once. */
  past: Past | undefined
  past_to: number
  /** The first unfinished run of the address, as a sweep found it: the actor need not look for it. */
  found: RunHead | undefined
  /** A task that this process accepted and holds, whose run the actor is to begin. */
  given: HeldTask | undefined
}

/** With the run or the task that it is started for, if that is known. */
export const makeActor = (
  tenant: Tenant,
  address: Address,
  { found, given }: { readonly found?: RunHead | undefined; readonly given?: HeldTask }
): Actor => ({
  tenant,
  address,
  key: actorKey(tenant, address),
  wakeup: makeWakeup(),
  state: "running",
  run: undefined,
  waiting: undefined,
  hasMail: false,
  endIdleWait: undefined,
  restarts: 0,
  crashes: [],
  past: undefined,
  past_to: 0,
  found,
  given
})

/** New messages may have come. */
export const notifyMail = (actor: Actor): void => {
  actor.hasMail = true
  actor.endIdleWait?.()
}

/**
 * A sweep found `head` as the first unfinished run of the actor's address: the actor reads its journal if that is longer
 * than what it has read, because a wakeup from another process may have been lost.
 */
export const wakeIfBehind = (actor: Actor, head: RunHead): void => {
  const { run, wakeup } = actor
  // Where the first unfinished run is another one, the claimed run has ended elsewhere.
  if (head.run_id === run ? head.length > wakeup.seenLength : run !== undefined) wakeRun(wakeup)
  notifyMail(actor)
}

/** Why an actor's fiber has nothing to do: it has no run, its run waits for people, or it was removed from the table. */
type Pause = "idle" | "waiting" | "removed"

const isDue = (actor: Actor, pause: Pause): boolean =>
  pause === "idle" ? actor.hasMail : actor.wakeup.pending || actor.wakeup.draining

/** Waits for what may move the actor again, at most `idle_ms` or `park_ms`. */
const waitForWakeup = (
  host: ActorHost,
  actor: Actor,
  pause: Exclude<Pause, "removed">
): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (isDue(actor, pause)) return resume(Effect.void)
    const end = () => {
      actor.endIdleWait = undefined
      actor.wakeup.waiter = undefined
      cancel()
      resume(Effect.void)
    }
    const ms = pause === "idle" ? host.config.idle_ms : host.config.park_ms
    const cancel = host.loop.deadlines.after(ms, end)
    if (pause === "idle") actor.endIdleWait = end
    else actor.wakeup.waiter = { wake: end }
    return Effect.sync(end)
  })

/** Removes the actor from the table. `parked` is the head of a run that the table is to list as parked. */
const remove = ({ table }: ActorHost, actor: Actor, parked: RunHead | undefined): "removed" => {
  table.remove(actor, parked)
  return "removed"
}

/** The first unfinished run of the address. */
const firstUnfinished = Effect.fnUntraced(function* (host: ActorHost, actor: Actor) {
  const { found } = actor
  actor.found = undefined
  if (found !== undefined) return found
  const [head] = yield* host.loop.journal.unfinished(actor.tenant, actor.address, 1)
  return head
})

/**
 * Begins the run of the task that the actor was given, or claims the first unfinished run of the address, if this process may
 * run it now. Otherwise the actor is idle or removed.
 */
const claimFirst = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor
): Effect.fn.Return<HeldRun | "idle" | "removed", LoopFailure | StoreError> {
  const { hosting, owner, table } = host
  while (!table.isDraining) {
    actor.hasMail = false
    // Also after a crash: while a run is listed as resident, its wakeups go to this actor, which does not run it any more.
    if (actor.run !== undefined) table.releaseRun(actor.run)
    actor.run = undefined
    const { given } = actor
    if (given !== undefined) {
      const begun = yield* Effect.catchTag(beginGiven(host, actor, given), "RunNotFound", () =>
        Effect.sync(() => table.releaseRun(given.task.id))
      )
      if (begun !== undefined) return begun
    }
    const line = actor.found === undefined ? "sent" : "found"
    const head = yield* firstUnfinished(host, actor)
    if (head === undefined) {
      actor.state = "idle"
      return "idle"
    }
    if (head.quarantined === true) {
      yield* Effect.logWarning("messages wait behind a run in quarantine").pipe(
        Effect.annotateLogs({ address: actor.key, run_id: head.run_id })
      )
      return remove(host, actor, undefined)
    }
    const isForeign = head.owner !== undefined && head.owner !== owner
    if (isForeign || !hosting.has(head.address, head.needs)) return remove(host, actor, undefined)
    // The run waits for people, and a message behind it does not change that: a claim would only lengthen its journal.
    // It is listed as parked here if this process owns it. One without an owner is listed by the process that adopts it.
    if (head.parkable) return remove(host, actor, head.owner === undefined ? undefined : head)
    actor.state = "running"
    actor.run = head.run_id
    const held = yield* Effect.catchTag(
      claimRun(host, actor, head, line),
      // After it was found it ended, or another process claimed it; or it is not in the journal.
      ["RunIsOver", "RunNotFound", "FencedOff"],
      () => Effect.sync(() => table.releaseRun(head.run_id))
    )
    if (held === undefined) continue
    const isHandedOver = yield* handOverUnhosted(host, head.run_id, held.state)
    return isHandedOver ? remove(host, actor, undefined) : held
  }
  return remove(host, actor, undefined)
})

/**
 * Claims and runs one run after the other, and gives why it stopped. Fails with FencedOff when another process has claimed
 * the run.
 */
const runUntilPause = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  memory: Context.Context<AgentMemory>
): Effect.fn.Return<Pause, LoopFailure | StoreError> {
  for (;;) {
    const { waiting } = actor
    actor.waiting = undefined
    if (host.table.isDraining) return remove(host, actor, waiting?.head)
    const held = waiting ?? (yield* claimFirst(host, actor))
    if (held === "idle" || held === "removed") return held
    const how = yield* continueRun(host, actor, held, memory, waiting !== undefined)
    if (how === "parkable") return "waiting"
    if (how === "drained") return remove(host, actor, undefined)
  }
})

/** What an actor's fiber runs. It ends when the actor was removed from the table. */
export const supervise = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  memory: Context.Context<AgentMemory>
): Effect.fn.Return<void> {
  for (;;) {
    const exit = yield* Effect.exit(runUntilPause(host, actor, memory))
    if (exit._tag === "Failure") {
      const isRestarted = yield* handleCrash(host, actor, exit.cause)
      if (isRestarted) continue
      return
    }
    const pause = exit.value
    if (pause === "removed") return
    const { waiting } = actor
    if (waiting !== undefined && awaitsDecision(host, waiting)) {
      if (isDue(actor, pause)) continue
      const wait = new DecisionWait(host, actor, waiting)
      const run = waiting.head.run_id
      wait.end(yield* Effect.exit(OpenQuestions.awaitDecision(host.questions, run)))
    } else yield* waitForWakeup(host, actor, pause)
    // Checked in the same synchronous block that removes the entry: a wakeup between the two would be lost.
    if (isDue(actor, pause)) continue
    return host.table.remove(actor, actor.waiting?.head)
  }
})
