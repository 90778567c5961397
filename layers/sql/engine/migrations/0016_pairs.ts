/**
 * Events two in a row: most appends are of two events, and a row of its own cost each 80 bytes, and its index entry 50 more
 * (bench row `disk`). The table is `run_pairs`; `run_events` is a view of it with a row for each event, which processes of the
 * version before read and write, and so do statements that are rare.
 *
 * An event that statements look for by its type has a row of its own, with its type. Of all others the type is in the payload
 * alone.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Leaves the planner nothing but probes of indexes. */
const by_key =
  "SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off"

const table = [
  `ALTER TABLE troupe.run_events RENAME TO run_pairs`,
  `ALTER INDEX troupe.run_events_pkey RENAME TO run_pairs_pkey`,
  `ALTER INDEX troupe.run_events_handoffs RENAME TO run_pairs_handoffs`,
  // Of the event $seq: null where no statement looks for it.
  `ALTER TABLE troupe.run_pairs ALTER COLUMN type DROP NOT NULL`,
  // The event $seq + 1, where it was appended with this one.
  `ALTER TABLE troupe.run_pairs ADD COLUMN next text`
]

const functions = [
  `CREATE FUNCTION troupe.is_sought(type text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $body$
    SELECT type IN ('ApprovalRequested', 'ClientRequested', 'ApprovalDecided', 'ApprovalClosed', 'RunStopping', 'HandedOff')
  $body$`,
  // The keys of a payload stand in their order, and this one is the first.
  `CREATE FUNCTION troupe.event_type(payload text) RETURNS text LANGUAGE sql IMMUTABLE AS $body$
    SELECT coalesce(substring(payload FROM '^{"_tag":"([^"]*)"'), '')
  $body$`
]

const view = `CREATE VIEW troupe.run_events WITH (security_invoker = true) AS
  SELECT p.run_id, e.seq, p.at, coalesce(e.type, troupe.event_type(e.payload)) AS type, e.payload
  FROM troupe.run_pairs p CROSS JOIN LATERAL
    (VALUES (p.seq, p.type, p.payload), (p.seq + 1, NULL, p.next)) AS e(seq, type, payload)
  WHERE e.payload IS NOT NULL`

/** Whoever could read the table may read the view. */
const grants = `DO $body$
DECLARE
  reader text;
BEGIN
  FOR reader IN SELECT DISTINCT a.grantee::regrole::text FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
    WHERE c.oid = 'troupe.run_pairs'::regclass AND a.privilege_type = 'SELECT' AND a.grantee NOT IN (0, c.relowner)
  LOOP
    EXECUTE format('GRANT SELECT ON troupe.run_events TO %s', reader);
  END LOOP;
END $body$`

/** An event that is there already is left as it is, and counts as not written. */
const write = [
  `CREATE FUNCTION troupe.write_event() RETURNS trigger LANGUAGE plpgsql ${by_key} AS $body$
DECLARE
  rest text;
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF EXISTS (SELECT FROM troupe.run_pairs p WHERE p.run_id = NEW.run_id AND p.seq = NEW.seq - 1 AND p.next IS NOT NULL) THEN
      RETURN NULL;
    END IF;
    INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload)
    VALUES (NEW.run_id, NEW.seq, NEW.at, CASE WHEN troupe.is_sought(NEW.type) THEN NEW.type END, NEW.payload)
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND THEN NEW END;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    UPDATE troupe.run_pairs p SET at = NEW.at, payload = CASE WHEN p.seq = OLD.seq THEN NEW.payload ELSE p.payload END,
      next = CASE WHEN p.seq = OLD.seq THEN p.next ELSE NEW.payload END
    WHERE p.run_id = OLD.run_id AND (p.seq = OLD.seq OR (p.seq = OLD.seq - 1 AND p.next IS NOT NULL));
    RETURN CASE WHEN FOUND THEN NEW END;
  END IF;
  UPDATE troupe.run_pairs p SET next = NULL
  WHERE p.run_id = OLD.run_id AND p.seq = OLD.seq - 1 AND p.next IS NOT NULL;
  IF NOT FOUND THEN
    DELETE FROM troupe.run_pairs p WHERE p.run_id = OLD.run_id AND p.seq = OLD.seq RETURNING p.next INTO rest;
    IF rest IS NOT NULL THEN
      INSERT INTO troupe.run_pairs (run_id, seq, at, payload) VALUES (OLD.run_id, OLD.seq + 1, OLD.at, rest);
    END IF;
  END IF;
  RETURN OLD;
END $body$`,
  `CREATE TRIGGER write_event INSTEAD OF INSERT OR UPDATE OR DELETE ON troupe.run_events
    FOR EACH ROW EXECUTE FUNCTION troupe.write_event()`
]

