/**
 * One address: its runs in the order of their messages, one at a time. An actor that is idle, or whose run waits only
 * for people, holds little: its state, its memory and a fiber in one wait. After a while it leaves the process; its
 * journal brings it back.
 */
import { Effect, Result } from "effect"
import type { Context } from "effect"
import type { Past } from "../../../src/conversation/Compaction.ts"
import { no_past } from "../../../src/conversation/Compaction.ts"
import { units } from "../../../src/conversation/PromptSize.ts"
import type { Address, RunId, Tenant } from "../../../src/Ids.ts"
import { actorKey } from "../../../src/Ids.ts"
import type { RunEvent, RunStopping } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import { foldWhole } from "../../../src/run/Quarantine.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { RunHead } from "../../../services/RunJournal.ts"
import type { StoreError } from "../../../services/TaskStore.ts"
import type { ActorHost } from "./ActorHost.ts"
import { check, isInQuarantine, mayStartAgain } from "./ActorCrash.ts"
import { channelKey } from "../loop/Feed.ts"
import { cutOf, load, withChapter } from "./History.ts"
import { handedOver } from "./Hosting.ts"
import type { LoopServices } from "../loop/LoopServices.ts"
import { run as runLoop } from "../loop/RunLoop.ts"
import * as RunSpans from "./RunSpans.ts"
import { asks, DecisionWait } from "./DecisionWait.ts"
import * as OpenQuestions from "../desk/OpenQuestions.ts"
import type { RunWakeup } from "../loop/RunWakeup.ts"
import { makeWakeup, wakeRun } from "../loop/RunWakeup.ts"
import type { Lost } from "../loop/RunWriter.ts"
import { WorkedTime } from "../loop/WallClockLimit.ts"

export interface Actor {
  readonly tenant: Tenant
  readonly address: Address
  readonly key: string
  readonly wakeup: RunWakeup
  state: "running" | "idle" | "parked" | "stopped"
  run: RunId | undefined
  /** Messages have come since the actor last looked. */
  mail: boolean
  wake: (() => void) | undefined
  restarts: number
  /** When it crashed, within the window of its supervision; ms since 1970. */
  crashes: Array<number>
  /** The conversation, loaded once, up to and including the run of this ordinal. */
  past: Past | undefined
  past_to: number
  /** Its run, while it waits here for people and nothing of it runs. */
  resting: Resting | undefined
  /** The first run of the address that has not ended, as a recovery found it: the actor need not look. */
  found: RunHead | undefined
}

export interface Resting {
  readonly head: RunHead
  readonly state: RunState
  /** How long it has been at work, in ms. */
  readonly worked_ms: number
  readonly past: Past
}

/** A run that was claimed, as its journal has it. */
interface Begun extends Resting {
  /** When the last of the journal was appended, in ms since 1970. */
  readonly since: number | undefined
}

export const make = (tenant: Tenant, address: Address, found: RunHead | undefined): Actor => ({
  tenant,
  address,
  key: actorKey(tenant, address),
  wakeup: makeWakeup(),
  state: "running",
  run: undefined,
  mail: false,
  wake: undefined,
  restarts: 0,
  crashes: [],
  past: undefined,
  past_to: 0,
  resting: undefined,
  found
})

/** New messages may have come. */
export const mail = (actor: Actor): void => {
  actor.mail = true
  actor.wake?.()
}

/**
 * A sweep found that the address has something to do, and this actor is there: it looks now, in case a wakeup from another
 * process was lost. A journal that is no longer than what it has read wakes nothing.
 */
export const find = (actor: Actor, head: RunHead): void => {
  const { wakeup, run } = actor
  // The first of the address is another one: what the actor has in hand is over, and perhaps ended elsewhere.
  if (head.run_id === run ? head.length > wakeup.seenLength : run !== undefined) wakeRun(wakeup)
  mail(actor)
}

/** Wakeups may have been lost: each actor reads the rest of its run's journal, which costs one read. */
export const look = (actors: Iterable<Actor>): void => {
  for (const { wakeup } of actors) wakeRun(wakeup)
}

/** What is left to do here: to wait for mail, or for people; or nothing, and the actor has left. */
type Rest = "idle" | "rests" | "left"

const isDue = (actor: Actor, rest: Rest): boolean =>
  rest === "idle" ? actor.mail : actor.wakeup.pending || actor.wakeup.draining

