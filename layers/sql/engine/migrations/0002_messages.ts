/**
 * A message in few statements: the functions that accept tasks and begin their runs, several at a time.
 *
 * Each row is found by a key of its own, one probe at a time, so that no kept plan depends on what was known of a table's
 * size when it was made. A tenant is compared by `IS NOT DISTINCT FROM`, which no index serves: with `=` the planner may
 * choose an index that begins with the tenant, which seems as good while the table is empty. Both functions need READ
 * COMMITTED: what they read behind a lock is younger than the lock.
 *
 * A batch goes through its items in the order of their keys, and leaves those out that another transaction holds unless
 * `waits`: one stopped writer keeps nobody else from being served, and two batches never wait for each other in a ring.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The same indexes as before, beginning with what tells rows apart. */
const indexes = [
  // The same key is the same task.
  `CREATE UNIQUE INDEX agent_tasks_idempotency ON troupe.agent_tasks (idempotency_key, tenant) WHERE idempotency_key IS NOT NULL`,
  `DROP INDEX troupe.agent_tasks_key`,
  // The mailbox of an address is counted for each message.
  `CREATE INDEX agent_tasks_mailbox ON troupe.agent_tasks (address_key, agent, tenant) WHERE status < 2`,
  `DROP INDEX troupe.agent_tasks_waiting`
]

/**
 * Accepts tasks: for each its conversation (made if it is new), the user's message, the task, and the outbox message that
 * dispatches it. The arrays have an entry for each task, in which an empty text means that there is none. No two tasks of
 * a batch have the same conversation.
 *
 * - `keys`: idempotency keys.
 * - `rooms`: how many tasks of the address may wait, the new one not counted.
 * - `claims`, `ends`: who begins the task's run itself and until when (ms since 1970, as text). Where no other task of the
 *   address waits, the dispatch is held by this claim, as if a relay had claimed it, and nobody is woken.
 *
 * Gives a row for each place in the batch, from 1, unless it left that task out. `outcome`:
 *
 * - `created`: with its number in the conversation, and whether the claim holds its dispatch.
 * - `known`: the key's task is `earlier`. `other_message`: it is a task with another message, conversation or agent.
 * - `other_address`: the conversation is that of another address.
 * - `full`: `waiting` tasks wait, and there is no room for another.
 */
