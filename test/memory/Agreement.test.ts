/** The database's trigger and the gateway's rule, on the same texts: whoever writes past the gateway is refused too. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { CanonicalText, comparedText, findCanonical } from "../../src/memory/CanonicalText.ts"
import * as Samples from "../contracts/Samples.ts"
import { onSomeEngines } from "../sql/Engines.ts"
import { canonicals, corpus } from "./Corpus.ts"
import { row } from "./Rows.ts"

const texts = corpus(2, 750).slice(0, 500)

onSomeEngines("copies of canonical texts", (it) => {
  it.effect(
    "ST-53 the trigger refuses those of 500 generated texts that the gateway refuses",
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
        const rows = yield* sql.unsafe<{ readonly name: string | null }>(
          `SELECT (SELECT min(c.name) FROM troupe.memory_canonical_texts c
           WHERE c.tenant = $2::text AND troupe.memory_resembles(t.text, c.text, c.threshold::float4)) AS name
         FROM unnest($1::text[]) WITH ORDINALITY AS t(text, place) ORDER BY t.place`,
          [texts, tenant]
        )
        assert.lengthOf(rows, 500)
        for (const [i, text] of texts.entries()) {
          assert.strictEqual(rows[i]!.name ?? undefined, found[i], text)
        }
        // The trigger itself, which calls that function for each row.
        const written = texts.slice(0, 60)
        const refused = yield* Effect.forEach(written, (text) => {
          const { id: _id, seen: _seen, ...added } = row({ tenant, place: "world/mars", text })
          return Effect.match(store.add(added), {
            onSuccess: () => undefined,
            onFailure: (error) => (error._tag === "MemoryRefused" ? error.canonical : error.message)
          })
        })
        assert.deepStrictEqual(refused, found.slice(0, 60))
        const count = found.filter((name) => name !== undefined).length
        assert.isAbove(count, 50)
        assert.isBelow(count, 450)
      }),
    120_000
  )
})
