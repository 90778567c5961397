/**
 * The file store of a replay. It accepts what a body or another model makes, so that it is described as usual, and keeps nothing.
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
