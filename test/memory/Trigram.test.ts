/** Trigrams and their similarity, against the extension pg_trgm where it knows the letters of every language. */
import { assert, describe, it, layer } from "@effect/vitest"
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import { similarityOf, trigramsOf } from "../../src/memory/Trigram.ts"
import { canonicals, corpus } from "./Corpus.ts"

const similarity = (a: string, b: string) => similarityOf(trigramsOf(a), trigramsOf(b))

const texts = corpus(1, 500)
const pairs = texts.flatMap((text) => canonicals.map((canonical) => [text, canonical] as const))

layer(Layer.fresh(Pglite.layer({ extensions: { pg_trgm } })), {
  excludeTestServices: true,
  timeout: "2 minutes"
})("trigrams of pg_trgm", (it) => {
  it.effect("ST-53 500 generated texts have the trigrams and similarities of pg_trgm", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql.unsafe("CREATE EXTENSION pg_trgm")
      const rows = yield* sql.unsafe<{ readonly n: number; readonly s: number }>(
        `SELECT cardinality(show_trgm(a)) AS n, similarity(a, b)::float8 AS s
             FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS t(a, b, i) ORDER BY i`,
        [pairs.map(([a]) => a), pairs.map(([, b]) => b)]
      )
      assert.lengthOf(rows, pairs.length)
      for (const [i, [a, b]] of pairs.entries()) {
        assert.strictEqual(trigramsOf(a).size, rows[i]!.n, a)
        assert.closeTo(similarity(a, b), rows[i]!.s, 1e-6, a)
      }
      const similar = rows.filter(({ s }) => s >= 0.6).length
      assert.isAbove(similar, 25)
      assert.isBelow(similar, 400)
    })
  )
})

describe("trigrams", () => {
  it("a text is as similar to itself as can be, and one without words to none", () => {
    assert.strictEqual(similarity("Order 1003", "order, 1003!"), 1)
    assert.strictEqual(similarity("!!", "!!"), 0)
    assert.strictEqual(similarity("abc", "xyz"), 0)
  })
})
