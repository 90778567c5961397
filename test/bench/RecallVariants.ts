/**
 * The variant of the row of recalls: rows are written by one statement, and recalls and bare queries take turns.
 */
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as TenantReads from "../../layers/sql/engine/TenantReads.ts"
import * as SqlMemoryStore from "../../layers/sql/stores/SqlMemoryStore.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import { queryWords } from "../../src/memory/SearchWords.ts"
import { median } from "./Row.ts"
import type { Sample } from "./Row.ts"
import { sized } from "./Work.ts"

const rows_count = sized(500, 100_000)
const recalls_a_round = sized(5, 200)
const agent = AgentName.make("bench")
const tenant = Tenant.make("bench")

/** Words of a rank are as frequent as they are in a language: a few are in very many rows, most in a handful. */
const word = (i: number): string => `word${Math.floor(5_000 * ((i * 0.618_033_988) % 1) ** 3)}`

/** Rows of twelve words each, of one workspace. */
const fill = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(
    `INSERT INTO troupe.memory_scopes (tenant, agent, tier, anchor, place, session, rows, touched_at)
     VALUES ('bench', 'bench', 2, 'workspace/bench', 'workspace/bench', 'c', ${rows_count}, 0)`
  )
  yield* sql.unsafe(
    `INSERT INTO troupe.memory_rows (scope, tenant, agent, place, session, typology, text, words, source, author, at)
     SELECT s.id, s.tenant, s.agent, s.place, s.session, 1, 'A note of ' || array_to_string(w.words, ' and '), w.words, 1, 1,
       1700000000000 + g.i
     FROM troupe.memory_scopes s CROSS JOIN generate_series(1, ${rows_count}) AS g(i) CROSS JOIN LATERAL (
       SELECT array_agg(DISTINCT 'word' || floor(5000 * power(((g.i * 12 + k) * 0.618033988) % 1.0, 3))::int4) AS words
       FROM generate_series(1, 12) AS k) w`
  )
  yield* sql.unsafe(
    `INSERT INTO troupe.memory_words (scope, word, position)
     SELECT r.scope, w.word, r.position FROM troupe.memory_rows r CROSS JOIN unnest(r.words) AS w(word)`
  )
  yield* sql.unsafe("VACUUM ANALYZE troupe.memory_rows, troupe.memory_words, troupe.memory_scopes")
})

const bare = `SELECT DISTINCT r.text FROM unnest($1::text[]) AS q(word) CROSS JOIN LATERAL (
    SELECT w.position FROM troupe.memory_words w WHERE w.scope = 1 AND w.word = q.word ORDER BY w.position DESC LIMIT 16) f
  JOIN troupe.memory_rows r ON r.position = f.position`

const question = (i: number): string =>
  `What is known of ${Array.from({ length: 8 }, (_, k) => word(i * 8 + k)).join(" and ")}?`

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const from = performance.now()
    return Effect.map(effect, () => performance.now() - from)
  })

const round = Effect.fnUntraced(function* (nth: number) {
  const memory = yield* AgentMemory
  const sql = yield* SqlClient.SqlClient
  const ours: Array<number> = []
  const lower: Array<number> = []
  for (let i = 0; i < recalls_a_round; i++) {
    const text = question(nth * recalls_a_round + i)
    ours.push(yield* timed(memory.recall({ text, tokens_max: 1_000 })))
    lower.push(yield* timed(sql.unsafe(bare, [queryWords(text)])))
  }
  const sorted = ours.toSorted((a, b) => a - b)
  return {
    ours_ms: median(ours),
    bare_ms: median(lower),
    ours_p99_ms: sorted[Math.floor(sorted.length * 0.99)] ?? Infinity
  } satisfies Sample
})

export const postgres = (url: string, rounds: string) => {
  const sql = Postgres.layer({ url: Redacted.make(url) })
  const memory = GatewayAgentMemory.layer(
    tenant,
    { agent, key: ConversationId.make("c") },
    "workspace"
  ).pipe(
    Layer.provide(SqlMemoryStore.layer),
    Layer.provide(Layer.provide(TenantReads.layer, Migrations.layer))
  )
  return Effect.runPromise(
    Effect.gen(function* () {
      yield* fill
      // Plans and compiled code.
      yield* round(1_000)
      const samples = yield* Effect.forEach(
        Array.from({ length: Number(rounds) }, (_, i) => i),
        round
      )
      return { samples }
    }).pipe(Effect.provide(memory.pipe(Layer.provideMerge(sql))))
  )
}
