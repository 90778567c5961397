/** Whether a request's token still holds while its answer goes on. */
import { Effect } from "effect"
import type { Redacted } from "effect"
import type { Credentials } from "../../../services/Credentials.ts"

/**
 * Whether a token that was valid is still valid: it may have been revoked, or have expired. While the store does not answer, it
 * counts as valid.
 */
export const isStillValid = (
  credentials: Credentials["Service"],
  token: Redacted.Redacted
): Effect.Effect<boolean> =>
  Effect.match(credentials.verify(token), {
    onSuccess: () => true,
    onFailure: ({ _tag }) => _tag !== "Unauthorized"
  })
