import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import type { RunId } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { CallId } from "../../src/value/Ids.ts"
import { isQuarantined } from "../contracts/Quarantined.ts"

const entriesOf = Effect.fnUntraced(function* (run: RunId) {
  const { runs } = yield* EphemeralStore.EphemeralStore
  return runs.get(run)!.entries
})

describe("a run in quarantine (ephemeral)", () => {
  it.live("is named, listed and left alone where an event is missing, until it is repaired", () =>
    isQuarantined({
      reason: "gap",
      seq: 2,
      inflict: Effect.fnUntraced(function* (run) {
        const entries = yield* entriesOf(run)
        const [lost] = entries.splice(2, 1)
        return Effect.sync(() => entries.splice(2, 0, lost!))
      })
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.live("is named, listed and left alone where an event does not fit, until it is repaired", () =>
    isQuarantined({
      reason: "unfoldable",
      seq: 2,
      inflict: Effect.fnUntraced(function* (run) {
        const entries = yield* entriesOf(run)
        const event: RunEvent = { _tag: "CallReopened", call: CallId.make("0/7.7"), by: "nobody" }
        const [whole] = entries.splice(2, 1, { ...entries[2]!, event })
        return Effect.sync(() => entries.splice(2, 1, whole!))
      })
    }).pipe(Effect.provide(EphemeralStores.layer))
  )
})
