/** Files over HTTP: uploads and their bounds, references, and who may fetch what. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { HttpServer } from "effect/http"
import { rangeOf } from "../../layers/http/handlers/FilesHandlers.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { Tenant } from "../../src/value/Ids.ts"
import type { ConversationId, RunId } from "../../src/value/Ids.ts"
import { turns } from "./Script.ts"
import type { Who } from "./Service.ts"
import { ask, baseUrl, layer, tokenOf } from "./Service.ts"

const bytes = new TextEncoder().encode("\0a picture that is long enough to be cut")
const digest = createHash("sha256").update(bytes).digest("hex")
const part = { type: "image", digest, media_type: "image/png", size: bytes.length, name: "ä b.png" }

const upload = (
  as: Who,
  more: { headers?: Record<string, string>; body?: Uint8Array<ArrayBuffer> } = {}
) =>
  ask("/v1/files?name=%C3%A4%20b.png", {
    as,
    body: more.body ?? bytes,
    headers: { "content-type": "image/png", ...more.headers }
  })

/** A form of one file and what else is given, as a browser sends it. */
interface Answered {
  readonly status: number
  readonly json: { readonly type?: string }
}

const uploadForm = Effect.fnUntraced(function* (
  as: Who,
  fields: ReadonlyArray<[string, string | Blob]>
) {
  const body = new FormData()
  for (const [name, value] of fields) {
    if (typeof value === "string") body.append(name, value)
    else body.append(name, value, "ä b.png")
  }
  const url = `${yield* baseUrl}/v1/files`
  const headers = { authorization: `Bearer ${tokenOf(as)}` }
  const answer = yield* Effect.promise(() => fetch(url, { method: "POST", body, headers }))
  const json = (yield* Effect.promise(() => answer.json())) as Answered["json"]
  return { status: answer.status, json }
})
const file = new Blob([bytes], { type: "image/png" })

const send = Effect.fnUntraced(function* (as: Who, parts: ReadonlyArray<object>) {
  const answer = yield* ask("/v1/messages", { as, json: { agent: "spectral", text: "", parts } })
  return {
    status: answer.status,
    json: answer.json,
    run: answer.json.run_id as RunId,
    conversation: answer.json.conversation_id as string
  }
})

const fetchFile = (
  as: Who | undefined,
  conversation: string,
  headers: Record<string, string> = {},
  of = digest
) => ask(`/v1/conversations/${conversation}/files/${of}`, { as, headers })

/** Uploads that are refused: the status, the problem. */
const wrong_uploads: ReadonlyArray<
  readonly [number, string, Effect.Effect<Answered, never, HttpServer.HttpServer>]
> = [
  [
    422,
    "digest-mismatch",
    upload("carl", { headers: { "content-digest": `sha-256=:${"A".repeat(43)}=:` } })
  ],
  [422, "digest-mismatch", upload("carl", { headers: { "content-digest": "sha-256=nonsense" } })],
  [
    422,
    "digest-mismatch",
    uploadForm("carl", [
      ["file", file],
      ["digest", "0".repeat(64)]
    ])
  ],
  [
    400,
    "malformed-form",
    uploadForm("carl", [
      ["file", file],
      ["file", file]
    ])
  ],
  [400, "malformed-form", uploadForm("carl", [["file", "a text"]])],
  [
    400,
    "malformed-form",
    uploadForm("carl", [
      ["file", file],
      ["other", "x"]
    ])
  ],
  [
    400,
    "malformed-form",
    upload("carl", { headers: { "content-type": "multipart/form-data; boundary=x" } })
  ],
  [400, "empty-file", upload("carl", { body: new Uint8Array() })],
  [415, "unsupported-media-type", upload("carl", { headers: { "content-type": "picture" } })],
  [413, "file-too-large", upload("carl", { body: new Uint8Array(20_000_001) })],
  [413, "file-too-large", upload("carl", { body: new Uint8Array(20_100_000) })],
  [403, "forbidden", upload("vera")]
]