/** Waits for what may move the actor again, and for a while only. */
const wait = (host: ActorHost, actor: Actor, rest: Exclude<Rest, "left">): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (isDue(actor, rest)) return resume(Effect.void)
    const end = () => {
      actor.wake = undefined
      actor.wakeup.waiter = undefined
      cancel()
      resume(Effect.void)
    }
    const ms = rest === "idle" ? host.config.idle_ms : host.config.park_ms
    const cancel = host.loop.deadlines.after(ms, end)
    if (rest === "idle") actor.wake = end
    else actor.wakeup.waiter = { wake: end }
    return Effect.sync(end)
  })

/** Claims a run, and loads what it is shown of its conversation's past. */
const begin = Effect.fnUntraced(function* (host: ActorHost, actor: Actor, head: RunHead) {
  const { feed, loop } = host
  const { conversation, ordinal, run_id: run, tenant } = head
  const agent = loop.directory.get(actor.address.agent)
  const budget = agent?.spec.history_tokens_max ?? 0
  // From here on a wakeup is kept for the loop that is about to begin: what is claimed may be amended before it looks.
  actor.wakeup.pending = false
  host.table.takeRun(actor, run)
  const { claim, past } = yield* host.rehydrating.withPermit(
    Effect.gen(function* () {
      // Another process may have found it too, and claimed it while this one waited for its turn.
      const claim = yield* loop.journal.claim(run, host.owner, head.epoch)
      // What another process ran in between, or what was cancelled before it began, this actor never saw.
      const known =
        actor.past !== undefined && actor.past_to === ordinal - 1
          ? actor.past
          : yield* load(
              { journal: loop.journal, tasks: host.tasks },
              {
                tenant,
                conversation,
                ordinal,
                cut: cutOf(claim.entries),
                tokens_max: budget,
                measure: agent === undefined ? units : loop.weights.of(agent).measure
              }
            )
      return { claim, past: known }
    })
  )
  const worked = new WorkedTime()
  const folded = foldWhole(run, claim.entries, claim.head.length, worked.pass.bind(worked))
  // The journal finds the same when it folds the run, and marks it.
  if (Result.isFailure(folded)) {
    yield* check(host, run)
    return yield* folded.failure
  }
  // The claim is an event like any other, and whoever watches sees that the run has begun.
  feed.wake(channelKey(tenant, conversation))
  const { last: since, worked_ms } = worked
  return { head, state: folded.success, worked_ms, since, past }
})

/** Tells operators that a run is about to fail. */
const warnFailing = ({ background }: ActorHost, run: RunId, { message, reason }: RunStopping) =>
  background(Effect.logWarning("a run fails", { run_id: run, reason, message }))

/** Runs what was begun, or what rested, until it ends or waits. */
const runOne = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  { head, past, since, state, worked_ms }: Begun,
  memory: Context.Context<AgentMemory>,
  rested: boolean
) {
  const { feed, loop } = host
  const { ordinal, run_id: run } = head
  const channel = channelKey(head.tenant, head.conversation)
  const agent = loop.directory.get(actor.address.agent)
  const pins = state.accepted?.pins
  if (!rested) OpenQuestions.hold(host.questions, run, state)
  const changed =
    agent !== undefined &&
    agent.spec.on_change === "fail" &&
    pins !== undefined &&
    (pins.definition !== agent.pins.definition || pins.tools !== agent.pins.tools)
  const onDurable: LoopServices["onDurable"] = (id, now, events: ReadonlyArray<RunEvent>) => {
    for (const event of events) {
      if (event._tag === "ModelTurned") feed.endTurn(channel, id, event.frame)
      else if (event._tag === "ApprovalRequested")
        OpenQuestions.open(host.questions, id, event.approval)
      else if (event._tag === "RunEnded") feed.endRun(channel, id)
      else if (event._tag === "RunStopping" && event.status === "failed")
        warnFailing(host, id, event)
    }
    host.onDurable(id, now, events)
    feed.wake(channel)
  }
  const going = runLoop(
    {
      ...loop,
      directory: host.directoryFor(state.accepted?.roles),
      onDurable,
      onAmended: () => feed.wake(channel),
      delta: (id, frame, step, delta) =>
        feed.delta(channel, { run: id, ordinal, frame, step }, delta)
    },
    { run, state, worked_ms, since, rested },
    past,
    actor.wakeup,
    changed ? "definition_changed" : undefined
  ).pipe(
    Effect.provideContext(memory),
    Effect.ensuring(Effect.sync(() => feed.endRun(channel, run)))
  )
  const finish = yield* RunSpans.leg(loop.journal, run, state, going)
  if (finish.how === "ended") {
    host.table.releaseRun(run)
    const budget = agent?.spec.history_tokens_max ?? 0
    const chapter = { ordinal, entries: finish.transcript }
    actor.past = budget === 0 ? no_past : withChapter(past, chapter, finish.state.past)
    actor.past_to = ordinal
    // A cancel from outside has woken no watcher.
    feed.wake(channel)
  } else if (finish.how === "rests") {
    const { state, worked_ms } = finish
    actor.resting = { head, state, worked_ms, past }
  }
  return finish.how
})

