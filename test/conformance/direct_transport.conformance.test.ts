import { isDeepStrictEqual } from "node:util"
import { assert } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { isToolError } from "../../src/error/ToolError.ts"
import type { JsonObject } from "../../src/call/BodyPath.ts"
import { merged } from "../../src/call/BodyPath.ts"
import { parametersOf } from "../../src/call/CallTarget.ts"
import { configured, endpointOf, platform, runBody } from "../calls/Platform.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const inputs = "status headers authorization body method assembled path args throws timeoutMs"
const outputs =
  "ok error fetches errorClass text sentHeaders absentHeaders requestBody url mustNotContain contains effectiveTimeoutMs"

const shownBy = (input: Fields, expect: Fields): string =>
  rowsOf(
    ["sentHeaders" in expect || "absentHeaders" in expect, "AG-08"],
    [Number(input.status) >= 300 && Number(input.status) < 400, "AG-09"],
    ["timeoutMs" in input, "AG-10"],
    ["mustNotContain" in expect, "AG-11"],
    ["contains" in expect, "AG-12"],
    [isRecord(input.args), "AG-23"],
    [expect.requestBody === null, "AG-24"]
  )

/** The words of a list, or none. */
const words = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.map(String) : []

/** A schema that demands the parameters of a path from the model, such as `id` and `a.b`. */
const demanding = (path: string): JsonObject =>
  parametersOf(path).reduce<JsonObject>(
    (schema, name) => {
      const demanded = name
        .split(".")
        .reduceRight<JsonObject>(
          (inner, part) => ({ type: "object", properties: { [part]: inner }, required: [part] }),
          {}
        )
      return merged(schema, {
        ...demanded,
        required: [...(schema["required"] as ReadonlyArray<string>), name.split(".")[0] ?? ""]
      })
    },
    { type: "object", properties: {}, required: [] }
  )

const toolOf = (at: { readonly port: number }, given: Fields) => {
  const { authorization, method = "POST", path = "/api/x", timeoutMs } = given
  return Effect.map(
    configured(
      at,
      [
        {
          kind: "callback",
          name: "vec",
          call: { method: method as "POST", path: String(path) },
          input_schema: demanding(String(path))
        }
      ],
      {
        profile: method === "GET" || method === "POST" ? "base" : "extended",
        ...(typeof timeoutMs === "number" ? { timeout_ms: timeoutMs } : undefined),
        callback: {
          endpoint: endpointOf(at),
          ...(typeof authorization === "string" ? { authorization } : undefined)
        }
      }
    ),
    ([tool]) => tool
  )
}

/** The answer's text: one that is JSON is given as a value. */
const textOf = (value: unknown, expected: unknown): unknown => {
  if (typeof value === "string") return value
  const same = isDeepStrictEqual(value, JSON.parse(String(expected)))
  return same ? expected : JSON.stringify(value)
}

const meets = Effect.fnUntraced(function* (input: Fields, expect: Fields) {
  const web = yield* platform(() => ({
    status: Number(input.status ?? 200),
    headers: (input.headers ?? {}) as Record<string, string>,
    body: String(input.body ?? "r")
  }))
  // Nothing listens at port 1 of loopback.
  const tool = yield* toolOf("throws" in input ? { port: 1 } : web, input)
  if ("effectiveTimeoutMs" in expect) {
    assert.strictEqual(tool?.spec.timeout_ms, Number(expect.effectiveTimeoutMs) + 1_000)
    return
  }
  const exit = yield* Effect.exit(runBody(tool, input.args ?? input.assembled ?? {}))
  if ("ok" in expect) assert.strictEqual(Exit.isSuccess(exit), expect.ok, String(exit))
  if (Exit.isSuccess(exit)) {
    if ("text" in expect) assert.strictEqual(textOf(exit.value, expect.text), expect.text)
  } else {
    const error = yield* Effect.flip(exit)
    assert.isTrue(isToolError(error))
    const { _tag, message } = error as { readonly _tag: string; readonly message: string }
    if (typeof expect.error === "string") assert.strictEqual(message, expect.error)
    if (typeof expect.errorClass === "string") assert.include(expect.errorClass, _tag)
    for (const part of words(expect.contains)) assert.include(message, part)
    for (const part of words(expect.mustNotContain)) assert.notInclude(message, part)
    assert.notInclude(message, "127.0.0.1")
  }
  const [sent] = web.seen
  assert.lengthOf(web.seen, "throws" in input ? 0 : Number(expect.fetches ?? 1))
  if ("requestBody" in expect) assert.strictEqual(sent?.body, expect.requestBody ?? "")
  if (typeof expect.url === "string") {
    const { pathname, search } = new URL(expect.url)
    assert.strictEqual(sent?.url, pathname + search)
  }
  if (isRecord(expect.sentHeaders)) assert.deepInclude(sent?.headers, expect.sentHeaders)
  for (const name of words(expect.absentHeaders)) assert.notProperty(sent?.headers, name)
})

conformance("direct_transport", ({ expect, input }): Driven => {
  if (!hasShape(input, [], inputs.split(" "))) return undefined
  if (!hasShape(expect, [], outputs.split(" "))) return undefined
  return { rows: shownBy(input, expect), run: Effect.scoped(meets(input, expect)) }
})
