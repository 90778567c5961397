/** What imported operations send, byte for byte, to a real server: styles of queries, forms, texts, lists, headers. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import * as OpenApiImport from "../../layers/calls/OpenApiImport.ts"
import type { Json } from "../../src/value/Canonical.ts"
import { configured, platform, runBody } from "./Platform.ts"
import type { Seen } from "./Web.ts"

type Members = Readonly<Record<string, Json>>

const text: Json = { type: "string" }
const texts: Json = { type: "array", items: text }
const object = (properties: Members, required: ReadonlyArray<string> = []): Json => ({
  type: "object",
  properties,
  ...(required.length === 0 ? {} : { required })
})

/** A document of one operation `x` below `/api`. */
const documentOf = (operation: Members, method = "post", openapi = "3.1.0") => ({
  openapi,
  info: { title: "t", version: "1" },
  servers: [{ url: "https://x.example/api" }],
  paths: {
    "/a": {
      [method]: { operationId: "x", responses: { "200": { description: "" } }, ...operation }
    }
  }
})

const parameterOf = (more: Members) => ({ parameters: [{ in: "query", name: "q", ...more }] })
const bodyOf = (type: string, schema: Json, more: Members = {}) => ({
  requestBody: { content: { [type]: { schema, ...more } } }
})

const imported = (document: unknown, choice: Partial<OpenApiImport.Choice> = {}) =>
  Effect.map(OpenApiImport.survey(document, [{ operation: "x", ...choice }]), (found) => {
    assert.deepStrictEqual(found.refused, [])
    return { entry: found.operations[0]!, left_out: found.left_out.map(({ what }) => what) }
  })

/** Calls the operation with these arguments. Gives what the server has seen. */
const sent = (document: unknown, args: Json, choice: Partial<OpenApiImport.Choice> = {}) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { entry } = yield* imported(document, choice)
      const web = yield* platform()
      const [tool] = yield* configured(web, [{ type: "platform", op: entry.op }], {
        operations: [entry],
        profile: "full"
      })
      const exit = yield* Effect.exit(runBody(tool, args))
      if (Exit.isFailure(exit)) {
        assert.deepStrictEqual(web.seen, [])
        const { message, reason } = Cause.squash(exit.cause) as { message: string; reason?: string }
        return { refused: reason ?? message, seen: undefined }
      }
      assert.lengthOf(web.seen, 1)
      return { refused: undefined, seen: web.seen[0] }
    })
  )

const queryOf = (seen: Seen | undefined) => seen?.url.replace(/^\/api\/a\??/, "")

