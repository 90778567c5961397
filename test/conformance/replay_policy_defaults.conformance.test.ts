import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { decodeToolSpec } from "../../src/tool/ToolSpec.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape } from "./Vectors.ts"

/** A spec with the seven required fields and the case's own. */
const record = (more: object = {}) =>
  decodeToolSpec({
    namespace: "test",
    name: "raw",
    version: "1",
    description: "",
    input_schema: {},
    output_schema: {},
    side_effects: "read",
    ...more
  })

const policy = (
  rows: string,
  spec: Effect.Effect<{ readonly replay_policy: string }, unknown>,
  expect: unknown
): Driven => ({
  rows,
  run: Effect.gen(function* () {
    if (expect === "reject") assert.instanceOf(yield* Effect.flip(spec), Error)
    else assert.strictEqual((yield* spec).replay_policy, expect)
  })
})

conformance("replay_policy_defaults", ({ expect, input }): Driven => {
  if (hasShape(input, ["side_effects"], ["replay_policy"])) {
    const { replay_policy, side_effects } = input
    const given = replay_policy === null || replay_policy === undefined ? {} : { replay_policy }
    const declared = { namespace: "test", name: "declared", side_effects, ...given }
    return policy("SG-10 SG-12 SG-13 SG-14", tool(declared as never, () => null).spec, expect)
  }
  if (hasShape(input, ["toolSpecWithoutDecorator"])) return policy("SG-02", record(), expect)
  if (hasShape(input, ["wire"])) {
    return policy("SG-11", record({ replay_policy: input.wire }), expect)
  }
  return undefined
})
