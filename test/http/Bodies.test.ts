import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { illFormed, isKept, numbers } from "../entry/NumberCorpus.ts"
import { either } from "../Long.ts"
import { ask, layer } from "./Service.ts"

const id = "00000000-0000-4000-8000-000000000000"
const decide = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
  ask(`/v1/approvals/${id}/decision`, { as: "olga", method: "POST", body: body as string, headers })

const modify = (value: string) => `{"decision":"modify","arguments":{"n":${value}}}`

describe("a body of a request", () => {
  it.live("that nests too deep or holds too much is refused before a schema decodes it", () =>
    Effect.gen(function* () {
      const members = Array.from({ length: 150_000 }, (_, i) => `"k${i}":0`).join(",")
      for (const body of [
        modify("[".repeat(990_000)),
        modify("[".repeat(129) + "]".repeat(129)),
        modify("[".repeat(10_000) + "]".repeat(10_000)),
        `{"decision":"approve",${members}}`,
        `[${"[],".repeat(100_000)}[]]`
      ]) {
        const answer = yield* decide(body)
        assert.strictEqual(answer.status, 413, answer.text)
        assert.strictEqual(answer.json.type, "urn:troupe:problem:body-too-complex")
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("with more mistakes than are shown is answered with the first ones", () =>
    Effect.gen(function* () {
      const members = Array.from({ length: 15_000 }, (_, i) => `"k${i}":0`).join(",")
      const answer = yield* decide(`{"decision":"approve",${members}}`)
      assert.strictEqual(answer.status, 400)
      assert.isAtMost(answer.json.errors.length, 20)
      assert.isBelow(answer.text.length, 20_000)
    }).pipe(Effect.provide(layer))
  )

  it.live("of a decision with a wrong shape is answered with 400", () =>
    Effect.gen(function* () {
      for (const body of [
        '{"decision":{"decision":"approve"}}',
        '{"decision":["approve"]}',
        '{"decision":"modify","arguments":[]}',
        '{"decision":"modify","arguments":null}',
        modify("1e400"),
        '{"decision":"deny","decision":"approve","reason":"x"}',
        '{"__proto__":{"decision":"approve"}}',
        '{"decision":"approve","__proto__":{}}',
        '{"_tag":"Approve"}',
        '"approve"',
        "[]",
        "null",
        "1"
      ]) {
        const answer = yield* decide(body)
        assert.strictEqual(answer.status, 400, `${body}: ${answer.text}`)
      }
      assert.strictEqual((yield* decide(modify("1"))).status, 404)
    }).pipe(Effect.provide(layer))
  )

  it.live("with a number or a text that would be altered is answered with 400 and its place", () =>
    Effect.gen(function* () {
      const odd = numbers.filter((number) => !isKept(number) && number.length < 100)
      const texts = illFormed.map((text) => JSON.stringify(text))
      for (const value of [...odd.filter((_, n) => n % either(50, 1) === 0), ...texts]) {
        const answer = yield* decide(modify(`[0,{"x":${value}}]`))
        assert.strictEqual(answer.status, 400, `${value}: ${answer.text}`)
        const [error] = answer.json.errors
        assert.deepStrictEqual(error.path, ["payload", "arguments", "n", 1, "x"], value)
      }
      const kept = numbers.filter(isKept)
      for (let from = 0; from < either(10, kept.length); from += 10) {
        const list = `[${kept.slice(from, from + 10).join(",")}]`
        assert.strictEqual((yield* decide(modify(list))).status, 404, list)
        const body = `{"agent":"operations","text":"Hello","context":{"n":${list}}}`
        const sent = yield* ask("/v1/messages", { as: "olga", body })
        assert.strictEqual(sent.status, 202, sent.text)
        const journal = yield* ask(`/v1/runs/${sent.json.run_id}/events`, { as: "vera" })
        const { context } = journal.json.items[0].event
        assert.strictEqual(JSON.stringify(context.n), JSON.stringify(JSON.parse(list)))
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("with a Content-Encoding is answered with 415, whatever the encoding", () =>
    Effect.gen(function* () {
      const body = gzipSync('{"decision":"approve"}')
      for (const encoding of ["gzip", "GZIP", "br", "deflate", "zstd", "gzip, identity", "x"]) {
        const answer = yield* decide(body, { "content-encoding": encoding })
        assert.strictEqual(answer.status, 415, encoding)
        assert.strictEqual(answer.json.type, "urn:troupe:problem:unsupported-encoding")
      }
      const plain = yield* decide('{"decision":"approve"}', { "content-encoding": "identity" })
      assert.strictEqual(plain.status, 404)
    }).pipe(Effect.provide(layer))
  )
})
