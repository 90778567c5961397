/**
 * The store of files of a replay: what a body or another model makes is described as it was, and kept nowhere.
 */
import { Effect } from "effect"
import { FileNotFound } from "../../../src/conversation/Part.ts"
import { BlobStore } from "../../../services/BlobStore.ts"

export const discardedFiles: BlobStore["Service"] = BlobStore.of({
  put: () => Effect.void,
  hold: (_, { digest }) => Effect.fail(new FileNotFound({ digest })),
  get: () => Effect.succeed(undefined),
  read: () => Effect.succeed(undefined),
  heldBy: () => Effect.succeed([]),
  withdraw: () => Effect.succeed(0),
  release: () => Effect.void,
  collect: () => Effect.succeed(0)
})
