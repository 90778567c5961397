/**
 * Where people decide. Owns decisions and who may take them; runs no tools. Every method decodes what it is given: a
 * value that is not what its type says is `InvalidInput`, and nothing is done.
 *
 * The record of a question and the run's journal are the truth. While the run is resident, its actor's fiber awaits a
 * `Deferred<Decision>` besides: this process's desk completes it after its commit, and a decision of another process's desk
 * completes it through the journal's notice of the amendment. Once the run is parked there is no `Deferred`, and the
 * decision starts the actor again.
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
  NotEntitled
} from "../src/approval/Approval.ts"
import type { ClientAnswer, ClientCall } from "../src/approval/ClientCall.ts"
import type { AnyDecision } from "../src/approval/DecisionPayload.ts"
import type { ConversationNotFound } from "../src/conversation/Conversation.ts"
import type { InvalidInput } from "../src/entry/InvalidInput.ts"
import type { ApprovalId, ConversationId } from "../src/Ids.ts"
import type { RunQuarantined } from "../src/run/Quarantine.ts"
import type { Principal } from "../src/Principal.ts"
import type { JournalError } from "./RunJournal.ts"
import type { StoreError } from "./StoreError.ts"

/** Why a decision was not taken: nothing was decided, unless a store did not answer. */
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

export class ApprovalDesk extends Context.Service<
  ApprovalDesk,
  {
    /**
     * Settles one question for every channel: when it returns, the decision is durable and the run is woken. Of several at
     * once, one wins. Takes a `Decision`, or what the HTTP API takes in its place; anything else is refused and decides
     * nothing. A record that does not say what its run requested (`altered`) takes a denial and nothing else. Changed arguments
     * that the tool cannot read are `InvalidInput` where this process hosts the agent, and the question stays open; elsewhere the
     * decision counts, and the call fails with what the tool says.
     */
    decide(id: ApprovalId, decision: AnyDecision, by: Principal): Effect.Effect<void, DecisionError>
    /** One record of the principal's tenant. */
    get(
      id: ApprovalId,
      by: Principal
    ): Effect.Effect<Approval, ApprovalNotFound | InvalidInput | NotEntitled | StoreError>
    /**
     * Questions still waiting in the principal's tenant, oldest first; at most `limit` (1 to 500). Those that nobody can
     * approve are among them, marked: `quarantined`, `altered`.
     */
    pending(
      by: Principal,
      limit: number,
      after?: ApprovalId
    ): Effect.Effect<ReadonlyArray<Approval>, InvalidInput | NotEntitled | StoreError>
    /**
     * Calls of a conversation that wait for a result of its client, oldest first; at most 100 of each unfinished run. For
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
     * Gives a call the result of its client, once: durable when it returns. A result that does not fit what the call takes
     * (its schema, 1,000,000 bytes, the bounds of JSON) is refused, and the call waits on. For operators, and for the
     * customer that sent the run's message.
     */
    answer(
      id: ApprovalId,
      answer: ClientAnswer,
      by: Principal
    ): Effect.Effect<void, DecisionError | ClientResultRefused>
    /** Closes questions whose time is over, at most `limit`; how many. One whose run does not answer is left for later. */
    expire(limit: number): Effect.Effect<number, StoreError>
  }
>()("troupe/services/ApprovalDesk") {}
