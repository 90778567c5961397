/**
 * The methods of a service that read: conversations with their messages, files and waiting client calls.
 */
import { Effect } from "effect"
import { BlobStore } from "../../../services/BlobStore.ts"
import { isFileForCustomers } from "../../../src/conversation/CustomerView.ts"
import { FileDigest, FileNotFound, fileTypeOf } from "../../../src/conversation/Part.ts"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import { inputReader } from "../../../src/schema/InvalidInput.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { conversationFor, isCustomer } from "../../service/CustomerRules.ts"

const readDigest = inputReader(FileDigest)

/** A file that a run of the conversation refers to, with its bytes. */
export const file = Effect.fnUntraced(function* (
  conversation: unknown,
  given: unknown,
  who: Principal
) {
  const by = yield* Entries.entitled(who, "follow")
  const id = yield* Entries.conversationId(conversation, "conversation")
  const digest = yield* readDigest(given, "digest")
  yield* conversationFor(by, "follow", id)
  const blobs = yield* BlobStore
  const held = yield* blobs.heldBy(by.tenant, id, digest)
  const shown = held.find(({ as }) => !isCustomer(by) || isFileForCustomers(as))
  const data = shown === undefined ? undefined : yield* blobs.read(by.tenant, digest, 0, shown.size)
  if (shown === undefined || data === undefined) return yield* new FileNotFound({ digest })
  const { as: _, ...label } = shown
  return { ...label, type: fileTypeOf(label.media_type), data: new Uint8Array(data) }
})
