import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { CallProfile } from "../../src/call/CallTarget.ts"
import { targetOf } from "../../src/call/CallTarget.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

/** Checks the URL or its refusal. The cases' reasons are advisory: of two faults of a path either may be reported. */
const meets = (input: Fields, expect: Fields, profile: CallProfile) => {
  const { method, path } = input.call as { readonly method: string; readonly path: string }
  const target = targetOf(String(input.callbackEndpoint), { method, path }, input.params, profile)
  assert.strictEqual(Result.isSuccess(target), expect.ok, String(target))
  if (Result.isSuccess(target)) assert.strictEqual(target.success.href, expect.url)
}

const shownBy = ({ method, path }: Fields, { ok, reason }: Fields): string =>
  rowsOf(
    [reason === "method-not-allowed" || (ok === true && method !== undefined), "AG-03"],
    [ok === true || reason === "outside-mount" || reason === "not-single-slash-path", "AG-04"],
    [ok === true || ["not-single-slash-path", "no-origin"].includes(String(reason)), "AG-05"],
    [reason === "unsafe-path" || /%2e/i.test(String(path)), "AG-06"],
    [/\{.*\}/.test(String(path)), "AG-23"]
  )

conformance(
  "ssrf_url",
  (each): Driven => {
    const { expect, input } = each
    const extended: unknown = "expectExtended" in each ? each.expectExtended : expect
    if (!hasShape(input, ["callbackEndpoint", "call"], ["params"])) return undefined
    if (!isRecord(expect) || !isRecord(extended)) return undefined
    if (!hasShape(input.call, ["method", "path"])) return undefined
    return {
      rows: shownBy(input.call, expect),
      run: Effect.sync(() => {
        meets(input, expect, "base")
        meets(input, extended, "extended")
      })
    }
  },
  /^expectExtended$/
)
