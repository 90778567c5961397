/**
 * Compares memories with canonical texts by what the gateway computed of both. The database's own rules for letters depend on
 * its locale: with LC_CTYPE C the extension pg_trgm sees no letter beyond ASCII.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const columns = [
  // The words of a row's text. The trigger compares them, and removes them.
  `ALTER TABLE troupe.memory_rows ADD COLUMN compared text[]`,
  // How many words the text has, and its trigrams.
  `ALTER TABLE troupe.memory_canonical_texts ADD COLUMN words int4, ADD COLUMN trigrams text[]`
]

/** The words of the texts that are registered already, as this release's gateway computes them. */
const wordsOf = (text: string): ReadonlyArray<string> =>
  (text.match(/[\p{Alphabetic}\p{Nd}]+/gu) ?? []).map((word) =>
    Array.from(word, (character) => Array.from(character.toLowerCase())[0] ?? "").join("")
  )

const filled = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const texts = yield* sql.unsafe<{
    readonly tenant: string
    readonly place: string
    readonly name: string
    readonly text: string
  }>(`SELECT tenant, place, name, text FROM troupe.memory_canonical_texts`)
  for (const { name, place, tenant, text } of texts) {
    const words = wordsOf(text)
    yield* sql.unsafe(
      `UPDATE troupe.memory_canonical_texts SET words = $1::int4, trigrams = troupe.memory_trigrams($2::text[])
       WHERE place = $3::text AND name = $4::text AND tenant = $5::text`,
      [words.length, words, place, name, tenant]
    )
  }
  yield* sql.unsafe(
    `ALTER TABLE troupe.memory_canonical_texts ALTER COLUMN words SET NOT NULL, ALTER COLUMN trigrams SET NOT NULL`
  )
})

const functions = [
  `DROP FUNCTION troupe.memory_resembles(text, text, float4)`,
  // Each word with two spaces before it and one after it, and of that each sequence of three characters once.
  `CREATE FUNCTION troupe.memory_trigrams(words text[]) RETURNS text[] LANGUAGE sql IMMUTABLE AS $body$
  SELECT coalesce(array_agg(DISTINCT substr(w.padded, i, 3) COLLATE "C"), '{}')
  FROM (SELECT '  ' || x || ' ' AS padded FROM unnest(words) AS u(x)) w
  CROSS JOIN LATERAL generate_series(1, length(w.padded) - 2) AS g(i)
$body$`,
  `CREATE FUNCTION troupe.memory_shared(a text[], b text[]) RETURNS int4 LANGUAGE sql IMMUTABLE AS $body$
  SELECT count(*)::int4 FROM unnest(a) AS x(t) JOIN unnest(b) AS y(t) ON x.t COLLATE "C" = y.t COLLATE "C"
$body$`,
  `CREATE FUNCTION troupe.memory_similarity(a text[], b text[]) RETURNS float4 LANGUAGE sql IMMUTABLE AS $body$
  SELECT coalesce((s.n::float8 / nullif(cardinality(a) + cardinality(b) - s.n, 0))::float4, 0)
  FROM (SELECT troupe.memory_shared(a, b) AS n) s
$body$`,
  // Is a text with these words and trigrams a copy, as a whole or by a passage that is as long as the canonical text? The
  // passage of each quarter of that length is compared. No passage has more of the canonical trigrams than the text has.
  `CREATE FUNCTION troupe.memory_resembles(body text[], trigrams text[], size int4, canonical text[], threshold float4)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $body$
DECLARE
  ofs int4 := 1;
BEGIN
  IF troupe.memory_similarity(trigrams, canonical) >= threshold THEN RETURN true; END IF;
  IF size < 4 OR cardinality(body) <= size THEN RETURN false; END IF;
  IF (troupe.memory_shared(trigrams, canonical)::float8 / cardinality(canonical))::float4 < threshold THEN RETURN false; END IF;
  WHILE ofs <= cardinality(body) LOOP
    IF troupe.memory_similarity(troupe.memory_trigrams(body[ofs : ofs + size - 1]), canonical) >= threshold THEN
      RETURN true;
    END IF;
    ofs := ofs + greatest(1, size / 4);
  END LOOP;
  RETURN false;
END $body$`,
  // The ASCII letters and digits of a text in lower case, and of the two other letters whose lower case is one.
  `CREATE FUNCTION troupe.memory_ascii(body text) RETURNS text LANGUAGE sql IMMUTABLE AS $body$
  SELECT regexp_replace(
    translate(body, U&'ABCDEFGHIJKLMNOPQRSTUVWXYZ\\0130\\212A', 'abcdefghijklmnopqrstuvwxyzik') COLLATE "C", '[^a-z0-9]+', '', 'g')
$body$`,
  // Refuses a copy, and names the canonical text in the detail of its error. A row that did not come from the gateway has no
  // words, or the words of another text.
  `CREATE OR REPLACE FUNCTION troupe.memory_guard() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  found text[];
  known record;
BEGIN
  FOR known IN SELECT c.name, c.words, c.trigrams, c.threshold FROM troupe.memory_canonical_texts c
    WHERE c.place = NEW.place AND c.tenant = NEW.tenant ORDER BY c.name COLLATE "C" LOOP
    IF NEW.compared IS NULL
      OR troupe.memory_ascii(NEW.text) <> troupe.memory_ascii(array_to_string(NEW.compared, '')) THEN
      RAISE EXCEPTION 'a memory without the words of its text'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'memory_compared';
    END IF;
    found := coalesce(found, troupe.memory_trigrams(NEW.compared));
    IF troupe.memory_resembles(NEW.compared, found, known.words, known.trigrams, known.threshold::float4) THEN
      RAISE EXCEPTION 'a memory is a copy of a canonical text'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'memory_canonical', DETAIL = known.name;
    END IF;
  END LOOP;
  NEW.compared := NULL;
  RETURN NEW;
END $body$`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of [...columns, ...functions]) yield* sql.unsafe(statement)
  yield* filled(sql)
})
