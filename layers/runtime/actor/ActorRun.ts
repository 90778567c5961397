/**
 * One run of an actor: claimed and loaded from the journal, then run until it ends, waits for people, or has drained.
 * `onDurable` is called with each event of the run once it is durable: it opens the run's questions, updates the
 * feed, and calls the observers.
 */
import { Effect, Exit, Result } from "effect"
import { no_past } from "../../../src/conversation/Compaction.ts"
import { utf16Units } from "../../../src/conversation/PromptSize.ts"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { RunId, FrameId } from "../../../src/value/Ids.ts"
import { hasCopiedResult } from "../../../src/run/CallResult.ts"
import { eventUnits } from "../../../src/run/HeldUnits.ts"
import { foldWhole } from "../../../src/run/Quarantine.ts"
import { ordinalBefore } from "../../../src/run/Branch.ts"
import type { Forked } from "../../../src/run/Forked.ts"
import type { RunEvent, RunStopping } from "../../../src/run/RunEvent.ts"
import { agentOfRun } from "../../../src/run/RunState.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { Committed } from "../../../services/RunNews.ts"
import type { Claim } from "../../../services/RunOwnership.ts"
import type { RunHead } from "../../../services/RunReader.ts"
import { dispatched_topic } from "../../../services/TaskStore.ts"
import type { ModelDelta } from "../../../services/ModelGateway.ts"
import * as OpenQuestions from "../approval/OpenQuestions.ts"
import type { ChannelKey } from "../feed/ChannelKey.ts"
import { channelKey } from "../feed/ChannelKey.ts"
import type { LoopServices } from "../loop/LoopServices.ts"
import type { StopReason } from "../loop/RunLoop.ts"
import { run as runLoop } from "../loop/RunLoop.ts"
import { WorkedTime } from "../loop/WallClockLimit.ts"
import { countDelivered } from "../relay/DeliveryOutcome.ts"
import * as ForkedServices from "../replay/ForkedServices.ts"
import { runAcceptedOf } from "./Acceptance.ts"
import type { Actor, LoadedRun } from "./Actor.ts"
import { failIfUnfoldable } from "./ActorCrash.ts"
import type { ActorHost } from "./ActorHost.ts"
import type { ClaimedTask } from "./ClaimedDispatches.ts"
import { acceptedIn, chapterOf, cutOf, entriesOf, loadPast, withChapter } from "./History.ts"
import type { Line } from "./RunLoading.ts"
import { begun_length, traceRun } from "./RunSpans.ts"
import type { Feed, ToolOutput } from "../feed/Feed.ts"

/**
 * What one run at work here shows to those who watch its conversation, which is not looked up for most steps: they show no piece
 * of a turn, and what is committed reaches watchers by the journal's listener (bench row `send`, 1,000 runs).
 */
class RunFeed {
  readonly #feed: Feed
  readonly #key: ChannelKey
  readonly #run: RunId
  readonly #ordinal: number
  /** Pieces of a turn were shown. */
  #hasPieces = false

  constructor(feed: Feed, key: ChannelKey, run: RunId, ordinal: number) {
    this.#feed = feed
    this.#key = key
    this.#run = run
    this.#ordinal = ordinal
  }

  delta(frame: FrameId, step: number, delta: ModelDelta | ToolOutput): void {
    if (delta.kind !== "output") this.#hasPieces = true
    this.#feed.delta(this.#key, { run: this.#run, ordinal: this.#ordinal, frame, step }, delta)
  }

