/**
 * Lists of runs as a principal of an embedder sees them.
 */
import { Effect } from "effect"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import { RunList } from "../../services/RunList.ts"
import * as Entries from "../../src/entry/Entries.ts"
import type { AgentName, Tenant } from "../../src/Ids.ts"
import type { Principal } from "../../src/Principal.ts"

/** What a list of runs says to this principal, in a process with these agents. */
export const listed = <A, E>(
  by: Principal,
  ask: (
    of: { readonly tenant: Tenant; readonly here: ReadonlyArray<AgentName> },
    runs: RunList["Service"]
  ) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const { tenant } = yield* Entries.entitled(by, "inspect")
    const here = (yield* AgentDirectory).all.map(({ spec }) => spec.name)
    return yield* ask({ tenant, here }, yield* RunList)
  })
