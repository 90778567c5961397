/**
 * Who may deliver a message, and whose turn it is: a key's row says which agent its first message is for, and claims go
 * round by tenant. Times are ms since 1970.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Rows of keys that one look gives a route: those that a process of an earlier release wrote have none. */
const routed_max = 500

/**
 * Gives each of those keys the route of its first message. The agent of a message that such a process wrote is that of
 * its task.
 */
const route = `CREATE FUNCTION troupe.route_outbox() RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $body$
DECLARE
  which record;
  head record;
BEGIN
  FOR which IN SELECT k.tenant, k.key FROM troupe.outbox_keys k WHERE k.topic = '' AND k.pending > 0
    LIMIT ${routed_max} FOR UPDATE SKIP LOCKED
  LOOP
    SELECT o.id, o.topic, coalesce(nullif(o.agent, ''),
      (SELECT t.agent FROM troupe.agent_tasks t WHERE t.message_id = o.id), '') AS agent INTO head
    FROM troupe.outbox o WHERE o.tenant = which.tenant AND o.key = which.key ORDER BY o.key_seq LIMIT 1;
    CONTINUE WHEN head.id IS NULL;
    UPDATE troupe.outbox o SET agent = head.agent WHERE o.id = head.id AND o.agent <> head.agent;
    UPDATE troupe.outbox_keys k SET topic = head.topic, agent = head.agent
      WHERE k.tenant = which.tenant AND k.key = which.key;
  END LOOP;
END $body$`

/**
 * Takes the oldest message of one tenant that is due. A key that another claim holds is left out. One whose first message
 * has another route than its row says (a process of an earlier release freed it) is put right, and looked for again.
 */
const one = `CREATE FUNCTION troupe.take_outbox(claimer text, at int8, until int8, topics text[], agents text[], whose text)
RETURNS SETOF troupe.outbox LANGUAGE plpgsql SET enable_seqscan = off AS $body$
DECLARE
  line record;
  head troupe.outbox;
BEGIN
  LOOP
    SELECT x.* INTO line FROM unnest(topics) t(topic) CROSS JOIN unnest(agents) a(agent) CROSS JOIN LATERAL (
      SELECT k.key, k.topic, k.agent, k.due_at, k.place FROM troupe.outbox_keys k
      WHERE k.topic = t.topic AND k.agent = a.agent AND k.tenant = whose AND k.due_at <= at
      ORDER BY k.due_at, k.place LIMIT 1 FOR UPDATE SKIP LOCKED) x
    ORDER BY x.due_at, x.place LIMIT 1;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT o.* INTO head FROM troupe.outbox o WHERE o.tenant = whose AND o.key = line.key ORDER BY o.key_seq LIMIT 1;
    IF head.id IS NOT NULL AND head.topic = line.topic AND head.agent = line.agent THEN
      UPDATE troupe.outbox_keys k SET due_at = until WHERE k.tenant = whose AND k.key = line.key;
      RETURN QUERY UPDATE troupe.outbox o SET attempts = o.attempts + 1, lease_owner = claimer
        WHERE o.id = head.id RETURNING o.*;
      RETURN;
    END IF;
    UPDATE troupe.outbox_keys k SET topic = coalesce(head.topic, ''), agent = coalesce(head.agent, '')
      WHERE k.tenant = whose AND k.key = line.key;
  END LOOP;
END $body$`

/**
 * Takes as many as are wanted: of each tenant in turn its oldest, from the tenant behind \`behind\` on, then a second of
 * each, and so on. Whose turn it is, is found by one probe of an index a tenant, so that a claim costs what it takes and
 * not what waits. "busy" are tenants for which "rooms" stands in the place of "room".
 */
const claims = `CREATE FUNCTION troupe.claim_outbox(claimer text, at int8, until int8, topics text[], agents text[],
  wanted int4, behind text, room int4, busy text[], rooms int4[])
RETURNS SETOF troupe.outbox LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $body$
DECLARE
  turn text := behind;
  around boolean := false;
  found_n int4;
  taken int4 := 0;
  line text[] := '{}';
  places int4[] := '{}';
  again boolean := true;
BEGIN
  IF EXISTS (SELECT FROM troupe.outbox_keys k WHERE k.topic = '') THEN PERFORM troupe.route_outbox(); END IF;
  WHILE taken < wanted LOOP
    SELECT min(x.tenant) INTO turn FROM unnest(topics) t(topic) CROSS JOIN unnest(agents) a(agent) CROSS JOIN LATERAL (
      SELECT k.tenant FROM troupe.outbox_keys k
      WHERE k.topic = t.topic AND k.agent = a.agent AND k.tenant > turn ORDER BY k.tenant LIMIT 1) x;
    IF turn IS NULL THEN
      EXIT WHEN around OR behind = '';
      around := true;
      turn := '';
      CONTINUE;
    END IF;
    EXIT WHEN around AND turn > behind;
    found_n := coalesce(rooms[array_position(busy, turn)], room);
    CONTINUE WHEN found_n < 1;
    RETURN QUERY SELECT * FROM troupe.take_outbox(claimer, at, until, topics, agents, turn);
    IF FOUND THEN
      taken := taken + 1;
      line := line || turn;
      places := places || (found_n - 1);
    END IF;
  END LOOP;
  WHILE again AND taken < wanted LOOP
    again := false;
    FOR i IN 1 .. cardinality(line) LOOP
      EXIT WHEN taken >= wanted;
      CONTINUE WHEN places[i] < 1;
      RETURN QUERY SELECT * FROM troupe.take_outbox(claimer, at, until, topics, agents, line[i]);
      IF FOUND THEN
        taken := taken + 1;
        places[i] := places[i] - 1;
        again := true;
      ELSE
        places[i] := 0;
      END IF;
    END LOOP;
  END LOOP;
END $body$`

const statements = [
  // Empty = for no agent. In a key's row an empty topic = not known yet.
  `ALTER TABLE troupe.outbox ADD COLUMN agent text NOT NULL DEFAULT ''`,
  `ALTER TABLE troupe.dead_letters ADD COLUMN agent text NOT NULL DEFAULT ''`,
  `ALTER TABLE troupe.outbox_keys ADD COLUMN topic text NOT NULL DEFAULT '', ADD COLUMN agent text NOT NULL DEFAULT ''`,
  `UPDATE troupe.outbox o SET agent = t.agent FROM troupe.agent_tasks t WHERE t.message_id = o.id`,
  `UPDATE troupe.dead_letters d SET agent = t.agent FROM troupe.agent_tasks t WHERE t.message_id = d.event_id`,
  `UPDATE troupe.outbox_keys k SET topic = h.topic, agent = h.agent FROM (
    SELECT DISTINCT ON (o.tenant, o.key) o.tenant, o.key, o.topic, o.agent FROM troupe.outbox o
    ORDER BY o.tenant, o.key, o.key_seq) h
  WHERE k.tenant = h.tenant AND k.key = h.key`,
  `DROP INDEX troupe.outbox_keys_place`,
  `DROP INDEX troupe.outbox_keys_due`,
  `CREATE INDEX outbox_keys_turn ON troupe.outbox_keys (topic, agent, tenant, due_at, place)`,
  `CREATE INDEX outbox_keys_due ON troupe.outbox_keys (topic, agent, due_at)`,
  route,
  one,
  claims
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
