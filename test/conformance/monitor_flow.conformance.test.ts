import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { FlowState } from "../../services/semstreams/FlowState.ts"
import { LoopStore } from "../../services/semstreams/LoopStore.ts"
import type { FlowSummary } from "../../src/semstreams/LoopRecord.ts"
import { completionKey } from "../../src/semstreams/LoopRecord.ts"
import type { Fields } from "./Executors.ts"
import { unreachable, called, meets, stores, tenant } from "./Executors.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

/** More loops than a list shows by default. */
const crowd = 60

/** Fills a store with the case's records, and gives it with the failures that the case wants. */
const furnished = Effect.fnUntraced(function* (input: Fields) {
  const loops = yield* LoopStore
  const unreadable = new Set<string>()
  for (const record of (input.records as ReadonlyArray<Fields> | undefined) ?? []) {
    const key = completionKey(String(record.loop_id))
    yield* loops.put(tenant, key, JSON.stringify({ workflow_slug: flowOf(input), ...record }))
    if (record.getFails === true) unreadable.add(key)
  }
  for (const [key, value] of Object.entries((input.rawKeys as Fields | undefined) ?? {})) {
    yield* loops.put(tenant, key, String(value))
  }
  const found: LoopStore["Service"] = {
    ...loops,
    scan:
      input.scan === "fails"
        ? () => unreachable
        : (of, flow, after, limit) =>
            Effect.map(loops.scan(of, flow, after, limit), (page) =>
              page.map((each) => (unreadable.has(each.key) ? { ...each, value: undefined } : each))
            )
  }
  return found
})

const flowOf = (input: Fields): string =>
  isRecord(input.arguments) ? String(input.arguments.flow_id ?? "") : ""

const summed = (summary: FlowSummary, expect: Fields): void => {
  const recent = summary.recent.map(({ loop_id }) => loop_id)
  for (const [key, value] of Object.entries(expect)) {
    if (key === "recentIds") assert.deepStrictEqual(recent, value)
    else if (key === "recentCount") assert.strictEqual(recent.length, value)
    else if (key === "firstRecent") assert.strictEqual(recent[0], value)
    else if (key === "effectiveLimit") assert.strictEqual(recent.length, value)
    else {
      assert.property(summary, key, `the driver does not know ${key}`)
      assert.deepStrictEqual(summary[key as keyof FlowSummary], value as never, key)
    }
  }
}

const proof = (input: Fields, expect: Fields) =>
  Effect.gen(function* () {
    const loops = yield* furnished(input)
    const flows = yield* FlowState
    if (typeof input.flowState === "string" && input.flowState !== "lookup-fails") {
      yield* flows.set(tenant, flowOf(input), input.flowState)
    }
    const executed = yield* called("monitor_flow", input).pipe(
      Effect.provideService(LoopStore, loops),
      Effect.provideService(
        FlowState,
        input.flowState === "lookup-fails"
          ? { get: () => unreachable, set: () => unreachable }
          : flows
      )
    )
    if (executed.result.content === undefined) return meets(executed, expect)
    assert.notProperty(expect, "errorKind")
    return summed(JSON.parse(executed.result.content) as FlowSummary, expect)
  }).pipe(Effect.provide(stores))

/** A case about the limit of the list has more loops than the limit. */
const crowded = (input: Fields): Fields => ({
  ...input,
  records: Array.from({ length: crowd }, (_, i) => ({
    loop_id: `loop-${i}`,
    outcome: "success",
    completed_at: new Date(i * 1_000).toISOString()
  }))
})

conformance("monitor_flow", ({ expect, input }): Driven => {
  if (
    !hasShape(input, [], ["arguments", "flowState", "records", "rawKeys", "scan", "tool"]) ||
    !isRecord(expect)
  ) {
    return undefined
  }
  const given = "effectiveLimit" in expect ? crowded(input) : input
  const list = ["recentIds", "recentCount", "firstRecent", "effectiveLimit"]
  const odd = ["rawKeys", "flowState"].some((key) => key in input) || "runtime_state" in expect
  const records = JSON.stringify(input.records ?? [])
  const rows = rowsOf(
    [!("errorKind" in expect), "SM-74"],
    [list.some((key) => key in expect), "SM-75"],
    [odd || /getFails|"outcome":"(?!success|failed|cancelled)/.test(records), "SM-76"],
    [input.tool !== undefined, "SM-80"]
  )
  return { rows: rows === "" ? "SM-74" : rows, run: proof(given, expect) }
})
