/**
 * How the facade waits for a run: to its end, or to where it waits for people, and what it shows of a run or a conversation
 * meanwhile. A wait that ends early changes nothing of the run.
 */
import { Effect, Schema, Stream } from "effect"
import { ConversationNotFound } from "../../src/conversation/Conversation.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import * as Entries from "../../src/entry/Entries.ts"
import { InvalidInput } from "../../src/entry/InvalidInput.ts"
import type { ApprovalId, CallId, RunId } from "../../src/Ids.ts"
import { RunId as RunIds } from "../../src/Ids.ts"
import type { Principal } from "../../src/Principal.ts"
import { RunNotFound } from "../../src/run/RunCommand.ts"
import type { RunQuarantined } from "../../src/run/Quarantine.ts"
import type { RunEnded, RunEvent } from "../../src/run/RunEvent.ts"
import type { Cursor, FeedItem } from "../../services/AgentRuntime.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import type { JournalError } from "../../services/RunJournal.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { StoreError } from "../../services/TaskStore.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { Answer, Wait } from "./Answer.ts"
import { WaitTimedOut } from "./Answer.ts"

type Place = Pick<AgentTask, "id" | "conversation" | "ordinal">

/** What is open in a run, as its events go by. */
class Progress {
  readonly asked = new Set<ApprovalId>()
  readonly unknown = new Set<CallId>()
  detail: string | undefined
  ended: RunEnded | undefined
  isLive = false

  see(event: RunEvent): void {
    switch (event._tag) {
      case "ApprovalRequested":
        this.asked.add(event.approval)
        return
      case "ApprovalDecided":
      case "ApprovalClosed":
        this.asked.delete(event.approval)
        return
      case "CallUnknown":
        this.unknown.add(event.call)
        return
      case "CallReopened":
      case "CallSettled":
        this.unknown.delete(event.call)
        return
      case "RunStopping":
        this.detail = event.message
        return
      case "RunEnded":
        this.ended = event
    }
  }

  /** Questions of the past may be answered further on: only what is open now is waited for. */
  get isOver(): boolean {
    return this.ended !== undefined || (this.isLive && this.asked.size + this.unknown.size > 0)
  }
}

/** A question is shown as its record says it; one that was answered meanwhile is not shown. */
const approvalsOf = Effect.fnUntraced(function* (asked: Iterable<ApprovalId>, by: Principal) {
  const desk = yield* ApprovalDesk
  const found = yield* Effect.forEach(asked, (id) =>
    Effect.catchTag(desk.get(id, by), "ApprovalNotFound", () => Effect.succeed(undefined))
  )
  return found.filter((each) => each !== undefined)
})

const outcome = Effect.fnUntraced(function* ({ conversation, id, ordinal }: Place, by: Principal) {
  const agents = yield* AgentRuntime
  const progress = new Progress()
  yield* agents.watch(conversation, { ordinal, seq: -1 }, by).pipe(
    Stream.takeUntil((item) => {
      if (item._tag === "CaughtUp") progress.isLive = true
      else if (item._tag === "Event" && item.run === id) progress.see(item.entry.event)
      return progress.isOver
    }),
    Stream.runDrain
  )
  const { asked, detail, ended, unknown } = progress
  const place = { run: id, conversation }
  const answer: Answer =
    ended === undefined
      ? {
          status: "awaiting_approval",
          ...place,
          approvals: yield* approvalsOf(asked, by),
          unknown: [...unknown]
        }
      : { ...ended, ...place, ...(detail === undefined ? undefined : { detail }) }
  return answer
})

/** Waits, for as long as was said. */
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

/** A run of the principal's tenant; one of another tenant is none. */
const placeOf = Effect.fnUntraced(function* (run: RunId, by: Principal) {
  const task = yield* TaskStore.use((tasks) => tasks.get(run))
  return task === undefined || task.tenant !== by.tenant
    ? yield* new RunNotFound({ run_id: run })
    : task
})

/** Where the wait was left before its run was over, and somebody asked for it. A run that is over is left alone. */
const left = (run: RunId, by: Principal) =>
  AgentRuntime.use((agents) => agents.interrupt(run, by, "whoever waited for it left"))

type Run = <A, E>(
  effect: Effect.Effect<A, E, AgentRuntime | ApprovalDesk | TaskStore>,
  options?: { readonly signal?: AbortSignal | undefined }
) => Promise<A>

const members: ReadonlyArray<string> = ["signal", "timeout_ms", "cancel"]

const isSignal = (value: unknown): value is AbortSignal =>
  typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value

/** How long to wait, read before anything is sent: what is wrong here must not leave a run behind. */
export const waitOf = Effect.fnUntraced(function* (given: unknown) {
  if (given === undefined) return {}
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
  const wait: Wait = {
    ...(signal === undefined ? undefined : { signal }),
    ...(timeout_ms === undefined
      ? undefined
      : { timeout_ms: yield* Entries.wait_ms(timeout_ms, "wait.timeout_ms") }),
    ...(cancel === undefined ? undefined : { cancel: yield* Entries.flag(cancel, "wait.cancel") })
  }
  return wait
})

/** Waits for a run until its answer, its question, its time or its signal, whichever is first. */
export const answerOf = async (
  run: Run,
  given: string,
  who: Principal,
  asked?: Wait
): Promise<Answer> => {
  const { by, place, wait } = await run(
    Effect.gen(function* () {
      const wait = yield* waitOf(asked)
      const by = yield* Entries.principal(who, "by")
      return { by, wait, place: yield* placeOf(yield* Entries.runId(given, "run"), by) }
    })
  )
  const { cancel = false, signal, timeout_ms } = wait
  try {
    signal?.throwIfAborted()
    return await run(waited(place, by, timeout_ms), { signal })
  } catch (error) {
    const isLeft = signal?.aborted === true || error instanceof WaitTimedOut
    if (cancel && isLeft) await run(Effect.ignore(left(place.id, by)))
    throw signal?.aborted === true ? signal.reason : error
  }
}

const isRunId = Schema.is(RunIds)

/**
 * A conversation from its start, or a run from its own start to its end: whichever has this id in the principal's tenant.
 * Fails with ConversationNotFound where neither does.
 */
export const watched = (
  given: string,
  after: Cursor | undefined,
  who: Principal
): Stream.Stream<
  FeedItem,
  InvalidInput | ConversationNotFound | RunQuarantined | JournalError | StoreError,
  AgentRuntime | ConversationStore | TaskStore
> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const by = yield* Entries.principal(who, "by")
      const id = yield* Entries.conversationId(given, "conversation")
      const agents = yield* AgentRuntime
      const found = yield* ConversationStore.use((store) => store.get(by.tenant, id))
      if (found !== undefined) return agents.watch(id, after ?? { ordinal: 0, seq: -1 }, by)
      const missing = new ConversationNotFound({ id })
      if (!isRunId(id)) return yield* missing
      const task = yield* Effect.catchTag(placeOf(id, by), "RunNotFound", () =>
        Effect.fail(missing)
      )
      const from = after ?? { ordinal: task.ordinal, seq: -1 }
      return agents.watch(task.conversation, from, by).pipe(
        Stream.filter((item) => item._tag === "CaughtUp" || item.run === task.id),
        Stream.takeUntil((item) => item._tag === "Event" && item.entry.event._tag === "RunEnded")
      )
    })
  )
