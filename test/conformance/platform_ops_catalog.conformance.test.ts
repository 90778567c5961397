import { assert } from "@effect/vitest"
import { Effect, Exit, Result } from "effect"
import type { JsonObject } from "../../src/call/BodyPath.ts"
import { isJsonObject, memberOf } from "../../src/call/BodyPath.ts"
import { defaultPermissionOf, loadCatalogue, platformOp } from "../../src/call/PlatformOp.ts"
import { platform_ops } from "../../src/call/PlatformOps.ts"
import { resolveTools } from "../../src/call/ResolvedTool.ts"
import { jsonSchemaInput } from "../../src/tool/ToolCodec.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const catalogue = Result.getOrThrow(loadCatalogue(platform_ops))
const known =
  "renamedLaterTo method path readOnly defaultPermission needsApproval bind args_into properties required defaults modelVisible additionalProperties rejects"

const shownBy = (id: string, expect: Fields): string =>
  rowsOf(
    [true, "AG-47"],
    ["bind" in expect, "AG-25"],
    [id === "find_capabilities", "AG-52"],
    ["defaultPermission" in expect || expect.readOnly === false, "AG-54"]
  )

const namesOf = (value: unknown): ReadonlyArray<string> =>
  isJsonObject(value) ? Object.keys(value).sort() : []

/** What a model is shown of the op. */
const shownSchema = (op: string): JsonObject => {
  const [tool] = Result.getOrThrow(
    resolveTools([{ type: "platform", op }], {
      catalogue,
      endpoint: "https://agenta.example/api/tools/call",
      profile: "extended",
      identity: {},
      hasContext: true,
      revisions: new Map()
    })
  )
  return tool!.input_schema
}

const meetsSchema = Effect.fnUntraced(function* (name: string, expect: Fields) {
  const shown = shownSchema(name)
  const { properties } = shown
  if (Array.isArray(expect.properties)) {
    assert.deepStrictEqual(namesOf(properties), [...(expect.properties as Array<string>)].sort())
  }
  if ("required" in expect)
    assert.deepStrictEqual(shown["required"] ?? [], expect.required as never)
  if ("additionalProperties" in expect) {
    assert.strictEqual(shown["additionalProperties"], expect.additionalProperties as boolean)
  }
  for (const [field, value] of Object.entries((expect.defaults ?? {}) as Fields)) {
    assert.strictEqual(memberOf(memberOf(properties, field), "default"), value as string)
  }
  for (const [field, members] of Object.entries((expect.modelVisible ?? {}) as Fields)) {
    const inner = memberOf(memberOf(properties, field), "properties")
    assert.deepStrictEqual(namesOf(inner), [...(members as Array<string>)].sort())
  }
  const { decode } = yield* jsonSchemaInput(name, shown)
  if (isRecord(expect.rejects)) assert.isTrue(Exit.isFailure(decode(expect.rejects)))
})

conformance("platform_ops_catalog", ({ expect, id, input }): Driven => {
  if (typeof input !== "string" || !hasShape(expect, ["method", "path"], known.split(" "))) {
    return undefined
  }
  return {
    rows: shownBy(id, expect),
    run: Effect.gen(function* () {
      const op = Result.getOrThrow(platformOp(catalogue, input))
      assert.deepStrictEqual([op.method, op.path], [expect.method, expect.path] as never)
      if ("readOnly" in expect) assert.strictEqual(op.read_only === true, expect.readOnly)
      if ("bind" in expect) assert.deepStrictEqual(op.bind ?? {}, expect.bind as never)
      if ("args_into" in expect) assert.strictEqual(op.args_into, expect.args_into as string)
      const permission = defaultPermissionOf(op)
      if ("defaultPermission" in expect) assert.strictEqual(permission, expect.defaultPermission)
      if ("needsApproval" in expect) {
        assert.strictEqual(permission === "ask", expect.needsApproval)
      }
      yield* meetsSchema(input, expect)
    })
  }
})
