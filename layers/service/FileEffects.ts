/** Files of messages, results and answers. What a tool gave is for staff. */
import { Effect } from "effect"
import { Digest } from "effect/crypto"
import type { BlobLabel } from "../../services/BlobStore.ts"
import { BlobBounds, BlobStore, shareOf } from "../../services/BlobStore.ts"
import { isFileForCustomers } from "../../src/conversation/CustomerView.ts"
import type { FilePart } from "../../src/conversation/Part.ts"
import { DigestMismatch, FileNotFound, fileTypeOf } from "../../src/conversation/Part.ts"
import * as FileOperations from "../../src/operation/FileOperations.ts"
import type { InputOf } from "../../src/operation/Operation.ts"
import { loggingRefusals } from "../../src/principal/RefusedActs.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { conversationFor, isCustomer } from "./CustomerRules.ts"
import { serve } from "./Served.ts"

/** The largest file, in bytes. */
export const bytesMax = Effect.map(BlobBounds, ({ file_bytes_max }) => file_bytes_max)

/** A file of the conversation that the principal may read, and how its bytes are read from a position on. */
export const open = Effect.fnUntraced(function* (
  { digest, id }: InputOf<typeof FileOperations.download>,
  by: Principal
) {
  yield* loggingRefusals(by, "follow", conversationFor(by, "follow", id))
  const blobs = yield* BlobStore
  const held = yield* blobs.heldBy(by.tenant, id, digest)
  const file = held.find(({ as }) => !isCustomer(by) || isFileForCustomers(as))
  if (file === undefined) return yield* new FileNotFound({ digest })
  return {
    ...file,
    read: (from: number, most: number) => blobs.read(by.tenant, digest, from, most)
  }
})

export const download = serve(
  FileOperations.download,
  Effect.fnUntraced(function* (input, by) {
    const { as: _, read, ...label } = yield* open(input, by)
    const data = yield* read(0, label.size)
    if (data === undefined) return yield* new FileNotFound({ digest: label.digest })
    return { ...label, type: fileTypeOf(label.media_type), data: new Uint8Array(data) }
  })
)

/** Keeps a file of the principal until a message names it. `digest` is the one that it has to have. */
export const keep = Effect.fnUntraced(function* (
  {
    data,
    digest: stated,
    ...named
  }: Omit<BlobLabel, "digest"> & {
    readonly data: Uint8Array
    readonly digest: string | undefined
  },
  by: Principal
) {
  const digest = yield* Digest.Digest.use((digester) => digester.digestHex(Digest.sha256, data))
  if (stated !== undefined && stated !== digest) return yield* new DigestMismatch({ digest })
  const label = { digest, ...named }
  const bounds = yield* BlobBounds
  const held = { uploaded_by: by.id }
  yield* BlobStore.use((blobs) =>
    blobs.put(by.tenant, label, data, held, bounds.tenant_bytes_max, shareOf(bounds, by))
  )
  return { type: fileTypeOf(label.media_type), ...label, size: data.length } satisfies FilePart
})
