import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { ApprovalGate, SideEffects } from "../../src/tool/SideEffects.ts"
import {
  categoryOf,
  permissionOf,
  readOnlyHintOf,
  replayPolicyOf
} from "../../src/tool/SideEffects.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { claimedEffects } from "../../src/mcp/McpTool.ts"
import { definitionOf, toolEffectOf } from "../../src/semstreams/ToolDefinition.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

interface Declaration {
  readonly side_effects: SideEffects | null
  readonly produces?: "proposal"
  readonly approval?: ApprovalGate
}

const declarationOf = (input: unknown): Declaration | undefined =>
  input === null || typeof input === "string"
    ? { side_effects: input as SideEffects | null }
    : hasShape(input, ["side_effects"], ["produces", "approval"])
      ? (input as unknown as Declaration)
      : undefined

conformance("effect_mapping", ({ expect, input }): Driven => {
  const declaration = declarationOf(input)
  if (declaration === undefined || !isRecord(expect)) return undefined
  return {
    rows: rowsOf(
      [expect.replay === "recorded-result", "SG-12"],
      [expect.replay === "must-stub", "SG-13"],
      [expect.category === "read", "SA-23"],
      [expect.category === "suggest", "SA-24"],
      [expect.category === "mutate" || "approvalByDefault" in expect, "SA-25"]
    ),
    run: Effect.gen(function* () {
      const { side_effects: declared, ...rest } = declaration
      // Only a tool of an MCP server can leave its side effects undeclared.
      const effects = declared ?? claimedEffects({ name: "mapped", inputSchema: {} })
      const category = categoryOf(effects, declaration.produces)
      const mapped: Readonly<Record<string, unknown>> = {
        readOnlyHint: readOnlyHintOf(declared),
        category,
        toolEffect: toolEffectOf(declared),
        approvalByDefault: permissionOf({ ...rest, category }) === "ask",
        replay: replayPolicyOf(effects),
        treatedAs: effects
      }
      for (const [key, value] of Object.entries(expect)) {
        assert.property(mapped, key)
        assert.strictEqual(mapped[key], value, key)
      }
      // A declared tool has the same values in its spec.
      const spec = yield* tool(
        { namespace: "test", name: "mapped", side_effects: effects, ...rest },
        () => null
      ).spec
      assert.strictEqual(spec.category, mapped.category)
      assert.strictEqual(spec.replay_policy, mapped.replay)
      if (declared !== null) assert.strictEqual(definitionOf(spec).effect, mapped.toolEffect)
      assert.strictEqual(permissionOf(spec) === "ask", mapped.approvalByDefault)
    })
  }
})
