/**
 * Plays the people of a test: answers what runs ask, by rules. Nothing is polled and nothing waits on time: a run is followed
 * until it asks or ends, its questions are answered in the order in which they were asked, and it is followed again.
 */
import { Effect, Schema } from "effect"
import type { Approval } from "../../src/approval/Approval.ts"
import type { AnyDecision } from "../../src/approval/DecisionPayload.ts"
import type { Principal } from "../../src/Principal.ts"
import type { Answer } from "./Answer.ts"
import type { NodeService } from "./NodeService.ts"
import { Troupe } from "./Troupe.ts"

/**
 * What to say to a question: a decision for each tool, by its plain name (`"*"` = any other), or a function of the question.
 * Undefined leaves it open.
 */
export type ApprovalRules =
  | Readonly<Record<string, AnyDecision | undefined>>
  | ((approval: Approval) => AnyDecision | undefined)

export interface Driven {
  /** How the run has ended; or what it waits for, where the rules leave that open. */
  readonly answer: Answer
  /** What was decided, in this order. */
  readonly decisions: ReadonlyArray<readonly [approval: Approval, decision: AnyDecision]>
}

/** A run asked more often than the driver answers. */
export class TooManyQuestions extends Schema.TaggedError<TooManyQuestions>()("TooManyQuestions", {
  run: Schema.String,
  decisions: Schema.Int
}) {
  override get message(): string {
    return `run ${this.run} goes on asking after ${this.decisions} decisions`
  }
}

const decisions_max = 1_000

const decisionFor = (rules: ApprovalRules, approval: Approval): AnyDecision | undefined => {
  if (typeof rules === "function") return rules(approval)
  const name = approval.payload.tool_name
  return Object.hasOwn(rules, name) ? rules[name] : rules["*"]
}

const followed = Effect.fnUntraced(function* <E, R>(
  run: string,
  rules: ApprovalRules,
  follow: Effect.Effect<Answer, E, R>,
  decide: (approval: string, decision: AnyDecision) => Effect.Effect<void, E, R>
) {
  const decisions: Array<Driven["decisions"][number]> = []
  for (;;) {
    const answer = yield* follow
    const before = decisions.length
    for (const approval of answer.status === "awaiting_approval" ? answer.approvals : []) {
      const decision = decisionFor(rules, approval)
      if (decision === undefined) continue
      if (decisions.length === decisions_max) {
        return yield* new TooManyQuestions({ run, decisions: decisions_max })
      }
      yield* decide(approval.id, decision)
      decisions.push([approval, decision])
    }
    const driven: Driven = { answer, decisions }
    if (decisions.length === before) return driven
  }
})

/** Follows a run of a `Troupe`, and answers its questions as `by`. Fails as `result` and `decide` do. */
export const drive = (run: string, rules: ApprovalRules, by: Principal) =>
  Troupe.use((troupe) =>
    followed<
      | Effect.Error<ReturnType<typeof troupe.result>>
      | Effect.Error<ReturnType<typeof troupe.decide>>,
      never
    >(run, rules, troupe.result(run, by), (approval, decision) =>
      troupe.decide(approval, decision, by)
    )
  )

/** The same for what `start` started. */
export const driveApprovals = (
  troupe: Pick<NodeService, "decide" | "result">,
  run: string,
  rules: ApprovalRules,
  by: Principal
): Promise<Driven> =>
  Effect.runPromise(
    followed(
      run,
      rules,
      Effect.promise(() => troupe.result(run, by)),
      (approval, decision) => Effect.promise(() => troupe.decide(approval, decision, by))
    )
  )
