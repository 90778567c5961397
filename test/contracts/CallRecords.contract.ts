/** Records of calls, read by run and by tool, until they are deleted. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { CallRecords } from "../../services/CallRecords.ts"
import { CallId, RunId, Tenant } from "../../src/value/Ids.ts"
import type { CallRecord } from "../../src/tool/CallRecord.ts"
import { recordKey } from "../../src/tool/CallRecord.ts"

let count = 0
const newRun = () => RunId.make(`6f9619ff-8b86-4011-b42d-${String(++count).padStart(12, "0")}`)
const newTenant = () => Tenant.make(`records-${++count}`)

export const recordOf = (
  tenant: Tenant,
  run: RunId,
  n: number,
  more?: Partial<CallRecord>
): CallRecord => ({
  key: recordKey(`${run}/0/1.${n}`, BigInt(n)),
  tenant,
  run_id: run,
  call_id: CallId.make(`0/1.${n}`),
  trace_id: "0".repeat(32),
  agent_name: "tester",
  tool_name: "tool ü\0\ud800",
  arguments: { n, text: "\0 ü" },
  outcome: { _tag: "Value", json: `{"n":${n}}` },
  started_at: 1_700_000_000_000 + n,
  ended_at: 1_700_000_000_010 + n,
  duration_ms: 10,
  ...more
})

export const callRecordsTests = (it: Vitest.MethodsNonLive<CallRecords>): void => {
  it.effect("SM-85 keeps the call, its result, its start, its end and its duration", () =>
    Effect.gen(function* () {
      const records = yield* CallRecords
      const [tenant, run] = [newTenant(), newRun()]
      const all = [1, 2, 3].map((n) => recordOf(tenant, run, n))
      yield* records.store(all)
      yield* records.store([recordOf(tenant, newRun(), 1), recordOf(newTenant(), newRun(), 1)])
      assert.deepStrictEqual(yield* records.ofRun(tenant, run, 500), all)
      assert.deepStrictEqual(yield* records.ofRun(tenant, run, 1, all[0]!.key), [all[1]!])
      assert.deepStrictEqual(yield* records.ofRun(newTenant(), run, 500), [])
      yield* records.store([])
    })
  )

  it.effect("says how the newest calls went, of one tenant and from a moment on", () =>
    Effect.gen(function* () {
      const records = yield* CallRecords
      const [tenant, run] = [newTenant(), newRun()]
      const error = {
        class: "ToolTerminalError",
        kind: "external",
        reason: "AWAY",
        message: "away"
      } as const
      const failed = { _tag: "Failed", error } as const
      const denied = { _tag: "Denied", by: "olga", reason: "no" } as const
      const { outcome: _none, ...bare } = recordOf(tenant, run, 4, { duration_ms: 40 })
      yield* records.store([
        recordOf(tenant, run, 1),
        recordOf(tenant, run, 2, { outcome: failed, duration_ms: 5_000 }),
        recordOf(tenant, run, 3, { outcome: denied as never, tool_name: "other" }),
        { ...bare, retried: error },
        { ...recordOf(tenant, run, 5), ended_at: 1_700_000_000_011 },
        recordOf(newTenant(), newRun(), 6)
      ])
      const of = (from: number, limit = 2_000) =>
        Effect.map(records.timings(tenant, from, limit), (all) =>
          all
            .map((each) => [
              each.ended_at - 1_700_000_000_000,
              each.took_ms,
              each.ended_as,
              each.count
            ])
            .sort((a, b) => Number(a[0]) - Number(b[0]))
        )
      const all = [
        [11, 10, "done", 2],
        [12, 5_000, "failed", 1],
        [13, 10, "refused", 1],
        [14, 40, "failed", 1]
      ]
      assert.deepStrictEqual(yield* of(0), all)
      assert.deepStrictEqual(yield* of(1_700_000_000_013), all.slice(2))
      assert.deepStrictEqual(yield* of(0, 2), all.slice(2))
      assert.deepStrictEqual(yield* of(0, 0), [])
      assert.deepStrictEqual(yield* records.timings(newTenant(), 0, 2_000), [])
      const [named] = yield* records.timings(tenant, 1_700_000_000_014, 1)
      assert.strictEqual(named?.tool_name, recordOf(tenant, run, 1).tool_name)
    })
  )

  it.effect("refuses a cursor that is no record of the run, also of one that is gone", () =>
    Effect.gen(function* () {
      const records = yield* CallRecords
      const [tenant, run, other] = [newTenant(), newRun(), newRun()]
      const [first, second, elsewhere] = [
        recordOf(tenant, run, 1),
        recordOf(tenant, run, 2),
        recordOf(tenant, other, 3)
      ]
      yield* records.store([first, second, elsewhere])
      const refused = (after: string, of = tenant) =>
        Effect.map(Effect.flip(records.ofRun(of, run, 500, after)), (error) =>
          assert.deepInclude(error, { _tag: "InvalidInput", field: "after" })
        )
      yield* refused("no record")
      yield* refused(elsewhere.key)
      yield* refused(first.key, newTenant())
      assert.deepStrictEqual(yield* records.ofRun(tenant, run, 500, first.key), [second])
      assert.deepStrictEqual(yield* records.ofRun(tenant, run, 500, second.key), [])
      assert.strictEqual(yield* records.forget(tenant, second.ended_at), 1)
      yield* refused(first.key)
    })
  )

  it.effect("SM-88 keeps several records of one call, and each key once", () =>
    Effect.gen(function* () {
      const records = yield* CallRecords
      const [tenant, run] = [newTenant(), newRun()]
      const first = recordOf(tenant, run, 1)
      const error = { class: "ToolTransientError", kind: "network", message: "away" } as const
      const { outcome: _none, ...tried } = first
      const retried = { ...tried, key: recordKey("0/1.1", 0n), retried: error }
      yield* records.store([retried, first])
      yield* records.store([{ ...first, agent_name: "another" }])
      assert.deepStrictEqual(yield* records.ofRun(tenant, run, 500), [retried, first])
    })
  )

  it.effect("lists the records of a tool, newest first, at most as many as asked for", () =>
    Effect.gen(function* () {
      const records = yield* CallRecords
      const tenant = newTenant()
      const all = [1, 2, 3].map((n) => recordOf(tenant, newRun(), n))
      yield* records.store([...all, recordOf(tenant, newRun(), 4, { tool_name: "other" })])
      assert.deepStrictEqual(yield* records.ofTool(tenant, all[0]!.tool_name, 2), [
        all[2]!,
        all[1]!
      ])
      assert.deepStrictEqual(yield* records.ofTool(newTenant(), all[0]!.tool_name, 500), [])
    })
  )

  it.effect("deletes the records of one tenant that ended before a time", () =>
    Effect.gen(function* () {
      const records = yield* CallRecords
      const [tenant, other, run] = [newTenant(), newTenant(), newRun()]
      const all = [1, 2, 3].map((n) => recordOf(tenant, run, n))
      yield* records.store([...all, recordOf(other, run, 4)])
      assert.strictEqual(yield* records.forget(tenant, all[2]!.ended_at), 2)
      assert.deepStrictEqual(yield* records.ofRun(tenant, run, 500), [all[2]!])
      assert.lengthOf(yield* records.ofRun(other, run, 500), 1)
      assert.strictEqual(yield* records.forget(newTenant(), Number.MAX_SAFE_INTEGER), 0)
    })
  )
}
