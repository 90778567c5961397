/**
 * The waits of the facade: for the end of a run or for its questions, and the feed of a run or a conversation. A wait
 * that ends early does not change the run.
 */
import { Cause, Effect, Pull, Result, Schema, Stream, identity } from "effect"
import { AgentNotFound } from "../../src/agent/AgentSpec.ts"
import type { Approval } from "../../src/approval/Approval.ts"
import { ConversationNotFound } from "../../src/conversation/Conversation.ts"
import { isOpenTo } from "../../src/conversation/CustomerAccess.ts"
import { customerEnd } from "../../src/conversation/CustomerView.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import * as Entries from "../../src/entry/Entries.ts"
import { InvalidInput } from "../../src/entry/InvalidInput.ts"
import type { ApprovalId, ConversationId } from "../../src/Ids.ts"
import { RunId } from "../../src/Ids.ts"
import type { Principal } from "../../src/Principal.ts"
import { isLimitedToOwn, rightRefusal } from "../../src/Rights.ts"
import { RunNotFound } from "../../src/run/RunCommand.ts"
import { milliseconds } from "../../src/Times.ts"
import { CustomerAgents } from "../../services/AgentDirectory.ts"
import type { Cursor, FeedItem, FeedItems, Message, OpenFeed } from "../../services/AgentRuntime.ts"
import { AgentRuntime, feedStream, ShuttingDown } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { Answer, Wait } from "./Answer.ts"
import { WaitTimedOut } from "./Answer.ts"
import { RunProgress } from "./RunProgress.ts"
import type { RunPart } from "./RunStream.ts"
import { runParts } from "./RunStream.ts"
import { isObject } from "./OptionShapes.ts"
import { agentFor, customerItem, isCustomer } from "./CustomerAccess.ts"

/** A customer may send only to agents for customers, and is not shown the names of others. */
const sendAsCustomer = Effect.fnUntraced(function* (message: Message, by: Principal) {
  const { agent } = yield* Entries.message(message, "message")
  yield* agentFor(by, "send", agent)
  return yield* AgentRuntime.use((agents) => agents.send(message, by)).pipe(
    Effect.catchTag("AgentNotFound", () =>
      Effect.flatMap(CustomerAgents, (available) =>
        Effect.fail(new AgentNotFound({ agent, available }))
      )
    )
  )
})

const send = (message: Message, by: Principal) =>
  isLimitedToOwn(by, "send")
    ? sendAsCustomer(message, by)
    : AgentRuntime.use((agents) => agents.send(message, by))

/** What cannot even be looked at is refused where the message is decoded. */
const looksAs = (message: unknown, is: (message: Partial<Message>) => boolean): boolean =>
  Result.getOrElse(
    Result.try(() => isObject(message) && is(message)),
    () => false
  )

const hasBaggage = (message: Partial<Message>): boolean => "baggage" in message

/** It names a conversation and no agent: it goes to the agent that holds the conversation. */
const isForHolder = ({ agent, conversation }: Partial<Message>): boolean =>
  agent === undefined && conversation !== undefined

const toHolder = (message: Message, by: Principal) =>
  Effect.map(
    AgentRuntime.use(({ holder }) => holder(message.conversation as ConversationId, by)),
    (agent): Message => ({ ...message, agent })
  )

const sendRead = (message: Message, by: Principal) =>
  looksAs(message, hasBaggage)
    ? Effect.flatMap(Entries.messageWithBaggage(message, "message"), (read) => send(read, by))
    : send(message, by)

/** Sends a message. */
export const sendMessage = (message: Message, who: Principal) =>
  Effect.flatMap(Entries.entitled(who, "send"), (by) =>
    looksAs(message, isForHolder)
      ? Effect.flatMap(toHolder(message, by), (given) => sendRead(given, by))
      : sendRead(message, by)
  )

type Place = Pick<AgentTask, "id" | "conversation" | "ordinal">

