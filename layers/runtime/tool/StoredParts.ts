/**
 * Puts the bytes of parts into the store, where they are named by the run that is to have them: durable before the journal names
 * them. What is stored for a run that is never accepted is collected later.
 */
import { Effect } from "effect"
import { Digest } from "effect/crypto"
import type { FilePart, Part } from "../../../src/conversation/Part.ts"
import { FileTooLarge } from "../../../src/conversation/Part.ts"
import type { FileInput } from "../../../src/conversation/Part.ts"
import { readParts } from "../../../src/entry/ArgumentReaders.ts"
import type { ReadPart } from "../../../src/entry/ArgumentReaders.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import type { BlobBounds, BlobHolder, BlobStore } from "../../../services/BlobStore.ts"
import { shareOf } from "../../../services/BlobStore.ts"

export interface PartStore {
  readonly blobs: BlobStore["Service"]
  readonly bounds: BlobBounds
  readonly digest: Digest.Digest["Service"]
}

/** In whose name parts are stored. */
export interface PartOwner {
  readonly tenant: Tenant
  readonly holder: BlobHolder
  /** Who has to have uploaded a file that is named by its digest. Absent = anybody of the tenant. */
  readonly uploaded_by?: string | undefined
  /** Whose message or run it is: a customer's files count for its share. */
  readonly by: Pick<Principal, "id" | "roles">
}

type File = Exclude<ReadPart, { readonly type: "text" }>

const storeFile = Effect.fnUntraced(function* (
  { blobs, bounds, digest }: PartStore,
  { by, holder, tenant, uploaded_by }: PartOwner,
  file: File
) {
  const { media_type, name, type } = file
  const label = { media_type, ...(name === undefined ? undefined : { name }) }
  if ("data" in file) {
    const { data } = file
    if (data.length > bounds.file_bytes_max) {
      return yield* new FileTooLarge({ bytes_max: bounds.file_bytes_max })
    }
    const hex = yield* digest.digestHex(Digest.sha256, data)
    const named = { digest: hex, ...label }
    yield* blobs.put(tenant, named, data, holder, bounds.tenant_bytes_max, shareOf(bounds, by))
    return { type, ...named, size: data.length } satisfies FilePart
  }
  const named = { digest: file.digest, ...label }
  const size = yield* blobs.hold(tenant, named, holder, uploaded_by)
  return { type, ...named, size } satisfies FilePart
})

/** A file of a tool or of a model, read and stored, as the journal has it. */
export const storeFileInput = Effect.fnUntraced(function* (
  store: PartStore,
  owner: PartOwner,
  given: FileInput,
  field: string
) {
  for (const part of yield* readParts([given], field)) {
    if (part.type !== "text") return yield* storeFile(store, owner, part)
  }
  return yield* new InvalidInput({ field, message: "Expected a file with its bytes" })
})

/** The parts as the journal has them. */
export const storeParts = (store: PartStore, owner: PartOwner, parts: ReadonlyArray<ReadPart>) =>
  Effect.forEach(parts, (part) =>
    part.type === "text" ? Effect.succeed<Part>(part) : storeFile(store, owner, part)
  )