/** Parameters `q` of a query: the arguments, and the query or the reason why nothing is sent. */
const queries: ReadonlyArray<readonly [what: string, more: Members, q: Json, expected: string]> = [
  ["a list, exploded", { schema: texts }, ["a b", "c&d"], "q=a+b&q=c%26d"],
  ["a list, not exploded", { schema: texts, explode: false }, ["a,b", "c"], "q=a%2Cb,c"],
  [
    "a list, with spaces",
    { schema: texts, style: "spaceDelimited", explode: false },
    ["a", "b"],
    "q=a%20b"
  ],
  ["a list, with spaces by default", { schema: texts, style: "spaceDelimited" }, ["a"], "q=a"],
  ["a list, with pipes", { schema: texts, style: "pipeDelimited" }, ["a", "b|c"], "q=a%7Cb%7Cc"],
  [
    "a list, with pipes, exploded",
    { schema: texts, style: "pipeDelimited", explode: true },
    ["a", "b"],
    "q=a&q=b"
  ],
  [
    "a list of numbers",
    { schema: { type: "array", items: { type: "number" } }, explode: false },
    [1, -2.5, 1e21],
    "q=1,-2.5,1e%2B21"
  ],
  ["an empty list", { schema: texts }, [], ""],
  ["an empty text", { schema: text }, "", "q="],
  ["an object, exploded", { schema: object({ r: text, g: text }) }, { r: "1", g: "2" }, "r=1&g=2"],
  [
    "an object, not exploded",
    { schema: object({ r: text, g: text }), explode: false },
    { r: "1", g: "2" },
    "q=r,1,g,2"
  ],
  [
    "an object, deep",
    { schema: object({ r: text, g: text }), style: "deepObject" },
    { r: "1", g: "a b" },
    "q%5Br%5D=1&q%5Bg%5D=a+b"
  ],
  [
    "an object in an object, deep",
    { schema: object({ r: object({ s: texts }) }), style: "deepObject", explode: true },
    { r: { s: ["1", "2"] } },
    "q%5Br%5D%5Bs%5D%5B0%5D=1&q%5Br%5D%5Bs%5D%5B1%5D=2"
  ],
  [
    "JSON",
    { content: { "application/json": { schema: object({ a: texts }) } } },
    { a: ["é"] },
    "q=%7B%22a%22%3A%5B%22%C3%A9%22%5D%7D"
  ],
  ["a text or a list, as a text", { schema: { anyOf: [text, texts] } }, "a", "q=a"],
  ["a text or a list, as a list", { schema: { anyOf: [text, texts] } }, ["a", "b"], "q=a&q=b"],
  ["a name that models may not be given", { name: "q[]", schema: texts }, ["a"], "q%5B%5D=a"],
  [
    "reserved characters",
    { schema: text, allowReserved: true },
    "a/b?c=d&e",
    "q=a%2Fb%3Fc%3Dd%26e"
  ],
  ["a text that is not well-formed", { schema: text }, "\ud800", "ILL_FORMED_TEXT"],
  ["a list in a list", { schema: { type: "array", items: {} } }, [["a"]], "NON_SCALAR_ARGUMENT"]
]

describe("the query of an imported operation has", () => {
  for (const method of ["get", "delete", "post"]) {
    for (const [what, more, q, expected] of queries) {
      it.live(`${what} (${method})`, () =>
        Effect.gen(function* () {
          const name = more["name"] === "q[]" ? "q__" : "q"
          const { refused, seen } = yield* sent(documentOf(parameterOf(more), method), {
            [name]: q
          })
          assert.strictEqual(refused ?? queryOf(seen), expected)
          if (seen === undefined) return
          assert.strictEqual(seen.body, "")
          assert.notProperty(seen.headers, "content-type")
        })
      )
    }
  }

  it.live("no parameter of another name by a member of an object", () =>
    Effect.gen(function* () {
      const parameters = [
        { name: "dry", in: "query", schema: text },
        { name: "filter", in: "query", schema: { type: "object" } }
      ]
      const document = documentOf({ parameters }, "get")
      const { refused } = yield* sent(document, { dry: "yes", filter: { dry: "no" } })
      assert.strictEqual(refused, "REPEATED_PARAMETER")
      const { seen } = yield* sent(document, { dry: "yes", filter: { a: 1, b: null } })
      assert.strictEqual(queryOf(seen), "a=1&dry=yes")
    })
  )
})

const form = "application/x-www-form-urlencoded"
const letter = object({ to: text, text, copies: texts, meta: { type: "object" } }, ["to"])
const file: Json = { type: "string", format: "binary" }

interface Body {
  readonly what: string
  readonly document: unknown
  readonly args: Json
  readonly type: string | undefined
  readonly body: string
}

const partOf = (name: string, value: string, type?: string): string =>
  `--troupe-0\r\nContent-Disposition: form-data; name="${name}"\r\n${type === undefined ? "" : `Content-Type: ${type}\r\n`}\r\n${value}\r\n`
const multipart = "multipart/form-data; boundary=troupe-0"

