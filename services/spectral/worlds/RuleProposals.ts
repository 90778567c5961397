/**
 * The queue of rule candidates. A candidate changes no rule.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { WorldUnknown } from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import type { WorldId } from "../../../src/spectral/worlds/contracts/WorldId.ts"
import type {
  RuleCandidate,
  TooManyCandidates
} from "../../../src/spectral/worlds/RuleCandidate.ts"
import type { StoreError } from "../../StoreError.ts"

export class RuleProposals extends Context.Service<
  RuleProposals,
  {
    /** Queues a candidate, once for each `candidate_id`: a repeated proposal returns the candidate that was queued first. */
    propose(
      tenant: Tenant,
      candidate: Omit<RuleCandidate, "proposed_at" | "status">
    ): Effect.Effect<RuleCandidate, WorldUnknown | TooManyCandidates | StoreError>
    /** Candidates that wait for a decision, oldest first; at most `limit`. */
    open(
      tenant: Tenant,
      world: WorldId,
      limit: number
    ): Effect.Effect<ReadonlyArray<RuleCandidate>, StoreError>
  }
>()("troupe/services/spectral/worlds/RuleProposals") {}
