/**
 * The journal: the events of runs, two in a row where they were appended together. Most appends are of two events, and a row of
 * its own would cost each 80 bytes, and its index entry 50 more (bench row `disk`). The table is `run_pairs`; `run_events` is a
 * view of it with a row for each event, for statements that are rare: an import, and repairs by hand.
 *
 * An event that statements look for by its type has a row of its own, with its type. Of all others the type is in the payload
 * alone.
 */
import { by_key } from "./0001_plans.ts"

/**
 * No foreign key, which would cost each append 16 % more WAL: a row is only ever inserted by the statement that advances its
 * head.
 */
const table = [
  `CREATE TABLE troupe.run_pairs (
    run_id uuid NOT NULL,
    seq int4 NOT NULL,
    at int8 NOT NULL,
    -- Of the event $seq: null where no statement looks for it.
    type text,
    -- Canonical JSON. Never jsonb, which reorders keys: what is digested must come back byte for byte.
    payload text NOT NULL,
    -- The event $seq + 1, where it was appended with this one.
    next text,
    PRIMARY KEY (run_id, seq)
  )`,
  // Handoffs of a run, for lists by agent. A run has few, and most have none; without the index a list would read all events of
  // the runs that it passes.
  `CREATE INDEX run_pairs_handoffs ON troupe.run_pairs (run_id, seq) WHERE type = 'HandedOff'`
]

const functions = [
  // Whether statements look for events of the type.
  `CREATE FUNCTION troupe.is_sought(type text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $body$
    SELECT type IN ('ApprovalRequested', 'ClientRequested', 'ApprovalDecided', 'ApprovalClosed', 'RunStopping', 'HandedOff')
  $body$`,
  // The keys of a payload stand in their order, and this one is the first.
  `CREATE FUNCTION troupe.event_type(payload text) RETURNS text LANGUAGE sql IMMUTABLE AS $body$
    SELECT coalesce(substring(payload FROM '^{"_tag":"([^"]*)"'), '')
  $body$`
]

/** It shows nobody more than the table does. */
const view = `CREATE VIEW troupe.run_events WITH (security_invoker = true) AS
  SELECT p.run_id, e.seq, p.at, coalesce(e.type, troupe.event_type(e.payload)) AS type, e.payload
  FROM troupe.run_pairs p CROSS JOIN LATERAL
    (VALUES (p.seq, p.type, p.payload), (p.seq + 1, NULL, p.next)) AS e(seq, type, payload)
  WHERE e.payload IS NOT NULL`

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

export const statements: ReadonlyArray<string> = [...table, ...functions, view, ...write]
