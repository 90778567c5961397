/**
 * The open questions of the runs that are resident in this process, each with the `Deferred` that its actor's fiber awaits.
 * The records are the truth. What is kept here is dropped when the actor is removed; a decision that comes after that, also after a
 * restart, is in the journal and starts the actor again (`actor/Recovery.ts`).
 */
import { Context, Deferred, Effect, Exit, Layer } from "effect"
import type { Decision } from "../../../src/approval/Approval.ts"
import type { ApprovalId, RunId } from "../../../src/value/Ids.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import { openQuestions } from "../../../src/run/RunState.ts"
import type { RunState } from "../../../src/run/RunState.ts"

/** Why a wait ended without a decision: the run was amended otherwise, the process drains, or only the records are left. */
export type Undecided = "amended" | "draining" | "parked"

/** An open question, and those of the same run that were put before it: nearly every run has one. */
interface Question {
  readonly approval: ApprovalId
  readonly decision: Deferred.Deferred<Decision, Undecided>
  readonly before: Question | undefined
}

/** By run: the last question that it has put. A run has at most one for each call in flight, and one about a limit. */
export class OpenQuestions extends Context.Service<OpenQuestions, Map<RunId, Question>>()(
  "troupe/layers/runtime/OpenQuestions"
) {}

type Questions = OpenQuestions["Service"]

export const layer: Layer.Layer<OpenQuestions> = Layer.sync(OpenQuestions, () => new Map())

/** The open questions of a resident run, oldest first. */
export const questionsOf = (questions: Questions, run: RunId): ReadonlyArray<Question> => {
  const found: Array<Question> = []
  for (let next = questions.get(run); next !== undefined; next = next.before) found.push(next)
  return found.reverse()
}

/** Removes the questions of a run for which `isKept` is false, and gives them. */
const removeOthers = (
  questions: Questions,
  run: RunId,
  isKept: (question: Question) => boolean
): ReadonlyArray<Question> => {
  const all = questionsOf(questions, run)
  const removed = all.filter((question) => !isKept(question))
  if (removed.length === 0) return removed
  let last: Question | undefined
  for (const question of all) {
    if (isKept(question)) last = { ...question, before: last }
  }
  if (last === undefined) questions.delete(run)
  else questions.set(run, last)
  return removed
}

/** Makes the `Deferred` of a question that is durable. One that is open already stays. */
export const openQuestion = (questions: Questions, run: RunId, approval: ApprovalId): void => {
  if (questionsOf(questions, run).some((each) => each.approval === approval)) return
  const before = questions.get(run)
  questions.set(run, { approval, decision: Deferred.makeUnsafe(), before })
}

/** Opens the questions of the run's state, and ends the waits for those that are not open any more. */
export const matchState = (questions: Questions, run: RunId, state: RunState): void => {
  if (state.awaiting === 0 && !questions.has(run)) return
  const open = new Set<ApprovalId>()
  for (const { approval } of openQuestions(state)) open.add(approval)
  for (const { phase } of state.open) {
    if (phase._tag === "AwaitingApproval") open.add(phase.request.approval)
  }
  for (const { decision } of removeOthers(questions, run, ({ approval }) => open.has(approval))) {
    Deferred.doneUnsafe(decision, Exit.fail("amended"))
  }
  for (const approval of open) openQuestion(questions, run, approval)
}

/** Ends the wait for a decision that is durable. Does nothing where the run is not resident. */
export const completeQuestion = (
  questions: Questions,
  run: RunId,
  approval: ApprovalId,
  decision: Decision
): void => {
  for (const question of removeOthers(questions, run, (each) => each.approval !== approval)) {
    Deferred.doneUnsafe(question.decision, Exit.succeed(decision))
  }
}

/** Removes the questions of a run and ends the waits for them. Their records stay. */
export const dropQuestions = (questions: Questions, run: RunId, why: Undecided): void => {
  const dropped = questionsOf(questions, run)
  questions.delete(run)
  for (const { decision } of dropped) Deferred.doneUnsafe(decision, Exit.fail(why))
}

/** Completes the questions that these entries of the run decide. Entries that decide none end all of its waits. */
export const completeFromEntries = (
  questions: Questions,
  run: RunId,
  entries: ReadonlyArray<JournalEntry>
): void => {
  let isDecided = false
  for (const { event } of entries) {
    if (event._tag !== "ApprovalDecided") continue
    isDecided = true
    completeQuestion(questions, run, event.approval, event.decision)
  }
  if (!isDecided) dropQuestions(questions, run, "amended")
}

/** Awaits the first decision of a run's questions. Fails with why there is none; at once, where the run has no question. */
export const awaitDecision = (
  questions: Questions,
  run: RunId
): Effect.Effect<Decision, Undecided> => {
  const last = questions.get(run)
  if (last === undefined) return Effect.fail("amended")
  if (last.before === undefined) return Deferred.await(last.decision)
  return Effect.raceAllFirst(
    questionsOf(questions, run).map(({ decision }) => Deferred.await(decision))
  )
}
