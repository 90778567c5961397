/**
 * Erases what a person said, was sent and decided from every store of a tenant. Owns which rows are a subject's and what is left
 * of them; does not decide who may ask for it.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { ConversationNotFound } from "../src/conversation/Conversation.ts"
import type { ErasureId, ErasureRecord, ErasureReport } from "../src/erasure/Erasure.ts"
import type { SubjectIsActive } from "../src/erasure/Erasure.ts"
import type { ConversationId, Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** Whose data is erased, and who asks for it. */
export interface ErasureRequest {
  /** The tenant that has the data. */
  readonly tenant: Tenant
  /** The id of a principal. Texts that contain it as whole words are erased too. */
  readonly subject: string
  /** The principal who asked for the erasure. */
  readonly by: string
  /** Who acted for it. Absent = it acted itself. */
  readonly via?: string
}

/** Selects a page of erasures. */
export interface ErasureQuery {
  /** Whose erasures. */
  readonly tenant: Tenant
  /** 1 to 500. */
  readonly limit: number
  /** Continue after this one. */
  readonly after?: ErasureId | undefined
}

/** A conversation some of whose runs were erased. */
export interface ErasedConversation {
  /** Whose conversation it is. */
  readonly tenant: Tenant
  /** The conversation. */
  readonly conversation: ConversationId
}

/** Erases what is stored of a person, and reports how far it is. */
export class SubjectErasure extends Context.Service<
  SubjectErasure,
  {
    /**
     * Erases the subject, some rows at a time, and then searches every table for it. Fails with SubjectIsActive if a run of the
     * subject's conversations is not over; what was erased before that stays erased. Repeating the call finds what is left.
     */
    erase(request: ErasureRequest): Effect.Effect<ErasureReport, SubjectIsActive | StoreError>
    /**
     * Erases one conversation with its runs, as if it were a subject's, and takes it out of lists. Its id is free then: a message
     * with it begins another conversation. Fails with SubjectIsActive if one of its runs is not over, also one that began
     * meanwhile; what was erased before that stays erased. Repeating the call erases what is left.
     */
    eraseConversation(
      request: ErasedConversation & Pick<ErasureRequest, "by" | "via">
    ): Effect.Effect<void, ConversationNotFound | SubjectIsActive | StoreError>
    /** Records of erasures, newest first. */
    list(query: ErasureQuery): Effect.Effect<ReadonlyArray<ErasureRecord>, StoreError>
    /**
     * Calls back for each conversation of which something was erased, by this process or another one, until the scope closes. It
     * calls back with undefined if it may have missed some. The listener has to discard what it has read of the conversation.
     */
    onErased(
      listener: (conversation: ErasedConversation | undefined) => void
    ): Effect.Effect<void, never, Scope.Scope>
  }
>()("troupe/services/SubjectErasure") {}
