/**
 * The bytes of files that prompts show, read and encoded once for all turns of all actors, within a bound: the files that were
 * shown longest ago are forgotten first, and read again when a prompt shows them.
 */
import { Effect } from "effect"
import { Base64 } from "effect/encoding"
import type { FilePart } from "../../../src/conversation/Part.ts"
import { filesOf } from "../../../src/conversation/Transcript.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { BlobStore } from "../../../services/BlobStore.ts"
import { ModelError } from "../../../services/ModelGateway.ts"

/** The most bytes of files in one prompt. Providers take requests of 20 MB and more. */
const prompt_bytes_max = 20_000_000
/** Characters of base64 that are kept between turns. */
const kept_units_max = 64_000_000

/** The newest files, each once, whose bytes together are within the bound. */
const shownFiles = (
  ...lists: ReadonlyArray<ReadonlyArray<TranscriptEntry>>
): ReadonlyMap<string, FilePart> => {
  const shown = new Map<string, FilePart>()
  let bytes = 0
  for (const list of lists.toReversed()) {
    for (let i = list.length - 1; i >= 0; i--) {
      const entry = list[i]
      for (const part of entry === undefined ? [] : filesOf(entry)) {
        if (shown.has(part.digest)) continue
        if (bytes + part.size > prompt_bytes_max) continue
        bytes += part.size
        shown.set(part.digest, part)
      }
    }
  }
  return shown
}

/** How many bytes of files a prompt of these texts shows. */
export const shownFileBytes = (...lists: ReadonlyArray<ReadonlyArray<TranscriptEntry>>): number => {
  let bytes = 0
  for (const { size } of shownFiles(...lists).values()) bytes += size
  return bytes
}

export class PromptFiles {
  readonly #blobs: BlobStore["Service"]
  readonly #units_max: number
  /** The file that was shown longest ago comes first. */
  readonly #cache = new Map<string, string>()
  #units = 0

  /** `most`: fewer characters than the default are kept. */
  constructor(blobs: BlobStore["Service"], most = kept_units_max) {
    this.#blobs = blobs
    this.#units_max = Math.min(most, kept_units_max)
  }

  #addToCache(key: string, text: string): void {
    const before = this.#cache.get(key)
    if (before !== undefined) this.#units -= before.length
    this.#cache.delete(key)
    this.#cache.set(key, text)
    this.#units += text.length
    for (const [oldest, forgotten] of this.#cache) {
      if (this.#units <= this.#units_max) return
      this.#cache.delete(oldest)
      this.#units -= forgotten.length
    }
  }

  /** The store is asked again for each file. */
  forget(): void {
    this.#cache.clear()
    this.#units = 0
  }

  /** The files of a prompt in base64, by digest. A file that the store no longer has is left out. */
  readonly load = Effect.fnUntraced(function* (
    this: PromptFiles,
    tenant: Tenant,
    history: ReadonlyArray<TranscriptEntry>,
    transcript: ReadonlyArray<TranscriptEntry>
  ): Effect.fn.Return<ReadonlyMap<string, string>, ModelError> {
    const files = new Map<string, string>()
    for (const [digest, { size }] of shownFiles(history, transcript)) {
      const key = `${tenant}/${digest}`
      const known = this.#cache.get(key)
      const text = known ?? (yield* this.#read(tenant, digest, size))
      if (text === undefined) continue
      this.#addToCache(key, text)
      files.set(digest, text)
    }
    return files
  })

  #read(tenant: Tenant, digest: string, size: number) {
    return this.#blobs.get(tenant, digest, 0, size).pipe(
      Effect.mapBoth({
        onSuccess: (bytes) => (bytes === undefined ? undefined : Base64.encode(bytes)),
        onFailure: () =>
          new ModelError({
            kind: "transient",
            message: "the files of the prompt could not be read from their store"
          })
      })
    )
  }
}
