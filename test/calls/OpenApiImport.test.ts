/** Operations of OpenAPI documents as entries of the catalogue: what becomes of each part, and what is refused. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as OpenApiImport from "../../layers/calls/OpenApiImport.ts"
import type { Json } from "../../src/value/Canonical.ts"
import { configured, platform, runBody } from "./Platform.ts"

interface Parts {
  readonly version?: string
  readonly path?: string
  readonly method?: string
  readonly operation?: Json
  readonly components?: Json
  readonly servers?: Json
}

/** A document of one operation `x`. */
const documentOf = ({
  method = "post",
  operation = {},
  path = "/a/{id}",
  version,
  ...more
}: Parts) => ({
  openapi: version ?? "3.1.0",
  info: { title: "t", version: "1" },
  ...more,
  paths: {
    [path]: {
      parameters: path.includes("{id}")
        ? [{ name: "id", in: "path", required: true, schema: { type: "string" } }]
        : [],
      [method]: {
        operationId: "x",
        responses: { "200": { description: "" } },
        ...(operation as Readonly<Record<string, Json>>)
      }
    }
  }
})

const withBody = (schema: Json, more: Parts = {}, type = "application/json") =>
  documentOf({
    ...more,
    operation: { requestBody: { required: true, content: { [type]: { schema } } } }
  })

const entryOf = (document: unknown, choice: string | OpenApiImport.Choice = "x") =>
  Effect.map(OpenApiImport.operations(document, [choice]), ([entry]) => entry!)

const schemaOf = (document: unknown) => Effect.map(entryOf(document), (entry) => entry.input_schema)

const refusalOf = (
  document: unknown,
  chosen: ReadonlyArray<string | OpenApiImport.Choice> = ["x"],
  options?: OpenApiImport.ImportOptions
) => Effect.flip(OpenApiImport.operations(document, chosen, options))

const text: Json = { type: "string" }
const path_schema = (properties: Json, required: ReadonlyArray<string> = []) => ({
  type: "object",
  properties: { ...(properties as object), id: text },
  required: [...required, "id"]
})

