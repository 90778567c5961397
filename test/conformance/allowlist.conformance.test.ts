import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import { SemStreamsTools } from "../../layers/semstreams/SemStreamsTools.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Component from "./Component.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

/** SemStreams prints the name of a tool in double quotes; a case may expect either kind. */
const straight = (value: unknown) =>
  typeof value === "string" ? value.replaceAll('"', "'") : value

/** One call to a component with this allowlist. Without `registered` the called tool is registered. */
const single = (input: Fields, expect: Fields): Driven => ({
  rows: "SM-23 SM-24",
  run: Effect.gen(function* () {
    const name = String(input.tool)
    const names = (input.registered as ReadonlyArray<string> | undefined) ?? [name]
    const ran: Array<string> = []
    const registry = yield* Component.registryOf(
      names.map((each) => Component.reading(each, () => Effect.sync(() => void ran.push(each))))
    )
    const { missing, result } = yield* Component.over(
      registry,
      { allowed_tools: input.allowed },
      Component.execute({ id: String(input.callId ?? "call-1"), name })
    )
    const isRefused = result.error === `tool '${name}' is not allowed`
    assert.strictEqual(!isRefused, expect.allowed)
    assert.strictEqual(ran.length, expect.allowed === true && names.includes(name) ? 1 : 0)
    // The allowlist comes before the look-up.
    if (isRefused) assert.isUndefined(missing)
    if (isRecord(expect.result)) {
      const shown: Fields = { ...result }
      for (const [key, value] of Object.entries(expect.result)) {
        assert.deepStrictEqual(straight(shown[key]), straight(value), key)
      }
    }
    if ("executeErrorKind" in expect) {
      assert.strictEqual(missing?._tag, "ToolNotFound")
      assert.strictEqual(result.error_kind, expect.executeErrorKind)
    }
  })
})

/** An agent whose tools are the allowed ones calls a tool that would need an approval. */
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
        const asked = Stage.tagged(all, "ApprovalRequested").length > 0
        assert.strictEqual(asked, expect.pendingApproval)
        const [settled] = Stage.tagged(all, "CallSettled")
        if (expect.allowed === false) {
          assert.deepNestedInclude(settled, {
            "outcome.error.class": "ToolPolicyError",
            "outcome.error.kind": "not_found",
            "outcome.error.message": `tool '${name}' is not allowed`
          })
        } else assert.isTrue(asked || settled?.outcome._tag === "Value")
      })
    )
  }
}

/** The calls of one turn to a component with this allowlist. */
const batch = (input: Fields, expect: Fields): Driven => ({
  rows: "SM-23",
  run: Effect.gen(function* () {
    const names = input.calls as ReadonlyArray<string>
    const ran: Array<string> = []
    const registry = yield* Component.registryOf(
      [...new Set(names)].map((each) =>
        Component.reading(each, () => Effect.sync(() => void ran.push(each)))
      )
    )
    const messages = names.map((name, n) => ({ id: `call-${n}`, name }))
    const executed = yield* Component.over(
      registry,
      { allowed_tools: input.allowed },
      Effect.result(SemStreamsTools.use((tools) => tools.executeBatch(messages, Component.tenant)))
    )
    assert.strictEqual(Result.isFailure(executed) ? executed.failure.message : null, expect.error)
    assert.lengthOf(ran, Result.isSuccess(executed) ? names.length : 0)
  })
})

conformance("allowlist", ({ expect, input }): Driven => {
  if (!isRecord(expect)) return undefined
  if (hasShape(input, ["allowed", "approvalRequired", "tool"])) return gated(input, expect)
  if (hasShape(input, ["allowed", "tool"], ["callId", "registered"])) return single(input, expect)
  return hasShape(input, ["allowed", "calls"]) ? batch(input, expect) : undefined
})
