/**
 * Configurations that cannot be right, at the entry where a host gives them: each ends the start with a typed error that names
 * what is wrong, and none is passed over.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import * as OpenApiImport from "../../layers/calls/OpenApiImport.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Json } from "../../src/value/Canonical.ts"
import { isJsonObject } from "../../src/call/BodyPath.ts"
import { CallDescriptor } from "../../src/call/CallDescriptor.ts"
import { decodePlatformOp } from "../../src/call/PlatformOp.ts"
import type { ToolConfigRefused } from "../../src/call/ToolConfig.ts"
import { decodeToolConfig } from "../../src/call/ToolConfig.ts"

const callback = { endpoint: "http://127.0.0.1:1/api/tools/call" }
const acting = { kind: "callback", name: "act" } as const
const call = { method: "POST", path: "/api/act" } as const

/** Options with a value in the place of one. */
const options = (more: object): unknown => ({
  tools: [{ type: "platform", op: "find_capabilities" }],
  callback,
  ...more
})
const tool = (more: object): unknown => options({ tools: [{ ...acting, call, ...more }] })
const callOf = (more: object): unknown => tool({ call: { ...call, ...more } })
const schema = (more: object): unknown => tool({ input_schema: { type: "object", ...more } })
const operation = (more: object): unknown =>
  options({
    tools: [{ type: "platform", op: "act" }],
    operations: [
      { op: "act", description: "Acts.", ...call, input_schema: { type: "object" }, ...more }
    ]
  })
const platformTool = (more: object): unknown =>
  options({ tools: [{ type: "platform", op: "find_capabilities", ...more }] })

const throwing = (): never => {
  throw new Error("a getter")
}
const cyclic: Record<string, unknown> = {}
cyclic["a"] = cyclic
const deep = (): unknown => {
  let value: unknown = 1
  for (let level = 0; level < 5_000; level++) value = { a: value }
  return value
}
const proxy = new Proxy({}, { ownKeys: throwing })
const many = Array.from({ length: 1_001 }, (_, at) => ({
  type: "gateway",
  integration: "a",
  action: `b${at}`,
  connection: "c"
}))

/** Values of another kind than a member's, with what the error names. */
const each = (
  of: (more: object) => unknown,
  member: string,
  values: ReadonlyArray<unknown>
): ReadonlyArray<readonly [value: unknown, named: string]> =>
  values.map((value) => [of({ [member]: value }), member] as const)

const no_text = [null, 5, true, [], {}]
const no_flag = [null, 5, "yes", [], {}]
const no_object = [null, 5, "x", true, []]