describe("an upload", () => {
  it.live(
    "is a part of a message: as bytes or as a form, checked against its digest, within its bound",
    () =>
      Effect.gen(function* () {
        const raw = yield* upload("carl")
        assert.strictEqual(raw.status, 201, raw.text)
        assert.deepStrictEqual(raw.json, part)
        const form = yield* uploadForm("carl", [
          ["file", file],
          ["digest", digest]
        ])
        assert.deepStrictEqual(form.json, part)
        const stated = Buffer.from(digest, "hex").toString("base64")
        const checked = yield* upload("carl", {
          headers: { "content-digest": `sha-256=:${stated}:` }
        })
        assert.strictEqual(checked.status, 201)
        for (const [status, name, attempt] of wrong_uploads) {
          const { json, status: got } = yield* attempt
          assert.strictEqual(json.type, `urn:troupe:problem:${name}`)
          assert.strictEqual(got, status, name)
        }
        const anonymous = yield* ask("/v1/files", {
          body: bytes,
          headers: { "content-type": "image/png" }
        })
        assert.strictEqual(anonymous.status, 401)
      }).pipe(Effect.provide(layer), Effect.scoped)
  )
})

describe("a file of a conversation", () => {
  it.live(
    "is shown with its message and fetched by those who may read it, whole or in pieces, as an attachment",
    () =>
      Effect.gen(function* () {
        yield* upload("carl")
        const said = yield* send("carl", [part, { type: "text", text: "this one" }])
        assert.strictEqual(said.status, 202, JSON.stringify(said.json))
        const seen = yield* ask(`/v1/conversations/${said.conversation}`, { as: "carl" })
        assert.deepStrictEqual(seen.json.messages[0].parts, [
          part,
          { type: "text", text: "this one" }
        ])
        const whole = yield* fetchFile("carl", said.conversation)
        assert.strictEqual(whole.status, 200, whole.text)
        assert.strictEqual(whole.text, new TextDecoder().decode(bytes))
        const headers = Object.fromEntries(whole.headers)
        assert.deepInclude(headers, {
          "content-type": "image/png",
          "content-length": String(bytes.length),
          "content-disposition": `attachment; filename="_ b.png"; filename*=UTF-8''%C3%A4%20b.png`,
          "x-content-type-options": "nosniff",
          "cross-origin-resource-policy": "same-origin",
          "cache-control": "no-store",
          "accept-ranges": "bytes"
        })
        assert.include(headers["content-security-policy"] ?? "", "default-src 'none'")
        const piece = yield* fetchFile("olga", said.conversation, { range: "bytes=3-9" })
        assert.strictEqual(piece.status, 206)
        assert.strictEqual(piece.text, "picture")
        assert.strictEqual(piece.headers.get("content-range"), `bytes 3-9/${bytes.length}`)
        const beyond = yield* fetchFile("olga", said.conversation, { range: "bytes=999-" })
        assert.strictEqual(beyond.status, 416)
        assert.strictEqual(beyond.headers.get("content-range"), `bytes */${bytes.length}`)
        assert.strictEqual(beyond.json.type, "urn:troupe:problem:range-not-satisfiable")
        assert.strictEqual(beyond.json.correlation_id, beyond.headers.get("x-correlation-id"))
        const changed = { range: "bytes=3-9", "if-range": '"another"' }
        assert.strictEqual((yield* fetchFile("olga", said.conversation, changed)).status, 200)
      }).pipe(Effect.provide(layer), Effect.scoped)
  )

  it.live(
    "has a name without marks of direction, by which a program would look like a picture",
    () =>
      Effect.gen(function* () {
        const name = "a\u202egnp.exe"
        const uploaded = yield* ask(`/v1/files?name=${encodeURIComponent(name)}`, {
          as: "carl",
          body: bytes,
          headers: { "content-type": "image/png" }
        })
        assert.strictEqual(uploaded.status, 201, uploaded.text)
        const { conversation } = yield* send("carl", [uploaded.json])
        const { headers } = yield* fetchFile("vera", conversation)
        assert.strictEqual(
          headers.get("content-disposition"),
          `attachment; filename="agnp.exe"; filename*=UTF-8''agnp.exe`
        )
      }).pipe(Effect.provide(layer), Effect.scoped)
  )

  it.live(
    "is not found by others: another customer, another tenant, another conversation, nobody",
    () =>
      Effect.gen(function* () {
        yield* upload("carl")
        const carls = yield* send("carl", [part])
        const coras = yield* send("cora", [{ type: "text", text: "mine" }])
        for (const [who, conversation, status, of = digest] of [
          ["cora", carls.conversation, 404],
          ["cora", coras.conversation, 404],
          ["otto", carls.conversation, 404],
          ["stranger", carls.conversation, 404],
          ["vera", coras.conversation, 404],
          ["carl", carls.conversation, 404, "0".repeat(64)],
          [undefined, carls.conversation, 401],
          ["nemo", carls.conversation, 403]
        ] as const) {
          assert.strictEqual((yield* fetchFile(who, conversation, {}, of)).status, status, `${who}`)
        }
        // What a tool gave is for staff.
        const given = new TextEncoder().encode("of a tool")
        const tools = createHash("sha256").update(given).digest("hex")
        const label = { digest: tools, media_type: "text/html" }
        const conversation = carls.conversation as ConversationId
        const holder = { run: carls.run, conversation, as: "result" } as const
        yield* BlobStore.use((blobs) =>
          Effect.orDie(blobs.put(Tenant.make("acme"), label, given, holder, 1_000_000))
        )
        assert.strictEqual((yield* fetchFile("carl", conversation, {}, tools)).status, 404)
        const page = yield* fetchFile("vera", conversation, {}, tools)
        assert.strictEqual(page.text, "of a tool")
        // A page of somebody else's making runs nothing.
        assert.include(page.headers.get("content-security-policy") ?? "", "default-src 'none'")
        assert.match(
          page.headers.get("content-disposition") ?? "",
          /^attachment; filename="file.html"/
        )
        // A digest alone gives a customer nothing that it has not uploaded, and another tenant nothing at all.
        for (const who of ["cora", "otto"] as const) {
          const refused = yield* send(who, [part])
          assert.strictEqual(refused.status, 404)
          assert.strictEqual(refused.json.type, "urn:troupe:problem:file-not-found")
        }
        const empty = yield* ask("/v1/messages", {
          as: "olga",
          json: { agent: "spectral", text: "" }
        })
        assert.strictEqual(empty.status, 400)
        // What the model made is the customer's too.
        const data = Buffer.from("drawn").toString("base64")
        const drawn = createHash("sha256").update("drawn").digest("hex")
        const file = { type: "image", media_type: "image/png", data } as const
        yield* turns(carls, text("", { generated: [file] }), "RunEnded")
        assert.strictEqual((yield* fetchFile("carl", carls.conversation, {}, drawn)).text, "drawn")
        const { json } = yield* ask(`/v1/conversations/${carls.conversation}`, { as: "carl" })
        assert.strictEqual(json.messages.at(-1).files[0].digest, drawn)
      }).pipe(Effect.provide(layer), Effect.scoped)
  )

  it("a range is a piece of it, or not of it, or none", () => {
    const of = (header: string | undefined) => rangeOf(header, 10)
    assert.deepStrictEqual(of("bytes=0-3") as unknown, { from: 0, to: 4 })
    assert.deepStrictEqual(of("bytes=8-99") as unknown, { from: 8, to: 10 })
    assert.deepStrictEqual(of("bytes=4-") as unknown, { from: 4, to: 10 })
    assert.deepStrictEqual(of("bytes=-3") as unknown, { from: 7, to: 10 })
    assert.deepStrictEqual(of("bytes=-99") as unknown, { from: 0, to: 10 })
    for (const beyond of ["bytes=10-", "bytes=10-12", "bytes=-0"])
      assert.strictEqual(of(beyond), "beyond")
    for (const none of [
      undefined,
      "",
      "bytes=",
      "bytes=-",
      "bytes=5-3",
      "items=0-1",
      "bytes=0-1,3-4",
      "bytes=x-1"
    ]) {
      assert.isUndefined(of(none))
    }
  })
})
