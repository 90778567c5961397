/**
 * Which call holds a key of a conversation or of a tenant: the call that was dispatched under it. What became of that call is in
 * the journal of its run. A key holds until it expires, also when its run is not kept any more.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { CallId, RunId, Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** Who has said, after the end of the call that holds a key, that it had no effect; and when, in ms since 1970. */
export interface KeyFreed {
  /** The operator. */
  readonly by: string
  /** Who acted for `by`. Absent = it acted itself. */
  readonly via?: string
  /** When, in ms since 1970. */
  readonly at: number
}

/** The call that holds a key, and what became of it. */
export interface KeyHolder {
  /** The run of the call. */
  readonly run: RunId
  /** The call. */
  readonly call: CallId
  /** The position of its dispatch in the journal of the run. */
  readonly seq: number
  /** A digest of what was asked for: a call that asks for something else is not the same. */
  readonly asked: string
  /** When it was dispatched, in ms since 1970. */
  readonly at: number
  /** Present = another call may hold the key. */
  readonly freed?: KeyFreed | undefined
}

/** A key is a digest, in 64 hex digits. */
export interface KeyClaim extends Omit<KeyHolder, "freed"> {
  /** Whose key it is. */
  readonly tenant: Tenant
  /** The digest, 64 hex digits. */
  readonly key: string
  /** In ms since 1970; `at` counts as now. */
  readonly expires_at: number
}

/** Which call holds each key, so that one side effect happens once. */
export class IdempotencyKeys extends Context.Service<
  IdempotencyKeys,
  {
    /** The call that holds the key at this time (ms since 1970); undefined = none does. */
    find(tenant: Tenant, key: string, now: number): Effect.Effect<KeyHolder | undefined, StoreError>
    /**
     * Has the call hold the key, as part of the transaction that journals its dispatch. A holder that is the call itself, that has
     * expired, or that is `over` is replaced. True = the call holds it; false = another one does. Waits for the transaction of
     * another call that is about to hold it.
     */
    reserve(claim: KeyClaim, over?: KeyHolder): Effect.Effect<boolean, StoreError>
    /** Frees the key that this call holds. False = it holds none, or one that is free already. */
    free(
      holder: Pick<KeyClaim, "call" | "run" | "tenant">,
      freed: KeyFreed
    ): Effect.Effect<boolean, StoreError>
  }
>()("troupe/services/IdempotencyKeys") {}
