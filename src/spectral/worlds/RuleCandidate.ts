/**
 * A proposed rule. It changes nothing by itself: people decide on it in the pipeline that publishes versions.
 */
import { Schema } from "effect"
import { WorldId } from "./contracts/WorldId.ts"
import { ItemId, Topic } from "./World.ts"

export const CandidateStatus = Schema.Literals(["proposed", "accepted", "rejected"])

const Sentence = (most: number) =>
  Schema.String.check(
    Schema.isPattern(/\S/, { description: "a text that is not blank" }),
    Schema.isMaxLength(most)
  )

const evidence_max = 20

/** The parts of a candidate that the proposer writes. */
export const CandidateDraft = Schema.Struct({
  topic: Topic,
  title: Sentence(200),
  body: Sentence(8_000),
  /** Why the world needs the rule. */
  rationale: Sentence(2_000),
  /** Ids of rules and EvalSets that show the need. */
  evidence: Schema.Array(ItemId).check(Schema.isMaxLength(evidence_max))
})
export interface CandidateDraft extends Schema.Schema.Type<typeof CandidateDraft> {}

export const RuleCandidate = Schema.Struct({
  /** The key of the call that proposed it, so that a repeated call proposes nothing new. */
  candidate_id: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)),
  world_id: WorldId,
  ...CandidateDraft.fields,
  /** The principal whose message led to it. */
  proposed_by: Schema.String,
  proposed_at: Schema.Int,
  status: CandidateStatus
})
export interface RuleCandidate extends Schema.Schema.Type<typeof RuleCandidate> {}

/** How many candidates of one world may wait for a decision at the same time. */
export const candidates_open_max = 1_000

/** Too many candidates of the world wait for a decision. */
export class TooManyCandidates extends Schema.TaggedError<TooManyCandidates>()(
  "TooManyCandidates",
  { world_id: WorldId, open_max: Schema.Int }
) {}
