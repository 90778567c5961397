import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "../runtime/Harness.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "./Engines.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"

onEngines("a transactional tool of a run", (it) => {
  for (const ending of ["fails", "dies", "breaks its schema", "succeeds"] as const) {
    it.effect(
      `SA-41 that ${ending} leaves ${ending === "succeeds" ? "its" : "no"} write behind`,
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const table = `troupe.t_${Samples.runId().replaceAll("-", "")}`
          yield* sql.unsafe(`CREATE TABLE ${table} (n int4)`)
          let bodies = 0
          const options: H.Options = {
            tools: {
              write: H.writes(
                (n) =>
                  Effect.gen(function* () {
                    bodies++
                    yield* Effect.orDie(sql.unsafe(`INSERT INTO ${table} VALUES (${n})`))
                    if (ending === "dies") return yield* Effect.die("it broke")
                    if (ending === "fails") {
                      const error = { kind: "invalid_args", message: "no" } as const
                      return yield* new ToolUserError(error)
                    }
                    return ending === "succeeds" ? "done" : 7n
                  }),
                { transactional: true }
              )
            },
            script: ({ transcript }) =>
              transcript.length === 1 ? call("write", { n: 7 }) : text("so be it")
          }
          const conversation = Samples.unique("c")
          const process = yield* H.boot(options)
          const run = yield* process.run(H.send("go", conversation))
          const all = yield* process.run(H.ended(run, conversation))
          assert.deepStrictEqual(
            all.map((event) => event._tag),
            [
              "RunAccepted",
              "RunClaimed",
              "ModelTurned",
              "CallDispatched",
              "CallSettled",
              "ModelTurned",
              "RunEnded"
            ]
          )
          assert.deepInclude(H.end(all), { status: "complete", text: "so be it" })
          assert.strictEqual(bodies, 1)
          const outcome = H.outcome(all)
          assert.strictEqual(outcome?._tag, ending === "succeeds" ? "Value" : "Failed")
          const rows = yield* sql.unsafe<{ readonly n: number }>(`SELECT n FROM ${table}`)
          assert.deepStrictEqual(
            rows.map(({ n }) => n),
            ending === "succeeds" ? [7] : []
          )
          yield* process.stop
        }).pipe(Effect.provide(EphemeralStore.layer), Effect.scoped)
    )
  }
})
