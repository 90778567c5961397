import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { ToolGroup } from "../../src/tool/ToolGroup.ts"
import { groupOf, read_only_groups } from "../../src/tool/ToolGroup.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape } from "./Vectors.ts"

const declared = (name: string, group?: ToolGroup) =>
  tool(
    {
      namespace: "test",
      name,
      side_effects: "read",
      ...(group === undefined ? undefined : { group })
    },
    () => null
  ).spec

conformance("categories", ({ expect, input }): Driven => {
  if (input === "ReadOnlyCategories") {
    return {
      rows: "SM-82",
      run: Effect.sync(() => assert.sameMembers([...read_only_groups], expect as Array<ToolGroup>))
    }
  }
  const named: readonly [string, ToolGroup?] | undefined =
    typeof input === "string"
      ? [input]
      : hasShape(input, ["register"])
        ? (input.register as [string, ToolGroup])
        : undefined
  return named === undefined
    ? undefined
    : {
        rows: "SM-81 SM-84",
        run: Effect.gen(function* () {
          assert.strictEqual(groupOf(yield* declared(...named)), expect)
        })
      }
})
