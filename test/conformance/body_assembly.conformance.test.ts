import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import { bodyAssembler } from "../../src/call/BodyAssembly.ts"
import type { BodyParts } from "../../src/call/CallDescriptor.ts"
import type { JsonObject } from "../../src/call/BodyPath.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

/** The input with the members that are given as raw JSON texts, such as an own `__proto__`. */
const read = (input: Fields): { readonly call: BodyParts & Fields; readonly args: unknown } => {
  const raw = isRecord(input.rawJson) ? input.rawJson : {}
  const call = input.call as BodyParts & Fields
  const body = raw["call.body"]
  const args = raw["args"]
  return {
    call: typeof body === "string" ? { ...call, body: JSON.parse(body) as JsonObject } : call,
    args: typeof args === "string" ? JSON.parse(args) : input.args
  }
}

const shownBy = (id: string, { call }: Fields): string =>
  rowsOf(
    [true, "AG-13"],
    [/args-into|root-merge|reference/.test(id), "AG-14"],
    [/^(string|array)-args-/.test(id), "AG-15"],
    [/body-wins|value-wins|replaces/.test(id), "AG-16"],
    [isRecord(call) && call.context !== undefined, "AG-17"],
    [/^bind-(missing|no-run|malformed|empty)/.test(id), "AG-18"],
    [id === "bind-beats-model-arg", "AG-34"],
    [/proto|constructor|empty-segment|trailing-dot/.test(id), "AG-20"]
  )

conformance("body_assembly", ({ expect, id, input }): Driven => {
  if (!hasShape(input, ["call", "args"], ["runContext", "rawJson"])) return undefined
  if (!hasShape(expect, ["body"]) && !hasShape(expect, ["error"])) return undefined
  return {
    rows: shownBy(id, input),
    run: Effect.sync(() => {
      const { args, call } = read(input)
      const before = JSON.stringify([call, args, input.runContext])
      const assembled = Result.flatMap(bodyAssembler(call), (assemble) =>
        assemble(args, input.runContext as JsonObject | undefined)
      )
      const found: Fields = Result.isSuccess(assembled)
        ? { body: assembled.success }
        : { error: assembled.failure }
      assert.deepStrictEqual(found, expect)
      assert.strictEqual(JSON.stringify([call, args, input.runContext]), before)
      assert.notProperty({}, "polluted")
    })
  }
})