const bodies: ReadonlyArray<Body> = [
  {
    what: "a form that is not marked required",
    document: documentOf(bodyOf(form, letter)),
    args: { to: "a@b.example", text: "x & y=é", copies: ["c", "d"], meta: { k: [1] } },
    type: form,
    body: "to=a%40b.example&text=x+%26+y%3D%C3%A9&copies=c&copies=d&meta=%7B%22k%22%3A%5B1%5D%7D"
  },
  {
    what: "a form with styles",
    document: documentOf(
      bodyOf(form, object({ meta: { type: "object" }, ids: texts, lines: { type: "array" } }), {
        encoding: {
          meta: { style: "deepObject", explode: true },
          ids: { style: "pipeDelimited" },
          lines: { style: "deepObject", explode: true }
        }
      })
    ),
    args: { meta: { a: { b: 1 } }, ids: ["1", "2"], lines: [{ price: "p", n: 2 }] },
    type: form,
    body: "meta%5Ba%5D%5Bb%5D=1&ids=1%7C2&lines%5B0%5D%5Bprice%5D=p&lines%5B0%5D%5Bn%5D=2"
  },
  {
    what: "a form with a name that models may not be given",
    document: documentOf(bodyOf(form, object({ "tags[]": texts }, ["tags[]"]))),
    args: { tags__: ["a", "b"] },
    type: form,
    body: "tags%5B%5D=a&tags%5B%5D=b"
  },
  {
    what: "a form of PUT in 3.0, with a null",
    document: documentOf(
      bodyOf(form, object({ a: { type: "string", nullable: true }, b: { type: "boolean" } })),
      "put",
      "3.0.3"
    ),
    args: { a: null, b: false },
    type: form,
    body: "b=false"
  },
  {
    what: "a form without values",
    document: documentOf(bodyOf(form, object({ a: text }))),
    args: {},
    type: form,
    body: ""
  },
  {
    what: "the parts of a multipart form",
    document: documentOf(
      bodyOf("multipart/form-data", object({ a: text, list: texts, meta: object({ b: text }) }))
    ),
    args: { a: "one\r\ntwo", list: ["1", "2"], meta: { b: "é" } },
    type: multipart,
    body: `${partOf("a", "one\r\ntwo")}${partOf("list", "1")}${partOf("list", "2")}${partOf("meta", '{"b":"é"}', "application/json")}--troupe-0--\r\n`
  },
  {
    what: "a boundary that no part has",
    document: documentOf(bodyOf("multipart/form-data", object({ a: text }))),
    args: { a: "--troupe-0--" },
    type: "multipart/form-data; boundary=troupe-1",
    body: `${partOf("a", "--troupe-0--").replace("--troupe-0\r", "--troupe-1\r")}--troupe-1--\r\n`
  },
  {
    what: "a text",
    document: documentOf(bodyOf("text/plain", text)),
    args: { body: "Grüße\n" },
    type: "text/plain; charset=utf-8",
    body: "Grüße\n"
  },
  {
    what: "a text of a type without a schema",
    document: documentOf({ requestBody: { content: { "text/csv": {} } } }),
    args: { body: "a,b\n" },
    type: "text/csv; charset=utf-8",
    body: "a,b\n"
  },
  {
    what: "XML that the model writes",
    document: documentOf(bodyOf("application/xml", text)),
    args: { body: "<a/>" },
    type: "application/xml",
    body: "<a/>"
  },
  {
    what: "no text, where it is not required and not given",
    document: documentOf(bodyOf("text/plain", text)),
    args: {},
    type: undefined,
    body: ""
  },
  {
    what: "a list in JSON",
    document: documentOf(bodyOf("application/json", { type: "array", items: object({ a: text }) })),
    args: { body: [{ a: "1" }, {}] },
    type: "application/json",
    body: '[{"a":"1"},{}]'
  },
  {
    what: "a text in JSON",
    document: documentOf(bodyOf("application/json", text)),
    args: { body: "a" },
    type: "application/json",
    body: '"a"'
  },
  {
    what: "JSON of another type",
    document: documentOf(bodyOf("application/merge-patch+json", object({ a: text })), "patch"),
    args: { a: "1" },
    type: "application/merge-patch+json",
    body: '{"a":"1"}'
  },
  {
    what: "JSON with a member that models may not be given as an argument",
    document: documentOf(bodyOf("application/json", object({ "@type": text }, ["@type"]))),
    args: { body: { "@type": "a" } },
    type: "application/json",
    body: '{"@type":"a"}'
  },
  {
    what: "JSON rather than a form",
    document: documentOf({
      requestBody: {
        content: { [form]: { schema: letter }, "application/json": { schema: object({ a: text }) } }
      }
    }),
    args: { a: "1" },
    type: "application/json",
    body: '{"a":"1"}'
  },
  {
    what: "a form where the other type is a file",
    document: documentOf({
      requestBody: {
        content: { "application/octet-stream": { schema: file }, [form]: { schema: letter } }
      }
    }),
    args: { to: "a" },
    type: form,
    body: "to=a"
  },
  {
    what: "JSON of DELETE",
    document: documentOf(bodyOf("application/json", object({ ids: texts })), "delete"),
    args: { ids: ["1"] },
    type: "application/json",
    body: '{"ids":["1"]}'
  }
]