/** The records of questions, also of those that are answered. */
const recordsOf = Effect.fnUntraced(function* (approvals: Iterable<ApprovalId>, by: Principal) {
  const desk = yield* ApprovalDesk
  // At once: the store reads those of one tenant together.
  const found = yield* Effect.forEach(
    approvals,
    (id) => Effect.catchTag(desk.get(id, by), "ApprovalNotFound", () => Effect.succeed(undefined)),
    { concurrency: "unbounded" }
  )
  return found.filter((each) => each !== undefined)
})

const isPending = ({ status }: Approval): boolean => status === "pending"

/** What the client of the conversation is asked for, among these questions. */
const clientCallsAmong = Effect.fnUntraced(function* (
  ids: ReadonlySet<ApprovalId>,
  conversation: ConversationId,
  by: Principal
) {
  const mayAnswer = rightRefusal(by, "answer") === undefined
  const calls = mayAnswer
    ? yield* ApprovalDesk.use((desk) => desk.clientCalls(conversation, by))
    : []
  return calls.filter(({ id }) => ids.has(id))
})

/** Follows the run from its start to its end, or until it waits for people. */
const followed = Effect.fnUntraced(function* ({ conversation, id, ordinal }: Place, by: Principal) {
  const agents = yield* AgentRuntime
  const progress = new RunProgress()
  const { pull } = yield* agents.openFeed(conversation, { ordinal, seq: -1 }, by)
  // What comes together is looked at together: a question and its answer may.
  while (!progress.isOver) {
    for (const item of yield* Pull.catchDone(pull, () =>
      Effect.die("a watch of a conversation ended")
    )) {
      if (item._tag === "CaughtUp") progress.isCurrent = true
      else if (item._tag === "Event" && item.run === id) progress.see(item.entry.event)
    }
  }
  return progress
}, Effect.scoped)

const outcome = Effect.fnUntraced(function* (of: Place, by: Principal) {
  const place = { run: of.id, conversation: of.conversation }
  const isTheirs = isCustomer(by)
  /** Questions whose records said that they are answered. */
  const answered = new Set<ApprovalId>()
  for (;;) {
    const { approvals, detail, ended, unknown, usage } = yield* followed(of, by)
    if (ended !== undefined) {
      const answer: Answer = {
        ...(isTheirs ? customerEnd(ended) : ended),
        ...place,
        ...(detail === undefined || isTheirs ? undefined : { detail }),
        ...(usage.length === 0 || isTheirs ? undefined : { usage })
      }
      return answer
    }
    const records = isTheirs ? [] : yield* recordsOf(approvals, by)
    const settled = records.filter((record) => !isPending(record) && !answered.has(record.id))
    // Answered since: the run is followed again, once for each question.
    if (settled.length > 0 && settled.length === approvals.size + unknown.size) {
      for (const { id } of settled) answered.add(id)
      continue
    }
    const awaiting: Answer = {
      status: "awaiting_approval",
      ...place,
      approvals: records.filter((record) => isPending(record) && record.client === undefined),
      client_calls: yield* clientCallsAmong(approvals, of.conversation, by),
      unknown: isTheirs ? [] : [...unknown]
    }
    return awaiting
  }
})

/** How the run of a task of the principal's tenant has ended, or what it waits for. */
const endOf = (task: AgentTask, by: Principal) =>
  Effect.flatMap(followable(task, by), (place) => outcome(place, by))

/**
 * Sends the message when it is pulled, and goes on to the run's end. Its failures are those of `sendMessage` and `watchFeed`.
 */
export const streamRun = (message: Message, who: Principal) =>
  Stream.unwrap(
    Effect.gen(function* () {
      const by = yield* Entries.entitled(who, "follow")
      const { task } = yield* sendMessage(message, by)
      const { conversation, id: run } = task
      const begun: RunPart = { type: "begun", run, conversation }
      const end = Stream.fromEffect(endOf(task, by)).pipe(
        // It has ended, unless the feed ended for another reason.
        Stream.flatMap((answer): Stream.Stream<RunPart> =>
          answer.status === "awaiting_approval"
            ? Stream.empty
            : Stream.make({ type: "end", answer })
        )
      )
      return Stream.make(begun).pipe(
        Stream.concat(runParts(watchFeed(run, undefined, by))),
        Stream.concat(end)
      )
    })
  )