  /** The frame's turn is journaled. */
  endTurn(frame: FrameId): void {
    if (this.#hasPieces) this.#feed.endTurn(this.#key, this.#run, frame)
  }

  /** The run waits for people. */
  uncacheRun(): void {
    this.#feed.uncacheRun(this.#run)
  }

  /** The run's journal has so many entries, the last of which this process has committed. */
  committed(length: number): void {
    if (!this.#feed.follows(this.#run)) this.reached(length)
  }

  /** The run's journal has at least so many entries. */
  reached(length: number): void {
    this.#feed.reached(this.#key, this.#ordinal, length)
  }

  /** The run has ended, or has left this process. */
  end(): void {
    this.#feed.endRun(this.#key, this.#run)
  }

  /** All who watch the conversation read the journal. */
  wake(): void {
    this.#feed.wake(this.#key)
  }
}

/** Made once, because each metric with attributes of its own costs more than to count (bench row `send`). */
const countBegun = countDelivered(dispatched_topic)

/** The conversation before the run: what the actor has of it, unless another process ran or cancelled a run since. */
const pastOf = (
  host: ActorHost,
  actor: Actor,
  { ordinal, ...head }: RunHead,
  claim: Claim,
  waiting?: number
) => {
  const { loop, tasks } = host
  const { branch, forked } = acceptedIn(claim.entries) ?? {}
  if (forked !== undefined) return pastOfFork(host, actor, head, forked, claim)
  if (actor.past !== undefined && actor.past_to === ordinalBefore({ branch, ordinal }))
    return Effect.succeed(actor.past)
  return loadPast(
    { reader: loop.reader, tasks },
    {
      tenant: head.tenant,
      conversation: head.conversation,
      ordinal,
      branch,
      waiting,
      ...tellingOf(host, actor, claim)
    }
  )
}

/** What the run was told that is forked, as far as it is there still. */
const pastOfFork = (
  host: ActorHost,
  actor: Actor,
  { tenant }: Pick<RunHead, "tenant">,
  { run }: Forked,
  claim: Claim
) =>
  Effect.flatMap(host.tasks.read(tenant, run), (source) =>
    source === undefined
      ? Effect.succeed(no_past)
      : loadPast(
          { reader: host.loop.reader, tasks: host.tasks },
          {
            tenant,
            conversation: source.conversation,
            ordinal: source.ordinal,
            branch: source.branch,
            ...tellingOf(host, actor, claim)
          }
        )
  )

/** How much of a past an agent is told. */
const tellingOf = ({ loop }: ActorHost, { address }: Actor, { entries }: Claim) => {
  const agent = loop.directory.get(address.agent)
  return {
    cut: cutOf(entries),
    tokens_max: agent?.spec.history_tokens_max ?? 0,
    measure: agent === undefined ? utf16Units : loop.weights.of(agent).measure,
    guards: agent?.guards
  }
}

type Place = Pick<AgentTask, "tenant" | "conversation">

/** Another process may have ended the run or claimed it, or it does not fold: whoever watches finds out which. */
const wakeWatchers = ({ feed }: ActorHost, { conversation, tenant }: Place) =>
  Effect.sync(() => feed.wake(channelKey(tenant, conversation)))

type RunPosition = Place & Pick<AgentTask, "ordinal"> & { readonly run: RunId }

/**
 * The actor has the run in hand from here on; `length` is that of its journal once it is claimed. `isBegun`: a store began or
 * claimed it before this process knew of it, and it may have been amended since.
 */
const takeRun = (
  { feed, table }: ActorHost,
  actor: Actor,
  { conversation, ordinal, run, tenant }: RunPosition,
  length: number,
  isBegun: boolean
): void => {
  actor.state = "running"
  actor.run = run
  // A wakeup from here on is kept for the loop that is about to begin: the run may be amended between claim and loop.
  actor.wakeup.pending = isBegun && table.isAmended(run)
  // A sweep that finds the run meanwhile has nothing to add, unless it was amended since.
  actor.wakeup.seenLength = length
  table.takeRun(actor, run, { conversation, ordinal })
  feed.follow(channelKey(tenant, conversation), run, ordinal)
}

/** Claims the run, in a place of its own, and loads what its conversation has before it; then the run, folded. */
const loadRun = Effect.fnUntraced(function* <E>(
  host: ActorHost,
  actor: Actor,
  head: RunHead,
  line: Line,
  claiming: Effect.Effect<Claim, E>,
  waiting?: number
) {
  const { run_id: run } = head
  const channel = channelKey(head.tenant, head.conversation)
  const loading = Effect.flatMap(claiming, (claim) =>
    Effect.map(pastOf(host, actor, head, claim, waiting), (past) => ({ claim, past }))
  )
  const { claim, past } = yield* host.loading
    .withPermit(line, loading)
    .pipe(Effect.onError(() => wakeWatchers(host, head)))
  const worked = new WorkedTime()
  const folded = foldWhole(run, claim.entries, claim.head.length, worked.pass.bind(worked))
  if (Result.isFailure(folded)) {
    // The journal folds it too, finds the same, and puts it in quarantine.
    yield* failIfUnfoldable(host, run).pipe(Effect.onError(() => wakeWatchers(host, head)))
    return yield* folded.failure
  }
  const { awaiting, unknown } = folded.success
  if (awaiting + unknown === 0 && !claim.entries.some(({ event }) => hasCopiedResult(event)))
    host.feed.cacheRun(channel, head.ordinal, claimedEntries(run, claim))
  const claimed = claim.entries.findLast(({ event }) => event._tag === "RunClaimed")
  if (claimed !== undefined) host.onDurable(run, folded.success, [claimed.event])
  // The claim is an event: those who watch see that the run has begun.
  host.feed.reached(channel, head.ordinal, claim.head.length)
  const { last: last_append_at, worked_ms } = worked
  const loaded: LoadedRun = { head, state: folded.success, worked_ms, last_append_at, past }
  return loaded
})

/**
 * Claims a run and loads it. Fails with FencedOff where another process has claimed it since it was found. `waiting`: the number
 * of the run that it answers beside.
 */
export const claimRun = (
  host: ActorHost,
  actor: Actor,
  head: RunHead,
  line: Line,
  waiting?: number
) =>
  Effect.suspend(() => {
    const { run_id: run } = head
    // With the event of the claim.
    takeRun(host, actor, { ...head, run }, head.length + 1, false)
    const claiming = host.ownership.claim(run, host.owner, head.epoch)
    return loadRun(host, actor, head, line, claiming, waiting)
  })

/** Loads a run that was claimed with an amendment. */
export const loadClaimed = (host: ActorHost, actor: Actor, claim: Claim) =>
  Effect.suspend(() => {
    const { head } = claim
    takeRun(host, actor, { ...head, run: head.run_id }, head.length, true)
    return loadRun(host, actor, head, "sent", Effect.succeed(claim))
  })

/** The entries that a claim brought. Long results among them are nowhere else in memory. */
const claimedEntries = (run: RunId, { entries }: Claim): Committed => {
  const { length } = entries
  const size = entries.reduce((sum, { event }) => sum + eventUnits(event), 0)
  const given = { run, from: 0, count: length, isEnd: false, mayEndWait: false, size }
  return { ...given, entries: () => entries }
}

/** The run as it began with its task; otherwise it begins now. */
const claimOfTask = (host: ActorHost, { begun, dispatch, task }: ClaimedTask) => {
  if (begun !== undefined) {
    const { listener } = host.feed
    // Its entries were committed with the task, before anybody could follow the run.
    if (listener.accepts(task.id)) listener.onCommitted(claimedEntries(task.id, begun))
    return Effect.succeed<Claim | undefined>(begun)
  }
  const { id: run, ordinal } = task
  const beginning = { run, ordinal, accepted: runAcceptedOf(host, task), dispatch }
  return host.ownership.begin(beginning, host.owner)
}

/**
 * Takes the run of the task that the actor was given, and begins it if it has not begun with the task. Undefined: the dispatch
 * is not held any more, or a command began the run first; then it is found like every other run. Where the journal fails the
 * actor has the task still, and tries it again.
 */
export const beginAcceptedTask = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  held: ClaimedTask
) {
  const { dispatches, table } = host
  const { dispatch, task } = held
  takeRun(host, actor, { ...task, run: task.id }, begun_length, true)
  const claim = yield* Effect.onError(claimOfTask(host, held), () => wakeWatchers(host, task))
  actor.acceptedTask = undefined
  dispatches.settle(dispatch.claim)
  if (claim === undefined) {
    table.releaseRun(task.id)
    yield* wakeWatchers(host, task)
    return undefined
  }
  yield* countBegun
  return yield* loadRun(host, actor, claim.head, "sent", Effect.succeed(claim))
})

