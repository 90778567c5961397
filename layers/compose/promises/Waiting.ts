/**
 * The waits of the service's methods, for the end of a run or for its questions. A wait that ends early does not change the run,
 * unless its option `cancel` is set.
 */
import { Effect, Pull, Stream, identity } from "effect"
import type { Approval } from "../../../src/approval/Approval.ts"
import { customerEnd } from "../../../src/conversation/CustomerView.ts"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { unknownMember } from "../../../src/schema/PeerNames.ts"
import type { ApprovalId, ConversationId, RunId } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { rightRefusal } from "../../../src/principal/Rights.ts"
import { milliseconds } from "../../../src/value/Times.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import { AgentRuntime, ShuttingDown } from "../../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import type { Answer, Wait } from "./Answer.ts"
import { WaitTimedOut } from "./Answer.ts"
import { followable, followedTask, isCustomer } from "../../service/CustomerRules.ts"
import { sendMessage } from "./MessageSending.ts"
import { RunProgress } from "./RunProgress.ts"
import type { RunPart } from "./RunStream.ts"
import { runParts } from "./RunStream.ts"
import type { StreamPosition } from "./StreamPosition.ts"
import { cursorOf, readCursor } from "./StreamPosition.ts"
import { watchFeed } from "./WatchedFeed.ts"

type RunRef = Pick<AgentTask, "id" | "conversation" | "ordinal">

/** The records of questions, including answered ones. */
const recordsOf = Effect.fnUntraced(function* (approvals: Iterable<ApprovalId>, by: Principal) {
  const desk = yield* ApprovalDesk
  // All at once, because the store reads the records of one tenant together.
  const found = yield* Effect.forEach(
    approvals,
    (id) => Effect.catchTag(desk.get(id, by), "ApprovalNotFound", () => Effect.succeed(undefined)),
    { concurrency: "unbounded" }
  )
  return found.filter((each) => each !== undefined)
})

const isPending = ({ status }: Approval): boolean => status === "pending"

/** The calls among these questions that wait for the conversation's client; none if the principal may not answer them. */
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
const followRun = Effect.fnUntraced(function* (
  { conversation, id, ordinal }: RunRef,
  by: Principal
) {
  const agents = yield* AgentRuntime
  const progress = new RunProgress()
  const { pull } = yield* agents.openFeed(conversation, { ordinal, seq: -1 }, by, true)
  // Items that arrive together are processed together, because they may hold both a question and its answer.
  while (!progress.isOver) {
    for (const item of yield* Pull.catchDone(pull, () =>
      Effect.die("a watch of a conversation ended")
    )) {
      if (item._tag === "CaughtUp") progress.isCurrent = true
      else if (item._tag === "Event" && item.run === id) progress.apply(item.entry.event)
    }
  }
  return progress
}, Effect.scoped)

