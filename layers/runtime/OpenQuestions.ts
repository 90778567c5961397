/**
 * The open questions of the runs that live in this process, each with the `Deferred` that its actor's fiber awaits. The
 * records are the truth: what is kept here goes with the actor, and a decision that nobody awaits is found in the journal.
 */
import { Context, Deferred, Effect, Exit, Layer } from "effect"
import type { Decision } from "../../src/approval/Approval.ts"
import type { ApprovalId, RunId } from "../../src/Ids.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import type { RunState } from "../../src/run/RunState.ts"

/** Why a wait ended without a decision: something else was appended to the run, the process stops, or the actor leaves. */
export type Undecided = "amended" | "draining" | "parked"

interface Question {
  readonly approval: ApprovalId
  readonly decision: Deferred.Deferred<Decision, Undecided>
}

/** Of each resident run that asks: its open questions, oldest first. At most one a call in hand, and one about a limit. */
export class OpenQuestions extends Context.Service<
  OpenQuestions,
  Map<RunId, ReadonlyArray<Question>>
>()("troupe/layers/runtime/OpenQuestions") {}

type Questions = OpenQuestions["Service"]

export const layer: Layer.Layer<OpenQuestions> = Layer.sync(OpenQuestions, () => new Map())

const none: ReadonlyArray<Question> = []

const keep = (questions: Questions, run: RunId, left: ReadonlyArray<Question>): void => {
  if (left.length === 0) questions.delete(run)
  else questions.set(run, left)
}

/** Makes the `Deferred` of a question that is durable, where there is none. */
export const open = (questions: Questions, run: RunId, approval: ApprovalId): void => {
  const present = questions.get(run) ?? none
  if (present.some((each) => each.approval === approval)) return
  questions.set(run, [...present, { approval, decision: Deferred.makeUnsafe() }])
}

/** Holds exactly the questions of a run that wait for a decision, as its state says. */
export const hold = (questions: Questions, run: RunId, state: RunState): void => {
  const present = questions.get(run)
  if (present === undefined && state.asking === 0) return
  const asked = new Set<ApprovalId>()
  if (state.question !== undefined) asked.add(state.question.approval)
  for (const { phase } of state.open) {
    if (phase._tag === "Asking") asked.add(phase.request.approval)
  }
  const answered = present?.filter(({ approval }) => !asked.has(approval)) ?? none
  if (answered.length > 0) {
    keep(
      questions,
      run,
      present!.filter(({ approval }) => asked.has(approval))
    )
    for (const { decision } of answered) Deferred.doneUnsafe(decision, Exit.fail("amended"))
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
  const present = questions.get(run) ?? none
  const question = present.find((each) => each.approval === approval)
  if (question === undefined) return
  keep(
    questions,
    run,
    present.filter((each) => each !== question)
  )
  Deferred.doneUnsafe(question.decision, Exit.succeed(decision))
}

/** Forgets the questions of a run, whose records stay; whoever awaits them is told why. */
export const drop = (questions: Questions, run: RunId, why: Undecided): void => {
  const present = questions.get(run) ?? none
  questions.delete(run)
  for (const { decision } of present) Deferred.doneUnsafe(decision, Exit.fail(why))
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
  const present = questions.get(run) ?? none
  if (present.length === 1) return Deferred.await(present[0]!.decision)
  return present.length === 0
    ? Effect.fail("amended")
    : Effect.raceAllFirst(present.map(({ decision }) => Deferred.await(decision)))
}
