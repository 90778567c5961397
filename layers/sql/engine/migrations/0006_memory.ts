/**
 * Memories: their scopes, rows and index of words, the canonical texts that no row may copy, and the trigger that refuses a
 * copy whoever writes it.
 *
 * Texts are stored as they are and not as JSON, because the database compares them: whoever writes refuses a NUL and a
 * lone surrogate. Tiers: 0 interaction, 1 session, 2 persistent. Kinds: 0 episodic, 1 semantic, 2 procedural. Sources: 0 a
 * handler of events, 1 a call of a tool. Authors: 0 model, 1 tool, 2 human, 3 event.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** A run, a conversation or a place that has memories. The row's lock orders who writes them. */
const scopes = [
  `CREATE TABLE troupe.memory_scopes (
    id int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    agent text NOT NULL,
    tier int2 NOT NULL,
    anchor text NOT NULL,
    -- The anchor of the persistent tier, and the conversation.
    place text NOT NULL,
    session text NOT NULL,
    -- How many rows it holds, by which it is full.
    rows int4 NOT NULL DEFAULT 0,
    touched_at int8 NOT NULL,
    UNIQUE (anchor, agent, tier, tenant)
  )`,
  // Those in which nothing was written for long.
  `CREATE INDEX memory_scopes_stale ON troupe.memory_scopes (tier, touched_at)`,
  // The runs of a conversation.
  `CREATE INDEX memory_scopes_runs ON troupe.memory_scopes (session, agent, tenant, touched_at) WHERE tier = 0`
]

const rows = [
  `CREATE TABLE troupe.memory_rows (
    -- Increases from row to row: the newest has the highest.
    position int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    scope int8 NOT NULL,
    tenant text NOT NULL,
    agent text NOT NULL,
    place text NOT NULL,
    session text NOT NULL,
    typology int2 NOT NULL,
    text text NOT NULL,
    words text[] NOT NULL,
    source int2 NOT NULL,
    author int2 NOT NULL,
    run_id uuid,
    step int4,
    call text,
    subject text,
    key text,
    seen int4 NOT NULL DEFAULT 1,
    at int8 NOT NULL,
    supersedes uuid,
    superseded_by uuid,
    undone_by text,
    embedding text,
    embedded_by text
  )`,
  // The rows of a scope, newest first: all of them, and those that are neither superseded nor undone.
  `CREATE INDEX memory_rows_all ON troupe.memory_rows (scope, position)`,
  `CREATE INDEX memory_rows_live ON troupe.memory_rows (scope, position) WHERE superseded_by IS NULL AND undone_by IS NULL`,
  // The same key of an agent is the same row.
  `CREATE UNIQUE INDEX memory_rows_key ON troupe.memory_rows (key, agent, tenant) WHERE key IS NOT NULL`,
  // The oldest rows, for retention.
  `CREATE INDEX memory_rows_age ON troupe.memory_rows (at)`,
  // The rows of a tenant, for an erasure.
  `CREATE INDEX memory_rows_tenant ON troupe.memory_rows (tenant, position)`
]

/** In which live rows of a scope a word is, newest first: a recall reads some of each word, however many there are. */
const words = `CREATE TABLE troupe.memory_words (
    scope int8 NOT NULL,
    word text NOT NULL COLLATE "C",
    position int8 NOT NULL,
    PRIMARY KEY (scope, word, position)
  )`

const canonicals = `CREATE TABLE troupe.memory_canonical_texts (
    tenant text NOT NULL,
    place text NOT NULL,
    name text NOT NULL,
    text text NOT NULL,
    -- From this similarity on a text is a copy.
    threshold float8 NOT NULL,
    PRIMARY KEY (place, name, tenant)
  )`

/**
 * Is the text a copy, as a whole or by a passage that is as long as the canonical text? The passage of each quarter of that
 * length is compared. No passage has more of the canonical trigrams than the text has: only then passages are compared.
 * `trigram` is the schema of pg_trgm.
 */
const resembles = (
  trigram: string
) => `CREATE FUNCTION troupe.memory_resembles(body text, canonical text, threshold float4)
RETURNS boolean LANGUAGE plpgsql STABLE AS $body$
DECLARE
  alike float4 := ${trigram}.similarity(body, canonical);
  size int4;
  ofs int4;
  known int4;
  words text[];
BEGIN
  IF alike >= threshold THEN RETURN true; END IF;
  SELECT count(*)::int4 INTO size FROM regexp_matches(canonical, '[[:alnum:]]+', 'g');
  IF size < 4 THEN RETURN false; END IF;
  known := cardinality(${trigram}.show_trgm(canonical));
  IF (round(alike * (cardinality(${trigram}.show_trgm(body)) + known) / (1 + alike)) / known)::float4 < threshold THEN
    RETURN false;
  END IF;
  SELECT array_agg(w.found[1] ORDER BY w.n) INTO words
  FROM regexp_matches(body, '[[:alnum:]]+', 'g') WITH ORDINALITY AS w(found, n);
  IF cardinality(words) <= size THEN RETURN false; END IF;
  ofs := 1;
  WHILE ofs <= cardinality(words) LOOP
    IF ${trigram}.similarity(array_to_string(words[ofs : ofs + size - 1], ' '), canonical) >= threshold THEN RETURN true; END IF;
    ofs := ofs + greatest(1, size / 4);
  END LOOP;
  RETURN false;
END $body$`

/** Refuses a copy, and names the canonical text in the detail of its error. */
const guard = [
  `CREATE FUNCTION troupe.memory_guard() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  copied text;
BEGIN
  SELECT c.name INTO copied FROM troupe.memory_canonical_texts c
  WHERE c.place = NEW.place AND c.tenant = NEW.tenant AND troupe.memory_resembles(NEW.text, c.text, c.threshold::float4)
  ORDER BY c.name LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'a memory is a copy of a canonical text'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'memory_canonical', DETAIL = copied;
  END IF;
  RETURN NEW;
END $body$`,
  `CREATE TRIGGER memory_guard BEFORE INSERT OR UPDATE OF text, place, tenant ON troupe.memory_rows
FOR EACH ROW EXECUTE FUNCTION troupe.memory_guard()`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("CREATE EXTENSION IF NOT EXISTS pg_trgm")
  // An operator may have put it into a schema that is not on the path of every role.
  const [found] = yield* sql.unsafe<{ readonly name: string }>(
    `SELECT quote_ident(n.nspname) AS name FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
     WHERE e.extname = 'pg_trgm'`
  )
  const trigram = found?.name ?? "public"
  for (const statement of [...scopes, ...rows, words, canonicals, resembles(trigram), ...guard]) {
    yield* sql.unsafe(statement)
  }
})
