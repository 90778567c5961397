import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { detailOf } from "../../src/call/ErrorDetail.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, isRecord } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const bodyOf = (each: Fields): string | undefined => {
  if (typeof each.input === "string") return each.input
  if (!isRecord(each.inputRepeat)) return undefined
  const { char, count, prefix, suffix } = each.inputRepeat
  return `${String(prefix)}${String(char).repeat(Number(count))}${String(suffix)}`
}

const meets = (shown: string | null, each: Fields) => {
  if ("expect" in each) assert.strictEqual(shown, each.expect)
  for (const part of (each.expectContains as ReadonlyArray<string> | undefined) ?? []) {
    assert.include(shown, part)
  }
  if (isRecord(each.expectLength)) {
    assert.isAtLeast(shown?.length ?? 0, Number(each.expectLength.min))
    assert.isAtMost(shown?.length ?? 0, Number(each.expectLength.max))
  }
  if (typeof each.expectEndsWith === "string") {
    assert.isTrue(shown?.endsWith(each.expectEndsWith), "the mark of a cut is missing")
  }
}

conformance(
  "error_detail_redaction",
  (found): Driven => {
    const each: Fields = { ...found }
    const body = bodyOf(each)
    if (body === undefined || !Object.keys(each).some((key) => key.startsWith("expect"))) {
      return undefined
    }
    return { rows: "AG-11 AG-12", run: Effect.sync(() => meets(detailOf(body), each)) }
  },
  /^(inputRepeat|expect(Contains|Length|EndsWith))$/
)
