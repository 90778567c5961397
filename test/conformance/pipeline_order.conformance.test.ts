import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { govern } from "../../src/tool/GovernedTool.ts"
import { toolFactsOf } from "../../src/tool/CallRecord.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

/** Stargraph's names of errors: our reason, and the step of its pipeline that fails. */
const steps: Readonly<Record<string, { readonly reason: string; readonly step: number }>> = {
  "input-schema": { reason: "INPUT_SCHEMA", step: 1 },
  capability: { reason: "CAPABILITY_DENIED", step: 2 },
  "output-schema": { reason: "OUTPUT_SCHEMA", step: 6 },
  "non-object-output": { reason: "OUTPUT_SCHEMA", step: 6 }
}

const object = Schema.Record(Schema.String, Schema.Json) as Schema.Codec<unknown, unknown>

const driven = (input: Fields, expect: Fields) => {
  let bodies = 0
  const result =
    "output" in input
      ? input.output
      : input.outputValid === false
        ? 7n
        : { ok: true, ...("_tokens" in input ? { _tokens: input._tokens } : undefined) }
  return Stage.stage(
    {
      tools: {
        work: {
          governance: { side_effects: "read", capabilities: "work.do" },
          success: object,
          body: () =>
            Effect.suspend(() => {
              bodies++
              return input.bodyThrows === true ? Effect.die("it throws") : Effect.succeed(result)
            })
        }
      },
      capabilities: input.capabilityGranted === false ? [] : ["work.do"],
      script: [call("work", (input.argsValid === false ? "no object" : {}) as never), text("done")]
    },
    Effect.gen(function* () {
      const all = yield* Stage.events(yield* Stage.begin)
      const [settled] = Stage.tagged(all, "CallSettled")
      if (typeof expect.error === "string") {
        const { reason, step } = steps[expect.error]!
        assert.deepNestedInclude(settled, { "outcome.error.reason": reason })
        if ("stepReached" in expect) assert.strictEqual(expect.stepReached, step)
        if (step < 3) assert.strictEqual(bodies, 0)
      }
      const facts = toolFactsOf(all)
      if ("facts" in expect) {
        assert.deepStrictEqual(
          facts.map(({ _tag }) => _tag),
          expect.facts
        )
      }
      if ("tokens" in expect) {
        const last = facts.at(-1)
        assert.deepStrictEqual(
          last?._tag === "tokens-used" ? { ...last.tokens } : undefined,
          expect.tokens
        )
      }
      if ("bodyCalls" in expect) assert.strictEqual(bodies, expect.bodyCalls)
    })
  )
}

const withoutSpec = Effect.gen(function* () {
  const kit = Toolkit.make(Tool.make("bare", { success: Schema.Json }))
  const error = yield* Effect.flip(govern(kit as never, {} as never, { bare: () => null } as never))
  assert.deepInclude(error, { _tag: "MisdeclaredTool", tool: "bare", field: "governance" })
})

conformance("pipeline_order", ({ expect, input }): Driven => {
  if (!isRecord(expect)) return undefined
  if (hasShape(input, ["tool"])) return { rows: "SG-46", run: withoutSpec }
  const known = [
    "argsValid",
    "capabilityGranted",
    "ok",
    "_tokens",
    "bodyThrows",
    "outputValid",
    "output"
  ]
  return hasShape(input, [], known)
    ? {
        rows: rowsOf(
          [true, "SG-46"],
          [input.argsValid === false, "SG-47"],
          ["facts" in expect, "SG-48"],
          ["tokens" in expect || "_tokens" in input, "SG-49"],
          [input.outputValid === false || "output" in input, "SG-50"]
        ),
        run: driven(input, expect)
      }
    : undefined
})
