/**
 * Plays the approvers of a test: answers the questions of runs by rules. Nothing polls and nothing waits for time to pass: a run
 * is followed until it asks or ends, its questions are answered in the order in which they were asked, and it is followed again.
 */
import { Effect, Schema } from "effect"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { Approval, AnyDecision } from "../../../src/approval/Approval.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import type { Answer } from "../promises/Answer.ts"
import type { NodeService } from "../promises/NodeService.ts"
import { isObject } from "../options/OptionShapes.ts"
import { Troupe } from "./Troupe.ts"

/**
 * How to answer a question: a decision for each tool, by its plain name (`"*"` = any other tool), or a function of the question.
 * Undefined leaves the question open.
 */
export type ApprovalRules =
  | Readonly<Record<string, AnyDecision | undefined>>
  | ((approval: Approval) => AnyDecision | undefined)

export interface Driven {
  /** How the run has ended, or what it waits for if the rules leave a question open. */
  readonly answer: Answer
  /** The decisions, in the order in which they were made. */
  readonly decisions: ReadonlyArray<readonly [approval: Approval, decision: AnyDecision]>
}

/** The run asked more questions than the driver answers. */
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

/** The decision of the rules, or why they have none: a program in JavaScript may hand over anything. */
const decided = (
  rules: ApprovalRules,
  approval: Approval
): Effect.Effect<AnyDecision | undefined, InvalidInput> => {
  const refused = (message: string) =>
    Effect.fail(new InvalidInput({ field: "rules", reason: message }))
  const given: unknown = rules
  if (typeof given !== "function" && (!isObject(given) || Array.isArray(given))) {
    return refused("Expected decisions by the names of tools, or a function of the question")
  }
  const decision = decisionFor(rules, approval)
  return (decision as unknown) instanceof Promise
    ? refused("their function gives a promise: it has to return the decision itself")
    : Effect.succeed(decision)
}

const driveRun = Effect.fnUntraced(function* <E, R>(
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
      const decision = yield* decided(rules, approval)
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
    driveRun<
      | Effect.Error<ReturnType<typeof troupe.result>>
      | Effect.Error<ReturnType<typeof troupe.decide>>,
      never
    >(run, rules, troupe.result(run, by), (approval, decision) =>
      troupe.decide(approval, decision, by)
    )
  )

/** As `drive`, for a service that `start` started. */
export const driveApprovals = (
  troupe: Pick<NodeService, "decide" | "result">,
  run: string,
  rules: ApprovalRules,
  by: Principal
): Promise<Driven> =>
  Effect.runPromise(
    driveRun(
      run,
      rules,
      Effect.promise(() => troupe.result(run, by)),
      (approval, decision) => Effect.promise(() => troupe.decide(approval, decision, by))
    )
  )
