/** What a configured tool always sends is checked by its endpoint's schema when it starts, not when somebody has approved it. */
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Effect, Result, Schema } from "effect"
import { bodyAssembler } from "../../src/call/BodyAssembly.ts"
import type { JsonObject } from "../../src/call/BodyPath.ts"
import { fixedSchema } from "../../src/call/RequestSchema.ts"
import { configured, platform, runBody } from "./Platform.ts"

const text = { type: "string" }
const memo = {
  type: "object",
  properties: {
    kind: { $ref: "#/$defs/kind" },
    note: text,
    labels: { type: "object", properties: { a: { type: "integer" } }, additionalProperties: false }
  },
  required: ["kind", "note"],
  additionalProperties: false,
  $defs: { kind: { enum: ["memo", "letter"] } }
}

interface Always {
  readonly body: object
  readonly path?: string
  readonly schema?: object
}

/** A tool whose model gives the note, and nothing else. */
const always = ({ body, path = "/api/notes", schema = memo }: Always) =>
  ({
    kind: "callback",
    name: "write_note",
    input_schema: { type: "object", properties: { note: text }, required: ["note"] },
    call: { method: "POST", path, body },
    request_schema: schema
  }) as never

describe("what a configured tool always sends", () => {
  it.live("AG-22 ends the start where its endpoint refuses it, whatever the model gives", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      for (const [given, part] of [
        [{ body: { kind: "bill" } }, "kind: "],
        [{ body: { kind: 1 } }, "kind: "],
        [{ body: { kind: "memo", stray: true } }, "stray: there is no such member"],
        [{ body: { kind: "memo", labels: { a: "1" } } }, "labels.a: "],
        [{ body: { kind: "memo", labels: { b: 1 } } }, "labels.b: there is no such member"],
        [{ body: { kind: "memo", note: { id: 1 } } }, "note: "]
      ] as ReadonlyArray<readonly [Always, string]>) {
        const error = yield* Effect.flip(configured(web, [always(given)]))
        assert.deepInclude(error, { _tag: "ToolConfigRefused", reason: "InvalidToolConfig" })
        assert.include(error.message, 'tool "write_note": what it always sends does not fit')
        assert.include(error.message, part)
      }
      assert.lengthOf(web.seen, 0)
    })
  )

  it.live("AG-22 may be half of an object, a part of the path, or beside what is shown", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const open = { ...memo, additionalProperties: true }
      for (const given of [
        { body: { kind: "memo" } },
        { body: { kind: "memo", labels: {} } },
        { body: { kind: "memo", id: "n-1" }, path: "/api/notes/{id}" },
        { body: { kind: "memo", stray: 1 }, schema: open },
        { body: { kind: "memo", note: "always" } }
      ] as ReadonlyArray<Always>) {
        const [tool] = yield* configured(web, [always(given)])
        yield* runBody(tool, { note: "a" })
      }
      assert.lengthOf(web.seen, 5)
    })
  )

  it.live("AG-20 AG-23 AG-28 ends the start where no request can be made of it", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const custom = (call: object, more: object = {}) =>
        ({
          kind: "callback",
          name: "x",
          call: { method: "POST", path: "/api/x", ...call },
          ...more
        }) as never
      const lists = {
        type: "object",
        properties: { list: { $ref: "#/$defs/list" } },
        $defs: { list: { anyOf: [{ oneOf: [{ type: "array" }] }, { allOf: [{ type: "null" }] }] } }
      }
      const o = { properties: { k: {} }, required: ["k", "x"] }
      for (const [tool, part] of [
        [custom({ path: "/api/x/{id}", body: { id: ".." } }), "unsafe-path"],
        [custom({ path: "/api/x/{o.id}", body: { o: { id: null } } }), "path-param-missing"],
        [
          custom(
            { args_into: "data", context: { "o.k": "$ctx.session.id" } },
            { request_schema: { properties: { data: {}, o } } }
          ),
          "nobody supplies what the endpoint requires: o.x"
        ],
        [
          custom({ context: { "list.0.id": "$ctx.session.id" } }, { input_schema: lists }),
          '"list.0.id" is filled in, but "list" is no object'
        ],
        [
          custom(
            { args_into: "data", context: { "list.0.id": "$ctx.session.id" } },
            { request_schema: { ...lists, $defs: { list: { type: ["array", "null"] } } } }
          ),
          '"list.0.id" is filled in, but "list" is no object'
        ]
      ] as const) {
        const error = yield* Effect.flip(configured(web, [tool]))
        assert.strictEqual(error._tag, "ToolConfigRefused")
        assert.include(error.message, part)
      }
    })
  )

  it.live("AG-22 is checked with the identity of the deployment in it", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const tool = (type: string) => ({
        kind: "callback" as const,
        name: "own",
        input_schema: { type: "object" },
        call: {
          method: "POST" as const,
          path: "/api/own",
          context: { id: "$ctx.workflow.variant.id" }
        },
        request_schema: { type: "object", properties: { id: { type } }, required: ["id"] }
      })
      const identity = { workflow: { variant: { id: "v-1" } } }
      assert.lengthOf(yield* configured(web, [tool("string")], { identity }), 1)
      const error = yield* Effect.flip(configured(web, [tool("integer")], { identity }))
      assert.include(error.message, "id: ")
    })
  )

  const Leaf = Schema.Literals([1, "a", "bb", true])
  const Name = Schema.Literals(["a", "b", "c"])
  const Body = Schema.Record(Name, Schema.Union([Leaf, Schema.Record(Name, Leaf)]))
  const kinds = [{ type: "string" }, { maxLength: 1 }, { $ref: "#/$defs/one" }, {}]
  const Kind = Schema.Literals([0, 1, 2, 3])
  const Flags = { closed: Schema.Boolean, required: Schema.Array(Name) }
  const Endpoint = Schema.Struct({
    ...Flags,
    members: Schema.Record(
      Name,
      Schema.Union([Kind, Schema.Struct({ ...Flags, members: Schema.Record(Name, Kind) })])
    )
  })
  const schemaOf = (given: typeof Endpoint.Type | number): JsonObject =>
    typeof given === "number"
      ? kinds[given]!
      : {
          type: "object",
          properties: Object.fromEntries(
            Object.entries(given.members).map(([name, member]) => [
              name,
              schemaOf(member as typeof Endpoint.Type | number)
            ])
          ),
          required: [...new Set(given.required)],
          ...(given.closed ? { additionalProperties: false } : undefined)
        }

  const ajv = new Ajv2020({ strict: false })
  let refused = 0
  it.effect.prop(
    "is refused only where no arguments could make it good",
    { body: Body, args: Body, endpoint: Endpoint },
    ({ args, body, endpoint }) =>
      Effect.sync(() => {
        const schema: JsonObject = { ...schemaOf(endpoint), $defs: { one: { const: 1 } } }
        if (ajv.validate(fixedSchema(schema, body), body)) return
        refused++
        const merged = Result.getOrThrow(bodyAssembler({ body }))(args, undefined)
        assert.isFalse(ajv.validate(schema, Result.getOrThrow(merged)))
      }),
    { arbitrary: { runs: 300 } }
  )

  it("has refused some of them", () => {
    assert.isAtLeast(refused, 20)
  })
})
