/**
 * What the actor of one address does: it handles the address's runs in the order of their messages, one at a time.
 *
 * `supervise` is what its fiber runs. It calls `runUntilPause`, which claims the first unfinished run and runs it, then the
 * next. Where there is none the actor is idle, without a fiber (`IdleActors`); where its run waits only for people the
 * fiber waits for a decision (`DecisionWait`). After `idle_ms` or `park_ms` the actor is removed from the process, and its
 * state is in the journal only. Where the agent's mailbox is `answer`, a second actor of the address takes its side runs, one
 * at a time too, while the first run waits for people (`src/run/SideRun.ts`). A message or a decision starts it again (`LocalAgentRuntime.ts`, `Recovery.ts`).
 *
 * A crash is a failure of `runUntilPause`: `handleCrash` (`ActorCrash.ts`) decides whether it is called again, which then
 * starts from the journal.
 *
 * What an actor holds while its run waits is bounded by the bench row `waiting`.
 */
import { Effect, Exit } from "effect"
import type { RunId } from "../../../src/value/Ids.ts"
import type { RunNotFound } from "../../../src/run/RunCommand.ts"
import type { RunBeside } from "../../../src/run/RunEvent.ts"
import { isAccepted, isParkable } from "../../../src/run/RunState.ts"
import { besideOf, sideRunOf } from "../../../src/run/SideRun.ts"
import type { Decision } from "../../../src/approval/Approval.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { RunHead } from "../../../services/RunReader.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import * as OpenQuestions from "../approval/OpenQuestions.ts"
import type { LoopFailure } from "../loop/RunWriter.ts"
import { handleCrash } from "./ActorCrash.ts"
import type { ActorHost } from "./ActorHost.ts"
import type { LoadedRun, Actor } from "./Actor.ts"
import { beginAcceptedTask, claimRun, continueRun, loadClaimed } from "./ActorRun.ts"
import { foldRun } from "./History.ts"
import { Deadline } from "../tool/Deadlines.ts"

/** Entries that are searched for decisions; the loop reads those beyond them. */
const entries_max = 100

/** Completes what another process's desk has decided, from the entries behind the state that waits. */
const completeFromJournal = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  waiting: LoadedRun
) {
  const { loop, questions } = host
  const run = waiting.head.run_id
  const isOver = () => actor.waiting !== waiting || !questions.has(run)
  // This process's desk completes what it decides in the turn in which its amendment wakes the actor: it goes first.
  yield* Effect.yieldNow
  if (isOver()) return
  const entries = yield* loop.reader
    .read(run, waiting.state.length, entries_max)
    .pipe(Effect.orElseSucceed(() => []))
  if (isOver()) return
  OpenQuestions.completeFromEntries(questions, run, entries)
})

/** Opens the questions of a run that waits. False: it has none, and waits for an operator to settle a call. */
const awaitsDecision = ({ questions }: ActorHost, { head, state }: LoadedRun): boolean => {
  OpenQuestions.matchState(questions, head.run_id, state)
  return questions.has(head.run_id)
}

/**
 * How an actor's fiber waits for a person while its run is resident: it awaits the `Deferred`s of the run's open questions.
 *
 * - A decision of this process's desk completes the `Deferred` itself.
 * - One of another process's desk is an amendment that the journal notifies of: `wake` reads what was appended, and completes
 *   the `Deferred` from there.
 *
 * In both cases the loop reads the decision in the journal; the `Deferred` only says when. One object per waiting run: it is
 * the deadline and the waiter of the run's wakeup (bench row `waiting`).
 */
class DecisionWait extends Deadline {
  readonly #host: ActorHost
  readonly #actor: Actor
  readonly #waiting: LoadedRun

  constructor(host: ActorHost, actor: Actor, waiting: LoadedRun) {
    super()
    this.#host = host
    this.#actor = actor
    this.#waiting = waiting
    actor.wakeup.waiter = this
    host.loop.deadlines.arm(this, host.config.park_ms)
  }

  fire() {
    this.#giveUp("parked")
  }

  wake() {
    const { wakeup } = this.#actor
    wakeup.waiter = undefined
    if (wakeup.draining) this.#giveUp("draining")
    else this.#host.background(completeFromJournal(this.#host, this.#actor, this.#waiting))
  }

  #giveUp(why: OpenQuestions.Undecided) {
    OpenQuestions.dropQuestions(this.#host.questions, this.#waiting.head.run_id, why)
  }