/** Waits for at most the given time. */
const waited = (place: Place, by: Principal, timeout_ms: number | undefined) => {
  const wait = outcome(place, by)
  const { conversation, id: run } = place
  return timeout_ms === undefined
    ? wait
    : Effect.timeoutOrElse(wait, {
        duration: timeout_ms,
        orElse: () => Effect.fail(new WaitTimedOut({ run, conversation, timeout_ms }))
      })
}

/** The task, of the principal's tenant; for a customer those of others are not found. */
const followable = Effect.fnUntraced(function* (task: AgentTask, by: Principal) {
  if (!isOpenTo(by, "follow", task.by)) return yield* new RunNotFound({ run_id: task.id })
  yield* agentFor(by, "follow", task.address.agent)
  return task
})

/** A run of the principal's tenant; runs of other tenants, and for a customer those of others, are not found. */
const followedTask = Effect.fnUntraced(function* (run: RunId, by: Principal) {
  const task = yield* TaskStore.use((tasks) => tasks.read(by.tenant, run))
  return task === undefined ? yield* new RunNotFound({ run_id: run }) : yield* followable(task, by)
})

/** For a customer only while the conversation's agent is one for customers, as with everything that it reads. */
export const clientCallsOf = (conversation: string, who: Principal) =>
  Effect.gen(function* () {
    const by = yield* Entries.entitled(who, "answer")
    const id = yield* Entries.conversationId(conversation, "conversation")
    const found = isCustomer(by)
      ? yield* ConversationStore.use((store) => store.read(by.tenant, id))
      : undefined
    if (found !== undefined && isOpenTo(by, "answer", found.begun_by)) {
      yield* agentFor(by, "follow", found.address.agent)
    }
    return yield* ApprovalDesk.use((desk) => desk.clientCalls(id, by))
  })

/** For a wait with `cancel` that ended early. A run that has ended is not changed. */
const cancelLeft = (run: RunId, by: Principal) =>
  AgentRuntime.use((agents) => agents.interrupt(run, by, "whoever waited for it left"))

const members: ReadonlyArray<string> = ["signal", "timeout_ms", "cancel"]

export const isSignal = (value: unknown): value is AbortSignal =>
  typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value

/** A wait with its time in ms. */
interface Bounds extends Omit<Wait, "timeout_ms"> {
  readonly timeout_ms?: number
}

/** Decodes the options of a wait before the message is sent, so that wrong options do not leave a run behind. */
export const waitOf = Effect.fnUntraced(function* (given: unknown) {
  const none: Bounds = {}
  if (given === undefined) return none
  const wrong = (field: string, message: string) => new InvalidInput({ field, message })
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return yield* wrong("wait", "Expected an object with signal, timeout_ms and cancel")
  }
  const stray = Object.keys(given).find((name) => !members.includes(name))
  if (stray !== undefined) return yield* wrong(`wait.${stray}`, "there is no such member")
  const { cancel, signal, timeout_ms } = given as Readonly<Record<string, unknown>>
  if (signal !== undefined && !isSignal(signal)) {
    return yield* wrong("wait.signal", "Expected an AbortSignal")
  }
  const wait: Bounds = {
    ...(signal === undefined ? undefined : { signal }),
    ...(timeout_ms === undefined
      ? undefined
      : { timeout_ms: yield* Entries.wait_ms(milliseconds(timeout_ms), "wait.timeout_ms") }),
    ...(cancel === undefined ? undefined : { cancel: yield* Entries.flag(cancel, "wait.cancel") })
  }
  return wait
})