describe("the body of an imported operation is", () => {
  for (const { args, body, document, type, what } of bodies) {
    it.live(what, () =>
      Effect.gen(function* () {
        const { refused, seen } = yield* sent(document, args)
        assert.isUndefined(refused)
        assert.strictEqual(seen?.body, body)
        assert.strictEqual(seen?.headers["content-type"], type)
        assert.strictEqual(seen?.headers["content-length"], String(Buffer.byteLength(body)))
        assert.strictEqual(seen?.url, "/api/a")
      })
    )
  }

  it.live("read by a form parser as the values that were given", () =>
    Effect.gen(function* () {
      const properties = object({ a: text, b: text })
      const args = { a: 'ü "\r\n--x', b: "+ %20&=;" }
      for (const type of [form, "multipart/form-data"]) {
        const { seen } = yield* sent(documentOf(bodyOf(type, properties)), args)
        const headers = { "content-type": String(seen?.headers["content-type"]) }
        const read = yield* Effect.promise(() =>
          new Response(seen?.body ?? "", { headers }).formData()
        )
        assert.deepStrictEqual([...read], Object.entries(args), type)
      }
    })
  )

  it.live("not sent where a text of it is not well-formed", () =>
    Effect.gen(function* () {
      for (const type of [form, "multipart/form-data"]) {
        const document = documentOf(bodyOf(type, object({ a: text })))
        assert.strictEqual((yield* sent(document, { a: "\udc00" })).refused, "ILL_FORMED_TEXT")
      }
      const plain = documentOf(bodyOf("text/plain", text))
      assert.strictEqual((yield* sent(plain, { body: "\udc00" })).refused, "ILL_FORMED_TEXT")
    })
  )

  it.live("not sent where two of its fields have one name", () =>
    Effect.gen(function* () {
      for (const type of [form, "multipart/form-data"]) {
        const document = documentOf(bodyOf(type, object({ "tags[]": texts })))
        const { refused } = yield* sent(document, { tags__: ["a"], "tags[]": "b" })
        assert.strictEqual(refused, "REPEATED_PARAMETER", type)
      }
    })
  )

  it.effect("said where a part of it is left out", () =>
    Effect.gen(function* () {
      const schema = object({ a: text, picture: file, files: { type: "array", items: file } })
      const document = documentOf(bodyOf("multipart/form-data", schema))
      const { entry, left_out } = yield* imported(document)
      assert.deepStrictEqual(Object.keys(entry.input_schema?.["properties"] ?? {}), ["a"])
      assert.deepStrictEqual(left_out, [
        'the field "picture" of its body: it is a file',
        'the field "files" of its body: it is a file'
      ])
      const odd = documentOf(bodyOf("application/json", object({ "@a": text, b: text })))
      assert.deepStrictEqual((yield* imported(odd)).left_out, [
        'the member "@a" of its body: that is no name that models may be given'
      ])
      const either = documentOf(bodyOf("application/json", { oneOf: [object({ a: text }), texts] }))
      assert.deepStrictEqual((yield* imported(either)).left_out, [
        "the other forms of its body: an object is offered"
      ])
    })
  )
})

