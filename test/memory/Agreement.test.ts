/** The database's trigger and the gateway's rule, on the same texts, whatever the database's locale. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { CanonicalText, comparedText, findCanonical } from "../../src/memory/CanonicalText.ts"
import { wordsOf } from "../../src/memory/Trigram.ts"
import * as Samples from "../contracts/Samples.ts"
import { either } from "../Long.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as EmptyPglite from "../sql/EmptyPglite.ts"
import { canonicals, corpus } from "./Corpus.ts"
import { row } from "./Rows.ts"

/** 500 in the long form. */
const texts = corpus(2, 750).slice(0, either(50, 500))

const withSchema = <A, E>(client: Layer.Layer<A | SqlClient.SqlClient, E>) =>
  Layer.provideMerge(Migrations.layer, client)

const databases = [
  ["PGlite", EmptyPglite.migratedLayer] as const,
  ...Object.keys(EmbeddedPostgres.locales).map(
    (locale) =>
      [
        `PostgreSQL, ${locale}`,
        withSchema(
          EmbeddedPostgres.clientOf(
            EmbeddedPostgres.databaseOf(locale as keyof typeof EmbeddedPostgres.locales)
          )
        )
      ] as const
  )
].slice(either(1, 0))

for (const [database, client] of databases) {
  layer(Layer.provideMerge(SqlStores.layer, client), {
    excludeTestServices: true,
    timeout: "2 minutes"
  })(`copies of canonical texts (${database})`, (it) => {
    it.effect(
      "ST-53 the trigger refuses those of the generated texts that the gateway refuses",
      () =>
        Effect.gen(function* () {
          const store = yield* MemoryStore
          const tenant = Samples.tenant()
          const registered = canonicals.map((text, i) =>
            CanonicalText.make({ tenant, place: "world/mars", name: `rule ${i}`, text })
          )
          yield* Effect.forEach(registered, store.register)
          const compared = registered.map(comparedText)
          const found = texts.map((text) => findCanonical(text, compared)?.name)
          const sql = yield* SqlClient.SqlClient
          const judged = yield* Effect.forEach(texts, (text) =>
            sql.unsafe<{ readonly name: string | null }>(
              `SELECT min(c.name) AS name FROM troupe.memory_canonical_texts c WHERE c.tenant = $1::text
               AND troupe.memory_resembles($2::text[], troupe.memory_trigrams($2::text[]), c.words, c.trigrams, c.threshold::float4)`,
              [tenant, wordsOf(text)]
            )
          )
          assert.deepStrictEqual(
            judged.map(([first]) => first?.name ?? undefined),
            found
          )
          // The trigger itself, which calls that function for each canonical text.
          const written = texts.slice(0, 40)
          const refused = yield* Effect.forEach(written, (text) => {
            const { id: _id, seen: _seen, ...added } = row({ tenant, place: "world/mars", text })
            return Effect.match(store.add(added), {
              onSuccess: () => undefined,
              onFailure: (error) =>
                error._tag === "MemoryRefused" ? error.canonical : error.message
            })
          })
          assert.deepStrictEqual(refused, found.slice(0, 40))
          const count = found.filter((name) => name !== undefined).length
          assert.isAbove(count, texts.length / 10)
          assert.isBelow(count, texts.length * 0.9)
        }),
      120_000
    )

    it.effect("a canonical text without a letter of ASCII stops its copies, and nothing else", () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore
        const tenant = Samples.tenant()
        const text = "Заказ оплачен, если деньги получены. 注文は支払われました"
        yield* store.register(
          CanonicalText.make({ tenant, place: "world/mars", name: "rule", text })
        )
        const add = (text: string) => {
          const { id: _id, seen: _seen, ...added } = row({ tenant, place: "world/mars", text })
          return Effect.result(store.add(added))
        }
        const copy = yield* add(text)
        assert.strictEqual(copy._tag === "Failure" ? copy.failure._tag : "added", "MemoryRefused")
        for (const other of ["Olga prefers tea", "Ольга пьёт чай", "東京"]) {
          assert.strictEqual((yield* add(other))._tag, "Success", other)
        }
      })
    )

    it.effect("a row past the gateway needs the words of its text where texts are registered", () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore
        const tenant = Samples.tenant()
        const text = canonicals[0]!
        const given = { tenant, place: "world/mars", text: "Olga prefers tea" }
        const { id: _id, seen: _seen, ...known } = row(given)
        const { id } = yield* store.add(known)
        yield* store.register(
          CanonicalText.make({ tenant, place: "world/mars", name: "rule", text })
        )
        const sql = yield* SqlClient.SqlClient
        const change = (words: ReadonlyArray<string> | null) =>
          Effect.flip(
            sql.unsafe(
              `UPDATE troupe.memory_rows SET text = $1::text, compared = $2::text[] WHERE id = $3::uuid`,
              [text, words, id]
            )
          ).pipe(
            Effect.map(({ reason }) => String(Reflect.get(Object(reason.cause), "constraint")))
          )
        assert.strictEqual(yield* change(null), "memory_compared")
        assert.strictEqual(yield* change(["another", "text"]), "memory_compared")
        assert.strictEqual(yield* change(wordsOf(text)), "memory_canonical")
      })
    )
  })
}
