/**
 * Stores of workspaces' records, which a service may do without.
 */
import { Effect, Option } from "effect"
import { makeProblem } from "../../src/api/Problem.ts"

const none = makeProblem(
  404,
  "no-records",
  "This service keeps no records of workspaces",
  "Compose `Platform.sql` or `Platform.ephemeral` beneath it."
)

/** The store; a problem where there is none. */
export const kept = <A>(port: Option.Option<A>) =>
  Option.match(port, { onNone: () => Effect.fail(none), onSome: (found) => Effect.succeed(found) })