const accept = `CREATE FUNCTION troupe.accept_tasks(
  ids text[], messages text[], tenants text[], agents text[], address_keys text[], conversations text[],
  contents text[], senders text[], traces text[], channels text[], initiators text[], triggers text[], beginners text[],
  keys text[], rooms int4[], times text[], claims text[], ends text[], outbox_keys text[], waits boolean)
RETURNS TABLE (place int4, outcome text, ordinal int4, held boolean, waiting int4, earlier text)
LANGUAGE plpgsql SET enable_seqscan = off AS $body$
#variable_conflict use_column
DECLARE
  x record;
  before record;
  home record;
  -- Of the user's message, and of the dispatch.
  spot int4;
  line int8;
  turn int4;
  left_out int4[] := '{}';
  wakes boolean := false;
  is_new boolean;
BEGIN
  -- Of the same key sent twice at once one waits for the other, whatever conversation it is for.
  FOR x IN SELECT k.place::int4 AS place, k.lock FROM (
      SELECT u.place, u.key, hashtextextended('troupe task ' || u.tenant || ' ' || u.key, 0) AS lock
      FROM unnest(tenants, keys) WITH ORDINALITY AS u(tenant, key, place)) k
    WHERE k.key <> '' ORDER BY k.lock
  LOOP
    IF waits THEN PERFORM pg_advisory_xact_lock(x.lock);
    ELSIF NOT pg_try_advisory_xact_lock(x.lock) THEN left_out := left_out || x.place;
    END IF;
  END LOOP;
  FOR x IN SELECT u.*, u.n::int4 AS place, u.at::int8 AS made_at FROM unnest(ids, messages, tenants, agents, address_keys,
      conversations, contents, senders, traces, channels, initiators, triggers, beginners, keys, rooms, times, claims, ends,
      outbox_keys) WITH ORDINALITY AS u(id, message, tenant, agent, address_key, conversation, content, sender, trace,
      channel, initiator, trigger, beginner, key, room, at, claim, until, outbox_key, n)
    ORDER BY u.tenant, u.outbox_key
  LOOP
    CONTINUE WHEN x.place = ANY (left_out);
    place := x.place;
    ordinal := NULL;
    held := false;
    waiting := NULL;
    earlier := NULL;
    IF x.key <> '' THEN
      SELECT t.id::text AS id, t.message = x.content AND t.conversation = x.conversation AND t.agent = x.agent AS same INTO before
      FROM troupe.agent_tasks t WHERE t.idempotency_key = x.key AND t.tenant IS NOT DISTINCT FROM x.tenant;
      IF FOUND THEN
        outcome := CASE WHEN before.same THEN 'known' ELSE 'other_message' END;
        earlier := before.id;
        RETURN NEXT;
        CONTINUE;
      END IF;
    END IF;
    -- The conversation's row orders its tasks and messages.
    IF waits THEN
      SELECT c.agent, c.address_key INTO home FROM troupe.conversations c
      WHERE c.id = x.conversation AND c.tenant IS NOT DISTINCT FROM x.tenant FOR UPDATE;
    ELSE
      SELECT c.agent, c.address_key INTO home FROM troupe.conversations c
      WHERE c.id = x.conversation AND c.tenant IS NOT DISTINCT FROM x.tenant FOR UPDATE SKIP LOCKED;
    END IF;
    is_new := NOT FOUND;
    IF is_new AND NOT waits THEN
      -- It is there, and another transaction holds it.
      PERFORM FROM troupe.conversations c WHERE c.id = x.conversation AND c.tenant IS NOT DISTINCT FROM x.tenant;
      CONTINUE WHEN FOUND;
    END IF;
    IF NOT is_new AND (home.agent <> x.agent OR home.address_key <> x.address_key) THEN
      outcome := 'other_address';
      RETURN NEXT;
      CONTINUE;
    END IF;
    -- Counted no further than it matters.
    SELECT count(*)::int4 INTO waiting FROM (
      SELECT FROM troupe.agent_tasks t
      WHERE t.address_key = x.address_key AND t.agent IS NOT DISTINCT FROM x.agent AND t.tenant IS NOT DISTINCT FROM x.tenant
        AND t.status < 2 LIMIT greatest(x.room, 1)) w;
    IF waiting >= x.room THEN
      outcome := 'full';
      RETURN NEXT;
      CONTINUE;
    END IF;
    IF is_new THEN
      INSERT INTO troupe.conversations
        (id, tenant, agent, address_key, initiated_by, trigger_event_id, created_at, begun_by, tasks, messages)
      VALUES (x.conversation, x.tenant, x.agent, x.address_key, x.initiator, nullif(x.trigger, ''), x.made_at, x.beginner, 1, 1)
      ON CONFLICT DO NOTHING;
      -- Another transaction has just made it.
      CONTINUE WHEN NOT FOUND;
      ordinal := 1;
      spot := 0;
    ELSE
      UPDATE troupe.conversations c SET tasks = c.tasks + 1, messages = c.messages + 1
      WHERE c.id = x.conversation AND c.tenant IS NOT DISTINCT FROM x.tenant
      RETURNING c.tasks, c.messages - 1 INTO ordinal, spot;
    END IF;
    INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
    VALUES (x.tenant, x.conversation, spot, 'user', x.content, x.channel, x.id::uuid, x.made_at);
    INSERT INTO troupe.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, idempotency_key, message, by,
      trace_id, channel_origin, created_at, message_id)
    VALUES (x.id::uuid, x.tenant, x.agent, x.address_key, x.conversation, ordinal, nullif(x.key, ''), x.content, x.sender,
      x.trace, x.channel, x.made_at, x.message::uuid);
    line := nextval('troupe.outbox_place');
    held := x.claim <> '' AND waiting = 0;
    -- A row without messages is one that its transaction has not deleted yet: none is ever committed.
    INSERT INTO troupe.outbox_keys AS k (tenant, key, seq, pending, due_at, place, topic, agent)
    VALUES (x.tenant, x.outbox_key, 1, 1, CASE WHEN held THEN x.until::int8 ELSE x.made_at END, line,
      'agent.task.dispatched', x.agent)
    ON CONFLICT (tenant, key) DO UPDATE SET seq = k.seq + 1, pending = k.pending + 1
    RETURNING k.seq, held AND k.pending = 1 INTO turn, held;
    INSERT INTO troupe.outbox (tenant, key, key_seq, id, place, topic, agent, payload, attempts, created_at, replayed, lease_owner)
    VALUES (x.tenant, x.outbox_key, turn, x.message::uuid, line, 'agent.task.dispatched', x.agent,
      '{"task_id":"' || x.id || '"}', held::int4, x.made_at, false, CASE WHEN held THEN x.claim END);
    wakes := wakes OR NOT held;
    outcome := 'created';
    RETURN NEXT;
  END LOOP;
  IF wakes THEN PERFORM pg_notify('troupe_outbox', ''); END IF;
END $body$`

