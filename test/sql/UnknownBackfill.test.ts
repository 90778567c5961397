/** A database from before unknown calls had a list: those that wait are in it after the migration, and no others. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { migration } from "../../layers/sql/engine/migrations/0018_run_list.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunList } from "../../services/RunList.ts"
import { callId, rootFrame } from "../../src/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { settleCall } from "../../src/run/RunCommand.ts"
import * as Samples from "../contracts/Samples.ts"
import { onBothEngines } from "./Engines.ts"

onBothEngines("unknown calls of old", (it) => {
  it.effect("unknown calls from before the list are in it, without their tools", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const journal = yield* RunJournal
      const tenant = Samples.tenant()
      const calls = [callId(rootFrame, 1, 0), callId(rootFrame, 1, 1)]
      const lost = calls.flatMap((call): ReadonlyArray<RunEvent> => [
        { _tag: "CallDispatched", call, key: call, epoch: 1, on_loss: "unknown" },
        { _tag: "CallUnknown", call }
      ])
      const turned = Samples.modelTurned(1, 2)
      const { run } = yield* Samples.begin({ tenant }, [turned, ...lost])
      yield* journal.amend(run, (state, now) =>
        settleCall(
          state,
          run,
          calls[0]!,
          { _tag: "Succeeded", json: JSON.stringify("\0") },
          "olga",
          now
        )
      )
      yield* sql.unsafe("DROP TABLE troupe.unknown_calls")
      yield* sql.unsafe("DROP INDEX troupe.agent_tasks_newest")
      yield* migration
      const found = yield* RunList.use((runs) => runs.unknown({ tenant, limit: 10 }))
      assert.deepStrictEqual(
        found.map(({ call, run_id, tool }) => [run_id, call, tool]),
        [[run, calls[1], ""]]
      )
    })
  )
})