type Interruptibly = <A, E, R>(wait: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Until the run's answer, its question, its timeout or an interruption, whichever is first. */
const waitFor = (
  place: Place,
  by: Principal,
  { cancel = false, timeout_ms }: Bounds,
  interruptibly: Interruptibly
) => {
  const wait = interruptibly(waited(place, by, timeout_ms)).pipe(
    Effect.catchTag("ShuttingDown", () => Effect.fail(new ShuttingDown({ run: place.id })))
  )
  if (!cancel) return wait
  const leave = Effect.ignore(cancelLeft(place.id, by))
  return wait.pipe(
    Effect.tapErrorTag("WaitTimedOut", () => leave),
    Effect.onInterrupt(() => leave)
  )
}

/** Waits for the run of this id, for as long as `bounds` says. */
export const answerOf = Effect.fnUntraced(function* (given: string, who: Principal, bounds?: Wait) {
  const wait = yield* waitOf(bounds)
  const by = yield* Entries.entitled(who, "follow")
  const place = yield* followedTask(yield* Entries.runId(given, "run"), by)
  return yield* waitFor(place, by, wait, identity)
})

/**
 * Waits for the run of a message that the principal has sent: its task, as it was accepted, is not read again. `interruptibly` is
 * for a caller that cannot be interrupted elsewhere.
 */
export const answerTo = Effect.fnUntraced(function* (
  task: AgentTask,
  who: Principal,
  bounds: Wait | undefined,
  interruptibly: Interruptibly
) {
  const wait = yield* waitOf(bounds)
  const by = yield* Entries.entitled(who, "follow")
  return yield* waitFor(yield* followable(task, by), by, wait, interruptibly)
})

const isRunId = Schema.is(RunId)

/** Picks the items of one run out of the feed of its conversation. */
class RunItems {
  readonly #task: AgentTask
  readonly #isOver: boolean
  #at: Cursor
  #isCaughtUp = false
  /** Of the run, events were shown and its end was not. */
  #isWithin = false
  /** The run was given to its end. */
  isDone = false

  constructor(task: AgentTask, from: Cursor) {
    this.#task = task
    this.#isOver = task.status === "complete" || task.status === "failed"
    this.#at = from
  }

  shown(items: FeedItems): ReadonlyArray<FeedItem> {
    if (this.#isAllShown(items)) return items
    const shown: Array<FeedItem> = []
    for (const item of items) {
      if (this.isDone) break
      this.#show(item, shown)
    }
    return shown
  }

  /** In the middle of the run nothing is left out, and no list is made (bench row `send`, 1,000 runs). */
  #isAllShown(items: FeedItems): boolean {
    let last: FeedItem | undefined
    for (const item of items) {
      if (item._tag === "CaughtUp" || item.run !== this.#task.id) return false
      if (item._tag !== "Event") continue
      if (item.entry.event._tag === "RunEnded") return false
      last = item
    }
    if (last?._tag === "Event") this.#move(last)
    return true
  }

  #move({ entry, ordinal }: Extract<FeedItem, { readonly _tag: "Event" }>): void {
    this.#at = { ordinal, seq: entry.seq }
    this.#isWithin = entry.event._tag !== "RunEnded"
  }

  #show(item: FeedItem, shown: Array<FeedItem>): void {
    if (item._tag === "CaughtUp") {
      this.#isCaughtUp = true
      // The store may have told of the end before this process learned that it was stored.
      this.isDone = this.#isOver && !this.#isWithin
      shown.push(item)
      return
    }
    const isLater = item.ordinal > this.#task.ordinal
    if (!isLater && item.run !== this.#task.id) return
    if (!isLater) {
      shown.push(item)
      if (item._tag === "Event") this.#move(item)
    }
    this.isDone = isLater || (item._tag === "Event" && item.entry.event._tag === "RunEnded")
    if (this.isDone && !this.#isCaughtUp) shown.push({ _tag: "CaughtUp", ...this.#at })
  }
}

const hasItems = (items: ReadonlyArray<FeedItem>): items is FeedItems => items.length > 0

/** What is shown of a feed. */
interface Shown {
  readonly shown: (items: FeedItems) => ReadonlyArray<FeedItem>
  /** Nothing else is shown. */
  readonly isDone: boolean
}

/** A feed of what is shown of another one. */
class ShownFeed<E> implements OpenFeed<E> {
  readonly #feed: OpenFeed<E>
  readonly #of: Shown

  constructor(feed: OpenFeed<E>, of: Shown) {
    this.#feed = feed
    this.#of = of
  }

  readonly pull: OpenFeed<E>["pull"] = Effect.suspend(() =>
    this.#of.isDone ? Cause.done() : this.#pulled
  )

  readonly #pulled: OpenFeed<E>["pull"] = Effect.flatMap(
    Effect.suspend(() => this.#feed.pull),
    (items) => {
      const shown = this.#of.shown(items)
      return hasItems(shown) ? Effect.succeed(shown) : this.pull
    }
  )

  takeHere(): ReturnType<OpenFeed<E>["takeHere"]> {
    while (!this.#of.isDone) {
      const items = this.#feed.takeHere()
      if (typeof items === "string") return items
      const shown = this.#of.shown(items)
      if (hasItems(shown)) return shown
    }
    return "pull"
  }

  whenDue(callback: () => void): void {
    this.#feed.whenDue(callback)
  }
}

/**
 * A run from `from` on to its end. `CaughtUp` comes also for a run that had ended before: after its last event, and not after
 * the events of later runs.
 */
const ofRun = <E>(feed: OpenFeed<E>, task: AgentTask, from: Cursor): OpenFeed<E> =>
  new ShownFeed(feed, new RunItems(task, from))

const forCustomers: Shown = {
  shown: (items) => items.flatMap((item) => customerItem(item) ?? []),
  isDone: false
}

/** The items as the principal sees them; for a customer, what `CustomerView` shows. */
const shownTo = <E>(by: Principal, feed: OpenFeed<E>): OpenFeed<E> =>
  isCustomer(by) ? new ShownFeed(feed, forCustomers) : feed

/**
 * A run from its own start to its end, or a conversation from its start: whichever has this id in the principal's tenant.
 * Fails with ConversationNotFound where neither does. Made once: V8 keeps what a generator function made for each watch reaches
 * until a full collection (bench row `send`).
 */
export const openFeed = Effect.fnUntraced(function* (
  given: string,
  after: Cursor | undefined,
  who: Principal
) {
  const by = yield* Entries.entitled(who, "follow")
  const id = yield* Entries.conversationId(given, "conversation")
  const agents = yield* AgentRuntime
  // Made only where it is given: most of what an error costs is its stack (bench row `send`).
  const missing = Effect.suspend(() => new ConversationNotFound({ id }))
  // Runs first: most watchers want the one that they have just sent (bench row `send-durable`).
  const task = isRunId(id)
    ? yield* Effect.catchTag(followedTask(id, by), "RunNotFound", () => Effect.undefined)
    : undefined
  if (task !== undefined) {
    const from =
      after === undefined
        ? { ordinal: task.ordinal, seq: -1 }
        : yield* Entries.cursor(after, "after")
    const feed = yield* agents.openFeed(task.conversation, from, by)
    return shownTo(by, ofRun(feed, task, from))
  }
  const found = yield* ConversationStore.use((store) => store.read(by.tenant, id))
  if (found === undefined || !isOpenTo(by, "follow", found.begun_by)) return yield* missing
  yield* agentFor(by, "follow", found.address.agent)
  return shownTo(by, yield* agents.openFeed(id, after ?? { ordinal: 0, seq: -1 }, by))
})

/** The same as a stream. */
export const watchFeed = (...of: Parameters<typeof openFeed>) => feedStream(openFeed(...of))
