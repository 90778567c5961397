import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import {
  decodePlatformOp,
  loadCatalogue,
  platformOp,
  reservedId,
  schemaOfOp
} from "../../src/call/PlatformOp.ts"
import { platform_ops } from "../../src/call/PlatformOps.ts"
import { resolveTools } from "../../src/call/ResolvedTool.ts"
import type { ToolConfigRefused } from "../../src/call/ToolConfig.ts"
import { decodeToolConfigs } from "../../src/call/ToolConfig.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const catalogue = Result.getOrThrow(loadCatalogue(platform_ops))

const shownBy = (id: string): string =>
  rowsOf(
    [id === "reserved-id", "AG-48"],
    [id.startsWith("unknown-op"), "AG-50"],
    [id.startsWith("duplicate-op"), "AG-51"],
    [id.startsWith("known-schema-ref"), "AG-53"],
    [id === "missing-api-base", "AG-07"],
    [true, "AG-49"]
  )

/** The reason and the message of a refusal, in which a case names either. */
const textOf = (refused: { readonly reason: string; readonly message: string }): string =>
  `${refused.reason} ${refused.message}`

const resolved = ({ apiBase, config }: Fields) =>
  Result.flatMap(decodeToolConfigs(config as ReadonlyArray<unknown>), (configs) =>
    resolveTools(configs, {
      catalogue,
      endpoint: apiBase === null ? undefined : "https://agenta.example/api/tools/call",
      profile: "base",
      identity: {},
      hasContext: true,
      revisions: new Map()
    })
  )

const meetsEntry = (entry: Fields, expect: unknown, resolvedAs: unknown) => {
  const decoded = decodePlatformOp(entry)
  assert.strictEqual(Result.isSuccess(decoded) ? "ok" : "reject", expect, String(decoded))
  if (Result.isFailure(decoded) || !isRecord(resolvedAs)) return
  const schema = Result.getOrThrow(schemaOfOp(decoded.success))
  assert.strictEqual(schema["type"], resolvedAs.type as string)
  assert.notInclude(JSON.stringify(schema), String(resolvedAs.noKey))
}

const meets = (input: Fields, each: Fields) => {
  const { expect } = each
  if ("reservedIdOf" in input) {
    return assert.strictEqual(reservedId(String(input.reservedIdOf)), expect)
  }
  if ("lookup" in input || "config" in input) {
    const found: Result.Result<unknown, ToolConfigRefused> =
      "lookup" in input ? platformOp(catalogue, String(input.lookup)) : resolved(input)
    if (Result.isSuccess(found) || !isRecord(expect)) return assert.fail("it was not refused")
    const text = textOf(found.failure)
    assert.include(text, String(expect.error))
    for (const part of (expect.messageContains ?? []) as ReadonlyArray<string>) {
      assert.include(text, part)
    }
    return undefined
  }
  return meetsEntry(input, expect, each.expectResolved)
}

conformance(
  "platform_op_validation",
  (found): Driven => {
    const each: Fields = { ...found }
    const { input } = found
    const isKnown =
      hasShape(input, ["reservedIdOf"]) ||
      hasShape(input, ["lookup"]) ||
      hasShape(input, ["config"], ["apiBase"]) ||
      (isRecord(input) && (each.expect === "ok" || each.expect === "reject"))
    return isKnown && isRecord(input)
      ? { rows: shownBy(found.id), run: Effect.sync(() => meets(input, each)) }
      : undefined
  },
  /^expectResolved$/
)
