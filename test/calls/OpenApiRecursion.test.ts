/** Operations whose schemas refer to themselves: imported with definitions, or refused with the reason. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as OpenApiImport from "../../layers/calls/OpenApiImport.ts"
import type { Json } from "../../src/value/Canonical.ts"
import { configured, platform, runBody } from "./Platform.ts"

const text: Json = { type: "string" }
const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` })
const object = (properties: Json, more: object = {}): Json => ({
  type: "object",
  properties,
  ...more
})

interface Parts {
  readonly version?: string
  readonly operation?: Json
  readonly components?: Json
}

const documentOf = (schemas: Json, body: Json, { components, operation, version }: Parts = {}) => ({
  openapi: version ?? "3.1.0",
  info: { title: "t", version: "1" },
  components: { schemas, ...(components as object) },
  paths: {
    "/api/nodes": {
      post: {
        operationId: "x",
        requestBody: { content: { "application/json": { schema: body } } },
        responses: { "200": { description: "" } },
        ...(operation as object)
      }
    }
  }
})

const imported = (document: unknown) => OpenApiImport.operations(document, ["x"])
const schemaOf = (document: unknown) =>
  Effect.map(imported(document), ([entry]) => entry?.input_schema)
const refusalOf = (document: unknown) => Effect.flip(imported(document))

const folder = object(
  {
    name: text,
    folders: { type: "array", items: ref("Folder") },
    id: { ...(text as object), readOnly: true }
  },
  { required: ["name", "id"], additionalProperties: false }
)
const shown = object(
  { name: text, folders: { type: "array", items: { $ref: "#/$defs/Folder" } } },
  { required: ["name"], additionalProperties: false }
)

describe("a body that refers to itself", () => {
  it.live("is one object with definitions, by which the endpoint is called or the model told", () =>
    Effect.gen(function* () {
      const operations = yield* imported(documentOf({ Folder: folder }, ref("Folder")))
      const $defs = { Folder: shown }
      assert.deepStrictEqual(operations[0]?.input_schema, { ...(shown as object), $defs })
      const web = yield* platform()
      const [tool] = yield* configured(web, [{ type: "platform", op: "x" }], { operations })
      assert.deepStrictEqual(tool?.spec.input_schema, operations[0]?.input_schema)
      const body = { name: "a", folders: [{ name: "b", folders: [{ name: "c" }] }] }
      yield* runBody(tool, body)
      assert.deepStrictEqual(JSON.parse(web.seen[0]?.body ?? ""), body)
      const wrong = { name: "a", folders: [{ name: "b", folders: [{ name: 3 }] }] }
      const error = yield* Effect.flip(runBody(tool, wrong))
      assert.include(String(error), '["folders"][0]["folders"][0]["name"]')
      assert.lengthOf(web.seen, 1)
    })
  )

  it.effect("is nullable where OpenAPI 3.0 says so beside the reference", () =>
    Effect.gen(function* () {
      const link = object({
        next: { ...(ref("Link") as object), nullable: true, description: "Next." }
      })
      const next = { description: "Next.", anyOf: [{ $ref: "#/$defs/Link" }, { type: "null" }] }
      const schema = yield* schemaOf(documentOf({ Link: link }, ref("Link"), { version: "3.0.3" }))
      const expected = object({ next })
      assert.deepStrictEqual(schema, { ...(expected as object), $defs: { Link: expected } })
    })
  )

  it.effect("has the members of its base, and not those that only answers have", () =>
    Effect.gen(function* () {
      const answer = object({ of: ref("Answer") }, { readOnly: true })
      const base = object({ parent: ref("Child"), answer: ref("Answer") })
      const child = { allOf: [ref("Base"), object({ size: { type: "integer" } })] }
      const schemas = { Answer: answer, Base: base, Child: child }
      const schema = yield* schemaOf(documentOf(schemas, ref("Child")))
      const own = { parent: { $ref: "#/$defs/Child" }, size: { type: "integer" } }
      assert.deepStrictEqual(schema?.["properties"], own)
      assert.deepStrictEqual(Object.keys(schema?.["$defs"] ?? {}).toSorted(), ["Base", "Child"])
    })
  )

  it.effect("is small where each of 60 schemas refers to all", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 60 }, (_, at) => `S${at}`)
      const all = Object.fromEntries(names.map((name) => [name, ref(name)]))
      const schemas = Object.fromEntries(names.map((name) => [name, object(all)]))
      const refusal = yield* refusalOf(documentOf(schemas, ref("S0")))
      assert.strictEqual(refusal.reason, "TooLarge")
      const few = Object.fromEntries(names.slice(0, 12).map((name) => [name, ref(name)]))
      const small = Object.fromEntries(names.slice(0, 12).map((name) => [name, object(few)]))
      const schema = yield* schemaOf(documentOf(small, ref("S0")))
      assert.lengthOf(Object.keys(schema?.["$defs"] ?? {}), 12)
    })
  )

  it.effect("has one definition for each place, also where two have the same last name", () =>
    Effect.gen(function* () {
      const inner = object({ up: { $ref: "#/components/schemas/Other/properties/Node" } })
      const schemas = {
        Node: object({ node: ref("Node"), other: ref("Other") }),
        Other: object({ Node: inner })
      }
      const schema = yield* schemaOf(documentOf(schemas, ref("Node")))
      assert.deepStrictEqual(Object.keys(schema?.["$defs"] ?? {}).toSorted(), ["Node", "Node_2"])
    })
  )

  it.effect("is one argument where it is a list of itself", () =>
    Effect.gen(function* () {
      const schema = yield* schemaOf(
        documentOf({ A: { type: "array", items: ref("A") } }, ref("A"))
      )
      assert.deepStrictEqual(schema?.["properties"], { body: { $ref: "#/$defs/A" } })
    })
  )

  const self = ref("A")
  const cases: ReadonlyArray<readonly [string, OpenApiImport.OpenApiRefused["reason"], unknown]> = [
    ["is nothing but itself", "CircularReference", documentOf({ A: self }, self)],
    [
      "is itself or a text",
      "CircularReference",
      documentOf({ A: { anyOf: [self, object({ a: self })] } }, self)
    ],
    [
      "is a reference to itself in place of a body",
      "CircularReference",
      documentOf({}, text, {
        components: { requestBodies: { B: { $ref: "#/components/requestBodies/B" } } },
        operation: { requestBody: { $ref: "#/components/requestBodies/B" } }
      })
    ],
    [
      "stands beside a required parameter that does",
      "UnsupportedParameter",
      documentOf({ A: { anyOf: [text, { type: "array", items: self }] } }, object({}), {
        operation: { parameters: [{ name: "q", in: "query", required: true, schema: self }] }
      })
    ]
  ]
  for (const [what, reason, document] of cases) {
    it.effect(`is refused with ${reason} where it ${what}`, () =>
      Effect.gen(function* () {
        const refusal = yield* refusalOf(document)
        assert.strictEqual(refusal.reason, reason, refusal.message)
        assert.strictEqual(refusal.operation, "x")
      })
    )
  }
})

describe("an imported operation with a body", () => {
  const parameters = [
    { name: "dry_run", in: "query", schema: { type: "boolean" } },
    { name: "filter[name]", in: "query", schema: text },
    { name: "name", in: "query", required: true, schema: text }
  ]
  const operationsOf = (method: string) =>
    Effect.map(
      imported({
        ...documentOf({}, object({ name: text })),
        paths: {
          "/api/nodes/{id}": {
            parameters: [{ name: "id", in: "path", required: true, schema: text }],
            [method]: {
              operationId: "x",
              parameters,
              requestBody: { content: { "application/json": { schema: object({ name: text }) } } },
              responses: { "200": { description: "" } }
            }
          }
        }
      }),
      (operations) => operations
    )
  for (const method of ["post", "put", "patch"]) {
    it.live(
      `of ${method.toUpperCase()} sends what is given of its query, and the body without it`,
      () =>
        Effect.gen(function* () {
          const operations = yield* operationsOf(method)
          const web = yield* platform()
          const more = { operations, profile: "full" } as const
          const [tool] = yield* configured(web, [{ type: "platform", op: "x" }], more)
          assert.strictEqual(tool?.spec.side_effects, "external")
          assert.deepStrictEqual(tool?.spec.input_schema["required"], ["id", "query_name"])
          yield* runBody(tool, { id: "1", name: "n", query_name: "q" })
          yield* runBody(tool, { id: "1", query_name: "q", dry_run: false, filter_name_: "a b" })
          assert.deepStrictEqual(
            web.seen.map(({ body, method: by, url }) => [by.toLowerCase(), url, body]),
            [
              [method, "/api/nodes/1?name=q", '{"name":"n"}'],
              [method, "/api/nodes/1?dry_run=false&filter%5Bname%5D=a+b&name=q", "{}"]
            ]
          )
          assert.isDefined(yield* Effect.flip(runBody(tool, { id: "1" })))
          assert.lengthOf(web.seen, 2)
        })
    )
  }

  it.effect("of PATCH is called in the full profile alone", () =>
    Effect.gen(function* () {
      const operations = yield* operationsOf("patch")
      for (const profile of ["base", "extended"] as const) {
        const refused = yield* Effect.flip(
          configured({ port: 1 }, [{ type: "platform", op: "x" }], { operations, profile })
        )
        assert.include(refused.message, "method-not-allowed", profile)
      }
    })
  )
})
