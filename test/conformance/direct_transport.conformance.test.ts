import { assert } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { isToolError } from "../../src/error/ToolError.ts"
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

const toolOf = (at: { readonly port: number }, { authorization, method, path }: Fields) =>
  Effect.map(
    configured(
      at,
      [
        {
          kind: "callback",
          name: "vec",
          call: { method: (method ?? "POST") as "POST", path: String(path ?? "/api/x") },
          // A parameter of the path has to be demanded from the model.
          input_schema: {
            type: "object",
            properties: {},
            ...(path === undefined ? undefined : { properties: { id: {} }, required: ["id"] })
          }
        }
      ],
      {
        callback: {
          endpoint: endpointOf(at),
          ...(typeof authorization === "string" ? { authorization } : undefined)
        }
      }
    ),
    ([tool]) => tool
  )

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
    if ("text" in expect) assert.strictEqual(exit.value, expect.text)
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