describe("an imported operation", () => {
  it.effect("has its parameters, its JSON body and its path as one schema", () =>
    Effect.gen(function* () {
      const operation = {
        summary: "Does it.",
        description: "More of it.",
        parameters: [
          { name: "dry", in: "query", required: true, schema: { type: "boolean" } },
          { name: "page", in: "query", schema: { type: "integer" } },
          { name: "X-Trace", in: "header", schema: text }
        ],
        requestBody: {
          content: {
            "application/json; charset=utf-8": {
              schema: { type: "object", required: ["n"], properties: { n: text } }
            }
          }
        }
      }
      const servers = [{ url: "https://x.example/{v}/", variables: { v: { default: "api" } } }]
      assert.deepStrictEqual(yield* entryOf(documentOf({ operation, servers })), {
        op: "x",
        description: "Does it.\n\nMore of it.",
        method: "POST",
        path: "/api/a/{id}",
        input_schema: {
          type: "object",
          properties: { n: text, id: text, dry: { type: "boolean" }, page: { type: "integer" } },
          required: ["n", "id", "dry"]
        },
        query: { dry: "dry", page: "page" }
      })
    })
  )

  it.effect("is a read where it is a GET, which sends its query by its own names", () =>
    Effect.gen(function* () {
      const parameters = [
        { name: "id", in: "query", schema: { type: "integer" } },
        { name: "page.size", in: "query", description: "How many.", schema: { type: "integer" } },
        { name: "filter", in: "query", schema: { type: "object" } },
        { name: "filter[a]", in: "query", schema: text },
        { name: "Authorization", in: "header", required: true, schema: text }
      ]
      const entry = yield* entryOf(documentOf({ method: "get", operation: { parameters } }))
      assert.strictEqual(entry.path, "/a/{path_id}")
      assert.isTrue(entry.read_only)
      assert.deepStrictEqual(entry.input_schema, {
        type: "object",
        properties: {
          id: { type: "integer" },
          "page.size": { description: "How many.", type: "integer" },
          filter: { type: "object" },
          path_id: text,
          filter_a_: text
        },
        required: ["path_id"],
        additionalProperties: false
      })
      assert.deepStrictEqual(entry.query, { filter: { field: "filter" }, "filter[a]": "filter_a_" })
    })
  )

  it.effect("follows the path of its own server, unless the import gives another", () =>
    Effect.gen(function* () {
      const url = "https://x.example/own/"
      const document = (at: string) =>
        documentOf({ operation: { servers: [{ url }] }, servers: [{ url: at }] })
      for (const at of ["https://x.example/api", "/api"]) {
        assert.strictEqual((yield* entryOf(document(at))).path, "/own/a/{id}")
      }
      const elsewhere = document("https://y.example/api")
      const given = yield* OpenApiImport.operations(elsewhere, ["x"], { base_path: "/b" })
      assert.strictEqual(given[0]?.path, "/b/a/{id}")
      assert.strictEqual((yield* refusalOf(elsewhere)).reason, "UnsupportedServer")
    })
  )

  it.effect("takes what the choice says in place of the document", () =>
    Effect.gen(function* () {
      const entry = yield* entryOf(documentOf({}), {
        operation: "x",
        name: "look",
        description: "Looks.",
        side_effects: "read",
        permission: "ask"
      })
      assert.include(entry, {
        op: "look",
        description: "Looks.",
        read_only: true,
        default_permission: "ask"
      })
      const get = documentOf({ method: "get" })
      const written = yield* entryOf(get, { operation: "x", side_effects: "external" })
      assert.notProperty(written, "read_only")
    })
  )

  it.effect("has a name that models take, and is chosen by its method and path as well", () =>
    Effect.gen(function* () {
      const named = documentOf({ operation: { operationId: "repos/create issue" } })
      assert.strictEqual((yield* entryOf(named, "repos/create issue")).op, "repos_create_issue")
      const unnamed = documentOf({ operation: { operationId: 7 } })
      assert.strictEqual((yield* entryOf(unnamed, "POST /a/{id}")).op, "POST_a_id")
      const foreign = documentOf({ operation: { operationId: "заказ" } })
      assert.strictEqual((yield* refusalOf(foreign, ["заказ"])).reason, "InvalidChoice")
    })
  )

  it.effect("says OpenAPI 3.0 in JSON Schema 2020-12", () =>
    Effect.gen(function* () {
      const properties = {
        answer: { type: "string", readOnly: true },
        amount: { type: "number", minimum: 0, exclusiveMinimum: true, nullable: true },
        most: { type: "number", maximum: 9, exclusiveMaximum: false },
        kind: { type: "string", enum: ["a"], nullable: true },
        whole: { allOf: [text], nullable: true },
        ahead: { type: "string", pattern: "(?=a)b" },
        braces: { type: "string", pattern: "^{a}$" },
        escaped: { type: "string", pattern: "^[a\\:]+$" },
        odd: { type: "object", enum: [{ a: 1 }] },
        map: { type: "object", properties: { a: text }, additionalProperties: { type: "integer" } },
        example: { type: "string", example: { $ref: "http://x.example" }, "x-more": 1 }
      }
      const schema = { type: "object", required: ["answer", "amount"], properties }
      assert.deepStrictEqual(
        yield* schemaOf(withBody(schema, { version: "3.0.3" })),
        path_schema(
          {
            amount: { type: ["number", "null"], exclusiveMinimum: 0 },
            most: { type: "number", maximum: 9 },
            kind: { type: ["string", "null"], enum: ["a", null] },
            whole: { anyOf: [{ allOf: [text] }, { type: "null" }] },
            ahead: text,
            braces: text,
            escaped: { ...text, pattern: "^[a:]+$" },
            odd: { type: "object" },
            map: { type: "object", properties: { a: text } },
            example: text
          },
          ["amount"]
        )
      )
    })
  )

  it.effect("has members of any name beside a parameter, where its body is a map", () =>
    Effect.gen(function* () {
      const schema = { type: "object", additionalProperties: text }
      assert.deepStrictEqual(yield* schemaOf(withBody(schema)), path_schema({}))
      const alone = yield* schemaOf(withBody(schema, { path: "/a" }))
      assert.deepStrictEqual(alone, { ...schema, properties: {} })
    })
  )

  it.effect("has its references written out, with what 3.1 has beside them", () =>
    Effect.gen(function* () {
      const components = {
        schemas: {
          "A/b": {
            type: "object",
            required: ["id"],
            properties: { id: text, in: { $ref: "#/components/schemas/C" } }
          },
          C: { type: "integer" }
        }
      }
      const beside = { $ref: "#/components/schemas/A~1b", required: ["in"] }
      const entry = yield* entryOf(withBody(beside, { components }))
      assert.strictEqual(entry.path, "/a/{path_id}")
      assert.deepStrictEqual(entry.input_schema, {
        type: "object",
        properties: { id: text, in: { type: "integer" }, path_id: text },
        required: ["in", "id", "path_id"]
      })
    })
  )

  it.effect("has a union at the top of its body as one object", () =>
    Effect.gen(function* () {
      const one = { type: "object", required: ["a", "b"], properties: { a: text, b: text } }
      const two = { type: "object", required: ["a"], properties: { a: { type: "integer" } } }
      assert.deepStrictEqual(
        yield* schemaOf(withBody({ oneOf: [one, two, { type: "array", items: text }] })),
        path_schema({ a: { anyOf: [text, { type: "integer" }] }, b: text }, ["a"])
      )
    })
  )

  it.live("sends its one request, whose body it has checked", () =>
    Effect.gen(function* () {
      const web = yield* platform(() => ({ body: '{"made":7}' }))
      const schema = {
        type: "object",
        required: ["n"],
        properties: { n: { type: "integer", minimum: 1 } }
      }
      const entry = yield* entryOf(withBody(schema, { servers: [{ url: "/api" }] }))
      const [tool] = yield* configured(web, [{ type: "platform", op: "x" }], {
        operations: [entry]
      })
      assert.deepStrictEqual(yield* runBody(tool, { id: "a/b", n: 2 }), { made: 7 })
      assert.deepInclude(web.seen[0], { method: "POST", url: "/api/a/a%2Fb", body: '{"n":2}' })
      yield* Effect.flip(runBody(tool, { id: "a", n: 0 }))
      assert.lengthOf(web.seen, 1)
    })
  )
})

