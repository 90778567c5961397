import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import { failureOf } from "../../src/error/ToolError.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"
import type { Allowlist } from "../../src/tool/Allowlist.ts"
import { isAllowed, notAllowed, refusalOfBatch } from "../../src/tool/Allowlist.ts"
import * as Registry from "../../src/tool/Registry.ts"
import * as CallMessages from "../../src/semstreams/CallMessage.ts"
import { call, text } from "../../layers/model/ScriptedModelGateway.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const failed = (error: Parameters<typeof failureOf>[0]): Outcome => ({
  _tag: "Failed",
  error: failureOf(error)
})

const single = (input: Fields, expect: Fields): Driven => ({
  rows: "SM-23 SM-24",
  run: Effect.sync(() => {
    const name = String(input.tool)
    const wire = { id: String(input.callId ?? "call-1"), name }
    assert.strictEqual(isAllowed(input.allowed as Allowlist, name), expect.allowed)
    if (isRecord(expect.result)) {
      const shown: Fields = { ...CallMessages.resultOf(wire, failed(notAllowed(name))) }
      const straight = (value: unknown) =>
        typeof value === "string" ? value.replaceAll('"', "'") : value
      for (const [key, value] of Object.entries(expect.result)) {
        assert.deepStrictEqual(straight(shown[key]), straight(value), key)
      }
    }
    if ("executeErrorKind" in expect) {
      const found = Registry.empty.resolve(name)
      assert.isTrue(Result.isFailure(found))
      if (Result.isFailure(found)) {
        const outcome = failed(Registry.refusalOf(found.failure))
        const { error_kind } = CallMessages.resultOf(wire, outcome)
        assert.strictEqual(error_kind, expect.executeErrorKind)
      }
    }
  })
})

/** Through the gate: an agent that has only the allowed tools calls another, which would ask. */
const gated = (input: Fields, expect: Fields): Driven => {
  const name = String(input.tool)
  const asking = {
    governance: { side_effects: "write" },
    body: () => Effect.succeed("done")
  } as const
  const allowed = input.allowed as ReadonlyArray<string>
  return {
    rows: "SM-22 SM-23",
    run: Stage.stage(
      {
        tools: Object.fromEntries(
          [...new Set([...allowed, ...(input.approvalRequired as Array<string>), name])].map(
            (each) => [each, asking]
          )
        ),
        allowed,
        script: [call(name), text("so be it")]
      },
      Effect.gen(function* () {
        const all = yield* Stage.events(yield* Stage.begin)
        assert.strictEqual(isAllowed(allowed, name), expect.allowed)
        const asked = Stage.tagged(all, "ApprovalRequested").length > 0
        assert.strictEqual(asked, expect.pendingApproval)
        const [settled] = Stage.tagged(all, "CallSettled")
        if (expect.allowed === false) {
          assert.deepNestedInclude(settled, {
            "outcome.error.class": "ToolPolicyError",
            "outcome.error.kind": "not_found",
            "outcome.error.message": `tool '${name}' is not allowed`
          })
        }
      })
    )
  }
}

conformance("allowlist", ({ expect, input }): Driven => {
  if (!isRecord(expect)) return undefined
  if (hasShape(input, ["allowed", "approvalRequired", "tool"])) return gated(input, expect)
  if (hasShape(input, ["allowed", "tool"], ["callId", "registered"])) return single(input, expect)
  if (hasShape(input, ["allowed", "calls"])) {
    return {
      rows: "SM-23",
      run: Effect.sync(() => {
        const refusal = refusalOfBatch(input.allowed as Allowlist, input.calls as Array<string>)
        assert.strictEqual(refusal, expect.error)
      })
    }
  }
  return undefined
})
