/**
 * The errors of the platform's tools for a record that does not exist, cannot be changed or cannot be read.
 */
import { Effect } from "effect"
import type { StoreError } from "../../../services/StoreError.ts"
import { storeUnavailable, ToolUserError } from "../../../src/error/ToolError.ts"
import type {
  ChangeRefused,
  RecordNotFound
} from "../../../src/spectral/platform/contracts/RecordErrors.ts"

const toolError = (error: RecordNotFound | ChangeRefused | StoreError) => {
  switch (error._tag) {
    case "RecordNotFound":
      return new ToolUserError({
        kind: "not_found",
        reason: `${error.kind.toUpperCase().replaceAll(" ", "_")}_NOT_FOUND`,
        message: error.message
      })
    case "ChangeRefused":
      return new ToolUserError({
        kind: "invalid_args",
        reason: "CHANGE_REFUSED",
        message: `${error.message}; nothing was changed`
      })
    case "StoreError":
      return storeUnavailable("the store of the workspace's records")
  }
}

export const orToolError: <A, R>(
  self: Effect.Effect<A, RecordNotFound | ChangeRefused | StoreError, R>
) => Effect.Effect<A, ReturnType<typeof toolError>, R> = Effect.mapError(toolError)
