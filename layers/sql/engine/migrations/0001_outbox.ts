/**
 * The outbox: messages that wait for delivery, in order within their key; dead letters; and the functions that claim.
 */
import { by_key } from "./0001_plans.ts"

export const statements: ReadonlyArray<string> = [
  // The order in which messages came, over all keys.
  `CREATE SEQUENCE troupe.outbox_place`,
  /*
   * One row for each key that has messages: its lock is the lock of the key. It says what the key's first message is, so
   * that a claim finds what it may take without a look at messages.
   */
  `CREATE TABLE troupe.outbox_keys (
    tenant text NOT NULL,
    key text NOT NULL,
    -- The last message's key_seq.
    seq int4 NOT NULL DEFAULT 0,
    -- Messages that wait.
    pending int4 NOT NULL DEFAULT 0,
    -- When the first message may be claimed (again): the time of its next attempt, or the end of the claim's lease.
    due_at int8 NOT NULL DEFAULT 0,
    -- Place, topic and agent of the first message.
    place int8 NOT NULL DEFAULT 0,
    topic text NOT NULL DEFAULT '',
    agent text NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, key)
  ) WITH (fillfactor = 70)`,
  // The next tenant that has messages, and the oldest message of a tenant: one probe each.
  `CREATE INDEX outbox_keys_turn ON troupe.outbox_keys (topic, agent, (tenant || ''), due_at, place)`,
  // When the next message is due.
  `CREATE INDEX outbox_keys_due ON troupe.outbox_keys (topic, agent, due_at)`,
  // Messages that wait. Only the first of a key may be claimed.
  `CREATE TABLE troupe.outbox (
    tenant text NOT NULL,
    key text NOT NULL,
    key_seq int4 NOT NULL,
    id uuid NOT NULL UNIQUE,
    place int8 NOT NULL,
    topic text NOT NULL,
    -- The agent that the message is for; empty = for none.
    agent text NOT NULL DEFAULT '',
    payload text NOT NULL,
    attempts int4 NOT NULL DEFAULT 0,
    created_at int8 NOT NULL,
    -- An operator sent it again: it was a dead letter.
    replayed boolean NOT NULL,
    lease_owner text,
    -- JSON objects, the newest last.
    failures text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant, key, key_seq)
  )`,
  // Messages that could not be delivered.
  `CREATE TABLE troupe.dead_letters (
    event_id uuid PRIMARY KEY,
    tenant text NOT NULL,
    -- The message's topic.
    handler_name text NOT NULL,
    agent text NOT NULL DEFAULT '',
    key text NOT NULL,
    payload text NOT NULL,
    attempts int4 NOT NULL,
    failures text[] NOT NULL,
    dead_at int8 NOT NULL,
    place int8 NOT NULL,
    -- 0 dead, 1 replayed, 2 discarded.
    status int2 NOT NULL DEFAULT 0,
    resolved_by text,
    resolved_at int8,
    resolved_reason text
  )`,
  // A tenant's list of one status, newest first.
  `CREATE INDEX dead_letters_newest ON troupe.dead_letters (tenant, status, dead_at DESC, place DESC)`,
  // Takes the oldest message of one tenant that is due. A key that another claim holds is left out.
  `CREATE FUNCTION troupe.take_outbox(claimer text, at int8, until int8, topics text[], agents text[], whose text)
RETURNS SETOF troupe.outbox LANGUAGE plpgsql ${by_key} AS $body$
DECLARE
  first record;
BEGIN
  SELECT x.* INTO first FROM unnest(topics) t(topic) CROSS JOIN unnest(agents) a(agent) CROSS JOIN LATERAL (
    SELECT k.key, k.due_at, k.place FROM troupe.outbox_keys k
    WHERE k.topic = t.topic AND k.agent = a.agent AND k.tenant || '' = whose AND k.due_at <= at
    ORDER BY k.due_at, k.place LIMIT 1 FOR UPDATE SKIP LOCKED) x
  ORDER BY x.due_at, x.place LIMIT 1;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE troupe.outbox_keys k SET due_at = until
  WHERE k.tenant = whose AND k.key = first.key;
  RETURN QUERY UPDATE troupe.outbox o SET attempts = o.attempts + 1, lease_owner = claimer
    WHERE o.id = (SELECT m.id FROM troupe.outbox m WHERE m.tenant = whose AND m.key = first.key
      ORDER BY m.key_seq LIMIT 1)
    RETURNING o.*;
END $body$`,
  /*
   * Takes at most `wanted` messages: of each tenant in turn its oldest, beginning with the tenant behind `behind`, then a
   * second of each, and so on. The next tenant is found by one probe of an index, so that a claim costs what it takes and
   * not what waits. A tenant gets at most `room` messages; one that stands in `busy`, what `rooms` has at the same index.
   */
  `CREATE FUNCTION troupe.claim_outbox(claimer text, at int8, until int8, topics text[], agents text[],
  wanted int4, behind text, room int4, busy text[], rooms int4[])
RETURNS SETOF troupe.outbox LANGUAGE plpgsql ${by_key} AS $body$
DECLARE
  whose text := behind;
  wrapped boolean := false;
  taken int4 := 0;
  free int4;
  -- The tenants that gave a message, and how many more each may give.
  tenants text[] := '{}';
  places int4[] := '{}';
  found_any boolean := true;
BEGIN
  WHILE taken < wanted LOOP
    SELECT min(x.tenant) INTO whose FROM unnest(topics) t(topic) CROSS JOIN unnest(agents) a(agent) CROSS JOIN LATERAL (
      SELECT k.tenant FROM troupe.outbox_keys k
      WHERE k.topic = t.topic AND k.agent = a.agent AND k.tenant || '' > whose ORDER BY k.tenant || '' LIMIT 1) x;
    IF whose IS NULL THEN
      EXIT WHEN wrapped OR behind = '';
      wrapped := true;
      whose := '';
      CONTINUE;
    END IF;
    EXIT WHEN wrapped AND whose > behind;
    free := coalesce(rooms[array_position(busy, whose)], room);
    CONTINUE WHEN free < 1;
    RETURN QUERY SELECT * FROM troupe.take_outbox(claimer, at, until, topics, agents, whose);
    IF FOUND THEN
      taken := taken + 1;
      tenants := tenants || whose;
      places := places || (free - 1);
    END IF;
  END LOOP;
  WHILE found_any AND taken < wanted LOOP
    found_any := false;
    FOR i IN 1 .. cardinality(tenants) LOOP
      EXIT WHEN taken >= wanted;
      CONTINUE WHEN places[i] < 1;
      RETURN QUERY SELECT * FROM troupe.take_outbox(claimer, at, until, topics, agents, tenants[i]);
      IF FOUND THEN
        taken := taken + 1;
        places[i] := places[i] - 1;
        found_any := true;
      ELSE
        places[i] := 0;
      END IF;
    END LOOP;
  END LOOP;
END $body$`
]
