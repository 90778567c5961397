/**
 * Stores of workspace records, which are optional for a service.
 */
import { Effect, Option } from "effect"
import { makeProblem } from "../../../src/operation/Problem.ts"

const none = makeProblem(
  404,
  "no-records",
  "This service keeps no records of workspaces",
  "Compose `Platform.sql` or `Platform.ephemeral` beneath it."
)

/** The store, if the service has it; otherwise fails with a problem. */
export const kept = <A>(port: Option.Option<A>) =>
  Option.match(port, { onNone: () => Effect.fail(none), onSome: (found) => Effect.succeed(found) })