const agentOf = ({ loop: { directory } }: ActorHost, { accepted }: RunState) =>
  directory.get(agentOfRun(accepted))

/** Why the run is to fail: its agent is not what it was accepted with. Undefined = it may go on. */
const definitionChange = (
  agent: ResolvedAgent | undefined,
  { accepted }: RunState
): StopReason | undefined => {
  if (agent === undefined || agent.spec.on_change !== "fail") return undefined
  const changed = (["definition", "tools"] as const)
    .filter((each) => accepted.pins[each] !== agent.pins[each])
    .map((each) => `its ${each}`)
  return changed.length === 0
    ? undefined
    : {
        reason: "definition_changed",
        message: `the agent ${agent.spec.name} has changed since the run was accepted: ${changed.join(" and ")}`
      }
}

const warnFailing = ({ background }: ActorHost, run: RunId, { message, reason }: RunStopping) =>
  background(
    Effect.logWarning("a run fails", {
      run_id: run,
      reason,
      ...(message === undefined ? undefined : { message })
    })
  )

const onDurableOf =
  (host: ActorHost, shown: RunFeed): LoopServices["onDurable"] =>
  (run, state, events: ReadonlyArray<RunEvent>) => {
    const { questions } = host
    for (const event of events) {
      if (event._tag === "ModelTurned") shown.endTurn(event.frame)
      else if (event._tag === "ApprovalRequested" || event._tag === "ClientRequested") {
        shown.uncacheRun()
        OpenQuestions.openQuestion(questions, run, event.approval)
        if (event.expires_at !== undefined) host.sweepAlarm.set(event.expires_at)
      } else if (event._tag === "CallUnknown") shown.uncacheRun()
      else if (event._tag === "RunEnded") shown.end()
      else if (event._tag === "RunStopping" && event.status === "failed")
        warnFailing(host, run, event)
    }
    host.onDurable(run, state, events)
    shown.committed(state.length)
  }

