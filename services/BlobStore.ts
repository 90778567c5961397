/**
 * The bytes of files, each once for its tenant under the SHA-256 of its content, and what names them: uploads and runs.
 * Owns how long bytes are kept; does not know what is in them, nor who may read them.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { FileDigest, FileName, MediaType } from "../src/conversation/Part.ts"
import type { FileNotFound, FilesFull } from "../src/conversation/Part.ts"
import type { ConversationId, RunId, Tenant } from "../src/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** What names a file: somebody who uploaded it and has not sent it yet, or a run by its message, a call's result or an answer. */
export type BlobHolder =
  | { readonly uploaded_by: string }
  | {
      readonly run: RunId
      readonly conversation: ConversationId
      readonly as: "message" | "result" | "answer"
    }

/** How its holder describes the file. */
export const BlobLabel = Schema.Struct({
  digest: FileDigest,
  media_type: MediaType,
  name: Schema.optionalKey(FileName)
})
export interface BlobLabel extends Schema.Schema.Type<typeof BlobLabel> {}

/** A file as one of its holders names it. */
export interface HeldBlob extends BlobLabel {
  readonly size: number
  readonly as: "upload" | "message" | "result" | "answer"
}

/** Bounds of files. */
export interface BlobBounds {
  /** Of one file, in bytes. */
  readonly file_bytes_max: number
  /** Of all files of one tenant, in bytes. */
  readonly tenant_bytes_max: number
  /** How long a file is kept that was uploaded, or stored for a message that was never accepted, in ms. */
  readonly unsent_ms: number
}

export const BlobBounds = Context.Reference<BlobBounds>("troupe/BlobBounds", {
  defaultValue: () => ({
    file_bytes_max: 20_000_000,
    tenant_bytes_max: 10_000_000_000,
    unsent_ms: 86_400_000
  })
})

export class BlobStore extends Context.Service<
  BlobStore,
  {
    /**
     * Stores the bytes, unless the tenant has them, and names them: durable when it returns. The digest is theirs. Fails with
     * FilesFull where the tenant would have more than `tenant_bytes_max`.
     */
    put(
      tenant: Tenant,
      label: BlobLabel,
      bytes: Uint8Array,
      holder: BlobHolder,
      tenant_bytes_max: number
    ): Effect.Effect<void, FilesFull | StoreError>
    /**
     * Names bytes that the tenant has, so that they stay; gives their size. `uploaded_by`: only if this principal has uploaded
     * them and they were not collected since.
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
    /** As `get`, on behalf of a principal of this tenant: no file of another one is there, by the rights of the database too. */
    read(
      tenant: Tenant,
      digest: string,
      from: number,
      bytes_max: number
    ): Effect.Effect<Uint8Array | undefined, StoreError>
    /** How the runs of a conversation name a file, at most 100, for a principal of the tenant; none where they do not. */
    heldBy(
      tenant: Tenant,
      conversation: ConversationId,
      digest: string
    ): Effect.Effect<ReadonlyArray<HeldBlob>, StoreError>
    /** These runs name no files any more; bytes that nothing else names are removed at once. For the erasure of a conversation. */
    release(tenant: Tenant, runs: ReadonlyArray<RunId>): Effect.Effect<void, StoreError>
    /** Forgets what the principal has uploaded and not sent. Gives how many files that were. */
    withdraw(tenant: Tenant, uploaded_by: string): Effect.Effect<number, StoreError>
    /**
     * Forgets uploads, and names of runs that were never accepted, from before a time (ms since 1970), at most `limit` (to 1,000), and
     * removes bytes that nothing names any more. Gives how many names it looked at.
     */
    collect(before: number, limit: number): Effect.Effect<number, StoreError>
  }
>()("troupe/services/BlobStore") {}
