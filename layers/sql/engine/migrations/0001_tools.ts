/**
 * Tools: the queue of calls that workers run and the functions that claim from it, what workers offer, records of calls, the
 * accepted definitions of MCP servers' tools, tenants whose tools are stopped, and keys of side effects.
 */

export const statements: ReadonlyArray<string> = [
  // Calls on their way to a worker, and their results.
  `CREATE TABLE troupe.tool_messages (
    id text PRIMARY KEY,
    tool text NOT NULL,
    tenant text NOT NULL,
    payload text NOT NULL,
    expires_at int8 NOT NULL,
    -- 0 waits or runs, 1 acknowledged, 2 dead.
    status int2 NOT NULL DEFAULT 0,
    -- When it may be claimed (again): the time of its next delivery, or the end of the claim's lease.
    due_at int8 NOT NULL,
    place int8 GENERATED ALWAYS AS IDENTITY,
    deliveries int4 NOT NULL DEFAULT 0,
    owner text,
    -- When a worker began to run the tool's body; null before.
    begun_at int8,
    result text,
    error text,
    over_at int8
  ) WITH (fillfactor = 70)`,
  // When the next call is due.
  `CREATE INDEX tool_messages_due ON troupe.tool_messages (tool, due_at) WHERE status = 0`,
  // The next tenant that has calls, the oldest call of a tenant, and how many of a tenant wait.
  `CREATE INDEX tool_messages_turn ON troupe.tool_messages (tool, tenant, due_at, place) WHERE status = 0`,
  // The dead, newest first, and those that are old enough to be deleted.
  `CREATE INDEX tool_messages_over ON troupe.tool_messages (status, over_at) WHERE status > 0`,
  // Workers and the tools that they offer until `expires_at`.
  `CREATE TABLE troupe.tool_workers (
    worker text PRIMARY KEY,
    provider text NOT NULL,
    -- The keys of its tools, and their specs as a JSON array.
    keys text[] NOT NULL,
    tools text NOT NULL,
    expires_at int8 NOT NULL
  ) WITH (fillfactor = 70)`,
  // Takes the oldest call of one tenant that is due. One that another claim holds is left out.
  `CREATE FUNCTION troupe.take_tool_message(claimer text, at int8, until int8, tools text[], whose text)
RETURNS SETOF troupe.tool_messages LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $body$
BEGIN
  RETURN QUERY UPDATE troupe.tool_messages m SET deliveries = m.deliveries + 1, owner = claimer, due_at = until
  WHERE m.id = (
    SELECT x.id FROM unnest(tools) t(tool) CROSS JOIN LATERAL (
      SELECT w.id, w.due_at, w.place FROM troupe.tool_messages w
      WHERE w.status = 0 AND w.tool = t.tool AND w.tenant = whose AND w.due_at <= at
      ORDER BY w.due_at, w.place LIMIT 1 FOR UPDATE SKIP LOCKED) x
    ORDER BY x.due_at, x.place LIMIT 1)
  RETURNING m.*;
END $body$`,
  // Takes at most `wanted` calls, of tenants in turn: as `troupe.claim_outbox` does.
  `CREATE FUNCTION troupe.claim_tool_messages(claimer text, at int8, until int8, tools text[], wanted int4, behind text)
RETURNS SETOF troupe.tool_messages LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $body$
DECLARE
  whose text := behind;
  wrapped boolean := false;
  taken int4 := 0;
  -- The tenants that gave a call in this round, and in the next.
  tenants text[] := '{}';
  still text[];
BEGIN
  WHILE taken < wanted LOOP
    SELECT min(x.tenant) INTO whose FROM unnest(tools) t(tool) CROSS JOIN LATERAL (
      SELECT w.tenant FROM troupe.tool_messages w
      WHERE w.status = 0 AND w.tool = t.tool AND w.tenant > whose ORDER BY w.tenant LIMIT 1) x;
    IF whose IS NULL THEN
      EXIT WHEN wrapped OR behind = '';
      wrapped := true;
      whose := '';
      CONTINUE;
    END IF;
    EXIT WHEN wrapped AND whose > behind;
    RETURN QUERY SELECT * FROM troupe.take_tool_message(claimer, at, until, tools, whose);
    IF FOUND THEN
      taken := taken + 1;
      tenants := tenants || whose;
    END IF;
  END LOOP;
  WHILE taken < wanted AND cardinality(tenants) > 0 LOOP
    still := '{}';
    FOR i IN 1 .. cardinality(tenants) LOOP
      EXIT WHEN taken >= wanted;
      RETURN QUERY SELECT * FROM troupe.take_tool_message(claimer, at, until, tools, tenants[i]);
      CONTINUE WHEN NOT FOUND;
      taken := taken + 1;
      still := still || tenants[i];
    END LOOP;
    tenants := still;
  END LOOP;
END $body$`,
  // Records of calls, apart from the journal: they may be deleted. What a record is found by stands beside it.
  `CREATE TABLE troupe.call_records (
    place int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    tenant text NOT NULL,
    run_id uuid NOT NULL,
    tool_name text NOT NULL,
    ended_at int8 NOT NULL,
    took_ms int8 NOT NULL,
    -- 0 done, 1 failed, 2 refused or left.
    ended_as int2 NOT NULL,
    record text NOT NULL
  )`,
  // The list of a run in order, the list of a tool newest first, and the newest and the oldest of a tenant.
  `CREATE INDEX call_records_run ON troupe.call_records (run_id, place)`,
  `CREATE INDEX call_records_tool ON troupe.call_records (tenant, tool_name, place DESC)`,
  `CREATE INDEX call_records_age ON troupe.call_records (tenant, ended_at, place)`,
  // The accepted definition of each tool of an MCP server, and each acceptance.
  `CREATE TABLE troupe.mcp_pins (
    server text NOT NULL,
    tool text NOT NULL,
    -- SHA-256 of the definition.
    hash text NOT NULL,
    definition text NOT NULL,
    accepted_by text NOT NULL,
    accepted_at int8 NOT NULL,
    how text NOT NULL,
    PRIMARY KEY (server, tool)
  )`,
  `CREATE TABLE troupe.mcp_pin_changes (
    place int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    server text NOT NULL,
    tool text NOT NULL,
    -- Null for the first.
    old_hash text,
    new_hash text NOT NULL,
    accepted_by text NOT NULL,
    accepted_at int8 NOT NULL,
    how text NOT NULL
  )`,
  // A server's history, newest first.
  `CREATE INDEX mcp_pin_changes_newest ON troupe.mcp_pin_changes (server, place DESC)`,
  // Tenants whose tools are stopped.
  `CREATE TABLE troupe.tool_stops (
    tenant text PRIMARY KEY,
    -- Since when.
    at int8 NOT NULL
  )`,
  // Keys of side effects that happen once in a conversation or a tenant.
  `CREATE TABLE troupe.idempotency_keys (
    tenant text NOT NULL,
    -- A digest of the scope, the tool and the values of its key.
    key text NOT NULL,
    run uuid NOT NULL,
    call text NOT NULL,
    seq int4 NOT NULL,
    -- A digest of what the call asked for.
    asked text NOT NULL,
    at int8 NOT NULL,
    expires_at int8 NOT NULL,
    -- A JSON object: who freed the key, and when.
    freed text,
    PRIMARY KEY (tenant, key)
  )`,
  // Those that have expired, which are forgotten.
  `CREATE INDEX idempotency_keys_expiry ON troupe.idempotency_keys (expires_at)`
]