describe("a header of an imported operation", () => {
  const header = (more: Members = {}) => ({
    parameters: [{ name: "Api-Version", in: "header", required: true, schema: text, ...more }]
  })

  it.live("has the value of the choice, or the one that its schema allows", () =>
    Effect.gen(function* () {
      const chosen = yield* sent(
        documentOf(header()),
        {},
        { headers: { "api-version": "2026-11" } }
      )
      assert.strictEqual(chosen.seen?.headers["api-version"], "2026-11")
      const only = documentOf(header({ schema: { type: "string", enum: ["7"] } }))
      assert.strictEqual((yield* sent(only, {})).seen?.headers["api-version"], "7")
      const undeclared = yield* sent(documentOf({}), {}, { headers: { Accept: "text/csv" } })
      assert.strictEqual(undeclared.seen?.headers["accept"], "text/csv")
    })
  )

  it.live("is the model's to give only where the choice says so", () =>
    Effect.gen(function* () {
      const etag = { ...header(), parameters: [{ name: "If-Match", in: "header", schema: texts }] }
      const choice = { headers: { "If-Match": true } } as const
      const { seen } = yield* sent(documentOf(etag), { If_Match: ['"a"', '"b"'] }, choice)
      assert.strictEqual(seen?.headers["if-match"], '"a","b"')
      const split = yield* sent(documentOf(etag), { If_Match: ["a\r\nX-Other: b"] }, choice)
      assert.strictEqual(split.refused, "UNSAFE_HEADER")
      assert.deepStrictEqual((yield* imported(documentOf(etag))).left_out, [
        'the header parameter "If-Match": it is a header: give its value with the choice, as headers: { "If-Match": "..." }'
      ])
    })
  )

  it.effect("is refused where it is required and has no value, or is not the model's", () =>
    Effect.gen(function* () {
      const refusalOf = (operation: Members, choice: Partial<OpenApiImport.Choice> = {}) =>
        Effect.flip(
          OpenApiImport.operations(documentOf(operation), [{ operation: "x", ...choice }])
        )
      const missing = yield* refusalOf(header())
      assert.strictEqual(missing.reason, "UnsupportedParameter")
      assert.include(missing.message, 'headers: { "Api-Version": "..." }')
      const key = yield* refusalOf(header({ name: "X-Api-Key" }), {
        headers: { "X-Api-Key": true }
      })
      assert.strictEqual(key.reason, "UnsupportedParameter")
      for (const headers of [
        { Authorization: "a" },
        { "Idempotency-Key": "a" },
        { "Content-Type": "text/plain" },
        { Cookie: "a=b" },
        { "A b": "c" },
        { A: "b\r\nC: d" },
        { A: "" },
        { Unknown: true }
      ] as ReadonlyArray<Record<string, string | true>>) {
        const refused = yield* refusalOf({}, { headers })
        assert.strictEqual(refused.reason, "InvalidChoice", JSON.stringify(headers))
      }
    })
  )

  it.live("is part of what a decision holds for, as the type of the body is", () =>
    Effect.gen(function* () {
      const targetOf = (document: unknown, headers: Record<string, string> = {}) =>
        Effect.gen(function* () {
          const { entry } = yield* imported(document, { headers })
          const [tool] = yield* configured({ port: 1 }, [{ type: "platform", op: "x" }], {
            operations: [entry]
          })
          return tool!
        })
      const one = yield* targetOf(documentOf(bodyOf(form, letter)), { "Api-Version": "1" })
      const others = [
        yield* targetOf(documentOf(bodyOf(form, letter)), { "Api-Version": "2" }),
        yield* targetOf(documentOf(bodyOf("application/json", letter)), { "Api-Version": "1" }),
        yield* targetOf(
          documentOf(bodyOf(form, letter, { encoding: { copies: { explode: false } } })),
          { "Api-Version": "1" }
        )
      ]
      for (const other of others) {
        assert.notStrictEqual(other.spec.version, one.spec.version)
        assert.notStrictEqual(other.target, one.target)
      }
      assert.include(one.spec.effect_description, `as ${form}`)
      assert.include(one.spec.effect_description, '{"Api-Version":"1"}')
    })
  )
})
