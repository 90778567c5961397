/**
 * Memories: their scopes, rows and index of words, the canonical texts that no row may copy, and the trigger that refuses a
 * copy whoever writes it.
 *
 * Texts are stored as they are and not as JSON, because the database compares them: whoever writes refuses a NUL and a
 * lone surrogate. Tiers: 0 interaction, 1 session, 2 persistent. Kinds: 0 episodic, 1 semantic, 2 procedural. Sources: 0 a
 * handler of events, 1 a call of a tool. Authors: 0 model, 1 tool, 2 human, 3 event.
 */

export const statements: ReadonlyArray<string> = [
  // A run, a conversation or a place that has memories. The row's lock orders who writes them.
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
  `CREATE INDEX memory_scopes_runs ON troupe.memory_scopes (session, agent, tenant, touched_at) WHERE tier = 0`,
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
    -- By which a recall finds it (memory_words).
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
    embedded_by text,
    -- All words of the text. The trigger compares them, and removes them.
    compared text[]
  )`,
  // The rows of a scope, newest first: all of them, and those that are neither superseded nor undone.
  `CREATE INDEX memory_rows_all ON troupe.memory_rows (scope, position)`,
  `CREATE INDEX memory_rows_live ON troupe.memory_rows (scope, position) WHERE superseded_by IS NULL AND undone_by IS NULL`,
  // The same key of an agent is the same row.
  `CREATE UNIQUE INDEX memory_rows_key ON troupe.memory_rows (key, agent, tenant) WHERE key IS NOT NULL`,
  // The oldest rows, for retention.
  `CREATE INDEX memory_rows_age ON troupe.memory_rows (at)`,
  // The rows of a tenant, for an erasure.
  `CREATE INDEX memory_rows_tenant ON troupe.memory_rows (tenant, position)`,
  // In which live rows of a scope a word is, newest first: a recall reads some of each word, however many there are.
  `CREATE TABLE troupe.memory_words (
    scope int8 NOT NULL,
    word text NOT NULL COLLATE "C",
    position int8 NOT NULL,
    PRIMARY KEY (scope, word, position)
  )`,
  `CREATE TABLE troupe.memory_canonical_texts (
    tenant text NOT NULL,
    place text NOT NULL,
    name text NOT NULL,
    text text NOT NULL,
    -- From this similarity on a text is a copy.
    threshold float8 NOT NULL,
    -- How many words the text has, and its trigrams.
    words int4 NOT NULL,
    trigrams text[] NOT NULL,
    PRIMARY KEY (place, name, tenant)
  )`,
  /*
   * Memories are compared with canonical texts by what the gateway computed of both. The database's own rules for letters depend on
   * its locale: with LC_CTYPE C they know no letter beyond ASCII.
   */
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
  /*
   * Refuses a copy, and names the canonical text in the detail of its error. A row that did not come from the gateway has no
   * words, or the words of another text.
   */
  // The ASCII letters and digits of a text in lower case, and of the two other letters whose lower case is one.
  `CREATE FUNCTION troupe.memory_ascii(body text) RETURNS text LANGUAGE sql IMMUTABLE AS $body$
  SELECT regexp_replace(
    translate(body, U&'ABCDEFGHIJKLMNOPQRSTUVWXYZ\\0130\\212A', 'abcdefghijklmnopqrstuvwxyzik') COLLATE "C", '[^a-z0-9]+', '', 'g')
$body$`,
  `CREATE FUNCTION troupe.memory_guard() RETURNS trigger LANGUAGE plpgsql AS $body$
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
END $body$`,
  `CREATE TRIGGER memory_guard BEFORE INSERT OR UPDATE OF text, place, tenant ON troupe.memory_rows
FOR EACH ROW EXECUTE FUNCTION troupe.memory_guard()`
]