/** As in the first schema, but for where the event is written. */
const appendEvent = `CREATE OR REPLACE FUNCTION troupe.append_event(
  run uuid, expected_epoch int4, expected_length int4, new_status int4, at int8, type text, payload text, projection json)
RETURNS boolean LANGUAGE plpgsql ${by_key} AS $body$
BEGIN
  UPDATE troupe.runs r SET length = r.length + 1, status = new_status::int2
  WHERE r.run_id = run AND r.epoch = expected_epoch AND r.length = expected_length AND r.status < 3;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload)
  VALUES (run, expected_length, at, CASE WHEN troupe.is_sought(type) THEN type END, payload);
  IF projection IS NOT NULL THEN
    PERFORM troupe.append_projection(run, expected_length, at, projection);
  END IF;
  RETURN true;
END $body$`

type Parts = ReadonlyArray<readonly [before: string, after: string]>

/** Functions that stay as they are but for these parts, of which each has every one once. */
const replaced: ReadonlyArray<readonly [name: string, parts: Parts]> = [
  [
    "append_runs",
    // An event at an even place in its append takes the next one into its row, unless statements look for one of them.
    [
      [
        `INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
  SELECT runs[e.place], lengths[e.place] + e.position, times[e.place], e.type, e.payload
  FROM unnest(places, positions, types, payloads) AS e(place, position, type, payload)
  WHERE are_all OR e.place = ANY (accepted);`,
        `INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next)
  SELECT runs[e.place], lengths[e.place] + e.position, times[e.place], CASE WHEN troupe.is_sought(e.type) THEN e.type END,
    e.payload,
    CASE WHEN e.position % 2 = 0 AND e.next_place = e.place AND NOT troupe.is_sought(e.type)
      AND NOT troupe.is_sought(e.next_type) THEN e.next END
  FROM unnest(places, positions, types, payloads, places[2:], types[2:], payloads[2:],
    ARRAY['']::text[] || types[:cardinality(types) - 1])
    AS e(place, position, type, payload, next_place, next_type, next, last_type)
  WHERE (are_all OR e.place = ANY (accepted))
    AND NOT (e.position % 2 = 1 AND NOT troupe.is_sought(e.type) AND NOT troupe.is_sought(e.last_type));`
      ]
    ]
  ],
  [
    "accept_messages",
    [
      [
        `INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
    SELECT u.id, e.seq, u.at, e.type, e.payload
    FROM unnest(ids, times, accepted, claimed, begins) AS u(id, at, accepted, claimed, begins)
      CROSS JOIN LATERAL (VALUES (0, 'RunAccepted', u.accepted), (1, 'RunClaimed', u.claimed)) AS e(seq, type, payload)
    WHERE u.begins;`,
        `INSERT INTO troupe.run_pairs (run_id, seq, at, payload, next)
    SELECT u.id, 0, u.at, u.accepted, u.claimed
    FROM unnest(ids, times, accepted, claimed, begins) AS u(id, at, accepted, claimed, begins)
    WHERE u.begins;`
      ]
    ]
  ],
  [
    "begin_runs",
    [
      [
        `INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
    VALUES (x.run, 0, x.begun_at, 'RunAccepted', x.accepted), (x.run, 1, x.begun_at, 'RunClaimed', x.claimed);`,
        `INSERT INTO troupe.run_pairs (run_id, seq, at, payload, next)
    VALUES (x.run, 0, x.begun_at, x.accepted, x.claimed);`
      ]
    ]
  ],
  [
    "claim_runs",
    [
      [
        `INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
    SELECT run_id, length - 1, at, 'RunClaimed', '`,
        `INSERT INTO troupe.run_pairs (run_id, seq, at, payload)
    SELECT run_id, length - 1, at, '`
      ],
      [
        `(SELECT sum(octet_length(e.payload)) FROM troupe.run_events e WHERE e.run_id = r.run_id)`,
        `(SELECT sum(octet_length(e.payload) + coalesce(octet_length(e.next), 0)) FROM troupe.run_pairs e WHERE e.run_id = r.run_id)`
      ],
      [
        `(SELECT '[' || string_agg('[' || e.at || ',' || e.payload || ']', ',' ORDER BY e.seq) || ']'
        FROM troupe.run_events e WHERE e.run_id = r.run_id)`,
        `(SELECT '[' || string_agg('[' || e.at || ',' || e.payload || ']' || coalesce(',[' || e.at || ',' || e.next || ']', ''),
        ',' ORDER BY e.seq) || ']' FROM troupe.run_pairs e WHERE e.run_id = r.run_id)`
      ]
    ]
  ]
]

const withParts = (name: string, text: string, parts: Parts): string =>
  parts.reduce((all, [before, after]) => {
    const [first, second, ...more] = all.split(before)
    if (first === undefined || second === undefined || more.length > 0) {
      throw new Error(
        `the function troupe.${name} of this database is not the one that a migration made`
      )
    }
    return first + after + second
  }, text)

const replace = Effect.fnUntraced(function* (name: string, parts: Parts) {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql.unsafe<{ readonly text: string }>(
    `SELECT pg_get_functiondef('troupe.${name}'::regproc) AS text`
  )
  yield* sql.unsafe(withParts(name, found?.text ?? "", parts))
})

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const statements = [...table, ...functions, view, grants, ...write, appendEvent]
  for (const statement of statements) yield* sql.unsafe(statement)
  for (const [name, parts] of replaced) yield* replace(name, parts)
})