  end(exit: Exit.Exit<Decision, OpenQuestions.Undecided>) {
    this.#host.loop.deadlines.disarm(this)
    const { wakeup } = this.#actor
    wakeup.waiter = undefined
    // The decision is in the journal: the loop is to read it, with or without a wakeup.
    if (Exit.isSuccess(exit)) wakeup.pending = true
  }
}

/** Why an actor's fiber has nothing to do: it has no run, its run waits for people, or it was removed from the table. */
type Pause = "idle" | "waiting" | "removed"

/** Waits until the run is amended or the process drains, at most `park_ms`. */
const waitForWakeup = ({ config, loop }: ActorHost, { wakeup }: Actor): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (wakeup.pending || wakeup.draining) return resume(Effect.void)
    const end = () => {
      wakeup.waiter = undefined
      cancel()
      resume(Effect.void)
    }
    const cancel = loop.deadlines.after(config.park_ms, end)
    wakeup.waiter = { wake: end }
    return Effect.sync(end)
  })

/** Removes the actor from the table. `parked` is the head of a run that the table is to list as parked. */
const remove = ({ table }: ActorHost, actor: Actor, parked: RunHead | undefined): "removed" => {
  table.remove(actor, parked)
  return "removed"
}

/** Removes an actor whose run finds no room in memory: the next sweep after there is room takes the run up. */
const removeForNow = (host: ActorHost, actor: Actor): "removed" => {
  host.memory.leftOne(actor.tenant)
  return remove(host, actor, undefined)
}

/** The actor has no run any more. */
const endShare = (actor: Actor): void => {
  actor.share?.leave()
  actor.share = undefined
}

/** A run that an actor may take, and what it is told if it is a side run. */
interface NextRun {
  readonly head: RunHead | undefined
  readonly beside?: RunBeside
  /** The number of the run that waits. */
  readonly waiting?: number
}

const no_run: NextRun = { head: undefined }

/** The first unfinished run of the address. */
const firstUnfinished = Effect.fnUntraced(function* (host: ActorHost, actor: Actor) {
  const { firstRun } = actor
  actor.firstRun = undefined
  if (firstRun !== undefined) return { head: firstRun }
  const [head] = yield* host.loop.reader.unfinished(actor.tenant, actor.address, 1)
  return { head }
})

/** The run of the address that may answer beside its first one, as long as that one waits for people. */
const nextSideRun = Effect.fnUntraced(function* (
  { loop: { reader } }: ActorHost,
  { address, tenant }: Actor
) {
  const found = sideRunOf(yield* reader.unfinished(tenant, address, 2))
  if (found === undefined) return no_run
  const { side: head, waiting } = found
  const state = yield* Effect.catchTag(
    foldRun(reader, waiting.run_id),
    "RunQuarantined",
    () => Effect.undefined
  )
  // It may have been decided, or have ended, since its head was read.
  if (state === undefined || !isAccepted(state) || !isParkable(state)) return no_run
  return { head, beside: besideOf(waiting.run_id, state), waiting: waiting.ordinal }
})

/** Hands a claimed run that needs what this process does not host over to one that does. Otherwise gives it back. */
const removeIfUnhosted = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  loaded: LoadedRun
) {
  const { hosting, ownership, table } = host
  const { run_id } = loaded.head
  const needs = hosting.missingNeeds(loaded.state)
  if (needs.length === 0) return loaded
  table.releaseRun(run_id)
  yield* ownership.handOver(run_id, loaded.state.epoch, needs)
  yield* Effect.logInfo("a run waits for a process that hosts what it needs", { run_id, needs })
  return remove(host, actor, undefined)
})

/** The run that was claimed for the actor, or that of the task that it was given; undefined where there is neither any more. */
const takeAssignedRun = Effect.fnUntraced(function* (host: ActorHost, actor: Actor) {
  const { acceptedTask, claimed } = actor
  actor.claimed = undefined
  if (claimed ?? acceptedTask) actor.share = host.memory.join(actor.tenant)
  const releaseIfMissing = <A, E>(run: RunId, load: Effect.Effect<A, E | RunNotFound>) =>
    Effect.catchTag(load, "RunNotFound", () => Effect.sync(() => host.table.releaseRun(run)))
  if (claimed !== undefined) {
    const run = yield* releaseIfMissing(claimed.head.run_id, loadClaimed(host, actor, claimed))
    return run && (yield* removeIfUnhosted(host, actor, run))
  }
  // What it needs is hosted here: that is what it was accepted with.
  return (
    acceptedTask &&
    (yield* releaseIfMissing(acceptedTask.task.id, beginAcceptedTask(host, actor, acceptedTask)))
  )
})