/**
 * Begins runs whose dispatch a claim holds, and claims each for its owner: the run with the events `accepted` and
 * `claimed`, at epoch 1; its task is at work; the dispatch leaves the outbox, and its key is free for its next message.
 *
 * Gives a row for each place in the batch, from 1, unless it left that run out. `begun` is false where the claim does not
 * hold the dispatch any more, which changes nothing, and where the run has begun already, which removes the dispatch.
 */
const begin = `CREATE FUNCTION troupe.begin_runs(
  ids text[], messages text[], claims text[], tenants text[], agents text[], address_keys text[], conversations text[],
  ordinals int4[], owners text[], times text[], accepted text[], claimed text[], outbox_keys text[], waits boolean)
RETURNS TABLE (place int4, begun boolean) LANGUAGE plpgsql SET enable_seqscan = off AS $body$
#variable_conflict use_column
DECLARE
  x record;
  -- The next message of the key.
  n record;
  gone int4;
  wakes boolean := false;
BEGIN
  FOR x IN SELECT u.*, u.n::int4 AS place, u.at::int8 AS begun_at, u.id::uuid AS run FROM unnest(ids, messages, claims, tenants,
      agents, address_keys, conversations, ordinals, owners, times, accepted, claimed, outbox_keys)
      WITH ORDINALITY AS u(id, message, claim, tenant, agent, address_key, conversation, ordinal, owner, at, accepted, claimed,
      outbox_key, n)
    ORDER BY u.tenant, u.outbox_key
  LOOP
    -- The key before its messages, as everybody does.
    IF waits THEN
      PERFORM FROM troupe.outbox_keys k WHERE k.tenant = x.tenant AND k.key = x.outbox_key FOR UPDATE;
    ELSE
      PERFORM FROM troupe.outbox_keys k WHERE k.tenant = x.tenant AND k.key = x.outbox_key FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
    END IF;
    place := x.place;
    begun := false;
    DELETE FROM troupe.outbox o WHERE o.id = x.message::uuid AND o.lease_owner = x.claim RETURNING o.key_seq INTO gone;
    IF NOT FOUND THEN
      RETURN NEXT;
      CONTINUE;
    END IF;
    SELECT o.created_at, o.place, o.topic, o.agent INTO n FROM troupe.outbox o
    WHERE o.tenant = x.tenant AND o.key = x.outbox_key AND o.key_seq > gone ORDER BY o.key_seq LIMIT 1;
    IF FOUND THEN
      UPDATE troupe.outbox_keys k SET pending = k.pending - 1, due_at = n.created_at, place = n.place, topic = n.topic,
        agent = n.agent
      WHERE k.tenant = x.tenant AND k.key = x.outbox_key;
      wakes := true;
    ELSE
      DELETE FROM troupe.outbox_keys k WHERE k.tenant = x.tenant AND k.key = x.outbox_key;
    END IF;
    INSERT INTO troupe.runs (run_id, tenant, epoch, length, status) VALUES (x.run, x.tenant, 1, 2, 1) ON CONFLICT DO NOTHING;
    begun := FOUND;
    RETURN NEXT;
    CONTINUE WHEN NOT begun;
    INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, owner, created_at)
    VALUES (x.run, x.tenant, x.agent, x.address_key, x.conversation, x.ordinal, x.owner, x.begun_at);
    INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
    VALUES (x.run, 0, x.begun_at, 'RunAccepted', x.accepted), (x.run, 1, x.begun_at, 'RunClaimed', x.claimed);
    UPDATE troupe.agent_tasks t SET status = 1 WHERE t.id = x.run AND t.status = 0;
  END LOOP;
  IF wakes THEN PERFORM pg_notify('troupe_outbox', ''); END IF;
END $body$`

const statements = [...indexes, accept, begin]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
