/**
 * Runs: their heads, details and owners, what the append that writes an event projects beside it (questions for a person, costs,
 * calls whose outcome is unknown), and the journal.
 *
 * Events of runs are two in a row where they were appended together. Most appends are of two events, and a row of its own would
 * cost each 80 bytes, and its index entry 50 more (bench row `disk`). The table is `run_pairs`; `run_events` is a view of it with a
 * row for each event, for statements that are rare: an import, and repairs by hand. An event that statements look for by its type
 * has a row of its own, with its type. Of all others the type is in the payload alone.
 */
import { by_key } from "./0001_plans.ts"

export const statements: ReadonlyArray<string> = [
  /*
   * The head of a run. Each append rewrites this row, so it is narrow, and no index covers a column that an append of a
   * running run changes: such an update is HOT and writes no index. Half of each page is left free for it.
   */
  `CREATE TABLE troupe.runs (
    run_id uuid PRIMARY KEY,
    tenant text NOT NULL,
    -- Raised by each claim. An append of an earlier epoch is refused.
    epoch int4 NOT NULL DEFAULT 0,
    -- Events of the run. An append that expects another length is refused.
    length int4 NOT NULL DEFAULT 0,
    -- -1 parked, 0 pending, 1 processing, 2 awaiting approval, 3 complete, 4 failed, 5 cancelled.
    -- 100 more in quarantine, so that what asks for a run that is not over (status < 3) finds none in quarantine.
    status int2 NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)`,
  // A look for runs to recover reads neither parked runs nor those that are over.
  `CREATE INDEX runs_moving ON troupe.runs (run_id) WHERE status > -1 AND status < 3`,
  // A look for parked runs to adopt reads no other.
  `CREATE INDEX runs_parked ON troupe.runs (run_id) WHERE status = -1`,
  // What no append changes except the last, which closes the run.
  `CREATE TABLE troupe.run_details (
    run_id uuid PRIMARY KEY,
    tenant text NOT NULL,
    agent text NOT NULL,
    address_key text NOT NULL,
    conversation text NOT NULL,
    -- The run's place among those of its conversation, from 1.
    ordinal int4 NOT NULL,
    -- The process that claimed the run last. It has the run for as long as its lease in troupe.processes lasts.
    owner text,
    open boolean NOT NULL DEFAULT true,
    -- What a process must host to claim the run, beside the agent: agents, versions of agents, tools. Written when an
    -- owner lacks one of them, emptied by the next claim.
    needs text[] NOT NULL DEFAULT '{}',
    created_at int8 NOT NULL
  )`,
  // Is an earlier run of this address still open? Which run of it is next?
  `CREATE INDEX run_details_open ON troupe.run_details (tenant, agent, address_key, ordinal) WHERE open`,
  // Runs that wait for more than their agent. There are few.
  `CREATE INDEX run_details_needs ON troupe.run_details (tenant) WHERE open AND needs <> '{}'`,
  // Leases belong to processes: a heartbeat for each run would rewrite every head.
  `CREATE TABLE troupe.processes (
    owner text PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When it last extended its lease. Null = it has none.
    seen_at timestamptz,
    -- By the database's clock, the only one that all processes share.
    expires_at timestamptz NOT NULL,
    -- The owner holds an advisory lock in a session: it lives until another process finds the lock free.
    guarded boolean NOT NULL DEFAULT false,
    -- The agents that the process hosts.
    agents text[] NOT NULL DEFAULT '{}'
  )`,
  // Runs whose journal cannot be folded. Nothing is appended to them until an operator readmits them.
  `CREATE TABLE troupe.quarantine (
    run_id uuid PRIMARY KEY,
    tenant text NOT NULL,
    reason text NOT NULL,
    -- The first event at fault.
    seq int4 NOT NULL,
    at int8 NOT NULL
  )`,
  // A tenant's list, oldest first.
  `CREATE INDEX quarantine_tenant ON troupe.quarantine (tenant, at, run_id)`,
  // Questions for a person.
  `CREATE TABLE troupe.approvals (
    id uuid PRIMARY KEY,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    run_id uuid NOT NULL,
    -- 0 pending, 1 decided, 2 expired, 3 cancelled.
    status int2 NOT NULL DEFAULT 0,
    expires_at int8,
    -- The question and its answer, as JSON objects.
    payload text NOT NULL,
    answer text
  )`,
  // A tenant's list, oldest first: of all, and of those that wait.
  `CREATE INDEX approvals_tenant ON troupe.approvals (tenant, position)`,
  `CREATE INDEX approvals_pending ON troupe.approvals (tenant, position) WHERE status = 0`,
  // The questions of a run, for its view and for the audit.
  `CREATE INDEX approvals_run ON troupe.approvals (run_id)`,
  // Those that are to expire.
  `CREATE INDEX approvals_due ON troupe.approvals (expires_at) WHERE status = 0 AND expires_at IS NOT NULL`,
  // What model turns cost, and what tools spent on models.
  `CREATE TABLE troupe.turn_costs (
    run_id uuid NOT NULL,
    seq int4 NOT NULL,
    -- One event may have several entries: a tool may spend on several models.
    part int2 NOT NULL DEFAULT 0,
    at int8 NOT NULL,
    tenant text NOT NULL,
    agent text NOT NULL,
    model text NOT NULL,
    -- Null for the cost of a turn.
    tool text,
    turns int8 NOT NULL DEFAULT 1,
    -- Both null where the price is not known.
    currency text,
    amount numeric,
    -- The version of the price list.
    prices text NOT NULL,
    input_tokens int8 NOT NULL,
    output_tokens int8 NOT NULL,
    cached_tokens int8 NOT NULL,
    cache_write_tokens int8 NOT NULL,
    reasoning_tokens int8 NOT NULL,
    PRIMARY KEY (run_id, seq, part)
  )`,
  // A tenant's sums over a span of time.
  `CREATE INDEX turn_costs_tenant ON troupe.turn_costs (tenant, at)`,
  // Calls whose outcome is unknown, until an operator settles them. There are few.
  `CREATE TABLE troupe.unknown_calls (
    run_id uuid NOT NULL,
    call text NOT NULL,
    tool text NOT NULL,
    tenant text NOT NULL,
    since int8 NOT NULL,
    PRIMARY KEY (run_id, call)
  )`,
  // A tenant's list, oldest first.
  `CREATE INDEX unknown_calls_oldest ON troupe.unknown_calls (tenant, since, run_id, call)`,
  /*
   * No foreign key, which would cost each append 16 % more WAL: a row is only ever inserted by the statement that advances its
   * head.
   */
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
  `CREATE INDEX run_pairs_handoffs ON troupe.run_pairs (run_id, seq) WHERE type = 'HandedOff'`,
  // Whether statements look for events of the type.
  `CREATE FUNCTION troupe.is_sought(type text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $body$
    SELECT type IN ('ApprovalRequested', 'ClientRequested', 'ApprovalDecided', 'ApprovalClosed', 'RunStopping', 'HandedOff')
  $body$`,
  // The keys of a payload stand in their order, and this one is the first.
  `CREATE FUNCTION troupe.event_type(payload text) RETURNS text LANGUAGE sql IMMUTABLE AS $body$
    SELECT coalesce(substring(payload FROM '^{"_tag":"([^"]*)"'), '')
  $body$`,
  // It shows nobody more than the table does.
  `CREATE VIEW troupe.run_events WITH (security_invoker = true) AS
  SELECT p.run_id, e.seq, p.at, coalesce(e.type, troupe.event_type(e.payload)) AS type, e.payload
  FROM troupe.run_pairs p CROSS JOIN LATERAL
    (VALUES (p.seq, p.type, p.payload), (p.seq + 1, NULL, p.next)) AS e(seq, type, payload)
  WHERE e.payload IS NOT NULL`,
  // An event that is there already is left as it is, and counts as not written.
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
