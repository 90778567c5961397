/**
 * Erases what a person said, was told and decided from every store of a tenant. Owns which rows are a subject's and what is left of
 * them; does not decide who may ask for it.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { ErasureId, ErasureRecord, ErasureReport } from "../src/erasure/Erasure.ts"
import type { SubjectIsActive } from "../src/erasure/Erasure.ts"
import type { ConversationId, Tenant } from "../src/Ids.ts"
import type { StoreError } from "./StoreError.ts"

export interface ErasureRequest {
  readonly tenant: Tenant
  /** The id of a principal; texts that name it, word by word, are erased too. */
  readonly subject: string
  /** Who asked for it. */
  readonly by: string
}

export interface ErasureQuery {
  readonly tenant: Tenant
  /** 1 to 500. */
  readonly limit: number
  /** Continue after this one. */
  readonly after?: ErasureId | undefined
}

/** A conversation of which runs were erased. */
export interface ErasedConversation {
  readonly tenant: Tenant
  readonly conversation: ConversationId
}

export class SubjectErasure extends Context.Service<
  SubjectErasure,
  {
    /**
     * Erases, some rows at a time, and then looks for the subject in every table. Fails with SubjectIsActive where a run of its
     * conversations is not over; what was erased before stays erased. The same again finds what is left.
     */
    erase(request: ErasureRequest): Effect.Effect<ErasureReport, SubjectIsActive | StoreError>
    /** What was erased, newest first. */
    list(query: ErasureQuery): Effect.Effect<ReadonlyArray<ErasureRecord>, StoreError>
    /**
     * Calls back for each conversation of which something was erased, by this process or another one, until the scope closes;
     * with undefined where it may have missed some. What was read of the conversation before is to be forgotten.
     */
    erased(
      listener: (conversation: ErasedConversation | undefined) => void
    ): Effect.Effect<void, never, Scope.Scope>
  }
>()("troupe/services/SubjectErasure") {}
