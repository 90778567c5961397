/**
 * The bytes of files, stored once per tenant under the SHA-256 of their content, and the uploads and runs that refer to them.
 * Owns how long bytes are stored; does not interpret them, and does not decide who may read them.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { FileDigest, FileName, MediaType } from "../src/conversation/Part.ts"
import type { FileNotFound, FilesFull } from "../src/conversation/Part.ts"
import type { ConversationId, RunId, Tenant } from "../src/value/Ids.ts"
import type { Principal } from "../src/principal/Principal.ts"
import { isLimitedToOwn } from "../src/principal/Rights.ts"
import type { StoreError } from "./StoreError.ts"

/**
 * A reference to a file: of a principal who uploaded it and has not sent it yet, or of a run through its message, a call's result
 * or an answer.
 */
export type BlobHolder =
  | {
      /** The principal who uploaded it, before any message has it. */
      readonly uploaded_by: string
    }
  | {
      /** The run of the message, result or answer. */
      readonly run: RunId
      /** The conversation of that run. */
      readonly conversation: ConversationId
      /** What has the file. */
      readonly as: "message" | "result" | "answer"
    }

/** How a holder describes the file. */
export const BlobLabel = Schema.Struct({
  /** SHA-256 of the bytes, hex. */
  digest: FileDigest,
  /** Such as `image/png`. */
  media_type: MediaType,
  /** A plain file name. Absent = it has none. */
  name: Schema.optionalKey(FileName)
})
export interface BlobLabel extends Schema.Schema.Type<typeof BlobLabel> {}

/** A file as one of its holders describes it. */
export interface HeldBlob extends BlobLabel {
  /** In bytes. */
  readonly size: number
  /** What has the file. */
  readonly as: "upload" | "message" | "result" | "answer"
}

/** Bounds of files. */
export interface BlobBounds {
  /** The maximum size of one file, in bytes. */
  readonly file_bytes_max: number
  /** The maximum size of all files of one tenant together, in bytes. */
  readonly tenant_bytes_max: number
  /**
   * The maximum size of the files that one customer brings, with its messages, its uploads and what its runs make, in bytes.
   * Absent = a quarter of the tenant's, and at least one file.
   */
  readonly customer_bytes_max?: number
  /** The maximum size of the files that all customers of one tenant bring, in bytes. Absent = three quarters of the tenant's. */
  readonly customers_bytes_max?: number
  /** How long a file is stored that was uploaded but not sent, or that belongs to a message that was never accepted, in ms. */
  readonly unsent_ms: number
}

/** A file that counts for a customer, beside its tenant. */
export interface BlobShare {
  /** The customer's id. */
  readonly customer: string
  /** The most bytes that the files of this customer may have together. */
  readonly bytes_max: number
  /** The bound of all customers of the tenant together, which leaves room for staff. */
  readonly customers_bytes_max: number
}

/** The share that a file of this principal counts for; undefined = staff have none of their own. */
export const shareOf = (bounds: BlobBounds, by: Principal): BlobShare | undefined => {
  if (!isLimitedToOwn(by, "send")) return undefined
  const { file_bytes_max, tenant_bytes_max } = bounds
  const quarter = Math.floor(tenant_bytes_max / 4)
  const {
    customer_bytes_max = Math.max(quarter, file_bytes_max),
    customers_bytes_max = 3 * quarter
  } = bounds
  return { customer: by.id, bytes_max: customer_bytes_max, customers_bytes_max }
}

export const BlobBounds = Context.Reference<BlobBounds>("troupe/BlobBounds", {
  defaultValue: () => ({
    file_bytes_max: 20_000_000,
    tenant_bytes_max: 10_000_000_000,
    unsent_ms: 86_400_000
  })
})

/** The bytes of files, by tenant and digest, and who holds each. */
export class BlobStore extends Context.Service<
  BlobStore,
  {
    /**
     * Stores the bytes, unless the tenant has them already, and records the holder's reference; durable when it returns. The
     * label's digest is that of the bytes. Fails with FilesFull if the tenant would have more than `tenant_bytes_max` bytes, or
     * if new bytes would exceed the `share`. They count for the customer that brought them until they are removed, whoever refers
     * to them. Absent share = they count for the tenant alone.
     */
    put(
      tenant: Tenant,
      label: BlobLabel,
      bytes: Uint8Array,
      holder: BlobHolder,
      tenant_bytes_max: number,
      share?: BlobShare
    ): Effect.Effect<void, FilesFull | StoreError>
    /**
     * Records another reference to bytes that the tenant has, so that they are not removed; returns their size. With
     * `uploaded_by`, it succeeds only if this principal has uploaded them and the upload has not been collected since.
     */
    hold(
      tenant: Tenant,
      label: BlobLabel,
      holder: BlobHolder,
      uploaded_by?: string
    ): Effect.Effect<number, FileNotFound | StoreError>
    /** At most `bytes_max` bytes from `from` on; undefined where the tenant has no such file. */
    get(
      tenant: Tenant,
      digest: string,
      from: number,
      bytes_max: number
    ): Effect.Effect<Uint8Array | undefined, StoreError>
    /**
     * As `get`, for a principal of this tenant: a file of another tenant is not found. SQL stores that have a tenant role also
     * enforce this with row-level security.
     */
    read(
      tenant: Tenant,
      digest: string,
      from: number,
      bytes_max: number
    ): Effect.Effect<Uint8Array | undefined, StoreError>
    /**
     * How the runs of a conversation refer to a file, at most 100 references, for a principal of the tenant; empty if none does.
     */
    heldBy(
      tenant: Tenant,
      conversation: ConversationId,
      digest: string
    ): Effect.Effect<ReadonlyArray<HeldBlob>, StoreError>
    /**
     * Removes the references of these runs, and at once the bytes that nothing else refers to. For the erasure of a conversation.
     */
    release(tenant: Tenant, runs: ReadonlyArray<RunId>): Effect.Effect<void, StoreError>
    /** Removes the principal's uploads that were not sent, and returns how many there were. */
    withdraw(tenant: Tenant, uploaded_by: string): Effect.Effect<number, StoreError>
    /**
     * Checks at most `limit` (to 1,000) references from before `before` (ms since 1970). Removes those of uploads and of runs
     * that were never accepted, and the bytes that nothing refers to any more. Returns how many references it checked.
     */
    collect(before: number, limit: number): Effect.Effect<number, StoreError>
  }
>()("troupe/services/BlobStore") {}