/** What the run remembered and lasts goes on. Where the store is away, the end of the next run does it. */
const endMemory = (memory: AgentMemory["Service"], run: RunId) =>
  Effect.catch(Effect.asVoid(memory.endRun(run)), ({ message }) =>
    Effect.logWarning("the memory of a run was not passed on", { run_id: run, reason: message })
  )

/** Runs it until it ends, is parkable, or has drained. `hasWaited`: in this actor, so its questions are in memory already. */
export const continueRun = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  { beside, head, last_append_at, past, state, worked_ms }: LoadedRun,
  hasWaited: boolean
) {
  const { erasures, feed, loop, questions, table } = host
  const { ordinal, run_id: run } = head
  const shown = new RunFeed(feed, channelKey(head.tenant, head.conversation), run, ordinal)
  const agent = loop.directory.get(actor.address.agent)
  if (!hasWaited) OpenQuestions.matchState(questions, run, state)
  const live: LoopServices = {
    ...loop,
    share: actor.share,
    directory: host.directoryFor(state.accepted.roles),
    onDurable: onDurableOf(host, shown),
    onAmended: (_, { length }) => shown.reached(length),
    delta: (_, frame, step, delta) => shown.delta(frame, step, delta)
  }
  const isFork = state.accepted.forked !== undefined
  const { services, stopped } = isFork
    ? yield* ForkedServices.make(host, state, live)
    : { services: live, stopped: definitionChange(agentOf(host, state), state) }
  const began = { run, state, worked_ms, last_append_at, hasWaited, beside }
  const loopedOver = runLoop(services, began, past, actor.wakeup, stopped)
  const looped = (isFork ? ForkedServices.overReadMemory(loopedOver) : loopedOver).pipe(
    Effect.onExit((exit) =>
      Effect.sync(() => {
        shown.end()
        if (Exit.isFailure(exit)) shown.wake()
      })
    )
  )
  const finish = yield* traceRun(loop.reader, run, state, looped)
  if (finish.how === "ended") {
    table.releaseRun(run)
    const hasMemory = actor.memory.isUsed || agent?.spec.memory !== undefined
    if (hasMemory && !isFork) yield* endMemory(actor.memory, run)
    const isShown = (agent?.spec.history_tokens_max ?? 0) > 0
    const { hasFiles, past: cut } = finish.state
    actor.past = isShown
      ? withChapter(past, chapterOf(ordinal, entriesOf(finish.state, agent?.guards)), cut, hasFiles)
      : no_past
    actor.past_to = host.erasures === erasures ? ordinal : 0
    // A cancel from outside has woken no watcher.
    shown.reached(finish.state.length)
  } else if (finish.how === "parkable") {
    actor.waiting = {
      head,
      state: finish.state,
      worked_ms: finish.worked_ms,
      last_append_at: undefined,
      past
    }
  }
  return finish.how
})
