/**
 * The bytes of files in one process. They are lost at its end, together with the runs that use them.
 */
import { Clock, Effect, Layer } from "effect"
import type { BlobHolder, BlobLabel, BlobShare, HeldBlob } from "../../services/BlobStore.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { FileNotFound, FilesFull } from "../../src/conversation/Part.ts"
import { Counts } from "../../src/value/Counts.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import { EphemeralStore, tenantKey } from "./EphemeralStore.ts"

const held_max = 100
const collected_max = 1_000

/** A use of a file. It is unsure while it is an upload, or the use of a run that may not have been accepted. */
interface Use {
  readonly tenant: Tenant
  readonly label: BlobLabel
  readonly holder: BlobHolder
  readonly at: number
}

interface Blob {
  readonly bytes: Uint8Array
  /** The customer that the bytes count for. Undefined = none. */
  readonly customer: string | undefined
  readonly uses: Map<string, Use>
}

const useKey = (holder: BlobHolder): string =>
  "run" in holder ? `${holder.run}/${holder.as}` : JSON.stringify(holder.uploaded_by)

/** The stored files, their uses, and which of those uses are unsure. */
class Blobs {
  readonly #blobs = new Map<string, Blob>()
  readonly #totals = new Counts<Tenant>()
  /** By tenant and customer; the customer '' stands for all of them. */
  readonly #shares = new Counts()
  readonly unsure = new Set<Use>()

  of(tenant: Tenant, digest: string): Blob | undefined {
    return this.#blobs.get(tenantKey(tenant, digest))
  }

  #shareOf(tenant: Tenant, customer: string): number {
    return this.#shares.of(tenantKey(tenant, customer))
  }

  /** Changes what the tenant and the customer, if there is one, have. */
  #count(tenant: Tenant, customer: string | undefined, bytes: number): void {
    this.#totals.add(tenant, bytes)
    for (const each of customer === undefined ? [] : [customer, ""]) {
      this.#shares.add(tenantKey(tenant, each), bytes)
    }
  }

  /** Why so many new bytes do not fit; undefined = they do. */
  refusal(
    tenant: Tenant,
    bytes: number,
    tenant_bytes_max: number,
    share: BlobShare | undefined
  ): FilesFull | undefined {
    if (share !== undefined) {
      const { bytes_max, customer, customers_bytes_max } = share
      if (this.#shareOf(tenant, customer) + bytes > bytes_max) {
        return new FilesFull({ bytes_max, share: "customer" })
      }
      if (this.#shareOf(tenant, "") + bytes > customers_bytes_max) {
        return new FilesFull({ bytes_max: customers_bytes_max, share: "customers" })
      }
    }
    return this.#totals.of(tenant) + bytes > tenant_bytes_max
      ? new FilesFull({ bytes_max: tenant_bytes_max })
      : undefined
  }

  add(tenant: Tenant, digest: string, bytes: Uint8Array, customer: string | undefined): Blob {
    this.#count(tenant, customer, bytes.length)
    // The bytes are copied, because the caller may change its own.
    const blob: Blob = { bytes: bytes.slice(), customer, uses: new Map() }
    this.#blobs.set(tenantKey(tenant, digest), blob)
    return blob
  }

  /** Records a use, as unsure. A use that is sure already stays as it is. */
  name(blob: Blob, use: Use): void {
    const known = blob.uses.get(useKey(use.holder))
    if (known !== undefined && !this.unsure.delete(known)) return
    blob.uses.set(useKey(use.holder), use)
    this.unsure.add(use)
  }

  forget(use: Use): void {
    const { holder, label, tenant } = use
    const blob = this.of(tenant, label.digest)
    this.unsure.delete(use)
    if (blob?.uses.delete(useKey(holder)) !== true || blob.uses.size > 0) return
    this.#blobs.delete(tenantKey(tenant, label.digest))
    this.#count(tenant, blob.customer, -blob.bytes.length)
  }

  release(tenant: Tenant, runs: ReadonlySet<RunId>): void {
    for (const use of Array.from(this.uses())) {
      const isReleased = "run" in use.holder && runs.has(use.holder.run)
      if (use.tenant === tenant && isReleased) this.forget(use)
    }
  }

  *uses(): Iterable<Use> {
    for (const blob of this.#blobs.values()) yield* blob.uses.values()
  }
}

const pieceOf =
  (blobs: Blobs): BlobStore["Service"]["get"] =>
  (tenant, digest, from, bytes_max) =>
    Effect.sync(() => blobs.of(tenant, digest)?.bytes.slice(from, from + bytes_max))

const reads = (blobs: Blobs): Pick<BlobStore["Service"], "get" | "read" | "heldBy"> => ({
  get: pieceOf(blobs),
  read: pieceOf(blobs),
  heldBy: (tenant, conversation, digest) =>
    Effect.sync(() => {
      const blob = blobs.of(tenant, digest)
      const held: Array<HeldBlob> = []
      for (const { holder, label } of blob?.uses.values() ?? []) {
        if (held.length >= held_max) break
        if ("run" in holder && holder.conversation === conversation) {
          held.push({ ...label, size: blob?.bytes.length ?? 0, as: holder.as })
        }
      }
      return held
    })
})

const make = Effect.map(EphemeralStore, (store) => {
  const blobs = new Blobs()
  store.evictionListeners.add((tenant, runs) => blobs.release(tenant, runs))
  return BlobStore.of({
    ...reads(blobs),
    put: Effect.fnUntraced(function* (tenant, label, bytes, holder, tenant_bytes_max, share) {
      const at = yield* Clock.currentTimeMillis
      const { digest } = label
      let blob = blobs.of(tenant, digest)
      if (blob === undefined) {
        const refusal = blobs.refusal(tenant, bytes.length, tenant_bytes_max, share)
        if (refusal !== undefined) return yield* refusal
        blob = blobs.add(tenant, digest, bytes, share?.customer)
      }
      blobs.name(blob, { tenant, label, holder, at })
    }),
    hold: Effect.fnUntraced(function* (tenant, label, holder, uploaded_by) {
      const at = yield* Clock.currentTimeMillis
      const blob = blobs.of(tenant, label.digest)
      const isOpen = uploaded_by === undefined || blob?.uses.has(useKey({ uploaded_by })) === true
      if (blob === undefined || !isOpen) return yield* new FileNotFound({ digest: label.digest })
      blobs.name(blob, { tenant, label, holder, at })
      return blob.bytes.length
    }),
    release: (tenant, runs) => Effect.sync(() => blobs.release(tenant, new Set(runs))),
    withdraw: (tenant, uploaded_by) =>
      Effect.sync(() => {
        const mine = Array.from(blobs.uses()).filter(
          ({ holder, ...use }) =>
            use.tenant === tenant && "uploaded_by" in holder && holder.uploaded_by === uploaded_by
        )
        for (const use of mine) blobs.forget(use)
        return mine.length
      }),
    collect: (before, limit) =>
      Effect.sync(() => {
        const old = Array.from(blobs.unsure).filter(({ at }) => at < before)
        const looked = old.slice(0, Math.min(limit, collected_max))
        for (const use of looked) {
          if ("run" in use.holder && store.tasks.has(use.holder.run)) blobs.unsure.delete(use)
          else blobs.forget(use)
        }
        return looked.length
      })
  })
})

export const layer: Layer.Layer<BlobStore, never, EphemeralStore> = Layer.effect(BlobStore, make)
