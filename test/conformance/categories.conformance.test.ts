import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { ToolGroup } from "../../src/tool/ToolGroup.ts"
import { groupOf, read_only_groups } from "../../src/tool/ToolGroup.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

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

/** The groups that a case excludes from those that only read; undefined = it excludes none. */
const excluded = (expect: unknown): ReadonlyArray<string> | undefined => {
  const names = ["excludes", "exclude", "excluded", "not", "without"]
  if (!isRecord(expect) || Object.keys(expect).length !== 1) return undefined
  const name = Object.keys(expect)[0]!
  const list = [expect[name]].flat()
  return names.includes(name) && list.length > 0 && list.every((each) => typeof each === "string")
    ? list
    : undefined
}

conformance("categories", ({ expect, input }): Driven => {
  if (input === "ReadOnlyCategories") {
    const rows = "SM-82"
    if (Array.isArray(expect)) {
      return { rows, run: Effect.sync(() => assert.sameMembers([...read_only_groups], expect)) }
    }
    const out = excluded(expect)
    if (out === undefined) return undefined
    const groups: ReadonlySet<string> = new Set(read_only_groups)
    return {
      rows,
      run: Effect.sync(() => {
        for (const group of out) assert.isFalse(groups.has(group), group)
      })
    }
  }
  const named: readonly [string, ToolGroup?] | undefined =
    typeof input === "string"
      ? [input]
      : hasShape(input, ["register"])
        ? (input.register as [string, ToolGroup])
        : undefined
  // A tool without a name cannot be declared, so that the rule is asked directly.
  if (input === "") {
    return {
      rows: "SM-81",
      run: Effect.sync(() => assert.strictEqual(groupOf({ name: input }), expect))
    }
  }
  return named === undefined
    ? undefined
    : {
        rows: "SM-81 SM-84",
        run: Effect.gen(function* () {
          assert.strictEqual(groupOf(yield* declared(...named)), expect)
        })
      }
})
