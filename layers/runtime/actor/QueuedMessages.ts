/**
 * Which messages wait behind a question: those of an address whose first unfinished run waits for people, unless its agent does not
 * let them wait for that. Senders are told with the acceptance, and those who watch the conversation by an item without a cursor.
 */
import { Effect } from "effect"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { QueuedBehind } from "../../../src/run/QueuedBehind.ts"
import { waitingQuestions } from "../../../src/run/QueuedBehind.ts"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { FeedItem } from "../../../src/run/FeedItem.ts"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { RunHead, RunReader } from "../../../services/RunReader.ts"
import { foldRun } from "./History.ts"

type Reader = RunReader["Service"]
type Directory = AgentDirectory["Service"]

/** `interrupt` cancels the run that waits. */
export const letsWait = (directory: Directory, { address }: Pick<AgentTask, "address">): boolean =>
  directory.get(address.agent)?.spec.mailbox !== "interrupt"

/** What those behind this run wait for; undefined if that is nobody's answer. */
const questionsOf = (reader: Reader, { run_id: run, status }: RunHead) =>
  status !== "awaiting_approval"
    ? Effect.undefined
    : foldRun(reader, run).pipe(
        Effect.map((state): QueuedBehind | undefined => {
          const questions = waitingQuestions(state)
          return questions.length === 0 ? undefined : { run, questions }
        }),
        Effect.catchTag("RunQuarantined", () => Effect.undefined)
      )

/** The questions that the task's message waits behind; undefined where no person has to answer first. */
export const queuedBehind = Effect.fnUntraced(function* (
  reader: Reader,
  { address, ordinal, tenant }: AgentTask
) {
  const [first] = yield* reader.unfinished(tenant, address, 1)
  return first === undefined || first.ordinal >= ordinal
    ? undefined
    : yield* questionsOf(reader, first)
})

/** The questions that the run at work of an address waits for; undefined where it does not wait for people. */
export const askedBy = Effect.fnUntraced(function* (
  reader: Reader,
  { address, tenant }: Pick<AgentTask, "address" | "tenant">
) {
  const [first] = yield* reader.unfinished(tenant, address, 1)
  return first && (yield* questionsOf(reader, first))
})

export type Queued = Extract<FeedItem, { _tag: "Queued" }>

/** Tells one watcher of each message once for each set of questions. */
export class QueueNotices {
  readonly #reader: Reader
  readonly #directory: Directory
  /** The run that is waited for, as it was when it was last looked at. */
  #seen = ""
  #behind: QueuedBehind | undefined
  /** The newest message that the watcher was told of. */
  #told = 0

  constructor(reader: Reader, directory: Directory) {
    this.#reader = reader
    this.#directory = directory
  }

  /** Of these tasks of the conversation, in order; they are read as they were before. */
  of(listed: ReadonlyArray<AgentTask>): Effect.Effect<ReadonlyArray<Queued>, JournalError> {
    const waiting = listed.filter(({ status }) => status === "pending")
    const [next] = waiting
    return next === undefined || !letsWait(this.#directory, next)
      ? Effect.succeed([])
      : QueueNotices.#find(this, next, waiting)
  }

  static readonly #find = Effect.fnUntraced(function* (
    self: QueueNotices,
    { address, tenant }: AgentTask,
    waiting: ReadonlyArray<AgentTask>
  ) {
    const [first] = yield* self.#reader.unfinished(tenant, address, 1)
    if (first === undefined) return []
    const seen = `${first.run_id}.${first.length}`
    if (seen !== self.#seen) {
      const behind = yield* questionsOf(self.#reader, first)
      if (JSON.stringify(behind) !== JSON.stringify(self.#behind)) self.#told = 0
      self.#seen = seen
      self.#behind = behind
    }
    const behind = self.#behind
    if (behind === undefined) return []
    const from = Math.max(self.#told, first.ordinal)
    const untold = waiting.filter(({ ordinal }) => ordinal > from)
    self.#told = untold.at(-1)?.ordinal ?? self.#told
    return untold.map(({ id: run, ordinal }): Queued => ({ _tag: "Queued", run, ordinal, behind }))
  })
}
