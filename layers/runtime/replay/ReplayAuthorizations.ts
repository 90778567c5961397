/**
 * The authorisations in advance under which calls of a recorded run went on. In its replay the same agents may take the same
 * actions without asking anybody, whatever is authorised now.
 */
import { Effect } from "effect"
import type { Authorized, AuthorizedAction } from "../../../src/permission/Authorization.ts"
import type { Recording } from "../../../src/replay/Recording.ts"

const keyOf = ({ agent, tool_key }: Pick<Authorized, "agent" | "tool_key">): string =>
  `${agent} ${tool_key}`

export const authorizationsOf = (
  recording: Recording
): ((action: AuthorizedAction) => Effect.Effect<Authorized | undefined>) => {
  const recorded = new Map<string, Authorized>()
  for (const { authorized } of recording.calls) {
    if (authorized !== undefined) recorded.set(keyOf(authorized), authorized)
  }
  return (action) => Effect.succeed(recorded.get(keyOf(action)))
}