const cases: ReadonlyArray<readonly [value: unknown, named: string]> = [
  ...[[], "x", 5, () => 1].map((value) => [value, "toolConfigs"] as const),
  [{ callback }, "tools"],
  ...each(options, "tools", [null, {}, "abc", new Set(), [null], [1], [undefined], Array(1), many]),
  ...each(options, "callback", [null, "http://x", {}, { ...callback, auth: "x" }]),
  ...[5, "", "ftp://x/y", "/api", " http://x/y", "http://a:b@x/y", "http://x/y#z"].map(
    (endpoint) => [options({ callback: { endpoint } }), "endpoint"] as const
  ),
  [options({ callback: { endpoint: `http://x/${"y".repeat(5_000)}` } }), "endpoint"],
  ...[5, {}, null, "", "a\r\nb: c", "é", "x".repeat(8_001)].map(
    (authorization) =>
      [options({ callback: { ...callback, authorization } }), "authorization"] as const
  ),
  ...each(options, "profile", ["all", 1, null]),
  ...each(options, "operations", [{}, "ab", [null], null]),
  [options({ operations: Array.from({ length: 1_001 }, () => ({})) }), "more than 1000 entries"],
  ...each(options, "identity", ["x", null, { workflow: { variantid: "x" } }, { session_id: 5 }]),
  [options({ identity: { workflow: proxy } }), "identity"],
  [
    Object.defineProperty({ callback }, "tools", { get: throwing, enumerable: true }),
    "toolConfigs"
  ],
  [proxy, "toolConfigs"],
  ...each(options, "context", [{}, "x", null]),
  ...each(options, "references", [[], null, "x", { path: 5 }, { "tools.a.b.c.d": {} }]),
  ...each(options, "timeout_ms", ["5", 0, -1, Number.NaN, 1.5, 1e9, null]),
  ...each(options, "resolve", ["x"]),
  ...each(options, "ca", [5, "", "no certificate"]),
  ...each(options, "secrets", [[], "x", { A: 5 }]),
  [options({ tool: [] }), "tool"],
  ...[deep(), cyclic, new Date(), new Map(), [], {}, { type: 1 }, { type: "__proto__" }].map(
    (config) => [options({ tools: [config] }), "tools.0"] as const
  ),
  ...[5n, Symbol("x"), () => 1].map((op) => [platformTool({ op }), "tools.0"] as const),
  [options({ tools: [{ kind: "callbck" }] }), "tools.0"],
  [tool({ type: "platform" }), "type"],
  ...each(platformTool, "op", ["", null, "x".repeat(100_000)]),
  [platformTool({ op: "find_capability" }), 'Did you mean "find_capabilities"?'],
  [platformTool({ op: "__proto__" }), "no such op"],
  ...each(platformTool, "permission", ["maybe", 5, null]),
  ...each(platformTool, "needs_approval", no_flag),
  [platformTool({ needs_approval: true, permission: "allow" }), "needs_approval"],
  ...each(tool, "name", [...no_text, "", "bad name", "x".repeat(65)]),
  ...each(tool, "description", [...no_text, "x".repeat(4_001)]),
  ...each(tool, "read_only", no_flag),
  ...each(tool, "allow_nested_bind", no_flag),
  ...each(tool, "idempotent", no_flag),
  ...each(tool, "retry", [...no_object, { times: 3 }, { max_attempts: 0 }]),
  ...each(tool, "call", [...no_object, {}]),
  ...each(tool, "callRef", ["tools.p.x.act.c", "../x", 5]),
  ...each(callOf, "method", [...no_text, "get", "TRACE", "PATCH"]),
  ...each(callOf, "path", [...no_text, "", "api", "//x", "https://x/api/y"]),
  ...["/x", "/api/../x", "/api/%2e%2e/x", "/api/\u0000", "/api/a b", "/api\\x"].map(
    (path) => [callOf({ path }), "act"] as const
  ),
  ...["/api/{", "/api/{}", "/api/{a", "/api/a}", "/api/{a}{"].map(
    (path) => [callOf({ path }), "path: a brace"] as const
  ),
  ...each(callOf, "body", [...no_object, { a: { constructor: 1 } }, JSON.parse('{"__proto__":1}')]),
  [callOf({ body: { a: "x".repeat(70_000) } }), "body"],
  ...each(callOf, "context", [...no_object, { a: 5 }, { a: "$ctx." }, { a: "$ctx.__proto__" }]),
  [callOf({ context: { "": "$ctx.session.id" } }), "context"],
  [callOf({ context: { "a.__proto__": "$ctx.session.id" } }), "prototype"],
  ...each(callOf, "args_into", [...no_text, ""]),
  ...["a..b", "__proto__"].map((args_into) => [callOf({ args_into }), "segment"] as const),
  ...each(callOf, "host", ["evil.example"]),
  ...each(tool, "input_schema", [...no_object, { type: "array" }]),
  [schema({ properties: [] }), "input_schema: properties"],
  [schema({ required: "a" }), "input_schema: required"],
  [schema({ properties: { a: { type: "text" } } }), "input_schema: properties.a.type"],
  [schema({ properties: { a: { enum: "x" } } }), "properties.a.enum"],
  [schema({ properties: { a: { minLength: -1 } } }), "properties.a.minLength"],
  [schema({ properties: { a: { minimum: "1" } } }), "properties.a.minimum"],
  [schema({ properties: { a: { items: [] } } }), "properties.a.items"],
  [schema({ properties: { a: { anyOf: [] } } }), "properties.a.anyOf"],
  [schema({ properties: { a: 5 } }), "properties.a"],
  [schema({ properties: { a: { pattern: "(" } } }), "pattern"],
  [schema({ properties: { a: { $ref: "#/$defs/none" } } }), "none"],
  [schema({ properties: { a: { $ref: "https://x/y" } } }), "https://x/y"],
  ...[
    null,
    "r-1",
    { revision: 5, input_schema: { type: "object" } },
    { revision: "", input_schema: { type: "object" } },
    { revision: "r-1", input_schema: { type: "object", required: true } },
    { revision: "r-1", input_schema: cyclic },
    { revision: "r-1", input_schema: { type: "object" }, description: 5 },
    Object.defineProperty({ input_schema: {} }, "revision", { get: throwing, enumerable: true })
  ].map((said) => {
    const tools = [{ type: "reference", slug: "act" }]
    return [options({ tools, references: () => said }), "workflow.variant.act"] as const
  }),
  ...each(operation, "op", [...no_text, "", "bad name"]),
  ...each(operation, "description", [...no_text, ""]),
  ...each(operation, "method", [...no_text, "get"]),
  ...each(operation, "input_schema", [...no_object, { properties: 5 }]),
  ...each(operation, "input_schema_ref", ["message"]),
  [operation({ input_schema: { type: "object", "x-ag-type-ref": "nope" } }), "nope"],
  ...each(operation, "bind", [...no_object, { a: 5 }, { a: "session" }]),
  ...each(operation, "precondition", no_object),
  [
    operation({
      bind: { a: "$ctx.workflow.variant.id" },
      precondition: { a: "$ctx.workflow.latest_revision_id" }
    }),
    'bind and precondition both fill "a" in'
  ],
  ...each(operation, "query", [...no_object, { a: "" }, { a: "b..c" }, { a: "__proto__" }]),
  ...each(operation, "headers", [
    ...no_object,
    { Authorization: "a" },
    { "a b": "c" },
    { a: "b\r\nc: d" },
    { a: { field: "b..c" } },
    { a: { field: "b", style: "form" } },
    { "X-Api-Key": { field: "b" } }
  ]),
  ...each(operation, "content", [
    ...no_object.filter((value) => value !== null),
    { type: "text" },
    { type: "text/plain" },
    { type: "text/plain\r\na: b", field: "a" },
    { type: "multipart/form-data", field: "a" },
    { type: "application/json", parts: {} },
    { type: "multipart/form-data", parts: { a: { field: "" } } }
  ]),
  [operation({ method: "GET", content: { type: "text/plain", field: "a" } }), "content"],
  [operation({ headers: { A: "1", a: "2" } }), "headers"],
  [
    operation({
      content: { type: "text/plain", field: "a" },
      bind: { b: "$ctx.session.id" },
      input_schema: { type: "object", properties: { a: { type: "string" } } }
    }),
    "b"
  ],
  [operation({ handler: "tools.agenta.test_run" }), "handler"],
  [operation({ timeout_ms: 0 }), "timeout_ms"],
  [operation({ path: "/api/act?a=1", query: { a: "a" } }), "query.a"],
  ...each(operation, "default_permission", ["maybe", 5]),
  ...each(operation, "handler", [() => 1].map(String))
]

