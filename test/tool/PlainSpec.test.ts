/** Records of tools, read the quick way and by their schema alone: both have to say the same of every one. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Result, Schema } from "effect"
import { decodeToolSpec, ToolSpec } from "../../src/tool/ToolSpec.ts"
import { hostile } from "../entry/HostileValues.ts"
import { minimal } from "./MinimalTool.ts"

const bySchema = Schema.decodeUnknownEffect(ToolSpec, { onExcessProperty: "error", errors: "all" })

const texts = ["a", "", "A text.", "x".repeat(1_001), "x".repeat(4_001)]
const flags = [true, false, null, undefined, "true"]
const numbers = [1, 0, -1, 1.5, 3_600_001, Infinity, null, undefined]
const lists = [[], ["a"], ["net", "fs.read:/tmp/*"], ["a b"], Array(33).fill("a"), null, undefined]
const json = [{}, { type: "object", properties: { a: { enum: [1, null] } } }, [], null]

/** Of each field, right values and wrong ones. */
const soup: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  namespace: texts,
  name: [...texts, "broker_request"],
  version: [...texts, "1-abc"],
  description: texts,
  input_schema: [...json, { a: undefined }, { a: NaN }, { a: new Date(0) }],
  output_schema: json,
  side_effects: ["none", "read", "write", "external", "other", null],
  replay_policy: ["must-stub", "fail-loud", "recorded-result", "other", null, undefined],
  permissions: lists,
  capabilities: lists,
  idempotency_key: [null, "order-{id}", "{", "", undefined],
  idempotency_scope: ["run", "tenant", "all", null, undefined],
  idempotency_holds_ms: [1_000, 999, 0, 1.5, null, undefined],
  idempotency: [null, { key: "a", scope: "run" }],
  cost_estimate: [null, "0.10", "1e3", 1, undefined],
  examples: [[], [{ input: {}, output: 1 }], [{ input: {}, extra: 1 }], [{ input: 1 }], null],
  tags: lists,
  deprecated: flags,
  category: ["read", "suggest", "mutate", "other", null, undefined],
  produces: ["proposal", "other", null, undefined],
  approval: ["at-call", "at-publication-gate", "other", null],
  permission: ["allow", "ask", "deny", "other", null, undefined],
  needs_approval: flags,
  rule_arguments: lists,
  approvers: [[], ["operator"], ["nobody"], null, undefined],
  approval_expires_ms: numbers,
  effect_description: [...texts, null, undefined],
  group: ["core", "other", null],
  idempotent: flags,
  transactional: flags,
  reconcile: flags,
  timeout_ms: numbers,
  retry: [
    { max_attempts: 2, backoff_initial_ms: 1, backoff_max_ms: 1, retry_on_kinds: [] },
    { max_attempts: 2, backoff_initial_ms: 1, backoff_max_ms: 1, retry_on_kinds: [], extra: 1 },
    {},
    null
  ],
  rate_limit: [{ calls_max: 1, window_ms: 1 }, { calls_max: 1, window_ms: 1, extra: 1 }, null],
  circuit: [
    { failures_max: 1, open_ms: 1 },
    { failures_max: 0, open_ms: 1 }
  ],
  concurrency_max: numbers,
  stop_loop: flags,
  text_result: flags,
  result_bytes_max: numbers,
  constructor: [1, undefined],
  extra: [1, undefined]
}
const fields = Object.keys(soup)

const seen = { taken: 0, refused: 0 }

const textOf = (cause: Cause.Cause<unknown>) => String(Cause.squash(cause))

const agree = Effect.fnUntraced(function* (record: unknown) {
  const one = yield* Effect.result(Effect.sandbox(decodeToolSpec(record)))
  const two = yield* Effect.result(Effect.sandbox(bySchema(record)))
  if (Result.isSuccess(one) && Result.isSuccess(two)) {
    seen.taken++
    return assert.deepStrictEqual(one.success, two.success)
  }
  seen.refused++
  if (Result.isSuccess(one) || Result.isSuccess(two)) assert.fail(`they differ: ${String(record)}`)
  assert.strictEqual(textOf(one.failure), textOf(two.failure))
})

describe("a tool's record that is read at once", () => {
  it.effect("is what its schema makes of it, field by field, whatever stands there", () =>
    Effect.gen(function* () {
      for (const [field, values] of Object.entries(soup)) {
        for (const value of values) yield* agree({ ...minimal, [field]: value })
      }
      for (const value of [...hostile, Object.create(minimal), new (class extends Object {})()]) {
        yield* agree(value)
        yield* agree({ ...minimal, timeout_ms: value, [Symbol("x")]: 1 })
      }
      yield* agree(Object.assign(Object.create({ permission: "deny" }), minimal))
      for (const permission of ["allow", "ask", "deny"]) {
        for (const needs_approval of flags) {
          yield* agree({ ...minimal, permission, needs_approval })
        }
      }
      yield* agree({ ...minimal, description: 5, effect_description: "A text." })
    })
  )

  it.effect.prop(
    "is what its schema makes of it with several fields at once",
    { picks: Schema.Array(Schema.Int).check(Schema.isMinLength(4), Schema.isMaxLength(16)) },
    ({ picks }) => {
      const record: Record<string, unknown> = { ...minimal }
      for (let at = 0; at + 1 < picks.length; at += 2) {
        const values = soup[fields[Math.abs(picks[at]!) % fields.length]!]!
        record[fields[Math.abs(picks[at]!) % fields.length]!] =
          values[Math.abs(picks[at + 1]!) % Math.min(2, values.length)]
      }
      return agree(record)
    },
    { arbitrary: { runs: 300 } }
  )

  it.effect("keeps none of its author's lists", () =>
    Effect.gen(function* () {
      const record = { ...minimal, tags: ["a"], permissions: ["net"], approvers: ["operator"] }
      const spec = yield* decodeToolSpec(record)
      record.tags.push("b")
      record.permissions.push("fs")
      record.approvers.push("admin")
      assert.deepStrictEqual(spec.tags, ["a"])
      assert.deepStrictEqual(spec.capabilities, ["net"])
      assert.deepStrictEqual(spec.approvers, ["operator"])
    })
  )

  it("was tried with records of both kinds", () => {
    assert.isAbove(seen.taken, 150)
    assert.isAbove(seen.refused, 100)
  })
})
