/**
 * The methods of a service that list runs.
 */
import { Effect } from "effect"
import { AgentDirectory, hostedBy } from "../../../services/AgentDirectory.ts"
import { RunList } from "../../../services/RunList.ts"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import type { Need } from "../../../src/run/Needs.ts"

/** Reads a list of runs of the principal's tenant. `read` also gets the agents that this process hosts. */
export const listRuns = <A, E>(
  by: Principal,
  read: (
    of: { readonly tenant: Tenant; readonly hosted: ReadonlyArray<Need> },
    runs: RunList["Service"]
  ) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const { tenant } = yield* Entries.entitled(by, "inspect")
    const hosted = hostedBy((yield* AgentDirectory).all)
    return yield* read({ tenant, hosted }, yield* RunList)
  })