/** What the start says of these options; undefined = it began. */
const refusal = async (toolConfigs: unknown): Promise<unknown> => {
  try {
    const troupe = await start({
      agents: [],
      toolConfigs: toolConfigs as NonNullable<Options["toolConfigs"]>,
      model: layer(() => text("done"))
    })
    await troupe.stop()
    return undefined
  } catch (error) {
    return error
  }
}

const tags = ["InvalidInput", "ToolConfigRefused", "MisdeclaredTool"]

describe("a start with configured tools", () => {
  it.live(`refuses ${cases.length} options that cannot be right, each by its name`, () =>
    Effect.promise(async () => {
      assert.isAbove(cases.length, 200)
      for (const [at, [value, named]] of cases.entries()) {
        const error = (await refusal(value)) as
          | { readonly _tag: string; readonly field?: string; readonly message: string }
          | undefined
        const what = `case ${at}, of ${named}`
        assert.isDefined(error, `${what} is taken`)
        assert.include(tags, error?._tag, `${what}: ${String(error)}`)
        assert.include(`${error?.field ?? ""} ${error?.message ?? ""}`, named, what)
        assert.isBelow(error?.message.length ?? 0, 1_000, what)
      }
    })
  )
})

/** Any value in the place of a member of a sound one, at any depth. */
const placed = (value: Json, path: ReadonlyArray<number>, other: Json): Json => {
  const [first = 0, ...rest] = path
  if (path.length === 0 || typeof value !== "object" || value === null) return other
  const names = Object.keys(value)
  const name = names[first % Math.max(1, names.length)]
  if (name === undefined) return other
  const inner = placed((value as Readonly<Record<string, Json>>)[name] ?? null, rest, other)
  return Array.isArray(value)
    ? value.with(Number(name), inner)
    : { ...(value as object), [name]: inner }
}