describe("an OpenAPI import refuses", () => {
  const nested = (depth: number): Json => {
    let schema: Json = text
    for (let at = 0; at < depth; at++) schema = { type: "object", properties: { a: schema } }
    return schema
  }
  const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` })
  const refs = (schemas: Json): Parts => ({ components: { schemas } })
  /** Ten references in each of thirty schemas: 10^30 values when written out. */
  const bomb = Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => {
      const names = Array.from({ length: 10 }, (__, n) => [`p${n}`, ref(`S${at + 1}`)] as const)
      return [`S${at}`, { type: "object", properties: Object.fromEntries(names) }] as const
    })
  )
  const chain = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, at) => [`S${at}`, ref(`S${at + 1}`)] as const)
  )
  const many = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, at) => [`a_long_name_of_a_property_${at}`, text] as const)
  )
  const query = (schema: Json) => ({
    operation: { parameters: [{ name: "q", in: "query", required: true, schema }] },
    method: "get"
  })
  const required = (where: string) => ({
    operation: { parameters: [{ name: "P", in: where, required: true, schema: text }] }
  })
  /** A document that is imported, as YAML. */
  const plain = Object.entries(documentOf({}))
    .map(([name, member]) => `${name}: ${JSON.stringify(member)}\n`)
    .join("")
  const cases: ReadonlyArray<readonly [string, OpenApiImport.OpenApiRefused["reason"], unknown]> = [
    ["a document of OpenAPI 2", "NotOpenApi", { swagger: "2.0", paths: {} }],
    ["one of 3.2", "NotOpenApi", { openapi: "3.2.0", paths: {} }],
    ["no document", "NotOpenApi", null],
    ["the name of a file", "NotOpenApi", "/etc/passwd"],
    ["JSON that ends too early", "NotOpenApi", '{"openapi":"3.1.0"'],
    ["YAML with an alias", "NotOpenApi", `${plain}x-a: &a [1]\nx-b: *a\n`],
    [
      "a value whose getter throws",
      "NotOpenApi",
      {
        get openapi() {
          throw new Error("no")
        }
      }
    ],
    [
      "what OpenAPI's own schema refuses",
      "InvalidDocument",
      documentOf({ operation: { parameters: [{ name: "q", in: "nowhere" }] } })
    ],
    ["a text of 50 MB", "TooLarge", `{"openapi":"${"3".repeat(50_000_000)}"}`],
    ["YAML of 5 MB", "TooLarge", `openapi: ${"3".repeat(5_000_000)}`],
    ["1,000 levels", "TooLarge", withBody(nested(1_000))],
    ["1,000 levels as a text", "TooLarge", JSON.stringify(withBody(nested(1_000)))],
    ["1,000 levels as YAML", "TooLarge", `openapi: ${"[".repeat(1_000)}`],
    ["a schema above its bound", "TooLarge", withBody({ type: "object", properties: many })],
    ["references that multiply", "TooLarge", withBody(ref("S0"), refs({ ...bomb, S30: text }))],
    ["1,000 references in a row", "TooLarge", withBody(ref("S0"), refs({ ...chain, S1000: text }))],
    ["a reference to itself", "CircularReference", withBody(ref("A"), refs({ A: ref("A") }))],
    ["a reference to a file", "ExternalReference", withBody({ $ref: "file:///etc/passwd" })],
    ["a reference beside the document", "ExternalReference", withBody({ $ref: "other.yaml#/A" })],
    ["a reference to nothing", "UnknownReference", withBody(ref("B"), refs({}))],
    ["a reference to a prototype", "UnknownReference", withBody({ $ref: "#/__proto__/toString" })],
    ["TRACE", "UnsupportedMethod", documentOf({ method: "trace" })],
    [
      "a form that is a list",
      "UnsupportedBody",
      withBody({ type: "array" }, {}, "application/x-www-form-urlencoded")
    ],
    [
      "a form that requires a file",
      "UnsupportedBody",
      withBody(
        {
          type: "object",
          required: ["f"],
          properties: { f: { type: "string", format: "binary" } }
        },
        {},
        "multipart/form-data"
      )
    ],
    ["a file", "UnsupportedBody", withBody({ type: "string" }, {}, "application/octet-stream")],
    ["an object in XML", "UnsupportedBody", withBody({ type: "object" }, {}, "application/xml")],
    ["a text in Latin 1", "UnsupportedBody", withBody(text, {}, "text/plain; charset=iso-8859-1")],
    [
      "a file that is not marked required",
      "UnsupportedBody",
      documentOf({ operation: { requestBody: { content: { "image/png": {} } } } })
    ],
    ["a body of GET", "UnsupportedBody", withBody({ type: "object" }, { method: "get" })],
    [
      "a required prototype",
      "UnsupportedBody",
      withBody({ type: "object", required: ["__proto__"] })
    ],
    [
      "a required list of objects in a query",
      "UnsupportedParameter",
      documentOf(query({ type: "array", items: { type: "object", properties: { a: text } } }))
    ],
    ["a required header", "UnsupportedParameter", documentOf(required("header"))],
    ["a required cookie", "UnsupportedParameter", documentOf(required("cookie"))],
    [
      "a part of the path without a parameter",
      "UnsupportedParameter",
      documentOf({ path: "/a/{other}" })
    ],
    [
      "a part of the path in another style",
      "UnsupportedParameter",
      documentOf({
        operation: {
          parameters: [{ name: "id", in: "path", required: true, style: "matrix", schema: text }]
        }
      })
    ],
    ["a server with open variables", "NotOpenApi", documentOf({ servers: [{ url: "/{v}" }] })]
  ]
  for (const [what, reason, document] of cases) {
    it.effect(`${what} with ${reason}`, () =>
      Effect.gen(function* () {
        const refusal = yield* refusalOf(document)
        assert.strictEqual(refusal.reason, reason, refusal.message)
        assert.isBelow(refusal.message.length, 1_000)
      })
    )
  }

  it.effect("choices that are none, are not there, or stand twice", () =>
    Effect.gen(function* () {
      const document = documentOf({})
      const refused = (...chosen: ReadonlyArray<unknown>) =>
        Effect.map(refusalOf(document, chosen as ReadonlyArray<string>), ({ reason }) => reason)
      assert.strictEqual(yield* refused("y"), "UnknownOperation")
      assert.strictEqual(yield* refused("x", "POST /a/{id}"), "DuplicateOperation")
      assert.strictEqual(yield* refused({ operation: "x", nam: "y" }), "InvalidChoice")
      assert.strictEqual(yield* refused({ operation: "x", name: "a b" }), "InvalidChoice")
      assert.strictEqual(yield* refused(...Array.from({ length: 1_001 }, () => "x")), "TooLarge")
      const twice = {
        ...document,
        paths: { ...document.paths, "/b": { get: { operationId: "x" } } }
      }
      assert.strictEqual((yield* refusalOf(twice)).reason, "DuplicateOperation")
      const both = ["POST /a/{id}", { operation: "GET /b", name: "POST_a_id" }]
      const responses = { "200": { description: "" } }
      const named = { ...document, paths: { ...document.paths, "/b": { get: { responses } } } }
      assert.strictEqual((yield* refusalOf(named, both)).reason, "DuplicateOperation")
      const based = yield* refusalOf(document, ["x"], { base_path: "/api/" })
      assert.strictEqual(based.reason, "InvalidChoice")
    })
  )

  it.live("a reference to a server, which is never asked", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const $ref = `http://127.0.0.1:${web.port}/schema.json`
      assert.strictEqual((yield* refusalOf(withBody({ $ref }))).reason, "ExternalReference")
      assert.strictEqual(web.connections.made, 0)
    })
  )

  it.effect("to show a member that reaches a prototype", () =>
    Effect.gen(function* () {
      const unsafe = '"__proto__":{"type":"string"},"constructor":{"type":"string"}'
      const inner = `{"type":"object","properties":{${unsafe},"b":{"type":"string"}}}`
      const document = JSON.stringify(withBody({ type: "object", properties: "here" }))
      const properties = `{${unsafe},"a":${inner}}`
      const schema = yield* schemaOf(document.replace('"here"', properties))
      const shown = path_schema({ a: { type: "object", properties: { b: text } } })
      assert.strictEqual(JSON.stringify(schema), JSON.stringify(shown))
    })
  )
})
