/**
 * The open questions of the runs that live in this process, each with the `Deferred` that its actor's fiber awaits. The
 * records are the truth: what is kept here goes with the actor, and a decision that nobody awaits is found in the journal.
 */
import { Context, Deferred, Effect, Exit, Layer } from "effect"
import type { Decision } from "../../../src/approval/Approval.ts"
import type { ApprovalId, RunId } from "../../../src/Ids.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"

/** Why a wait ended without a decision: something else was appended to the run, the process stops, or the actor leaves. */
export type Undecided = "amended" | "draining" | "parked"

/** An open question, and those of the same run that were put before it: nearly every run has one. */
interface Question {
  readonly approval: ApprovalId
  readonly decision: Deferred.Deferred<Decision, Undecided>
  readonly before: Question | undefined
}

/** Of each resident run that asks: its last open question. At most one a call in hand, and one about a limit. */
export class OpenQuestions extends Context.Service<OpenQuestions, Map<RunId, Question>>()(
  "troupe/layers/runtime/desk/OpenQuestions"
) {}

type Questions = OpenQuestions["Service"]

export const layer: Layer.Layer<OpenQuestions> = Layer.sync(OpenQuestions, () => new Map())

/** The open questions of a run that is resident here, oldest first. */
export const questionsOf = (questions: Questions, run: RunId): ReadonlyArray<Question> => {
  const found: Array<Question> = []
  for (let next = questions.get(run); next !== undefined; next = next.before) found.push(next)
  return found.reverse()
}

/** Keeps the questions of a run for which this holds, and gives the others. */
const keep = (
  questions: Questions,
  run: RunId,
  holds: (question: Question) => boolean
): ReadonlyArray<Question> => {
  const all = questionsOf(questions, run)
  const left = all.filter((question) => !holds(question))
  if (left.length === 0) return left
  let last: Question | undefined
  for (const question of all) {
    if (holds(question)) last = { ...question, before: last }
  }
  if (last === undefined) questions.delete(run)
  else questions.set(run, last)
  return left
}

/** Makes the `Deferred` of a question that is durable, where there is none. */
export const open = (questions: Questions, run: RunId, approval: ApprovalId): void => {
  if (questionsOf(questions, run).some((each) => each.approval === approval)) return
  const before = questions.get(run)
  questions.set(run, { approval, decision: Deferred.makeUnsafe(), before })
}

/** Holds exactly the questions of a run that wait for a decision, as its state says. */
export const hold = (questions: Questions, run: RunId, state: RunState): void => {
  if (state.asking === 0 && !questions.has(run)) return
  const asked = new Set<ApprovalId>()
  if (state.question !== undefined) asked.add(state.question.approval)
  for (const { phase } of state.open) {
    if (phase._tag === "Asking") asked.add(phase.request.approval)
  }
  for (const { decision } of keep(questions, run, ({ approval }) => asked.has(approval))) {
    Deferred.doneUnsafe(decision, Exit.fail("amended"))
  }
  for (const approval of asked) open(questions, run, approval)
}

/** A decision is durable: who awaits it goes on. Nothing where the run is not resident here. */
export const complete = (
  questions: Questions,
  run: RunId,
  approval: ApprovalId,
  decision: Decision
): void => {
  for (const question of keep(questions, run, (each) => each.approval !== approval)) {
    Deferred.doneUnsafe(question.decision, Exit.succeed(decision))
  }
}

/** Forgets the questions of a run, whose records stay; whoever awaits them is told why. */
export const drop = (questions: Questions, run: RunId, why: Undecided): void => {
  const dropped = questionsOf(questions, run)
  questions.delete(run)
  for (const { decision } of dropped) Deferred.doneUnsafe(decision, Exit.fail(why))
}

/** Completes what these entries decide; entries that decide nothing end the run's waits. */
export const completeFrom = (
  questions: Questions,
  run: RunId,
  entries: ReadonlyArray<JournalEntry>
): void => {
  let any = false
  for (const { event } of entries) {
    if (event._tag !== "ApprovalDecided") continue
    any = true
    complete(questions, run, event.approval, event.decision)
  }
  if (!any) drop(questions, run, "amended")
}

/** Awaits the first decision of a run's questions, or fails with why there is none. At once where it asks nothing. */
export const decided = (questions: Questions, run: RunId): Effect.Effect<Decision, Undecided> => {
  const last = questions.get(run)
  if (last === undefined) return Effect.fail("amended")
  if (last.before === undefined) return Deferred.await(last.decision)
  return Effect.raceAllFirst(
    questionsOf(questions, run).map(({ decision }) => Deferred.await(decision))
  )
}