/**
 * Continues the run that was claimed for the actor, begins that of the task that it was given, or claims the first unfinished
 * run of the address, if this process may run it now. Otherwise the actor is idle or removed.
 */
const claimFirst = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor
): Effect.fn.Return<LoadedRun | "idle" | "removed", LoopFailure | StoreError> {
  const { hosting, memory, owner, table } = host
  while (!table.isDraining) {
    actor.hasMail = false
    // Also after a crash: while a run is listed as resident, its wakeups go to this actor, which does not run it any more.
    if (actor.run !== undefined) table.releaseRun(actor.run)
    actor.run = undefined
    endShare(actor)
    const assigned = yield* takeAssignedRun(host, actor)
    if (assigned !== undefined) return assigned
    endShare(actor)
    const line = actor.firstRun === undefined ? "sent" : "found"
    const next: NextRun = yield* actor.isBeside
      ? nextSideRun(host, actor)
      : firstUnfinished(host, actor)
    const { beside, head, waiting } = next
    // What came while it looked may be the very run that it found, which is claimed already.
    if (actor.acceptedTask !== undefined) continue
    // A side run that goes on after the run before it has ended is its own actor's, which wakes this one at its end.
    if (
      head === undefined ||
      table.isAccepting(head.run_id) ||
      table.residentOf(head.run_id) !== undefined
    ) {
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
    if (!memory.hasRoom(actor.tenant)) return removeForNow(host, actor)
    actor.share = memory.join(actor.tenant)
    const loaded = yield* Effect.catchTag(
      claimRun(host, actor, head, line, waiting),
      // After it was found it ended, or another process claimed it; or it is not in the journal.
      ["RunIsOver", "RunNotFound", "FencedOff"],
      () => Effect.sync(() => table.releaseRun(head.run_id))
    )
    if (loaded === undefined) continue
    return yield* removeIfUnhosted(host, actor, beside ? { ...loaded, beside } : loaded)
  }
  return remove(host, actor, undefined)
})

/** Runs one run after the other, and gives why it stopped. Fails with FencedOff when another process has claimed the run. */
const runUntilPause = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor
): Effect.fn.Return<Pause, LoopFailure | StoreError, AgentMemory> {
  for (;;) {
    const { waiting } = actor
    actor.waiting = undefined
    if (host.table.isDraining) return remove(host, actor, waiting?.head)
    const loaded = waiting ?? (yield* claimFirst(host, actor))
    if (loaded === "idle" || loaded === "removed") return loaded
    const how = yield* continueRun(host, actor, loaded, waiting !== undefined)
    if (how === "parkable") return "waiting"
    if (how === "drained") return remove(host, actor, undefined)
    if (how === "crowded") return removeForNow(host, actor)
  }
})

/**
 * What an actor's fiber runs. Ends with true where the actor is idle, and with false where it was removed from the table.
 * `onWaiting`: its run waits for people from now on.
 */
export const supervise = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  onWaiting: (actor: Actor) => void
): Effect.fn.Return<boolean, never, AgentMemory> {
  for (;;) {
    const exit = yield* Effect.exit(runUntilPause(host, actor))
    if (exit._tag === "Failure") {
      const isRestarted = yield* handleCrash(host, actor, exit.cause)
      if (isRestarted) continue
      return false
    }
    if (exit.value !== "waiting") return exit.value === "idle"
    onWaiting(actor)
    const { waiting, wakeup } = actor
    if (waiting !== undefined && awaitsDecision(host, waiting)) {
      if (wakeup.pending || wakeup.draining) continue
      const wait = new DecisionWait(host, actor, waiting)
      const run = waiting.head.run_id
      wait.end(yield* Effect.exit(OpenQuestions.awaitDecision(host.questions, run)))
    } else yield* waitForWakeup(host, actor)
    // Checked in the same synchronous block that removes the entry: a wakeup between the two would be lost.
    if (wakeup.pending || wakeup.draining) continue
    host.table.remove(actor, actor.waiting?.head)
    return false
  }
})