/** The first run of the address that has not ended. */
const first = Effect.fnUntraced(function* (host: ActorHost, actor: Actor) {
  const { found } = actor
  actor.found = undefined
  if (found !== undefined) return found
  return (yield* host.loop.journal.unfinished(actor.tenant, actor.address, 1))[0]
})

/** Runs what there is to run. Fails with FencedOff when another process has the run. */
const live = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  memory: Context.Context<AgentMemory>
): Effect.fn.Return<Rest, Lost | StoreError> {
  const leave = (head: RunHead | undefined): Rest => {
    host.table.leave(actor, head)
    return "left"
  }
  for (;;) {
    const { resting } = actor
    actor.resting = undefined
    if (host.table.isDraining) return leave(resting?.head)
    let begun: Begun | undefined = resting && { ...resting, since: undefined }
    if (begun === undefined) {
      actor.mail = false
      // After a crash too: an entry that nobody lives behind would take every wakeup and hide the run from the sweep.
      if (actor.run !== undefined) host.table.releaseRun(actor.run)
      actor.run = undefined
      const head = yield* first(host, actor)
      if (head === undefined) {
        actor.state = "idle"
        return "idle"
      }
      if (head.quarantined === true) {
        yield* Effect.logWarning("messages wait behind a run in quarantine").pipe(
          Effect.annotateLogs({ address: actor.key, run_id: head.run_id })
        )
        return leave(undefined)
      }
      if (head.owner !== undefined && head.owner !== host.owner) return leave(undefined)
      if (!host.hosting.has(head.address, head.needs)) return leave(undefined)
      // What came was behind it: to take it again would be a claim in its journal for each message.
      if (head.rests) return leave(head.owner === undefined ? undefined : head)
      actor.state = "running"
      actor.run = head.run_id
      const lost = ["RunIsOver", "RunNotFound", "FencedOff"] as const
      begun = yield* Effect.catchTag(begin(host, actor, head), lost, () =>
        // Between the look and the claim it ended, or another took it; or it never began.
        Effect.sync(() => {
          host.table.releaseRun(head.run_id)
          return undefined
        })
      )
      if (begun === undefined) continue
      if (yield* handedOver(host, head.run_id, begun.state)) return leave(undefined)
    }
    const how = yield* runOne(host, actor, begun, memory, resting !== undefined)
    if (how === "rests") return how
    if (how === "drained" && (host.table.isDraining || !actor.wakeup.pending))
      return leave(begun.head)
  }
})

/** Lets an actor crash and starts it again, as often as its supervision allows. */
export const supervise = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  memory: Context.Context<AgentMemory>
): Effect.fn.Return<void> {
  for (;;) {
    const exit = yield* Effect.exit(live(host, actor, memory))
    if (exit._tag === "Success") {
      if (exit.value === "left") return
      const { resting } = actor
      if (resting !== undefined && asks(host, resting)) {
        // Awaits the `Deferred`s of the questions of its run.
        if (isDue(actor, exit.value)) continue
        const waiting = new DecisionWait(host, actor, resting)
        waiting.over(yield* Effect.exit(OpenQuestions.decided(host.questions, resting.head.run_id)))
      } else yield* wait(host, actor, exit.value)
      // The flags are looked at in the same block that removes the entry: a wakeup between the two would be lost.
      if (isDue(actor, exit.value)) continue
      return host.table.leave(actor, actor.resting?.head)
    }
    const fenced = exit.cause.reasons.some(
      (reason) => reason._tag === "Fail" && reason.error._tag === "FencedOff"
    )
    if (fenced) {
      yield* Effect.logWarning("another process took this actor's run", { address: actor.key })
      return host.table.leave(actor, undefined)
    }
    if (exit.cause.reasons.every((reason) => reason._tag === "Interrupt")) {
      return yield* Effect.interrupt
    }
    // Of a run in quarantine nothing is begun again; what waits behind it waits.
    if (yield* isInQuarantine(host, actor, exit.cause)) return host.table.leave(actor, undefined)
    if (!(yield* mayStartAgain(host, actor, exit.cause))) {
      actor.state = "stopped"
      return host.table.leave(actor, undefined)
    }
  }
})
