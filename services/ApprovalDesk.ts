/**
 * Where people decide. Owns decisions and who may take them; runs no tools. Every method decodes its arguments first: a value
 * that does not match its type fails with `InvalidInput`, and nothing is done.
 *
 * The record of a question and the run's journal are authoritative. While the run is resident, its actor's fiber also awaits a
 * `Deferred<Decision>`. This process's desk completes the `Deferred` after its commit; a decision at another process's desk
 * completes it through the journal's notice of the amendment. Once the run is parked there is no `Deferred`, and the decision
 * starts the actor again.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type {
  Approval,
  ApprovalAltered,
  ApprovalExpired,
  ApprovalNotFound,
  ApprovalSettled,
  ClientResultRefused,
  DecisionUnfit,
  AnyDecision,
  ClientAnswer,
  ClientCall
} from "../src/approval/Approval.ts"
import type { NotEntitled } from "../src/principal/NotEntitled.ts"
import type { ConversationNotFound } from "../src/conversation/Conversation.ts"
import type { InvalidInput } from "../src/schema/InvalidInput.ts"
import type { ApprovalId, ConversationId } from "../src/value/Ids.ts"
import type { RunQuarantined } from "../src/run/Quarantine.ts"
import type { Principal } from "../src/principal/Principal.ts"
import type { JournalError } from "./RunJournal.ts"
import type { StoreError } from "./StoreError.ts"

/** Why a decision was not taken. Nothing was decided, except perhaps where a store did not answer. */
export type DecisionError =
  | ApprovalAltered
  | ApprovalNotFound
  | ApprovalSettled
  | ApprovalExpired
  | DecisionUnfit
  | InvalidInput
  | NotEntitled
  | RunQuarantined
  | JournalError
  | StoreError

/** Where people decide on calls that wait for them. */
export class ApprovalDesk extends Context.Service<
  ApprovalDesk,
  {
    /**
     * Settles one question for every channel: when it returns, the decision is durable and the run is woken. If several decisions
     * arrive at once, one wins. Takes a `Decision`, or the form that the HTTP API takes; anything else is refused and decides
     * nothing. A question whose record differs from what its run requested (`altered`) can only be denied. If the tool cannot
     * decode changed arguments, this fails with `InvalidInput` where this process hosts the agent, and the question stays open;
     * where another process hosts it, the decision counts, and the call fails with the tool's error.
     */
    decide(id: ApprovalId, decision: AnyDecision, by: Principal): Effect.Effect<void, DecisionError>
    /** The record of one question in the principal's tenant. */
    get(
      id: ApprovalId,
      by: Principal
    ): Effect.Effect<Approval, ApprovalNotFound | InvalidInput | NotEntitled | StoreError>
    /**
     * Open questions in the principal's tenant, oldest first; at most `limit` (1 to 500). Questions that nobody can approve are
     * included and marked `quarantined` or `altered`.
     */
    pending(
      by: Principal,
      limit: number,
      after?: ApprovalId
    ): Effect.Effect<ReadonlyArray<Approval>, InvalidInput | NotEntitled | StoreError>
    /**
     * Calls of a conversation that wait for a result from its client, oldest first; at most 100 of each unfinished run. For
     * operators, and for the customer that began the conversation.
     */
    clientCalls(
      conversation: ConversationId,
      by: Principal
    ): Effect.Effect<
      ReadonlyArray<ClientCall>,
      ConversationNotFound | InvalidInput | NotEntitled | JournalError | StoreError
    >
    /**
     * Records the client's result for a call, once; durable when it returns. A result that the call does not accept (by its
     * schema, the maximum of 1,000,000 bytes or the bounds of JSON) is refused, and the call keeps waiting. For operators, and
     * for the customer that sent the run's message.
     */
    answer(
      id: ApprovalId,
      answer: ClientAnswer,
      by: Principal
    ): Effect.Effect<void, DecisionError | ClientResultRefused>
    /**
     * Closes at most `limit` questions whose time is over. If the run of a question does not answer, the question is left for a
     * later call. Returns when to call again, in ms since 1970: the time of this call if it closed `limit`, otherwise the end of the
     * next question; undefined = none ends.
     */
    expire(limit: number): Effect.Effect<number | undefined, StoreError>
  }
>()("troupe/services/ApprovalDesk") {}