const waitForOutcome = Effect.fnUntraced(function* (of: RunRef, by: Principal) {
  const place = { run: of.id, conversation: of.conversation }
  const isTheirs = isCustomer(by)
  const mayInspect = rightRefusal(by, "inspect") === undefined
  /** Questions that their records showed as answered. */
  const answered = new Set<ApprovalId>()
  for (;;) {
    const { approvals, detail, ended, retry_after_ms, unknown, usage } = yield* followRun(of, by)
    if (ended !== undefined) {
      const answer: Answer = {
        ...(isTheirs ? customerEnd(ended) : ended),
        ...place,
        ...(detail === undefined || isTheirs ? undefined : { detail }),
        ...(retry_after_ms === undefined ? undefined : { retry_after_ms }),
        ...(usage.length === 0 || isTheirs ? undefined : { usage })
      }
      return answer
    }
    const records = mayInspect ? yield* recordsOf(approvals, by) : []
    const settled = records.filter((record) => !isPending(record) && !answered.has(record.id))
    // The questions were answered meanwhile: the run is followed again, once for each question.
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

/** The end of a task's run in the principal's tenant, or what the run waits for. */
const endOf = (task: AgentTask, by: Principal) =>
  Effect.flatMap(followable(task, by), (place) => waitForOutcome(place, by))

/** The parts of a task's run behind a position, to its end. */
const partsBehind = (task: AgentTask, position: StreamPosition, by: Principal) => {
  const { conversation, id: run, ordinal } = task
  const { events } = position
  const begun: RunPart = { type: "begun", run, conversation, cursor: cursorOf(run, position) }
  const from = events === 0 ? undefined : { ordinal, seq: events - 1 }
  const end = Stream.fromEffect(endOf(task, by)).pipe(
    // The run has ended, unless the feed ended for another reason.
    Stream.flatMap((answer): Stream.Stream<RunPart> =>
      answer.status === "awaiting_approval" ? Stream.empty : Stream.make({ type: "end", answer })
    )
  )
  return Stream.make(begun).pipe(
    Stream.concat(runParts(run, position, watchFeed(run, from, by))),
    Stream.concat(end)
  )
}

/** Sends the message when it is pulled, and goes on to the run's end. Fails as `sendMessage` and `watchFeed` do. */
export const streamRun = (message: Message, who: Principal) =>
  Stream.unwrap(
    Effect.gen(function* () {
      const by = yield* Entries.entitled(who, "follow")
      const { task } = yield* sendMessage(message, by)
      return partsBehind(task, { events: 0 }, by)
    })
  )

/** Fails unless the run has so many events: a stream behind a position that is not reached would leave out what comes first. */
const failIfAhead = Effect.fnUntraced(function* (
  { conversation, id, ordinal }: AgentTask,
  events: number,
  by: Principal
) {
  if (events === 0) return
  const agents = yield* AgentRuntime
  const { pull } = yield* agents.openFeed(conversation, { ordinal, seq: events - 2 }, by, true)
  const item = (yield* pull).find(({ _tag }) => _tag === "Event" || _tag === "CaughtUp")
  if (item?._tag === "Event" && item.run === id && item.entry.seq === events - 1) return
  return yield* new InvalidInput({
    field: "message.after",
    reason: "the cursor is ahead of its run"
  })
}, Effect.scoped)

/**
 * The parts of a run that was sent before, behind a cursor or from its start. With an answer schema (`isTyped`), a turn in progress
 * comes whole again, because its value cannot be read from the rest.
 */
export const streamAgain = (
  { after, run: given, ...stray }: Readonly<Record<string, unknown>>,
  who: Principal,
  isTyped: boolean
) =>
  Stream.unwrap(
    Effect.gen(function* () {
      const by = yield* Entries.entitled(who, "follow")
      const [name] = Object.keys(stray).filter((each) => each !== "answer_schema")
      if (name !== undefined) {
        const reason = "a stream of a run takes run, after and answer"
        return yield* new InvalidInput({ field: `message.${name}`, reason })
      }
      const run = yield* Entries.runId(given, "message.run")
      const { text, ...position } = yield* readCursor(run, after)
      const task = yield* followedTask(run, by)
      yield* failIfAhead(task, position.events, by)
      if (text === undefined) return partsBehind(task, position, by)
      return partsBehind(task, { ...position, text: isTyped ? { ...text, hash: -1 } : text }, by)
    })
  )

/** Waits for at most the given time. */
const boundedWait = (place: RunRef, by: Principal, timeout_ms: number | undefined) => {
  const wait = waitForOutcome(place, by)
  const { conversation, id: run } = place
  return timeout_ms === undefined
    ? wait
    : Effect.timeoutOrElse(wait, {
        duration: timeout_ms,
        orElse: () => Effect.fail(new WaitTimedOut({ run, conversation, timeout_ms }))
      })
}

/** Cancels the run of a wait with `cancel` that ended early. A run that has ended is not changed. */
const cancelAbandoned = (run: RunId, by: Principal) =>
  AgentRuntime.use((agents) => agents.interrupt(run, by, "whoever waited for it left"))

const members: ReadonlyArray<string> = ["signal", "timeout_ms", "cancel"]

export const isSignal = (value: unknown): value is AbortSignal =>
  typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value

/** The options of a wait, with the timeout in ms. */
interface WaitBounds extends Omit<Wait, "timeout_ms"> {
  readonly timeout_ms?: number
}

/** Decodes the options of a wait before the message is sent, so that wrong options do not leave a run behind. */
export const readWait = Effect.fnUntraced(function* (given: unknown) {
  const none: WaitBounds = {}
  if (given === undefined) return none
  const wrong = (field: string, reason: string) => new InvalidInput({ field, reason })
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return yield* wrong("wait", "Expected an object with signal, timeout_ms and cancel")
  }
  const stray = Object.keys(given).find((name) => !members.includes(name))
  if (stray !== undefined) return yield* wrong(`wait.${stray}`, unknownMember(stray, members))
  const { cancel, signal, timeout_ms } = given as Readonly<Record<string, unknown>>
  if (signal !== undefined && !isSignal(signal)) {
    return yield* wrong("wait.signal", "Expected an AbortSignal")
  }
  const wait: WaitBounds = {
    ...(signal === undefined ? undefined : { signal }),
    ...(timeout_ms === undefined
      ? undefined
      : { timeout_ms: yield* Entries.wait_ms(milliseconds(timeout_ms), "wait.timeout_ms") }),
    ...(cancel === undefined ? undefined : { cancel: yield* Entries.flag(cancel, "wait.cancel") })
  }
  return wait
})

type Interruptibly = <A, E, R>(wait: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Waits for the run's answer, its question, the timeout or an interruption, whichever comes first. */
const waitFor = (
  place: RunRef,
  by: Principal,
  { cancel = false, timeout_ms }: WaitBounds,
  interruptibly: Interruptibly
) => {
  const wait = interruptibly(boundedWait(place, by, timeout_ms)).pipe(
    Effect.catchTag("ShuttingDown", () => Effect.fail(new ShuttingDown({ run: place.id })))
  )
  if (!cancel) return wait
  const leave = Effect.ignore(cancelAbandoned(place.id, by))
  return wait.pipe(
    Effect.tapErrorTag("WaitTimedOut", () => leave),
    Effect.onInterrupt(() => leave)
  )
}

/** The run, if the principal may follow it. It is read from the store unless this process has it. */
const followedRun = Effect.fnUntraced(function* (id: RunId, by: Principal) {
  // Which runs a customer may follow depends on who sent the message.
  const place = isCustomer(by) ? undefined : (yield* AgentRuntime).placeOf(id, by.tenant)
  return place === undefined ? yield* followedTask(id, by) : { id, ...place }
})

/** Waits for the run with this id, for as long as `bounds` allows. */
export const answerOfRun = Effect.fnUntraced(function* (
  given: string,
  who: Principal,
  bounds?: Wait
) {
  const wait = yield* readWait(bounds)
  const by = yield* Entries.entitled(who, "follow")
  const run = yield* followedRun(yield* Entries.runId(given, "run"), by)
  return yield* waitFor(run, by, wait, identity)
})

/**
 * Waits for the run of a message that the principal has sent. The task is used as it was accepted and is not read again.
 * `interruptibly` makes the wait interruptible for a caller that is uninterruptible otherwise.
 */
export const answerOfTask = Effect.fnUntraced(function* (
  task: AgentTask,
  who: Principal,
  bounds: Wait | undefined,
  interruptibly: Interruptibly
) {
  const wait = yield* readWait(bounds)
  const by = yield* Entries.entitled(who, "follow")
  return yield* waitFor(yield* followable(task, by), by, wait, interruptibly)
})