const Place = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(9)
)
const Other = Schema.Union([
  Schema.Json,
  Schema.Literals(["", "$ref", "__proto__", "#/components/schemas/Node", "/api/{", "5"])
])

const sound: Json = {
  ...acting,
  input_schema: { type: "object", properties: { a: { type: "string", maxLength: 5 } } },
  retry: { max_attempts: 2 },
  idempotent: true,
  call: { ...call, body: { b: 1 }, context: { c: "$ctx.session.id" }, args_into: "d" }
}
const entry: Json = {
  op: "act",
  description: "Acts.",
  ...call,
  input_schema: { type: "object", properties: { a: { enum: ["x"] } }, required: ["a"] },
  bind: { c: "$ctx.session.id" },
  query: { q: "a" }
}
const document: Json = {
  openapi: "3.1.0",
  info: { title: "t", version: "1" },
  components: {
    schemas: {
      Node: {
        type: "object",
        properties: { nodes: { items: { $ref: "#/components/schemas/Node" } } }
      }
    }
  },
  paths: {
    "/api/nodes/{id}": {
      post: {
        operationId: "x",
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "string" } },
          { name: "q", in: "query", schema: { type: "integer", minimum: 1 } }
        ],
        requestBody: {
          content: { "application/json": { schema: { $ref: "#/components/schemas/Node" } } }
        },
        responses: { "200": { description: "" } }
      }
    }
  }
}

const assertNamed = (refused: ToolConfigRefused | undefined): void => {
  if (refused === undefined) return
  assert.notStrictEqual(refused.tool, "")
  assert.isBelow(refused.message.length, 1_000)
}

describe("any value in any place", () => {
  it.effect.prop(
    "of a configuration or an operation is taken, or refused with a sentence that names it",
    { other: Other, place: Place },
    ({ other, place }) =>
      Effect.sync(() => {
        const config = decodeToolConfig(placed(sound, place, other), "tools.0")
        const op = decodePlatformOp(placed(entry, place, other))
        assertNamed(Result.isFailure(config) ? config.failure : undefined)
        assertNamed(Result.isFailure(op) ? op.failure : undefined)
        if (Result.isSuccess(config) && "call" in config.success && config.success.call) {
          assert.isTrue(Schema.is(CallDescriptor)(config.success.call))
        }
      }),
    { arbitrary: { runs: 500 } }
  )

  it.effect.prop(
    "of an OpenAPI document gives an operation whose schema is an object, or an error of the import",
    { other: Other, place: Place },
    ({ other, place }) =>
      Effect.gen(function* () {
        const found = yield* Effect.result(
          OpenApiImport.operations(placed(document, place, other), ["x"])
        )
        if (Result.isSuccess(found)) {
          const [first] = found.success
          assert.isTrue(
            isJsonObject(first?.input_schema) && first.input_schema["type"] === "object"
          )
        } else {
          assert.strictEqual(found.failure._tag, "OpenApiRefused")
          assert.isBelow(found.failure.message.length, 1_000)
        }
      }),
    { arbitrary: { runs: 200 } }
  )
})
